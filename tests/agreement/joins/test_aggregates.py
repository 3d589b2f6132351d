"""Aggregates over joins whose composites are not made: bit for bit those of composites, and as DuckDB has them."""

import math
import threading
from random import Random
from typing import Any

import pytest

from psoup.engine.aggregates.aggregated import GROUPS_AT_ONCE
from psoup.engine.invocation.cache import InvocationCache
from psoup.engine.invocation.position.answer import Answer, Request
from psoup.engine.invocation.several_streams import join_finding
from psoup.engine.invocation.shaped import grouped_invocation, partnered_groups
from psoup.engine.invoke import invoke
from psoup.engine.joins import clause_join
from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import Materialize, QueryId
from psoup.engine.query.bind.bound_queries import BoundQueries
from psoup.engine.sources.cached_tuples import CachedTuples
from tests.agreement.joins.world import Join, JoinWorld
from tests.engine.aggregates.reference import bits
from tests.oracle_duckdb import DuckDbOracle

ROWS = {"r": 4_700, "s": 4_300, "t": 900}
TIES = [
    "x.k = y.k",
    "x.k = y.k AND x.i = y.i",
    "x.w = y.w",
    "x.g = y.g AND y.b",
    "x.k = y.g",
    "x.k = y.k AND x.ts BETWEEN y.ts AND y.ts + INTERVAL '5' SECOND",
    "x.ts BETWEEN y.ts AND y.ts + INTERVAL '0.1' SECOND",
    "ABS(x.n - y.n) <= 3 AND x.i > 2",
    "x.k < y.k AND x.i = 1 AND x.n < 900 AND y.i = 2",
    "x.i = y.i AND x.k <= y.k AND x.b AND y.n < 600",
    "x.g > y.g AND x.n < 300 AND y.n > 4000",
    "x.k = y.k AND x.n < y.n AND x.k <> y.i",
    "x.k = y.k AND (x.b OR y.b)",
]
"""The last ones cannot be told by spans."""
THIRDS = ["x.k = z.k", "y.k = z.k", "x.w = z.w AND z.i < 4", "x.i = z.i AND z.n < 20"]
KEYS = ["{0}.i", "{0}.w", "{0}.b", "{0}.i % 3", "{0}.k", "DATE_TRUNC('minute', {0}.ts)"]
CALLS = [
    "COUNT({0}.g)",
    "SUM({0}.g)",
    "SUM({0}.g / 3)",
    "SUM({0}.n)",
    "AVG({0}.g)",
    "AVG({0}.i)",
    "MIN({0}.g)",
    "MAX({0}.w)",
    "MIN({0}.ts)",
    "BOOL_AND({0}.b)",
    "BOOL_OR({0}.b)",
    "SUM({0}.g) FILTER (WHERE {0}.i > 3)",
    "COUNT(*) FILTER (WHERE {0}.b)",
]
RARE = [
    "COUNT(DISTINCT {0}.w)",
    "SUM(DISTINCT {0}.i)",
    "MEDIAN({0}.n)",
    "VAR_POP({0}.i)",
    "LAST({0}.w)",
]
WINDOWS = ["", "BEGIN (NOW - 120) END (NOW)", "BEGIN (NOW - 60) END (NOW - 2)"]
QUERIES = 60


def drawn(rng: Random) -> Join:
    """Return groups of a join of two streams or three: keys mostly of one, aggregates of each."""
    aliases = "xyz" if rng.random() < 0.2 else "xy"
    conditions = [rng.choice(TIES), *(rng.choice(THIRDS) for _ in aliases[2:])]
    sources = [f"{name} AS {alias}" for name, alias in zip(rng.sample("rst", 3), aliases)]  # noqa: B905
    own = rng.choice(aliases)
    keys = [rng.choice(KEYS).format(own) for _ in range(rng.choice([0, 0, 1, 1, 2]))]
    if keys and rng.random() < 0.2:
        keys.append(f"{rng.choice(aliases)}.{rng.choice('kw')}")
    calls = [rng.choice(CALLS).format(rng.choice(aliases)) for _ in range(rng.randrange(1, 5))]
    if rng.random() < 0.15:
        calls.append(rng.choice(RARE).format(own))
    calls.append("COUNT(*)")
    listed = [f"{key} AS k{at}" for at, key in enumerate(keys)]
    listed += [f"{call} AS a{at}" for at, call in enumerate(calls)]
    text = f"SELECT {', '.join(listed)} FROM {', '.join(sources)} WHERE {' AND '.join(conditions)}"
    text += f" GROUP BY {', '.join(keys)}" if keys else ""
    if rng.random() < 0.2:
        return Join(text, rng.choice(WINDOWS), ((sources[0], 90),))
    return Join(text, rng.choice(WINDOWS))


@pytest.fixture(scope="module")
def joins():
    with DuckDbOracle() as oracle:
        world = JoinWorld(oracle, keys=400, seed=3)
        world.step_us = 40_000
        for name, count in ROWS.items():
            world.send(name, count)
        world.settle()
        yield world


class Ways:
    """Both ways to groups of a join: which one an answer went, and how to keep it from composites that are not made."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.over_pairs, self.partnered, self.all = False, 0, 0
        self._way: Any = vars(grouped_invocation)["groups_of_partners"]
        patch.setattr(grouped_invocation, "groups_of_partners", self._groups)

    def _groups(self, *given: Any) -> Any:
        if self.over_pairs:
            return None
        found = self._way(*given)
        self.all += 1
        self.partnered += found is not None
        return found


def asked(world: JoinWorld, query_id: QueryId, source: Any, *, at_us: int | None) -> Answer:
    """Return an answer, with nothing kept of earlier ones."""
    return invoke(
        world.world.store.results,
        source,
        query_id=query_id,
        request=Request(1_000_000, now_us=at_us),
        cache=InvocationCache(BoundQueries()),
    )


def told(answer: Answer) -> list[Any]:
    """Return everything that an answer says, so that floats are equal iff their bits are."""
    columns = [(name, bits(column.to_list())) for name, column in answer.columns]
    assert answer.row_ids is not None
    leaves = None if answer.leaves_us is None else answer.leaves_us.tolist()
    ids = answer.row_ids.tolist()
    said = (answer.count, answer.changes_us, answer.state, answer.overflowed, answer.stands)
    return [columns, leaves, ids, said]


def assert_as_duckdb(world: JoinWorld, join: Join, answer: Answer) -> None:
    """Compare with DuckDB, whose sums of DOUBLEs are rounded at each step."""
    reference = world.reference.ask(answer.query.query_id, server_now_us=0, at_us=answer.now_us)
    assert reference is not None
    spans = [
        (begin_us, reference.now_us if end_us is None else min(end_us, reference.now_us))
        for begin_us, end_us in reference.spans
    ]
    theirs = sorted(world.oracle.distinct_join(join.select, spans), key=repr)
    columns = [column.to_list() for _, column in answer.columns]
    ours = sorted(zip(*columns, strict=True), key=repr)
    assert len(theirs) == len(ours), join.sql
    for one, other in zip(theirs, ours, strict=True):
        for value, given in zip(one, other, strict=True):
            if isinstance(given, float):
                assert isinstance(value, float)
                assert math.isclose(value, given, rel_tol=1e-9, abs_tol=1e-9), (
                    join.sql,
                    one,
                    other,
                )
            else:
                assert value == given, (join.sql, one, other)


def test_oracle_groups_of_a_join_that_are_not_made_of_its_composites_are_those_that_are(
    joins, monkeypatch
):
    """Drawn joins, keys, aggregates, windows and policies; by memory and by the log in pieces, at NOW and before it."""
    rng, ways, world = Random(1), Ways(monkeypatch), joins.world
    cached = CachedTuples(world.store.results, world.store.log, make_lock=threading.Lock)
    for number in range(QUERIES):
        join = drawn(rng)
        (query_id,) = joins.register(join, rng.choice(list(Materialize)))
        at_us = None
        joins.settle()
        if number % 3 == 2:
            newest_us = joins.reference.now_us(query_id, world.clock.now_us())
            at_us = newest_us - 7 * SECOND_US
        answers = []
        for over_pairs, source, groups_at_once in (
            (True, world.engine.source, GROUPS_AT_ONCE),
            (False, world.engine.source, GROUPS_AT_ONCE),
            (False, cached, 7),
        ):
            ways.over_pairs = over_pairs
            monkeypatch.setattr(partnered_groups, "GROUPS_AT_ONCE", groups_at_once)
            answers.append(asked(joins, query_id, source, at_us=at_us))
        expected, found, by_log = map(told, answers)
        assert expected == found == by_log, join.sql
        if number % 3 == 0 and "LAST(" not in join.select:  # by time, which DuckDB knows nothing of
            assert_as_duckdb(joins, join, answers[1])
        world.remove(query_id)
    assert 0.3 * ways.all < ways.partnered < 0.9 * ways.all


def test_groups_of_more_composites_than_an_answer_may_have_go_on_by_a_full_answer(
    joins, monkeypatch
):
    """What entered is too much to be listed, the groups are not: a client that comes back gets all of them."""
    world = joins.world
    query_id = world.register(
        "SELECT x.i, COUNT(*) AS many, SUM(y.n) AS total FROM r AS x, s AS y WHERE x.k = y.k GROUP BY x.i",
        materialize=Materialize.NONE,
    )
    since = world.page(query_id, Request(100)).stands
    joins.send("r", 50)
    for module in (clause_join, join_finding):
        monkeypatch.setattr(module, "JOIN_ANSWER_ROWS_MAX", 100)
    full, later = (world.page(query_id, Request(100, since=one)) for one in (None, since))
    assert full.count > 5
    assert later.reset
    assert told(full) == told(later)


def test_keys_are_of_their_own_stream_where_equal_numbers_are_other_texts(joins, monkeypatch):
    """-0.0 of one stream meets 0.0 of the other: a CAST of the one is no CAST of the other."""
    ways, zeros = Ways(monkeypatch), JoinWorld(joins.oracle, keys=1, seed=3)
    zeros.send("r", 600)
    zeros.send("s", 20)
    query_id = zeros.world.register(
        "SELECT CAST(x.g AS VARCHAR) AS text, y.i, COUNT(*) AS many FROM r AS x, s AS y WHERE x.g = y.g"
        " GROUP BY CAST(x.g AS VARCHAR), y.i",
        materialize=Materialize.NONE,
    )
    found = asked(zeros, query_id, zeros.world.engine.source, at_us=None)
    ways.over_pairs = True
    expected = asked(zeros, query_id, zeros.world.engine.source, at_us=None)
    assert told(expected) == told(found)
    assert "-0.0" in dict(found.columns)["text"].to_list()


def test_pages_of_composites_are_looked_at_once_for_groups(joins, monkeypatch):
    """To compare their number with that of the rows, and to answer of them."""
    looked, grown = list[Any](), vars(join_finding)["grown"]

    def look(*given: Any, **named: Any) -> Any:
        looked.append(grown(*given, **named))
        return looked[-1]

    monkeypatch.setattr(join_finding, "grown", look)
    query_id = joins.world.register(
        "SELECT x.i, COUNT(*) AS many FROM r AS x, s AS y WHERE x.n = y.n GROUP BY x.i",
        materialize=Materialize.COMPLETE,
    )
    assert asked(joins, query_id, joins.world.engine.source, at_us=None).count
    assert [4_096] == list(map(len, looked))
