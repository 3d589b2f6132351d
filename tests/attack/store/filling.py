"""A store with something of every kind in it, to be damaged."""

from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Materialize, QueryId, Register, RequestKey, Staged, StageId
from psoup.engine.store.archive_answers import AskedHistory, HistoryId, HistoryPart
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema
from psoup.storage.redis.store import RedisStore
from tests.reference_values import Row
from tests.world import World

WINDOW = "BEGIN (NOW - INTERVAL '400' DAY) END (NOW)"
HISTORY = HistoryId(f"h_{1:022d}")
WAITING = StageId(f"st_{9:022d}")


def schema(name: str) -> StreamSchema:
    columns = (
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("n", ColumnType.INT64),
    )
    return StreamSchema(name, columns, "ts", ClockKind.HIGH_WATER)


def tuples(first: int, count: int, *, of: int = 1_000) -> list[Row]:
    """Return rows a millisecond apart, of so many keys."""
    return [{"ts": n * 1_000, "n": n * 7 % of} for n in range(first, first + count)]


def filled(store: RedisStore) -> None:
    """Keep something of every kind: lists, bitmaps, pages, composites, commits, a part, a history, what waits."""
    world = World(store)
    for name in ("a", "b"):
        world.declare(schema(name))
    early = [
        world.register(f"SELECT n FROM a WHERE {condition} {WINDOW}")
        for condition in ("n = 7", "n < 600", "n > 990 AND n < 996")
    ]
    world.register(f"SELECT a.n FROM a, b WHERE a.n = b.n AND a.n < 20 {WINDOW}", name="joined")
    world.append("a", tuples(0, CHUNK_ROWS + 500))
    world.append("b", tuples(0, CHUNK_ROWS + 10), app="producer", version=3)
    stream_id, _ = world.streams["a"]
    content = Register(
        QueryId(f"q_{77:022d}"),
        f"SELECT n FROM a WHERE n = 11 {WINDOW}",
        {"a": stream_id},
        "late",
        {"team": "x"},
        Materialize.COMPLETE,
        key=RequestKey("late", b"k" * 32),
    )
    world.append_content(content)
    world.commit([("a", tuples(9_000, 20)), ("b", tuples(9_000, 30))], version=1)
    world.append("a", tuples(9_100, CHUNK_ROWS))
    world.remove(early[2])
    store.log.stage(Staged(WAITING, stream_id, "a", 1, b"a body that waits", b"d" * 32))
    store.log.hold(stream_id, Seq(1))
    asked = AskedHistory(
        HISTORY, early[0], "SELECT", store.results.cut().gen, Seq(3), 9, (None, 9), None
    )
    store.histories.begin(asked)
    store.histories.claim(HISTORY, "worker", done=0, of=None)
    part = HistoryPart(0, 1, (1, 2), (1, 2), b"the rows of a part")
    store.histories.put(HISTORY, "worker", part)
    store.histories.finish(HISTORY, "worker", parts=1, rows=1, complete_from_us=None)
    store.tell(b"{}")
    world.append("b", tuples(20_000, 5), fold=False)
    world.remove(early[1], fold=False)
