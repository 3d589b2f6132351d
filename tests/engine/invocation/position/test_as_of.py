"""As of a position, a query answers what it answered when that position was the latest."""

from dataclasses import replace
from random import Random

import pytest

from psoup.engine.errors import InvalidFieldError, NotYetVisibleError, SeqOutOfRangeError
from psoup.engine.invocation.position.answer import Request
from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import Materialize, QueryId
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema
from tests.engine.batches import schema_keeping
from tests.reference import Answer
from tests.reference_values import Row
from tests.strategies import EPOCH_US
from tests.world import World

ONE_STREAM = [
    "SELECT * FROM s WHERE a > 2",
    "SELECT a, t FROM s WHERE a IS NOT NULL BEGIN (NOW - 20) END (NOW - 3)",
    "SELECT DISTINCT t FROM s WHERE a < 5 BEGIN (NOW - 9) END (NOW)",
    "SELECT t, COUNT(*) AS n, SUM(a) AS total, LAST(a) AS last FROM s GROUP BY t BEGIN (NOW - 15) END (NOW)",
    "SELECT AVG(a) AS mean, MEDIAN(a) AS middle FROM s WHERE t <> 'y'",
    "SELECT a, t FROM s ORDER BY a DESC LIMIT 5",
    "SELECT a, t FROM s [PARTITION BY t ROWS 2] BEGIN (NOW - 30) END (NOW)",
    "SELECT COUNT(*) AS n FROM s BEGIN (NOW - 10) END (NOW) EVERY INTERVAL '4' SECOND",
]
TWO_STREAMS = [
    "SELECT x.a AS a, y.t AS t FROM s AS x, r AS y WHERE x.a = y.a AND x.t <> y.t BEGIN (NOW - 12) END (NOW)",
    "SELECT x.a AS a, y.ts AS at FROM s AS x LEFT JOIN r AS y ON x.a = y.a AND y.ts > x.ts",
    "SELECT x.t AS t, COUNT(*) AS n FROM s AS x, r AS y WHERE x.a = y.a GROUP BY x.t HAVING COUNT(*) > 1",
]


class Recorded:
    """A world, and what each query answered at each position."""

    def __init__(self, seed: int, *, rows: int, values: int) -> None:
        self.rng, self.rows, self.values = Random(seed), rows, values
        self.world = World()
        self.second = 0
        self.queries: dict[str, QueryId] = {}
        self.told: list[tuple[Seq, str, Answer]] = []

    def declare(self, *schemas: StreamSchema) -> None:
        for schema in schemas:
            self.world.declare(schema)

    def play(self, steps: int) -> None:
        """Declare both streams, and take so many steps with all queries."""
        self.declare(schema_keeping(name="s"), schema_keeping(name="r"))
        for _ in range(steps):
            self.step([*ONE_STREAM, *TWO_STREAMS])

    def step(self, texts: list[str]) -> None:
        """Let a batch arrive, and now and then the next of the queries, and note all answers."""
        stream = self.rng.choice(list(self.world.streams))
        self.second += self.rng.randrange(4)
        self.world.clock.advance(self.rng.choice([0, 1, SECOND_US]))
        self.world.append(stream, [self._row() for _ in range(self.rng.randrange(self.rows))])
        if len(self.queries) < len(texts):
            text = texts[len(self.queries)]
            policy = self.rng.choice(list(Materialize))
            self.queries[text] = self.world.register(text, materialize=policy)
        seq = self.world.store.results.cut().seq
        self.told += [(seq, text, self.world.invoke(one)) for text, one in self.queries.items()]

    def _row(self) -> Row:
        late = self.rng.choice([0, 0, 1, 5])
        return {
            "ts": EPOCH_US + max(0, self.second - late) * SECOND_US,
            "a": self.rng.choice([None, *range(self.values)]),
            "t": self.rng.choice([None, "", "x", "y"]),
        }


@pytest.mark.parametrize(
    "seed",
    [
        0,
        pytest.param(1, marks=pytest.mark.no_cover),
        *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12)),
    ],
)
def test_as_of_every_position_is_what_was_answered_there(seed):
    """Selections, DISTINCT, groups, orders, hops, row windows, joins: to the last id and instant, in pages too."""
    recorded = Recorded(seed, rows=9, values=7)
    recorded.play(24)
    world = recorded.world
    for seq, text, answer in recorded.told:
        limit = recorded.rng.choice([1, 3, 1_000])
        assert answer == world.invoke(recorded.queries[text], seq=seq, limit=limit), text
    # One that comes later knows as much as one that was there.
    for text in recorded.queries:
        late = world.register(text, materialize=Materialize.NONE)
        for seq, _, answer in [one for one in recorded.told if one[1] == text]:
            assert answer == world.invoke(late, seq=seq), text


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.no_cover
def test_as_of_positions_amid_chunks_is_what_was_answered_there(seed):
    """Hits, partials and composites of chunks that are whole by now, and were not then."""
    recorded = Recorded(seed, rows=2_500, values=4_000)
    recorded.play(14)
    world = recorded.world
    assert world.store.results.stream("s").rows > 4_096
    for seq, text, answer in recorded.told:
        assert answer == world.invoke(recorded.queries[text], seq=seq, limit=100_000), text


def test_as_of_with_an_instant_leaves_out_what_came_later():
    """What an earlier instant shows by the tuples of a position, and what it shows today."""
    recorded = Recorded(3, rows=9, values=7)
    recorded.declare(schema_keeping(name="s"))
    text = "SELECT a FROM s BEGIN (NOW - 20) END (NOW)"
    for _ in range(20):
        recorded.step([text])
    world, query_id = recorded.world, recorded.queries[text]
    seq, _, then = recorded.told[8]
    assert then.now_us is not None
    at_us = then.now_us - 2 * SECOND_US
    known = {ids for ids, _, _ in world.invoke(query_id, at_us=at_us, seq=seq).rows}
    today = {ids for ids, _, _ in world.invoke(query_id, at_us=at_us).rows}
    assert known < today
    assert known == {one for one in today if int(one) <= max(int(ids) for ids, _, _ in then.rows)}


def test_as_of_dated_by_arrival_is_when_the_last_tuple_came():
    """NOW at a position, where NOW is the server's clock."""
    world = World()
    world.declare(StreamSchema("s", (ColumnSchema("a", ColumnType.INT64),), None, ClockKind.SERVER))
    query_id = world.register("SELECT a FROM s BEGIN (NOW - 5) END (NOW)")
    with pytest.raises(InvalidFieldError, match="not known"):
        world.page(query_id, Request(1, seq=Seq(1)))
    seqs = []
    for number in range(4):
        world.clock.advance(3 * SECOND_US)
        seqs.append(world.append("s", [{"a": number}]).seq)
    shown = [world.invoke(query_id, seq=seq) for seq in seqs]
    assert [EPOCH_US + 3 * (n + 1) * SECOND_US for n in range(4)] == [one.now_us for one in shown]
    values = [[values for _, _, (values,) in one.rows] for one in shown]
    assert [[0], [0, 1], [1, 2], [2, 3]] == values
    later = world.invoke(query_id, at_us=EPOCH_US + 7 * SECOND_US, seq=seqs[0])
    assert [(0,)] == [values for _, _, values in later.rows]


def test_as_of_the_servers_clock_and_dated_tuples_needs_the_instant():
    """Dates of tuples do not tell how the clock stood."""
    world = World()
    world.declare(schema_keeping(clock=ClockKind.SERVER))
    query_id = world.register("SELECT a FROM s")
    row = {"ts": EPOCH_US, "a": 1, "t": None}
    seq = world.append("s", [row]).seq
    world.append("s", [row])
    with pytest.raises(InvalidFieldError, match="not known"):
        world.page(query_id, Request(1, seq=seq))
    assert 1 == len(world.invoke(query_id, at_us=EPOCH_US, seq=seq).rows)


def test_as_of_a_position_before_what_is_kept_is_refused_with_the_first_there_is():
    """Retention has passed NOW of then; the position named instead can be asked for, and none before."""
    world = World()
    world.declare(schema_keeping(time_us=10 * SECOND_US))
    query_id = world.register("SELECT a FROM s BEGIN (NOW - 5) END (NOW)")
    seqs = [
        world.append("s", [{"ts": EPOCH_US + n * SECOND_US, "a": n, "t": None}]).seq
        for n in range(30)
    ]
    with pytest.raises(SeqOutOfRangeError) as refused:
        world.page(query_id, Request(1, seq=seqs[3]))
    first: Seq = refused.value.extras["oldest"]  # type: ignore[assignment]
    assert seqs[19] == first
    assert [(19,)] == [values for _, _, values in world.invoke(query_id, seq=first).rows]
    with pytest.raises(SeqOutOfRangeError):
        world.page(query_id, Request(1, seq=Seq(first - 1)))
    with pytest.raises(NotYetVisibleError):
        world.page(query_id, Request(1, seq=Seq(seqs[-1] + 1)))


def test_as_of_a_mark_that_rows_forgotten_have_told():
    """The largest time may be of a tuple that has gone: it came before those that are kept."""
    world = World()
    world.declare(schema_keeping(rows=2))
    query_id = world.register("SELECT a FROM s")
    seqs = [
        world.append("s", [{"ts": EPOCH_US + second * SECOND_US, "a": second, "t": None}]).seq
        for second in (1, 9, 2, 3, 4)
    ]
    now = world.invoke(query_id)
    assert EPOCH_US + 9 * SECOND_US == now.now_us
    assert replace(now, seq=seqs[3], rows=now.rows[:1]) == world.invoke(query_id, seq=seqs[3])
    with pytest.raises(SeqOutOfRangeError):
        world.page(query_id, Request(1, seq=seqs[0]))
