"""`psoup load` against a service: what is declared, what is loaded, what is skipped."""

import lzma
import os

import duckdb
import orjson
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from psoup.app.cli.common import ExitCode
from psoup.pipeline.load.plan import LoadRequest, SurveyProgress, plan_load
from psoup.pipeline.load.sources import sources
from psoup.pipeline.load.transfer import run_load
from tests.forked import ended, started
from tests.patience import WAIT_S

CSV = "ts,name,n,x,ok\n" + "".join(
    f"2024-01-01T00:00:{i % 60:02d}.{i:06d}Z,{'' if i % 7 == 0 else f'n{i}'},{i},{i / 4},"
    f"{'true' if i % 2 else 'false'}\n"
    for i in range(500)
)


@pytest.fixture
def csv_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(CSV)
    return path


def rows_of(psoup, sql):
    return [
        orjson.loads(line)
        for line in psoup("query", sql, "--format", "ndjson").stdout_bytes.splitlines()
    ]


def test_load_new_stream_is_declared_as_inferred(psoup, csv_file):
    """Columns are shown and declared; every row comes out again as the file has it."""
    result = psoup("load", csv_file, "--stream", "s", "--time", "ts", "--batch-rows", 150)
    assert "inferred from the whole file" in result.stdout
    assert "72 empty" in result.stdout
    assert "loaded 500 rows into s in 4 batches" in result.stdout
    with psoup.service() as service:
        found = service.stream("s")
    assert found is not None
    assert [
        ("ts", "timestamp", False),
        ("name", "string", True),
        ("n", "int64", True),
        ("x", "float64", True),
        ("ok", "bool", True),
    ] == [(c["name"], c["type"], c["nullable"]) for c in found["columns"]]
    rows = sorted(rows_of(psoup, "SELECT n, x, ok, name FROM s"), key=lambda row: row["n"])
    assert [
        {"n": i, "x": i / 4, "ok": bool(i % 2), "name": None if i % 7 == 0 else f"n{i}"}
        for i in range(500)
    ] == rows


def test_load_repeated_loads_nothing_twice(psoup, csv_file):
    """The same command is a duplicate; another producer's name loads again, as asked for."""
    command = ("load", csv_file, "--stream", "s", "--time", "ts", "--batch-rows", 150)
    psoup(*command)
    result = psoup(*command)
    assert "loaded 0 rows" in result.stdout
    assert "500 rows in 4 batches were there already" in result.stdout
    assert 500 == psoup.rows("s")
    assert "" == psoup(*command, "--producer", "again").stderr
    assert 1_000 == psoup.rows("s")
    assert "loaded 0 rows" in psoup(*command, "--producer", "again").stdout


def test_load_after_the_stream_was_dropped_loads_again(psoup, csv_file):
    """Versions belong to the stream: a new stream of the same name has none of them."""
    command = ("load", csv_file, "--stream", "s", "--time", "ts")
    psoup(*command)
    with psoup.service() as service:
        service.drop("s")
    assert "loaded 500 rows" in psoup(*command).stdout


def test_load_into_a_declared_stream_takes_its_columns(psoup, tmp_path):
    """Order and types are the stream's; absent columns are NULL; unknown ones are refused."""
    schema = tmp_path / "s.json"
    columns = [("x", "float64"), ("n", "float64"), ("more", "string")]
    schema.write_bytes(orjson.dumps({"columns": [{"name": n, "type": t} for n, t in columns]}))
    path = tmp_path / "a.ndjson"
    path.write_text('{"n":1,"x":2}\n{"x":3}\n')
    psoup("load", path, "--stream", "s", "--schema", schema)
    assert [{"x": 2.0, "n": 1.0, "more": None}, {"x": 3.0, "n": None, "more": None}] == rows_of(
        psoup, "SELECT * FROM s"
    )
    path.write_text('{"n":5}\n')
    result = psoup("load", path, "--stream", "s", "--yes")
    assert "as declared" in result.stdout
    path.write_text('{"z":1}\n')
    psoup("load", path, "--stream", "s", "--yes", code=ExitCode.DATA_FILE)
    assert 3 == psoup.rows("s")


def test_load_asking_for_another_definition_is_refused_with_the_difference(psoup, csv_file):
    """A stream is never changed by a load: the service says in what it differs."""
    psoup("load", csv_file, "--stream", "s", "--time", "ts", "--retention-rows", 700)
    psoup("load", csv_file, "--stream", "s", "--time", "ts", "--retention-rows", 700)
    result = psoup(
        "load", csv_file, "--stream", "s", "--retention-rows", 800, code=ExitCode.REFUSED
    )
    assert "stream-differs" in result.stderr
    assert "retention" in result.stderr


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_load_compressed_on_the_way_is_the_same(psoup, csv_file, encoding):
    """Compression changes the bytes that travel, not the load: repeated without it, it is skipped."""
    psoup("load", csv_file, "--stream", "s", "--compress", encoding)
    assert "loaded 0 rows" in psoup("load", csv_file, "--stream", "s").stdout


def test_load_sorted_newest_first_file_ends_at_its_largest_time(psoup, tmp_path):
    """With --sort the high-water mark rises with the rows, so no row is late."""
    path = tmp_path / "a.csv"
    days = [f"2024-01-{day:02d},{day}" for day in range(28, 0, -1)]
    path.write_text("ts,n\n" + "\n".join(days) + "\n")
    psoup("load", path, "--stream", "s", "--time", "ts", "--sort", "--batch-rows", 5)
    rows = rows_of(psoup, "SELECT n FROM s")
    assert list(range(1, 29)) == [row["n"] for row in rows]
    psoup("load", path, "--stream", "t", "--sort", code=ExitCode.USAGE)


def test_load_is_done_by_all_only_once_everything_is_acknowledged(psoup, csv_file):
    """The share grows with what the service has taken, and is whole behind the last answer."""
    shares = []
    request = LoadRequest(stream="s", batch_rows=100)
    with (
        psoup.service() as service,
        sources([str(csv_file), str(csv_file)], lambda *_: None) as found,
    ):
        plan = plan_load(service, request, found, SurveyProgress())
        run_load(service, plan, lambda done: shares.append(done.fraction))
        assert 500 == (service.stream("s") or {})["rows"]
    assert sorted(shares) == shares
    assert 1.0 == shares[-1]
    assert 6 <= len([share for share in shares if share < 1.0])


def test_loads_of_one_file_at_the_same_time_store_it_once(psoup, tmp_path):
    """Two processes: each batch is the one's or the other's, and neither fails or takes the stream away."""
    path = tmp_path / "a.csv"
    path.write_text("n\n" + "".join(f"{i}\n" for i in range(2_000)))
    command = ["load", str(path), "--stream", "s", "--batch-rows", "20", "--url", psoup.url]
    with (tmp_path / "output").open("wb") as output:
        loads = [started("psoup", command, output=output, env=os.environ) for _ in range(2)]
    assert [0, 0] == [process.wait(WAIT_S) for process in loads]
    assert list(range(2_000)) == sorted(row["n"] for row in rows_of(psoup, "SELECT n FROM s"))


@pytest.mark.service
def test_load_killed_and_repeated_loads_every_row_once(psoup, tmp_path):
    """Killed with -9 several times at some batch, the last run leaves exactly the file's rows."""
    total = 6_000
    path = tmp_path / "a.csv"
    path.write_text("ts,n\n" + "".join(f"2024-01-01T00:00:00Z,{i}\n" for i in range(total)))
    command = ["load", str(path), "--stream", "s"]
    command += ["--time", "ts", "--batch-rows", "100", "--url", psoup.url]
    reached = []
    for share in (0.2, 0.6):
        with (tmp_path / "output").open("wb") as output:
            loader = started("psoup", command, output=output, env=os.environ)
        while psoup.rows("s") < share * total and loader.poll() is None:
            pass  # each look is a request: nothing is timed here
        loader.kill()
        loader.wait(WAIT_S)
        reached.append(psoup.rows("s"))
    assert reached[0] < total, "the loader was killed before its end"
    run = ended("psoup", command)
    assert 0 == run.returncode
    assert "were there already" in run.stdout
    rows = rows_of(psoup, "SELECT n FROM s")
    assert list(range(total)) == sorted(row["n"] for row in rows), f"killed at {reached} rows"


def test_oracle_load_of_real_prices_answers_as_duckdb(psoup, data_folder):
    """The file is loaded and the standing query's rows are DuckDB's over the same file, bit for bit."""
    (path,) = (data_folder / "stocks-sp500").glob("prices-*.csv.xz")
    psoup("load", path, "--stream", "prices", "--time", "date")
    where = "WHERE Name = 'MSFT' AND close > 50"
    rows = rows_of(psoup, f"SELECT * FROM prices {where} BEGIN (NOW - INTERVAL '30' DAY) END (NOW)")
    with duckdb.connect() as oracle:
        oracle.register("prices", _as_table(path))
        expected = oracle.sql(
            f"SELECT * FROM prices {where}"
            " AND date >= (SELECT max(date) FROM prices) - INTERVAL '30' DAY ORDER BY date"
        )
        names = expected.columns
        found = [dict(zip(names, row, strict=True)) for row in expected.fetchall()]
    for row in found:
        row["date"] = f"{row['date']:%Y-%m-%dT%H:%M:%S.%f}Z"
    assert 0 < len(found)
    assert found == rows


def _as_table(path):
    """Return the file as Arrow reads it by itself: DuckDB does not unpack .xz."""
    with lzma.open(path) as plain:
        options = pa_csv.ConvertOptions(column_types={"date": pa.timestamp("us")})
        return pa_csv.read_csv(plain, convert_options=options)
