"""`psoup query`, `invoke`, `remove` and the lists: answers as tables and as data."""

import csv
import io
from typing import Any

import orjson
import pytest

import psoup.engine.log.operation
from psoup.app.cli.actions.lists import spoken_figure
from psoup.app.cli.actions.query import PAGE_ROWS
from psoup.app.cli.common import ExitCode, Materialize

SQL = "SELECT n, name, x FROM s WHERE n >= 2 BEGIN (NOW - INTERVAL '1' HOUR) END (NOW)"
ROWS: list[dict[str, Any]] = [
    {"n": 2, "name": 'a "quoted"\nname', "x": None},
    {"n": 3, "name": "", "x": 0.1},
    {"n": 4, "name": None, "x": 76.00999999999999},
]


@pytest.fixture
def loaded(psoup, tmp_path):
    path = tmp_path / "a.ndjson"
    times = [{"ts": f"2024-01-01T00:00:0{row['n']}Z", **row} for row in ROWS]
    first = {"ts": "2024-01-01T00:00:01Z", "n": 1, "name": "z", "x": 1.0}
    path.write_bytes(b"\n".join(orjson.dumps(row) for row in [first, *times]))
    psoup("load", path, "--stream", "s", "--time", "ts")
    return psoup


def queries(psoup):
    with psoup.service() as service:
        return [one["id"] for one in service.queries()]


def test_query_in_a_pipe_writes_ndjson_and_leaves_nothing_registered(loaded):
    """Nobody watches: one object a line, bare rows, and the query is removed again."""
    result = loaded("query", SQL)
    assert ROWS == [orjson.loads(line) for line in result.stdout_bytes.splitlines()]
    assert [] == queries(loaded)


def test_query_as_csv_tells_null_from_empty(loaded):
    """CSV has one header; an empty cell is NULL, an empty string is quoted."""
    text = loaded("query", SQL, "--format", "csv").stdout_bytes.decode()
    read = list(csv.reader(io.StringIO(text)))
    assert ["n", "name", "x"] == read[0]
    assert 3 == len(read) - 1
    assert '3,"",0.1' in text
    assert "4,,76.00999999999999" in text


def test_query_as_json_is_one_envelope(loaded):
    """The envelope carries rows, count, window and position; --ids adds the rows' own."""
    envelope = orjson.loads(loaded("query", SQL, "--format", "json").stdout_bytes)
    assert (ROWS, 3, None) == (envelope["rows"], envelope["count"], envelope["next"])
    envelope = orjson.loads(loaded("query", SQL, "--format", "json", "--ids").stdout_bytes)
    assert all({"_id", "_x"} <= row.keys() for row in envelope["rows"])


def test_query_as_table_is_for_people(loaded):
    """Headings, NULL, readable floats, and a line with count, window and position."""
    text = loaded("query", SQL, "--format", "table").stdout
    assert "NULL" in text
    assert "76.01" in text
    assert "3 rows  window 2023-12-31 23:00:04 to 2024-01-01 00:00:04" in text


@pytest.mark.parametrize("output", ["ndjson", "csv"])
def test_query_with_limit_writes_so_many_rows(loaded, output):
    """The limit counts rows, not lines: a quoted cell may hold a line end."""
    text = loaded("query", SQL, "--limit", 2, "--format", output).stdout_bytes.decode()
    if output == "csv":
        assert [["n", "name", "x"], ["2", 'a "quoted"\nname', ""], ["3", "", "0.1"]] == list(
            csv.reader(io.StringIO(text))
        )
    else:
        assert ROWS[:2] == [orjson.loads(line) for line in text.splitlines()]
    shown = loaded("query", SQL, "--limit", 2, "--format", "table").stdout
    assert "first 2 of 3 rows" in shown


@pytest.mark.parametrize("output", ["ndjson", "csv", "json"])
@pytest.mark.parametrize("limit", [None, PAGE_ROWS + 7])
def test_query_of_many_pages_writes_all_rows_once(psoup, tmp_path, output, limit):
    """Pages are followed to their end, or to the limit, with one header."""
    total = 2 * PAGE_ROWS + 11
    path = tmp_path / "a.csv"
    path.write_text("n,name\n" + "".join(f'{i},"a\n{i}"\n' for i in range(total)))
    psoup("load", path, "--stream", "s")
    more = [] if limit is None else ["--limit", limit]
    content = psoup("query", "SELECT n, name FROM s", "--format", output, *more).stdout_bytes
    if output == "json":
        numbers = [row["n"] for row in orjson.loads(content)["rows"]]
    elif output == "csv":
        numbers = [int(row["n"]) for row in csv.DictReader(io.StringIO(content.decode()))]
    else:
        numbers = [orjson.loads(line)["n"] for line in content.splitlines()]
    assert list(range(limit or total)) == numbers


def test_query_kept_is_found_invoked_and_removed(loaded):
    """--keep prints the handle; invoke answers the same; queries lists it; remove ends it."""
    result = loaded("query", SQL, "--keep")
    (handle,) = queries(loaded)
    assert handle in result.stderr
    assert result.stdout_bytes == loaded("invoke", handle).stdout_bytes
    (listed,) = loaded("queries").stdout_bytes.splitlines()
    assert handle == orjson.loads(listed)["id"]
    assert handle in loaded("queries", "--format", "table").stdout
    loaded("remove", handle)
    assert [] == queries(loaded)
    loaded("remove", handle, code=ExitCode.REFUSED)
    loaded("invoke", handle, code=ExitCode.REFUSED)


def test_query_with_a_name_stays_and_is_shared(loaded):
    """A name implies --keep: the same definition again is the same query, and neither run removes it."""
    loaded("query", SQL, "--name", "big")
    (handle,) = queries(loaded)
    loaded("query", SQL, "--name", "big")
    assert [handle] == queries(loaded)


def test_query_takes_parameters_and_says_what_is_wrong_with_one(loaded):
    """--param once for each; a value that does not fit is refused with the place where it stands."""
    sql = "SELECT n FROM s WHERE n >= :least AND name = $name"
    result = loaded("query", sql, "--param", "least=2", "-p", 'name=a "quoted"\nname')
    assert b'{"n":2}\n' == result.stdout_bytes
    refused = loaded("query", sql, "-p", "least=two", "-p", "name=a", code=ExitCode.REFUSED)
    assert "--param least: " in refused.stderr
    assert "^^^^^^" in refused.stderr
    missing = loaded("query", sql, "-p", "least=2", code=ExitCode.REFUSED)
    assert "The parameter $name has no value" in missing.stderr
    assert [] == queries(loaded)


def test_query_kept_tells_what_is_kept_of_its_matches(loaded):
    """--materialize goes into the registration; a word that is none is wrong use."""
    loaded("query", SQL, "--keep", "--materialize", "partial")
    (listed,) = loaded("queries").stdout_bytes.splitlines()
    assert "partial" == orjson.loads(listed)["materialize"]
    loaded("query", SQL, "--materialize", "all", code=ExitCode.USAGE)
    assert list(psoup.engine.log.operation.Materialize) == [one.value for one in Materialize]


def test_queries_registered_in_bulk_stand(loaded):
    """The client's bulk registration against a service: each has its outcome, and what stands is listed."""
    asked = [{"sql": SQL, "name": "one"}, {"sql": "no"}, {"sql": SQL, "name": "one"}]
    with loaded.service() as service:
        found = list(service.register_many(asked))
        assert [201, 422, 200] == [one["status"] for one in found]
        assert [found[0]["query"]] == list(service.queries())
        short = list(service.register_many(asked[:1], describe=False))
    assert [(200, found[0]["query"]["id"])] == [(one["status"], one["id"]) for one in short]


def test_query_at_another_instant_answers_as_of_then(loaded):
    """--now hides what is dated later."""
    result = loaded("query", SQL, "--now", "2024-01-01T00:00:03Z")
    assert ROWS[:2] == [orjson.loads(line) for line in result.stdout_bytes.splitlines()]


@pytest.mark.parametrize(
    ("now", "rows"),
    [
        ("2024-01-01", []),
        ("2024-01-01 00:00", []),
        ("2024-01-01 00:00:03", ROWS[:2]),
        ("2024-01-01T02:00:03+02:00", ROWS[:2]),
        (str(1_704_067_203_000_000), ROWS[:2]),
    ],
)
def test_query_at_an_instant_written_as_in_sql_is_answered(loaded, now, rows):
    """What a TIMESTAMP literal takes, --now takes: a date, no offset (UTC), any offset."""
    result = loaded("query", SQL, "--now", now)
    assert rows == [orjson.loads(line) for line in result.stdout_bytes.splitlines()]


@pytest.mark.parametrize("output", ["table", "ndjson"])
def test_query_watched_looks_again_so_many_times(loaded, output):
    """Each look is a whole answer; where there is no terminal they follow each other."""
    result = loaded("query", SQL, "--watch", "--every", 0.05, "--times", 3, "--format", output)
    assert 3 == result.stdout.count("76.0")
    assert [] == queries(loaded)


def test_query_refused_by_the_window_shows_warnings(loaded):
    """Warnings of a registration go to standard error, the answer alone to standard output."""
    result = loaded("query", "SELECT n FROM s WHERE name LIKE '%q%'")
    assert [{"n": 2}] == [orjson.loads(line) for line in result.stdout_bytes.splitlines()]


def test_streams_and_status_as_tables_and_as_data(loaded):
    """Lists and figures are tables on demand, one JSON object a line in a pipe."""
    (line,) = loaded("streams").stdout_bytes.splitlines()
    assert ("s", 4) == (orjson.loads(line)["name"], orjson.loads(line)["rows"])
    table = loaded("streams", "--format", "table").stdout
    assert "ts (high-water)" in table
    assert "2024-01-01 00:00:04" in table
    assert "complete from" not in table
    assert isinstance(orjson.loads(loaded("status").stdout_bytes), dict)


def test_streams_as_a_table_says_from_when_it_is_complete_where_rows_were_dropped(loaded, tmp_path):
    """One stream that has dropped a row is enough for the column to be there."""
    path = tmp_path / "short.csv"
    path.write_text("ts\n2024-01-01\n2024-01-02\n2024-01-03\n")
    loaded("load", path, "--stream", "short", "--time", "ts", "--retention-rows", "2")
    table = loaded("streams", "--format", "table").stdout
    assert "complete" in table


def test_status_as_a_table_is_in_units_for_people_and_raw_as_json(loaded):
    """Sizes in binary units, separators of thousands, three digits; --json has the figures as the service does."""
    table = dict(
        line.split(maxsplit=1)
        for line in loaded("status", "--all", "--format", "table").stdout.splitlines()
    )
    raw = orjson.loads(loaded("status", "--format", "table", "--json").stdout_bytes)
    assert "6 GiB" == table["memory.hit_bytes_max"].strip()
    assert 6 * 1024**3 == raw["memory"]["hit_bytes_max"]
    assert str(raw["gen"]) == table["gen"].strip()
    assert "0 s" == table["store.clock_behind_s"].strip()
    assert all(len(figure.strip().split()[0]) <= 24 for figure in table.values())


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("memory.store_bytes", 1_832_464, "1.75 MiB"),
        ("written.log_bytes_per_tuple", 28.808, "28.8 B"),
        ("store.disk.free_bytes", 83_109_085_184, "77.4 GiB"),
        ("store.clock_behind_s", 181.0, "3.02 min"),
        ("rates.60s.tuples_per_s", 1702.9181102, "1,703"),
        ("counters.ticks", 12_000, "12,000"),
        ("store.disk.used_percent", 23.7, "23.7 %"),
        ("store.loss.at", "2024-01-01T00:00:00.000000Z", "2024-01-01 00:00:00, 3 min ago"),
        ("now", "2024-01-01T00:03:00.000000Z", "2024-01-01 00:03:00"),
        ("gen", 1_795_391_597_696, 1_795_391_597_696),
        ("ready", True, True),
        ("store.loss", None, None),
    ],
)
def test_figure_is_spoken_in_the_unit_of_its_name(name, value, expected):
    """The end of a figure's name says what it counts."""
    assert expected == spoken_figure(name, value, "2024-01-01T00:03:00.000000Z")


def test_query_over_two_streams_shows_the_rows_of_both(loaded, tmp_path):
    """A join is an answer like any other: as data, with the ids of both parts, and as a table."""
    path = tmp_path / "labels.csv"
    path.write_text("ts,n,label\n2024-01-01T00:00:02Z,2,two\n2024-01-01T00:00:03Z,3,three\n")
    loaded("load", path, "--stream", "labels", "--time", "ts")
    sql = "SELECT s.n, l.label FROM s, labels AS l WHERE s.n = l.n AND l.n > 1"
    expected = [{"n": 2, "label": "two"}, {"n": 3, "label": "three"}]
    assert expected == [
        orjson.loads(line) for line in loaded("query", sql).stdout_bytes.splitlines()
    ]
    (shown,) = csv.DictReader(
        io.StringIO(loaded("query", sql, "--ids", "--limit", 1, "--format", "csv").stdout)
    )
    assert ("2-5", "2", "two") == (shown["_id"], shown["n"], shown["label"])
    table = loaded("query", sql, "--ids", "--format", "table").stdout
    assert "3-6" in table
    assert "2 rows" in table
    refused = loaded("query", "SELECT s.n FROM s, labels AS l", code=ExitCode.REFUSED)
    assert "Nothing joins" in refused.stderr
    assert "joins.groups" in loaded("status", "--all", "--format", "table").stdout
