"""`import psoup`: streams, rows of every library in, answers as every library's frames out; awaited as well."""

import asyncio
import datetime as dt
import subprocess
import sys
from collections import Counter
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import psoup
from psoup.client import frames
from psoup.client.connections.operations import Txn
from psoup.client.errors import problem_of

COLUMNS = {
    "ts": "timestamp",
    "sym": "string",
    "px": "float64",
    "qty": "int64",
    "up": "bool",
}
AT = dt.datetime(2026, 1, 5, 10, tzinfo=dt.UTC)
ROWS: list[dict[str, Any]] = [
    {"ts": AT, "sym": "ACME", "px": 41.5, "qty": 2**62, "up": True},
    {"ts": AT + dt.timedelta(minutes=1), "sym": None, "px": None, "qty": None, "up": None},
]
SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", tz="UTC")),
        ("sym", pa.string()),
        ("px", pa.float64()),
        ("qty", pa.int64()),
        ("up", pa.bool_()),
    ]
)
WINDOW = "BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)"
TABLE = pa.Table.from_pylist(ROWS, schema=SCHEMA)


@pytest.fixture
def db(url):
    """Yield a database."""
    with psoup.connect(url) as found:
        yield found


FORMS = {
    "dicts": list(ROWS),
    "naive dicts": [row | {"ts": row["ts"].replace(tzinfo=None)} for row in ROWS],
    "a generator": "generator",
    "pyarrow": TABLE,
    "pandas": frames.to_pandas(TABLE),
    "pandas with objects": TABLE.drop(["qty"]).to_pandas(),
    "polars": pl.from_arrow(TABLE),
    "a batch": TABLE.to_batches()[0],
}


@pytest.mark.parametrize("form", FORMS)
def test_rows_of_every_library_come_back_as_they_were(memory_url, form):
    """Values, NULL and types are the same, from whatever they came."""
    rows = (row for row in ROWS) if form == "a generator" else FORMS[form]
    with psoup.connect(memory_url) as db:
        stream = db.stream("s", COLUMNS, time="ts")
        assert 2 == stream.append(rows).accepted
        found = db.query("SELECT * FROM s").arrow()
    expected = TABLE
    if form == "pandas with objects":
        expected = TABLE.set_column(3, "qty", pa.nulls(2, pa.int64()))
    assert expected.cast(SCHEMA).equals(found)


def test_answer_in_every_form(db):
    """Arrow, pandas, polars, dicts and a count say the same; `at` says what was; `_id` and `_x` come when asked for."""
    db.stream("s", schema=SCHEMA, time="ts").append(TABLE)
    query = db.query(f"SELECT sym, qty FROM s WHERE px > :least {WINDOW}", least=40, name="high")
    assert [{"sym": "ACME", "qty": 2**62}] == query.rows() == query.arrow().to_pylist()
    assert [["ACME", 2**62]] == query.pandas().to_numpy().tolist()
    assert {"sym": ["ACME"], "qty": [2**62]} == query.polars().to_dict(as_series=False)
    assert 1 == query.count()
    assert 0 == query.at(AT - dt.timedelta(seconds=1)).count()
    assert (
        1 == query.at("2026-01-05T10:00:00Z").count() == query.at(AT.replace(tzinfo=None)).count()
    )
    assert 0 == query.at(dt.datetime(999, 1, 1, tzinfo=dt.UTC)).count()
    (row,) = query.rows(ids=True)
    assert AT + dt.timedelta(minutes=10, microseconds=1) == row["_x"]
    assert row["_id"]
    assert ("high", "sliding", {}) == (query.name, query.window["kind"], query.labels)


def test_answer_without_rows_has_its_types(db):
    """An empty frame has the types of a full one: they depend on the columns alone."""
    db.stream("s", COLUMNS, time="ts").append(TABLE)
    full, none = db.query("SELECT * FROM s"), db.query("SELECT * FROM s WHERE qty = 1")
    assert 0 == len(none.arrow())
    assert SCHEMA == none.arrow().schema
    kinds = ["datetime64[us, UTC]", "string", "float64", "Int64", "boolean"]
    for query in (full, none, full.at(AT)):
        assert kinds == [str(kind) for kind in query.pandas().dtypes]
        assert pl.Int64 == query.polars().schema["qty"]
    assert pd.isna(full.pandas()["qty"][1])
    assert 2**62 == full.pandas()["qty"][0]
    series = none.series(AT, "now", every="1m")
    assert ["_now", *COLUMNS] == series.pandas().columns.to_list()
    assert ["Int64"] == [str(series.pandas()["qty"].dtype)]


def test_answer_of_many_pages_is_whole(db):
    """Pages are read to the end, and belong to one position."""
    stream = db.stream("s", {"n": "int64"})
    stream.append(pa.table({"n": range(250_000)}))
    assert list(range(250_000)) == db.query("SELECT n FROM s").arrow()["n"].to_pylist()


def test_series_has_a_point_for_each_instant(db):
    """Each row says of which instant it is."""
    db.stream("s", COLUMNS, time="ts").append(ROWS)
    query = db.query(f"SELECT COUNT(*) AS n FROM s {WINDOW}")
    series = query.series("-1m", "now", every="1m")
    minute = dt.timedelta(minutes=1)
    expected = [{"_now": AT, "n": 1}, {"_now": AT + minute, "n": 2}]
    assert expected == series.rows() == series.arrow().to_pylist()
    assert 2 == len(series)


def test_columns_are_added_to_a_stream_with_rows(db):
    """A program may do so at each start; rows that it appends then may have them, and queries of before stay."""
    stream = db.stream("s", like=TABLE, time="ts")
    stream.append(TABLE)
    before = db.query("SELECT * FROM s")
    for _ in range(2):
        stream.add_columns({"note": "string"})
    stream.append(TABLE.append_column("note", pa.array(["new"] * len(TABLE), pa.string())))
    notes = db.query("SELECT note FROM s").arrow()["note"].to_pylist()
    assert {None: len(TABLE), "new": len(TABLE)} == Counter(notes)
    assert SCHEMA.names == before.arrow().schema.names
    with pytest.raises(psoup.ServiceProblem, match="incompatible-change"):
        stream.add_columns([{"name": "note", "type": "bool"}])


def test_streams_and_queries_are_listed_found_and_removed(db):
    """By name and by handle; a name that is almost right is named."""
    db.stream("s", like=TABLE, time="ts")
    query = db.query("SELECT * FROM s", name="everything", labels={"user": "42"})
    db.query("SELECT * FROM s WHERE px > 1")
    assert ["s"] == [stream.name for stream in db.streams()]
    assert SCHEMA.names == db.stream("s").schema.names
    assert 2 == len(db.queries())
    assert [query.id] == [one.id for one in db.queries(label="user:42")]
    assert query.id == db.get("everything").id == db.get(query.id).id
    with pytest.raises(psoup.ServiceProblem, match="name"):
        db.get("e" * 200)
    with pytest.raises(psoup.DefinitionError, match="Did you mean everything"):
        db.get("everythin")
    query.remove()
    with pytest.raises(psoup.ServiceProblem):
        query.count()
    db.stream("s").drop(cascade=True)
    with pytest.raises(psoup.ServiceProblem, match="not-found") as refused:
        db.stream("s")
    assert 'Declare it: .stream("s", {' in refused.value.__notes__[-1]


def test_stream_that_is_declared_otherwise_is_refused_with_what_differs(db):
    """The traceback has both, so that nobody has to guess which column it is."""
    db.stream("s", {"n": "int64"})
    with pytest.raises(psoup.ServiceProblem, match="stream-differs") as refused:
        db.stream("s", {"n": "float64"})
    (note,) = refused.value.__notes__
    assert note.startswith("columns: declared [{'name': 'n', 'type': 'int64'")
    assert "'type': 'float64'" in note.partition("given")[2]


def test_sql_that_is_wrong_is_shown_with_its_place(db):
    """The traceback has the excerpt with its caret."""
    db.stream("s", COLUMNS)
    with pytest.raises(psoup.ServiceProblem) as refused:
        db.query("SELECT nope FROM s")
    assert "unknown-column" == refused.value.problem
    assert any("^^^^" in note for note in refused.value.__notes__)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"columns": COLUMNS, "schema": SCHEMA}, "not several"),
        ({"time": "ts"}, "without columns"),
        ({"like": ROWS}, "does not say what types"),
        ({"schema": pa.schema([("x", pa.list_(pa.int64()))])}, "'x'"),
    ],
)
def test_definition_that_is_unclear_is_refused_before_anything_is_sent(given, says):
    """The message says what to give."""
    with (
        psoup.connect("http://localhost:1") as db,
        pytest.raises(psoup.DefinitionError, match=says),
    ):
        db.stream("s", **given)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (7, "a int"),
        ("text", "a str"),
        ([{"px": 1.0}, 7], "Row 1 is a int"),
        ([{"px": object()}], "Row 0 cannot be sent"),
        (pa.table({"px": ["n/a"]}), "Column 'px' does not fit"),
    ],
)
def test_rows_that_cannot_be_sent_are_refused_by_name(memory_url, rows, says):
    """Which column, which row; nothing is stored."""
    with psoup.connect(memory_url) as db:
        stream = db.stream("s", COLUMNS)
        with pytest.raises(psoup.DefinitionError, match=says):
            stream.append(rows)
        assert 0 == stream.describe()["rows"]


def test_rows_that_the_service_refuses_are_named_in_notes(memory_url):
    """A column that the stream lacks is not dropped in silence."""
    with psoup.connect(memory_url) as db:
        stream = db.stream("s", COLUMNS)
        for rows in ([{"px": 1.0, "other": 2}], pa.table({"px": [1.0], "other": [2]})):
            with pytest.raises(psoup.ServiceProblem, match="rows-rejected") as refused:
                stream.append(rows)
            assert any("unknown-column" in note for note in refused.value.__notes__)
        assert 0 == stream.describe()["rows"]


def test_notebook_shows_rows_window_and_age_escaped(memory_url):
    """What rows say is no HTML; a query that is gone shows why."""
    with psoup.connect(memory_url) as db:
        db.stream("s", COLUMNS, time="ts").append([ROWS[0] | {"sym": "<b>bold</b>"}])
        query = db.query(f"SELECT sym, qty FROM s {WINDOW}", name="<i>")
        shown = query._repr_html_()
        query.remove()
        gone = query._repr_html_()
    assert "&lt;b&gt;bold&lt;/b&gt;" in shown
    assert "<b>" not in shown
    assert "window 2026-01-05T09:50:00.000000Z to 2026-01-05T10:00:00.000000Z" in shown
    assert " ago)" in shown
    assert "<code>&lt;i&gt;</code>" in shown
    assert "not-found" in gone


def test_parameter_that_is_given_twice_is_refused(memory_url):
    """By params= and by keyword."""
    with psoup.connect(memory_url) as db, pytest.raises(psoup.DefinitionError, match="'a'"):
        db.query("SELECT 1", params={"a": 1}, a=2)


def test_same_for_programs_that_await(url):
    """Every call has its awaited twin, with the same answers."""

    async def run():
        async with await psoup.aconnect(url) as db:
            stream = await db.stream("s", COLUMNS, time="ts")
            await asyncio.gather(*(stream.append(row) for row in ROWS))
            query = await db.query(
                f"SELECT sym FROM s WHERE px > :least {WINDOW}", least=1, name="q"
            )
            assert [{"sym": "ACME"}] == await query.rows()
            assert (
                1 == await query.count() == len(await query.pandas()) == len(await query.polars())
            )
            assert 1 == await query.at(AT).count()
            assert 2 == len(await query.series("-1m", every="1m"))
            assert [query.id] == [one.id for one in await db.queries()]
            assert query.id == (await db.get("q")).id
            assert ["s"] == [one.name for one in await db.streams()]
            assert 2 == (await (await db.stream("s")).describe())["rows"]
            assert (await db.status())["queries"]
            assert query.sql == (await query.describe())["canonical"]
            await stream.add_columns({"note": "string"})
            assert "note" in stream.schema.names
            await query.remove()
            await stream.drop()
            assert [] == await db.streams()

    asyncio.run(run())


def test_txn_of_ones_own_makes_a_repetition_harmless(memory_url):
    """Another run of the program sends the same rows, and they are stored once."""
    receipts = []
    for _ in range(2):
        with psoup.connect(memory_url) as db:
            stream = db.stream("s", {"n": "int64"})
            receipts.append(stream.append([{"n": 1}, {"n": 2}], txn=Txn("nightly", 7)))
    assert [(2, False), (0, True)] == [(one.accepted, one.duplicate) for one in receipts]
    assert 2 == len(numbers_in(memory_url))


def numbers_in(url):
    with psoup.connect(url) as db:
        return db.query("SELECT n FROM s").rows()


def test_importing_psoup_loads_next_to_nothing():
    """Names are loaded when they are used; a wrong one is an AttributeError."""
    program = (
        "import sys, psoup\n"
        "assert not {'httpx2', 'pyarrow', 'numpy', 'orjson'} & set(sys.modules), sys.modules\n"
        "assert set(psoup.__all__) <= set(dir(psoup))\n"
        "assert all(getattr(psoup, name) is not None for name in psoup.__all__)\n"
        "assert not {'pandas', 'polars', 'fastapi', 'numba', 'redis'} & set(sys.modules)\n"
        "try:\n    psoup.nothing\nexcept AttributeError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "module 'psoup' has no attribute 'nothing'\n" == done.stdout


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_frame_of_a_package_that_is_missing_says_what_to_install(package, monkeypatch):
    """And how to do without."""
    monkeypatch.setitem(sys.modules, package, None)
    make = {"pandas": frames.to_pandas, "polars": frames.to_polars}[package]
    with pytest.raises(psoup.MissingPackageError, match=f"pip install {package}"):
        make(TABLE)


def test_query_is_changed_under_its_handle(db):
    """What is given changes, None takes away, and the rest stays."""
    db.stream("s", like=TABLE, time="ts")
    query = db.query("SELECT * FROM s", labels={"user": "42"}, ttl="7d")
    assert ("7d", True) == (query.description["ttl"], query.description["expires_at"] is not None)
    changed = query.update("SELECT px FROM s WHERE px > :min", params={"min": 1})
    assert (2, {"min": 1}, "7d") == (changed["version"], changed["params"], changed["ttl"])
    assert ({}, None) == (query.update(labels=None)["labels"], query.update(ttl=None)["ttl"])
    assert query.description == {**changed, "labels": {}, "ttl": None, "expires_at": None}
    with pytest.raises(psoup.ServiceProblem, match="invalid-field"):
        query.update(ttl="1s")


def test_problem_of_an_expired_query_is_an_error_of_its_own():
    """It says when the query expired; any other problem is a ServiceProblem and nothing more."""
    body = {"code": "query-expired", "expired_at": "2026-11-21T10:00:00.000000Z"}
    error = problem_of(410, body)
    assert isinstance(error, psoup.QueryExpiredError)
    assert body["expired_at"] == error.expired_at
    assert psoup.ServiceProblem is type(problem_of(404, {"code": "not-found"}))
