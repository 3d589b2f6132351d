"""What is kept of joins never changes an answer: whole chunks, four policies, the twin and DuckDB beside them."""

from random import Random

import pytest

from psoup.engine.invocation.position.answer import Request
from psoup.engine.limits import CHUNK_ROWS, RETIRED_US, SECOND_US, SEGMENT_ROWS
from psoup.engine.log.operation import Materialize, QueryId
from tests.agreement.joins.world import Join, JoinWorld, drawn_join, stream
from tests.oracle_duckdb import DuckDbOracle
from tests.world import rows_of

PAIRS = (
    Join("SELECT x.n, y.n AS m FROM r AS x, s AS y WHERE x.k = y.k"),
    Join("SELECT x.n, y.n AS m FROM r AS x, s AS y WHERE x.k = y.k AND x.b AND y.i < 5"),
    Join("SELECT y.w, x.n FROM r AS x, s AS y WHERE x.k = y.k AND (x.b OR y.g > 100.0)"),
    Join("SELECT x.n, y.n AS m FROM s AS x, t AS y WHERE x.k = y.k AND x.i = y.i"),
    Join("SELECT x.n, y.n AS m FROM s AS x, t AS y WHERE x.k = y.k AND x.i <> y.i AND NOT y.b"),
    Join("SELECT x.n, y.n AS m FROM s AS x, r AS y WHERE x.w = y.w AND x.i >= 4"),
    Join("SELECT x.n, y.n AS m, x.g + y.g AS sum FROM t AS x, r AS y WHERE x.k = y.g"),
    Join("SELECT x.n, y.n AS m FROM t AS x, r AS y WHERE x.g = y.g AND x.b = y.b"),
    Join("SELECT x.n, y.n AS m FROM t AS x, s AS y WHERE ABS(x.k - y.k) < 2 AND x.i = 3"),
    Join(
        "SELECT x.n, y.n AS m FROM t AS x, s AS y WHERE x.g BETWEEN y.k - 1 AND y.k + 0.5 AND y.b"
    ),
    Join("SELECT x.n, y.n AS m FROM r AS x, t AS y WHERE x.k > y.k + 7 AND x.k < 40 AND y.k < 30"),
    Join("SELECT x.n, y.n AS m FROM r AS x, t AS y WHERE x.k < y.g AND x.k < 30 AND y.g < 20.0"),
    Join(
        "SELECT x.n, y.n AS m FROM r AS x JOIN s AS y ON x.ts BETWEEN y.ts AND y.ts + INTERVAL '2' SECOND"
        " AND x.i = y.i WHERE x.k < 400 AND y.k < 400"
    ),
    Join("SELECT DISTINCT x.i, y.i AS j FROM r AS x, s AS y WHERE x.k = y.k AND x.b"),
)
SELVES = (
    Join("SELECT x.n, y.n AS m FROM r AS x, r AS y WHERE x.k = y.k AND x.n < y.n"),
    Join("SELECT x.n, y.n AS m FROM s AS x, s AS y WHERE x.k = y.k"),
    Join("SELECT x.n FROM r AS x, r AS y, r AS z WHERE x.k = y.k AND y.w = z.w AND x.i = 1"),
)
CHAINS = (
    Join(
        "SELECT x.n, y.n AS m, z.n AS o FROM r AS x, s AS y, t AS z WHERE x.k = y.k AND y.w = z.w"
    ),
    Join(
        "SELECT x.n, z.w FROM r AS x, s AS y, t AS z WHERE x.k = y.k AND x.k = z.k AND x.b AND z.b"
    ),
    Join("SELECT x.n, z.w FROM r AS x, s AS y, t AS z WHERE x.k = y.k AND x.k = z.k AND x.i = z.i"),
    Join(
        "SELECT x.n FROM t AS x, r AS y, s AS z, r AS v WHERE x.k = y.k AND y.w = z.w AND z.k = v.k"
        " AND x.n + y.n > z.n AND v.i < 6"
    ),
)
JOINS = (*PAIRS, *SELVES, *CHAINS)

WINDOWS = (
    "",
    "",
    "BEGIN (NOW - 60) END (NOW)",
    "BEGIN (NOW - 50) END (NOW - 5)",
    "BEGIN (TIMESTAMP '2024-01-01 00:00:20') END (NOW)",
)


def windowed(rng: Random, join: Join) -> Join:
    """Return the join under some window; now and then one or both of its first two sources have their own."""
    if rng.random() < 0.3:
        entries = join.select.partition(" FROM ")[2].replace(" JOIN ", ", ").split(", ")[:2]
        ranges = tuple((" ".join(entry.split()[:3]), rng.choice([20, 60])) for entry in entries)
        if rng.random() < 0.5:
            return Join(join.select, "", ranges)
        return Join(join.select, rng.choice(WINDOWS), ranges[1:])
    return Join(join.select, rng.choice(WINDOWS))


def batches(rng: Random, rows: int) -> list[tuple[str, int]]:
    """Return batches that bring each stream so many rows, about, and end before, at and behind its chunks."""
    found: list[tuple[str, int]] = []
    for name in ("r", "s", "t"):
        left = rows + rng.choice([-500, 0, 500])
        while left > 0:
            count = rng.choice([1, 40, 1_000, 2_048, CHUNK_ROWS, CHUNK_ROWS + 1])
            found.append((name, min(count, left)))
            left -= count
    rng.shuffle(found)
    return found


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 3))])
def test_oracle_joins_over_whole_chunks_answer_alike_under_all_policies_and_as_duckdb(seed):
    """Joins come before, between and after the data, go and come again: one answer of four policies."""
    rng = Random(seed)
    with DuckDbOracle() as oracle:
        running = JoinWorld(oracle, keys=6_000, seed=seed * 10)
        sent = batches(rng, 9_000)
        chosen = rng.sample(JOINS, 10)
        standing: dict[Join, list[QueryId]] = {}
        restart, checked = rng.randrange(len(sent)), len(sent) * 2 // 3
        for number, (name, count) in enumerate(sent):
            if len(chosen) > 2 and rng.random() < 0.6:  # two of them come behind all data
                join = windowed(rng, chosen.pop())
                standing[join] = running.register(join, *Materialize)
            if number == restart:
                running.world.lose_engine()
            running.send(name, count)
            if rng.random() < 0.1 and standing:  # it goes, and comes again while others stand
                join = rng.choice(list(standing))
                for query_id in standing[join]:
                    running.world.remove(query_id)
                standing[join] = running.register(join, *Materialize)
            if number == checked and standing:
                running.settle()
                for join, handles in standing.items():
                    running.compare(join, handles)
        for join in chosen:
            standing[join] = running.register(join, *Materialize)
        running.world.check()
        running.settle()
        assert min(running.rows.values()) > 2 * CHUNK_ROWS
        found = [running.compare(join, handles) for join, handles in standing.items()]
        assert sum(found) > 5_000, found
        for join, handles in standing.items():
            running.compare(join, handles, back_us=17 * SECOND_US)


@pytest.mark.parametrize("seed", [1, 2, 3, 4, pytest.param(0, marks=pytest.mark.slow)])
def test_oracle_drawn_joins_over_whole_chunks_answer_as_duckdb(seed):
    """Any joins, before and amid the data, one stream with its own retention: the answers are DuckDB's."""
    rng = Random(seed)
    kept = [{}, {"rows": 5_000}, {"time_us": 40 * SECOND_US}, {"bytes": 200_000}][seed % 4]
    with DuckDbOracle() as oracle:
        running = JoinWorld(oracle, keys=6_000, seed=seed * 10 + 1, **kept)
        standing: dict[Join, list[QueryId]] = {}
        found = 0
        for name, count in batches(rng, 5_000):
            if rng.random() < 0.1:
                running.world.lose_engine()
            if rng.random() < 0.5:
                join = windowed(rng, Join(drawn_join(rng)))
                standing[join] = running.register(join, Materialize.COMPLETE, Materialize.AUTO)
            running.send(name, count)
        running.world.check()
        assert running.world.store.results.checkpoint().composites, (
            "the case is the one it claims to be"
        )
        running.settle()
        for join, handles in standing.items():
            found += running.compare(join, handles)
        assert found > 1_000


def test_oracle_join_of_a_dropped_stream_goes_and_the_others_stay():
    """A stream goes with the joins that read it and all that was found for them; it may come again, empty."""
    with DuckDbOracle() as oracle:
        running = JoinWorld(oracle, keys=6_000, seed=2)
        gone = [running.register(join, Materialize.COMPLETE)[0] for join in (PAIRS[0], CHAINS[0])]
        (kept,) = running.register(SELVES[0], Materialize.COMPLETE)
        for name in ("r", "s", "t", "r"):
            running.send(name, CHUNK_ROWS + 50)
        running.world.drop("s", queries=gone)
        running.world.declare(stream("s"))
        (late,) = running.register(PAIRS[0], Materialize.COMPLETE)
        running.world.check()
        keys = running.world.store.results.checkpoint().composites
        assert 1 == len({group for group, *_ in keys}), (
            "only what the self-join found is still there"
        )
        running.settle()
        assert running.compare(SELVES[0], [kept]) > 1_000
        assert running.compare(PAIRS[0], [late]) == 0
        running.rows["s"] = running.rows["r"]
        running.send("s", 2 * CHUNK_ROWS)
        running.settle()
        assert running.compare(PAIRS[0], [late]) > 1_000


def test_oracle_joins_while_segments_are_dropped_answer_as_duckdb():
    """One stream's segments leave retention and are dropped, with their composites: the answers follow."""
    rng = Random(11)
    kept = SEGMENT_ROWS + 5_000
    joins = [
        Join("SELECT x.n, y.n AS m FROM r AS x, s AS y WHERE x.k = y.k AND x.k < 9000"),
        Join("SELECT x.n, y.n AS m FROM r AS x, s AS y WHERE x.k = y.k AND y.b"),
        Join("SELECT x.n FROM s AS x, r AS y, t AS z WHERE x.k = y.k AND y.k = z.k AND y.i < 6"),
        Join("SELECT x.n, y.n AS m FROM r AS x, r AS y WHERE x.k = y.k AND x.n < y.n AND x.i = 2"),
    ]
    with DuckDbOracle() as oracle:
        running = JoinWorld(oracle, keys=30_000, seed=77, rows=kept)
        running.step_us = 1_000
        running.send("s", 5_000)
        standing = [(join, running.register(join, *Materialize)) for join in joins[:3]]
        running.send("t", 5_000)
        for turn in range(8):
            running.send("r", 23_001)
            running.send("s", rng.choice([100, 1_500]))
            running.world.clock.advance(RETIRED_US // 2)
            running.world.tick()
            running.world.check()
            if turn == 4:
                standing += [(join, running.register(join, *Materialize)) for join in joins]
                running.world.lose_engine()
            if turn in {5, 7}:
                running.settle()
                for join, handles in standing:
                    assert running.compare(join, handles) > 50
        record = running.world.store.results.stream("r")
        assert record.dropped_row >= SEGMENT_ROWS, "the case is the one it claims to be"


@pytest.mark.parametrize("policy", list(Materialize))
def test_oracle_pages_of_a_join_belong_to_one_position_while_chunks_fill(policy):
    """A reader turns pages while tuples come, chunks fill and the engine restarts: it reads the answer it began."""
    with DuckDbOracle() as oracle:
        running = JoinWorld(oracle, keys=4_000, seed=5)
        joins = [Join(PAIRS[0].select, "BEGIN (NOW - 60) END (NOW)"), CHAINS[0], SELVES[0]]
        handles = [running.register(join, policy)[0] for join in joins]
        for name, count in (("r", 4_000), ("s", CHUNK_ROWS), ("t", 3_000)):
            running.send(name, count)
        running.settle()
        readers = []
        for join, query_id in zip(joins, handles, strict=True):
            expected = running.expected(join, query_id, None)
            page = running.world.page(query_id, Request(100))
            readers.append((query_id, expected, rows_of(page), page.next))
        for name, count in (("r", 200), ("s", 4_000), ("t", 1_096), ("r", 5_000)):
            running.send(name, count)
            turned = []
            for query_id, expected, rows, position in readers:
                assert position is not None, "there is more to read"
                page = running.world.page(query_id, Request(80, position=position))
                turned.append((query_id, expected, rows + rows_of(page), page.next))
                assert list(expected.rows[: len(rows)]) == rows
            readers = turned
            if name == "s":
                running.world.lose_engine()
        for query_id, expected, rows, position in readers:
            assert position is not None, "there is more to read"
            page = running.world.page(query_id, Request(100_000, position=position))
            assert list(expected.rows) == rows + rows_of(page)
            assert (None, len(expected.rows)) == (page.next, page.count)


def test_oracle_clauses_of_one_group_answer_as_each_of_them_alone():
    """Clauses that share FROM and join factors are joined once, and each finds what it finds by itself."""
    joined = "SELECT x.n, y.n AS m FROM r AS x, s AS y WHERE x.k = y.k"
    texts = [
        f"{joined} AND {one}" for one in ("x.i = 1", "x.b", "y.i > 4", "x.i < y.i", "x.w < y.w")
    ]
    texts += [joined, f"{joined} AND x.i = 1 AND y.b", f"{joined} AND x.k < 100 AND y.g IS NULL"]
    sent = [("r", 3_000), ("s", 5_000), ("r", 2_500), ("s", 4_000), ("r", 4_000)]
    with DuckDbOracle() as oracle:
        together = JoinWorld(oracle, keys=3_000, seed=9)
        handles = {}
        for number, (name, count) in enumerate(sent):
            for text in texts[number :: len(sent)]:
                handles[text] = together.register(Join(text), Materialize.COMPLETE)[0]
            together.send(name, count)
        for text in texts:
            alone = JoinWorld(oracle, keys=3_000, seed=9)
            (query_id,) = alone.register(Join(text), Materialize.COMPLETE)
            for name, count in sent:
                alone.send(name, count)
            expected = alone.world.invoke(query_id, limit=100_000).rows
            assert expected == together.world.invoke(handles[text], limit=100_000).rows, text
            assert expected
