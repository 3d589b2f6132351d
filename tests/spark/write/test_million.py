"""A million real rows through `writeStream`, killed three times with -9: all of them arrive, once each.

`pytest -m slow tests/spark/write/test_million.py -s` shows the figures.
"""

import lzma
import sys
import time

import duckdb
import pyarrow as pa
import pytest

from tests.spark.between import COMMIT, Rule
from tests.spark.killing import JobProcess
from tests.spark.stored import stored_rows

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(3_600)]
ROWS, FILES = 1_000_000, 20
SCHEMA = (
    "Symbol string, Date timestamp, Open double, High double, Low double, Close double,"
    " Volume bigint, OpenInt bigint"
)
STREAM = "daily"
STAGES = ("POST", f"/v1/streams/{STREAM}/stages")


@pytest.fixture
def files(data_folder, tmp_path):
    """Return a folder with the first million rows, cut into files of CSV, each a micro-batch."""
    folder = tmp_path / "files"
    folder.mkdir()
    with lzma.open(data_folder / "stocks-us-bulk" / "daily-2016-01-to-07.csv.xz", "rt") as text:
        header = next(text)
        for number in range(FILES):
            lines = [next(text) for _ in range(ROWS // FILES)]
            (folder / f"part-{number:02}.csv").write_text(header + "".join(lines))
    return folder


def killing(between, job):
    """Yield rules under which each run but the last is killed elsewhere; after which requests it was."""

    def carried_out(forward, kill):
        assert forward().status in {200, 201}
        kill()

    yield COMMIT, 3, lambda _: job.kill_all()
    yield COMMIT, 5, lambda forward: carried_out(forward, job.kill_jvm)
    yield STAGES, 7, lambda forward: carried_out(forward, job.kill_all)


def source_rows(files):
    """Return what DuckDB reads from the same files, in order."""
    kinds = "'Symbol': 'VARCHAR', 'Date': 'TIMESTAMP', 'Open': 'DOUBLE', 'High': 'DOUBLE'"
    kinds += ", 'Low': 'DOUBLE', 'Close': 'DOUBLE', 'Volume': 'BIGINT', 'OpenInt': 'BIGINT'"
    read = f"read_csv('{files}/*.csv', header = true, columns = {{{kinds}}}, nullstr = '')"
    with duckdb.connect() as connection:
        return connection.sql(f"SELECT * FROM {read} ORDER BY Date, Symbol").to_arrow_table()


def test_million_rows_arrive_once_through_three_kills(files, between, service, tmp_path):
    """Killed before a commit, after a commit, and amid the staging; compared with DuckDB on the files."""
    checkpoint = str(tmp_path / "checkpoint")
    job = JobProcess(tmp_path / "log", between.url, STREAM, str(files), checkpoint, SCHEMA, "Date")
    started = time.perf_counter()
    kills = 0
    for request, passing, act in killing(between, job):
        method, path = request
        let_pass = Rule(method, path, lambda forward: forward(), times=passing)
        between.rules[:] = [let_pass, Rule(method, path, act)]
        assert not job.run(), "it was to be killed"
        kills += 1
    before_last = time.perf_counter()
    assert job.run(), job.log()[-4_000:]
    seconds = time.perf_counter() - started
    stored = stored_rows(service, STREAM)
    expected = source_rows(files)
    assert (ROWS, 3) == (service.stream(STREAM)["rows"], kills)
    by_key = [("Date", "ascending"), ("Symbol", "ascending")]
    found = stored.sort_by(by_key).select(expected.column_names).cast(utc(expected.schema))
    assert found.equals(expected.cast(utc(expected.schema)))
    commits = between.commits()
    assert 1 == len({commit["app"] for commit in commits})
    repeated = len(commits) - len({commit["version"] for commit in commits})
    sys.stdout.write(
        f"\n{ROWS:,} rows, {FILES} micro-batches, {kills} kills: {seconds:.1f} s, of which the last run"
        f" {time.perf_counter() - before_last:.1f} s; {len(commits)} commits, {repeated} of them again\n"
    )


def utc(schema):
    """Return a schema whose times are instants of UTC."""
    kinds = [pa.timestamp("us", "UTC") if pa.types.is_timestamp(k) else k for k in schema.types]
    return pa.schema(zip(schema.names, kinds, strict=True))
