"""`psoup fsck`: the table, the differences by name, the exit codes."""

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from psoup.app.cli.application import application
from psoup.engine.clock import ManualClock
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema
from psoup.storage import keys
from psoup.storage.inspection import inspect_store
from tests.stores import open_test_store
from tests.world import World

pytestmark = pytest.mark.redis

SCHEMA = StreamSchema(
    "numbers",
    (ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False), ColumnSchema("n", ColumnType.INT64)),
    "ts",
    ClockKind.HIGH_WATER,
)


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a store in which one query has hits in a chunk."""
    store = open_test_store("embedded", tmp_path, ManualClock(0))
    world = World(store)
    world.declare(SCHEMA)
    world.register("SELECT n FROM numbers WHERE n = 5 BEGIN (NOW - INTERVAL '1' DAY) END (NOW)")
    world.append("numbers", [{"ts": n, "n": n % 100} for n in range(CHUNK_ROWS + 3)])
    store.close()
    return tmp_path / "data"


def fsck(*arguments):
    return CliRunner().invoke(application, ["fsck", *map(str, arguments)])


def test_equal_store_ends_with_0(folder):
    """The table says what was compared, at which operation."""
    run = fsck("--data", folder)
    assert 0 == run.exit_code, run.output
    assert "operation 3" in run.output
    assert "1 batch, 4,099 tuples" in run.output


def test_difference_is_named_and_ends_with_1(folder):
    """A lost block is told by clause, chunk and the operation that made it whole."""
    beside = inspect_store(None, data=folder)
    try:
        (block,) = beside._client.fetch_one("KEYS", keys.BLOCKS_PATTERN)
        beside._client.fetch_one("UNLINK", block)
        socket = next((folder / "run").glob("*.sock"))
        run = fsck("--store", f"unix://{socket}?db=0")
    finally:
        beside.close()
    assert 1 == run.exit_code, run.output
    assert "hits stream numbers, clause 2, chunk 0, operation 3: 41 rows missing" in run.output


def test_store_that_is_not_there_ends_with_3(tmp_path):
    """An empty folder, a socket nobody listens on; an address of no kind of store is wrong use."""
    assert 3 == fsck("--data", tmp_path).exit_code
    assert 3 == fsck("--store", f"unix://{tmp_path}/none.sock").exit_code
    assert 2 == fsck("--store", "memory://").exit_code


def test_store_with_an_added_column_is_equal(tmp_path):
    """With batches of before, of after, and a part that was staged before; also once another engine has taken over."""
    store = open_test_store("embedded", tmp_path, ManualClock(0))
    world = World(store)
    world.declare(SCHEMA)
    world.append("numbers", [{"ts": n, "n": n % 100} for n in range(CHUNK_ROWS + 3)])
    wide = replace(SCHEMA, columns=(*SCHEMA.columns, ColumnSchema("more", ColumnType.STRING)))
    world.alter(wide)
    text = "SELECT n FROM numbers WHERE more IS NULL AND n < 9 BEGIN (NOW - INTERVAL '1' DAY) END (NOW)"
    query = world.register(text)
    rows = [{"ts": n, "n": 7, "more": "x" if n % 2 else None} for n in range(CHUNK_ROWS)]
    world.append("numbers", rows)
    world.append("numbers", rows[:3], columns=2)
    expected = world.invoke(query).rows
    world.lose_engine()
    assert expected == world.invoke(query).rows
    stored = world.store.results.stream("numbers").schema
    assert (1, "more") == (stored.added, stored.columns[-1].name)
    store.close()
    run = fsck("--data", tmp_path / "data")
    assert 0 == run.exit_code, run.output
    assert "3 batches, 8,198 tuples" in run.output
