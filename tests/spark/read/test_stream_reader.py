"""`spark.readStream.format("psoup")`: what arrives in a stream, each row once, across restarts of the query."""

import pytest

from psoup.app.settings import Settings
from psoup.client.calls import PsoupClient
from tests.app.serving import served
from tests.spark.read.read_world import FLIGHTS, append, declare, flights, rows_of

END_S = 300.0
"""A query that takes longer has failed, even on a busy machine."""


def arriving(spark, url, stream, **options):
    """Return the DataFrame of a stream's rows."""
    return spark.readStream.format("psoup").options(url=url, stream=stream, **options).load()


def run(frame, folder):
    """Write all that is there now to Parquet files, with a checkpoint beside them; return the query."""
    writer = frame.writeStream.format("parquet").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).start(
        str(folder / "rows")
    )
    try:
        assert query.awaitTermination(END_S)
    finally:
        query.stop()
    return query


def test_stream_is_written_once_across_restarts_and_replays(spark, psoup_url, service, tmp_path):
    """Micro-batches of two batches, a restart, a commit that was forgotten: every row is there once, all are held.

    With the same checkpoint at a service with another history the query fails and says so.
    """
    declare(service, "growing", FLIGHTS)
    options = {"hold": "true", "maxBatchesPerTrigger": "2"}
    for first in range(0, 30, 10):
        append(service, "growing", flights(first, first + 10))
    frame = arriving(spark, psoup_url, "growing", **options)
    assert ["_id bigint", "_seq bigint", "_arrival timestamp"] == [
        " ".join(column) for column in frame.dtypes[:3]
    ]
    run(frame, tmp_path)
    commits = tmp_path / "checkpoint" / "commits"
    assert {"0", "1"} <= {path.name for path in commits.iterdir()}
    first_held = service.held("growing")["through"]

    append(service, "growing", flights(30, 40))
    for path in (commits / "1", commits / ".1.crc"):
        path.unlink()
    run(arriving(spark, psoup_url, "growing", **options), tmp_path)
    written = spark.read.parquet(str(tmp_path / "rows"))
    shown = [field.name for field in FLIGHTS]
    assert rows_of(flights(0, 40).to_batches()) == rows_of(written.select(shown))
    assert 40 == written.select("_id").distinct().count()
    assert first_held < service.held("growing")["through"]
    service.unhold("growing")

    with served(Settings(store="memory://", port=0)) as (host, port):
        other = f"http://{host}:{port}"
        with PsoupClient(other) as elsewhere:
            declare(elsewhere, "growing", FLIGHTS)
        with pytest.raises(Exception, match=r"another one, so positions of before name nothing"):
            run(arriving(spark, other, "growing"), tmp_path)


def test_stream_that_grows_is_followed(spark, psoup_url, service):
    """A query that goes on shows what arrives while it runs, and reads nothing where nothing arrived."""
    declare(service, "followed", FLIGHTS)
    frame = arriving(spark, psoup_url, "followed").drop("_id", "_seq", "_arrival")
    query = frame.writeStream.format("memory").queryName("followed").start()
    try:
        for first in (0, 10):
            append(service, "followed", flights(first, first + 10))
            query.processAllAvailable()
            expected = rows_of(flights(0, first + 10).to_batches())
            assert expected == rows_of(spark.table("followed"))
        declare(service, "beside_followed", FLIGHTS)  # another position, and nothing to read
        query.processAllAvailable()
        assert 2 == len([one for one in query.recentProgress if one.numInputRows])
    finally:
        query.stop()
