"""Groups: many clauses joined at once answer as each does alone, whoever has come and gone before."""

from random import Random

import numpy as np
import pytest

from psoup.engine.clauses import join_group
from psoup.engine.clauses.join_group import JoinGroup
from psoup.engine.clauses.join_groups import JoinGroups
from psoup.engine.joins import side as join_side
from psoup.engine.joins.clause_join import joining
from psoup.engine.joins.join import Join
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.query.join_shape import JoinPlan, shape_of
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import Keeping
from psoup.engine.tuples.lineage import Slot
from psoup.engine.tuples.schema import StreamId
from tests.engine.joins.folds import Tables, row, rows_drawn, sparse

TIED = "SELECT x.i FROM r AS x, s AS y WHERE x.i = y.i"
SINGLE = ["x.t = 'a'", "x.f >= 0.5", "y.b", "y.t LIKE '%b'", "y.f IS NULL", "x.i = 2", "NOT x.b"]
ACROSS = [
    "(x.t = 'a' OR y.t = 'a')",
    "x.ts + INTERVAL '1' DAY > y.ts AND (x.b OR y.b)",
    "(x.f > 1 OR y.b)",
]


def where_drawn(rng):
    """Draw what a clause asks besides the join factor: of single sources, of composites, both, nothing."""
    asked = rng.sample(SINGLE, rng.randrange(3)) + rng.sample(ACROSS[::2], rng.choice([0, 0, 1]))
    asked.append(f"(x.i <> {rng.randrange(9)} OR x.b)" if rng.random() < 0.2 else "x.i >= 0")
    return " AND ".join(asked)


def world(rng, *, chunks=2):
    tables = Tables("r", "s")
    for name in ("r", "s"):
        tables.send(name, sparse(rng, chunks * CHUNK_ROWS, rows_drawn(rng, 25 * chunks, keys=9)))
        tables.send(name, rows_drawn(rng, 5, keys=9))
    return tables


def found_by(group, tables, *, fresh=0):
    """Return what each clause of a group finds in all whole chunks, by clause id; read off its pages."""
    spans = [len(rows) // CHUNK_ROWS * CHUNK_ROWS for rows in tables.rows.values()]
    sides = [
        group.side(source, tables.stem(stream_id), 0, spans[stream_id - 1], group.everyone)
        for source, stream_id in enumerate(group.shape.streams)
    ]
    join = Join(group.shape, sides, group.conditions(), group.counts, steps_max=10**9)
    found: dict[int, set[tuple[int, ...]]] = {}
    for some in join.run(group.shape.steps({fresh}), fresh=fresh):
        assert some.words is not None
        for begin in range(0, some.rows.shape[1], CHUNK_ROWS):
            part = slice(begin, begin + CHUNK_ROWS)
            rows, words = some.rows[:, part], some.words[part]
            times = np.zeros(rows.shape[1], dtype=np.int64)
            page = group.page(rows, words, times, times)
            page.check()
            for clause_id, _ in page.block.pages():
                places = page.places(clause_id)
                found.setdefault(clause_id, set()).update(map(tuple, rows[:, places].T.tolist()))
    return found


def alone(tables, sql):
    clause = tables.clause(sql)
    return set(
        map(
            tuple,
            joining(tables.stem, JoinPlan(clause), tables.spans(clause, whole=True)).T.tolist(),
        )
    )


@pytest.mark.parametrize(
    ("direct_rows", "fresh"),
    [
        (0, 0),
        (join_side.DIRECT_ROWS_MAX, 1),
        pytest.param(0, 1, marks=pytest.mark.slow),
        pytest.param(join_side.DIRECT_ROWS_MAX, 0, marks=pytest.mark.slow),
    ],
)
def test_join_group_of_130_clauses_oracle_finds_for_each_what_it_finds_alone(
    monkeypatch, direct_rows, fresh
):
    """Words are three wide; clauses share factors over single sources and over composites."""
    monkeypatch.setattr(join_side, "DIRECT_ROWS_MAX", direct_rows)
    rng = Random(fresh)
    tables = world(rng)
    group = JoinGroup(ClauseId(7), shape_of(tables.clause(TIED)))
    wheres = [where_drawn(rng) for _ in range(130)]
    for number, where in enumerate(wheres):
        clause = tables.clause(f"{TIED} AND {where}")
        group.build(ClauseId(1_000 + number), clause, Keeping.SMALLER)
    group.check()
    assert 3 == len(group.everyone)
    found = found_by(group, tables, fresh=fresh)
    for number, where in enumerate(wheres):
        assert alone(tables, f"{TIED} AND {where}") == found.get(1_000 + number, set()), where
    clause = tables.clause(f"{TIED} AND {wheres[0]}")
    assert tables.expected(clause, tables.spans(clause, whole=True)) == found.get(1_000, set())
    assert sum(map(bool, found.values())) > 50


def test_join_group_under_changes_oracle_gives_slots_away_clean():
    """Clauses come and go; whoever gets a slot finds what it finds alone, and nobody else's."""
    rng = Random(9)
    tables = world(rng, chunks=1)
    group = JoinGroup(ClauseId(7), shape_of(tables.clause(TIED)))
    standing: dict[int, str] = {}
    numbers = iter(range(100, 1_000))
    for turn in range(90):
        if standing and rng.random() < 0.45:
            gone = rng.choice(list(standing))
            group.evict(ClauseId(gone))
            del standing[gone]
        else:
            number, where = next(numbers), where_drawn(rng)
            group.build(ClauseId(number), tables.clause(f"{TIED} AND {where}"), Keeping.SMALLER)
            standing[number] = where
        group.check()
        assert len(standing) == len(group)
        if turn % 15 == 14:
            found = found_by(group, tables)
            assert found.keys() <= standing.keys()
            for number, where in standing.items():
                assert alone(tables, f"{TIED} AND {where}") == found.get(number, set()), where
    slots = {
        int(np.flatnonzero(np.unpackbits(group.bits([ClauseId(n)]).view(np.uint8))).size)
        for n in standing
    }
    assert {1} == slots
    assert sorted(standing) == sorted(group.clauses_of(group.everyone))
    assert 1 == len(group.everyone), "slots are dense"


def test_join_group_settles_an_expression_over_composites_once_for_all():
    """Two clauses with one condition: it is evaluated for each composite that either asks about, once."""
    tables = Tables("r", "s")
    for name in ("r", "s"):
        some = [row(i=n % 4, t="ab"[n % 2], f=float(n)) for n in range(8)]
        tables.send(name, some + [row()] * (CHUNK_ROWS - 8))
    group = JoinGroup(ClauseId(7), shape_of(tables.clause(TIED)))
    condition = "(x.f > 3 OR y.f > 3)"
    for number, more in enumerate([condition, f"{condition} AND x.t = 'a'", "x.t = 'b'"]):
        group.build(ClauseId(number), tables.clause(f"{TIED} AND {more}"), Keeping.SMALLER)
    (one,) = group.conditions()
    assert {0, 1} == one.sources
    found = found_by(group, tables)
    assert (16, 12) == (one.seen, one.left)
    assert [12, 6, 8] == [len(found[number]) for number in range(3)]
    assert 0.75 == one.selectivity
    group.evict(ClauseId(0))
    group.evict(ClauseId(1))
    assert [] == group.conditions()


def test_join_group_of_clauses_that_ask_nothing_of_a_source_takes_all_its_rows():
    """Lineage of a source that nobody asks anything of is everybody's."""
    tables = world(Random(3), chunks=1)
    group = JoinGroup(ClauseId(7), shape_of(tables.clause(TIED)))
    group.build(ClauseId(1), tables.clause(f"{TIED} AND x.b"), Keeping.SMALLER)
    sides = [
        group.side(source, tables.stem(StreamId(source + 1)), 0, CHUNK_ROWS, group.everyone)
        for source in (0, 1)
    ]
    assert [CHUNK_ROWS] * 2 == [side.weight for side in sides]
    true = [n for n, one in enumerate(tables.rows["r"][:CHUNK_ROWS]) if one["b"]]
    assert true == sides[0].all().rows.tolist()
    assert CHUNK_ROWS == len(sides[1].all())
    nobody = group.side(0, tables.stem(StreamId(1)), 0, CHUNK_ROWS, group.everyone ^ group.everyone)
    assert 0 == len(nobody.all())


@pytest.mark.parametrize("count", [1, 255, 256])
def test_join_group_page_of_few_composites_is_listed_as_it_is_gathered(monkeypatch, count):
    """Clauses with many of them, with some and with none, their slots in another order than they are."""
    tables = Tables("r", "s")
    group = JoinGroup(ClauseId(7), shape_of(tables.clause(TIED)))
    for number in [*range(5, 75), 3]:
        if number > 70:
            group.evict(ClauseId(number - 60))
        group.build(ClauseId(number), tables.clause(f"{TIED} AND x.i > {number}"), Keeping.SMALLER)
    rng = np.random.default_rng(count)
    words = rng.integers(1, 2**63, (count, 2)).astype(np.uint64) & group.everyone
    words &= ~group.bits([ClauseId(30), ClauseId(31)])
    rows, times = np.zeros((2, count), dtype=np.int64), np.arange(count)
    listed = group.page(rows, words, times, times).block
    monkeypatch.setattr(join_group, "LIST_ROWS_MAX", 0)
    gathered = group.page(rows, words, times, times).block
    for name in ("clause_ids", "forms", "counts", "places", "offsets", "bitmaps"):
        one, other = getattr(listed, name), getattr(gathered, name)
        assert one.dtype == other.dtype, name
        assert np.array_equal(one, other), name
    assert len(listed)


def test_join_group_over_texts_that_are_all_null_finds_none():
    """A column without a text is asked for one, by an index and by an expression."""
    tables = Tables("r", "s")
    for name in ("r", "s"):
        tables.send(name, [row(i=1)] * 5 + [row()] * (CHUNK_ROWS - 5))
    group = JoinGroup(ClauseId(7), shape_of(tables.clause(TIED)))
    for number, more in enumerate(["x.t = 'a'", "x.t LIKE '%a'", "x.t IS NULL AND y.i = 1"]):
        group.build(ClauseId(number), tables.clause(f"{TIED} AND {more}"), Keeping.SMALLER)
    found = found_by(group, tables)
    assert {2: 25} == {clause_id: len(rows) for clause_id, rows in found.items()}


@pytest.mark.parametrize("damage", ["ids", "free", "condition", "side"])
def test_join_group_check_notices_what_does_not_agree(damage):
    """Slots, sides and conditions are compared with the clauses."""
    tables = Tables("r", "s")
    group = JoinGroup(ClauseId(7), shape_of(tables.clause(TIED)))
    for number in range(3):
        clause = tables.clause(f"{TIED} AND x.i = {number} AND (x.b OR y.b)")
        group.build(ClauseId(number), clause, Keeping.SMALLER)
    group.evict(ClauseId(1))
    group.check()
    match damage:
        case "ids":
            group._ids[0] = 77
        case "free":
            group._free.clear()
        case "condition":
            group._conditions.clear()
        case _:
            group._sources[0].evict(Slot(0))
            group._sources[0].build(Slot(5), tables.clause("SELECT i FROM r WHERE i = 1"))
            group._sources[0]._own[Slot(0)] = group._sources[0]._own.pop(Slot(5))
    with pytest.raises(AssertionError):
        group.check()


# --- All groups -----------------------------------------------------------------------------------


def test_join_groups_take_clauses_of_one_shape_together():
    """The first clause names the group; with the last one it goes, and the next is another."""
    tables, groups = Tables("r", "s"), JoinGroups()
    one, other = tables.clause(TIED), tables.clause(f"{TIED} AND x.b")
    turned = tables.clause("SELECT x.i FROM s AS x, r AS y WHERE x.i = y.i")
    assert groups.fitting(one) is None
    groups.build(ClauseId(3), one, ClauseId(3), Keeping.SMALLER)
    assert ClauseId(3) == groups.fitting(other)
    assert groups.fitting(turned) is None
    groups.build(ClauseId(4), other, ClauseId(3), Keeping.SMALLER)
    groups.build(ClauseId(5), turned, ClauseId(5), Keeping.SMALLER)
    groups.check()
    assert (3, [3, 5]) == (len(groups), [group.group_id for group in groups])
    assert groups.of_clause(ClauseId(3)) is groups.of_clause(ClauseId(4))
    with pytest.raises(AssertionError):
        groups.build(ClauseId(6), other, ClauseId(6), Keeping.SMALLER)
    groups.evict(ClauseId(3))
    assert ClauseId(3) == groups.fitting(one), "it keeps its name"
    groups.evict(ClauseId(4))
    groups.evict(ClauseId(4))
    assert groups.fitting(one) is None
    groups.check()
    assert 1 == len(groups)


def test_join_groups_are_entered_at_each_place_of_a_stream():
    """A stream that stands twice in FROM enters twice, in order."""
    tables, groups = Tables("r", "s"), JoinGroups()
    own = "SELECT x.i FROM r AS x, s AS y, r AS z WHERE x.i = y.i AND y.t = z.t"
    groups.build(ClauseId(3), tables.clause(own), ClauseId(3), Keeping.SMALLER)
    groups.build(ClauseId(4), tables.clause(TIED), ClauseId(4), Keeping.SMALLER)
    places = {
        stream: [(group.group_id, place) for group, place in groups.entered_by(StreamId(stream))]
        for stream in (1, 2, 3)
    }
    assert {1: [(3, 0), (3, 2), (4, 0)], 2: [(3, 1), (4, 1)], 3: []} == places
