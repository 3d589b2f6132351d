"""Every real data set through `psoup pipeline backfill`: what the stream then holds is what DuckDB reads."""

import lzma
import shutil
from pathlib import Path

import duckdb
import pytest

from psoup.pipeline.spark.jobs.backfill import backfill
from psoup.pipeline.spark.launch.requests import BackfillRequest
from tests.spark.jobs.real_sets import SETS
from tests.spark.stored import stored_rows


def unpacked(folder: Path, pattern: str, into: Path) -> str:
    """Return a pattern for the files, those in .xz unpacked: neither reader does that."""
    if not pattern.endswith(".xz"):
        return str(folder / pattern)
    for packed in folder.glob(pattern):
        with lzma.open(packed) as source, (into / packed.stem).open("wb") as target:
            shutil.copyfileobj(source, target)
    return str(into / "*.csv")


@pytest.mark.slow
@pytest.mark.parametrize("real", SETS, ids=lambda real: real.stream)
def test_oracle_backfill_of_a_real_set_is_what_duckdb_reads(
    spark, psoup_url, service, *, data_folder, tmp_path, real
):
    """The stream has every row of the files, each as often, with every value: EXCEPT ALL finds nothing, both ways."""
    files = unpacked(data_folder, real.files, tmp_path)
    request = BackfillRequest(
        path=files,
        stream=real.stream,
        checkpoint=str(tmp_path / "checkpoint"),
        format=real.format,
        options=list(real.options),
        schema=real.schema,
        map=list(real.map),
        where=real.where,
        time=real.time,
        create=True,
        url=psoup_url,
    )
    end = backfill(spark, request, lambda _: None, lambda: False)
    stored = stored_rows(service, real.stream)
    with duckdb.connect() as oracle:
        oracle.execute("SET TimeZone = 'UTC'")
        oracle.execute(f"CREATE TABLE expected AS {real.oracle.format(file=files)}")
        oracle.register("arrow", stored)
        names = ", ".join(f'"{name}"' for name in stored.column_names)
        oracle.execute(f"CREATE TABLE found AS SELECT {names} FROM arrow")
        ((rows,),) = oracle.execute("SELECT count(*) FROM expected").fetchall()
        assert rows == end.rows == stored.num_rows > 0
        for left, right in (("expected", "found"), ("found", "expected")):
            differing = f"SELECT {names} FROM {left} EXCEPT ALL SELECT {names} FROM {right} LIMIT 3"
            assert [] == oracle.execute(differing).fetchall(), f"in {left} alone"
    service.drop(real.stream)
