"""Sides of a join: rows that may be taken, from spans, through indexes, and with their lineage."""

from random import Random

import numpy as np
import pytest

from psoup.engine.data.join_keys import key_of
from psoup.engine.data.source import DatedRows
from psoup.engine.errors import PageExpiredError
from psoup.engine.joins import side as join_side
from psoup.engine.joins.link import lookup_of
from psoup.engine.joins.side import ClauseSide, GroupSide, Taken, lightest
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.query.join_shape import shape_of, sides_of
from psoup.engine.query.values.expression import ColumnRef
from tests.engine.joins.folds import FOREVER, Tables, row, rows_drawn, sparse

SQL = "SELECT x.i FROM r AS x, s AS y WHERE {} AND y.i >= 0"
TIES = ["x.i = y.i", "x.t = y.t AND x.f = y.f", "x.i <= y.i", "ABS(x.i - y.i) < 2 AND x.b = y.b"]


def world(seed, chunks=3):
    rng, tables = Random(seed), Tables("r", "s")
    tables.send("r", rows_drawn(rng, 3))
    tables.send("s", sparse(rng, chunks * CHUNK_ROWS, rows_drawn(rng, 200)))
    tables.send("s", rows_drawn(rng, 9))
    return rng, tables


def matching(tables, first, past, begin_us=-FOREVER, end_us=FOREVER):
    """Return the rows of `s` that satisfy its factor, within a span."""
    return [
        number
        for number, one in enumerate(tables.rows["s"])
        if first <= number < past
        and begin_us <= one["ts"] <= end_us
        and one["i"] is not None
        and one["i"] >= 0
    ]


def asking(tables, clause):
    """Return all rows of `r`, as they ask `s`."""
    rows = np.arange(len(tables.rows["r"]))
    return Taken(tables.stem(clause.sources[0].stream_id), rows, None)


def candidates(side, tie, asking, count=None):
    """Return what a side offers to rows that ask for partners, of which it is told how many there are."""
    return side.candidates(key_of(tie, 1), count or len(asking), lambda: lookup_of(tie, asking))


@pytest.mark.parametrize("tie", TIES)
@pytest.mark.parametrize("direct_rows", [0, 10**9])
def test_clause_side_of_any_span_oracle_offers_at_least_what_matches(monkeypatch, tie, direct_rows):
    """All that satisfy the factor in rows and time; candidates are among them, and all partners among these."""
    monkeypatch.setattr(join_side, "DIRECT_ROWS_MAX", direct_rows)
    rng, tables = world(1)
    clause = tables.clause(SQL.format(tie))
    side_clause, made = sides_of(clause)[1], shape_of(clause).tie((0, 1))
    stem = tables.stem(clause.sources[1].stream_id)
    one = asking(tables, clause)
    for _ in range(8):
        first, past = sorted(rng.randrange(stem.past_row + 1) for _ in range(2))
        begin_us, end_us = rng.choice([(None, FOREVER), (3, FOREVER), (None, 4), (2, 6)])
        span = DatedRows(clause.sources[1].stream_id, first, past, begin_us, end_us)
        side = ClauseSide(stem, side_clause, span)
        expected = matching(tables, first, past, -FOREVER if begin_us is None else begin_us, end_us)
        assert expected == side.all().rows.tolist()
        assert len(expected) == side.weight
        found = candidates(side, made, one).rows.tolist()
        assert len(found) == len(set(found))
        assert set(found) <= set(expected)
        whole = DatedRows(clause.sources[0].stream_id, 0, len(one), None, FOREVER)
        partners = {pair[1] for pair in tables.expected(clause, [whole, span])}
        assert partners <= set(found)


def test_clause_side_passes_over_chunks_in_which_nothing_may_be_taken(monkeypatch):
    """What lies between them is found, and nothing else."""
    monkeypatch.setattr(join_side, "DIRECT_ROWS_MAX", 0)
    tables = Tables("r", "s")
    tables.send("r", [row(i=1)])
    some = [row(i=1)] * 5 + [row()] * (CHUNK_ROWS - 5)
    tables.send("s", [*[row()] * CHUNK_ROWS, *some, *[row()] * CHUNK_ROWS])
    clause = tables.clause(SQL.format("x.i = y.i"))
    tie, stem = shape_of(clause).tie((0, 1)), tables.stem(clause.sources[1].stream_id)
    side = ClauseSide(stem, sides_of(clause)[1], tables.spans(clause)[1])
    found = candidates(side, tie, asking(tables, clause))
    assert list(range(CHUNK_ROWS, CHUNK_ROWS + 5)) == sorted(found.rows.tolist())


@pytest.mark.parametrize(
    ("direct_rows", "count", "is_direct"),
    [(0, 10**9, False), (10**9, 3, False), (10**9, 10**9, True)],
)
def test_group_side_gives_candidates_the_lineage_that_they_are_admitted_with(
    monkeypatch, direct_rows, count, is_direct
):
    """Rows without a bit of an alive clause are left out; where all are admitted, each has all alive bits.

    Those that match nothing are not, where there are many rows, or few ask.
    """
    monkeypatch.setattr(join_side, "DIRECT_ROWS_MAX", direct_rows)
    _, tables = world(2)
    clause = tables.clause(SQL.format("x.i = y.i"))
    tie, stem = shape_of(clause).tie((0, 1)), tables.stem(clause.sources[1].stream_id)
    alive = np.array([0b0110], dtype=np.uint64)
    some = GroupSide(stem, lambda rows: (rows % 16).astype(np.uint64)[:, None], alive, 9, 8_000)
    found = candidates(some, tie, asking(tables, clause), count)
    assert found.words is not None
    for number, bits in zip(found.rows.tolist(), found.words[:, 0].tolist(), strict=True):
        assert 0 != bits == number % 16 & 0b0110
        assert 9 <= number < 8_000
    wanted = {one["i"] for one in tables.rows["r"]} - {None}
    expected = {
        number
        for number, one in enumerate(tables.rows["s"][:8_000])
        if number >= 9 and number % 16 & 0b0110 and one["i"] in wanted
    }
    assert expected <= set(found.rows.tolist())
    assert is_direct or expected == set(found.rows.tolist())
    every = GroupSide(stem, lambda _: None, alive, 9, 20)
    assert [[6]] * 11 == every.all().words.tolist()  # type: ignore[union-attr]
    assert 0 == len(GroupSide(stem, lambda _: None, alive, 20, 9).all())


def test_taken_rows_read_their_columns_once_and_take_them_along():
    """Values at rows in any order; a part of them has what was read."""
    _, tables = world(3)
    clause = tables.clause(SQL.format("x.i = y.i AND x.t = y.t"))
    stem = tables.stem(clause.sources[1].stream_id)
    rows = np.array([CHUNK_ROWS * 3 + 2, 7, CHUNK_ROWS, 1])
    taken = Taken(stem, rows, np.arange(4, dtype=np.uint64)[:, None])
    ties = shape_of(clause).tie((0, 1)).equal
    refs = [ref for _, ref in ties if isinstance(ref, ColumnRef)]
    assert 2 == len(refs)
    for ref in refs:
        column = taken.column(ref)
        assert [tables.rows["s"][number][ref.name] for number in rows] == column.to_list()
        assert column is taken.column(ref)
    part = taken.take(np.array([3, 0]))
    assert ([1, rows[0]], [[3], [0]]) == (part.rows.tolist(), part.words.tolist())  # type: ignore[union-attr]
    for ref in refs:
        expected = [tables.rows["s"][number][ref.name] for number in part.rows]
        assert expected == part.column(ref).to_list()


def test_sides_of_rows_that_are_not_held_any_more_raise():
    """As reading them does."""
    _, tables = world(4, chunks=17)
    clause = tables.clause(SQL.format("x.i = y.i"))
    stem = tables.stem(clause.sources[1].stream_id)
    side = GroupSide(stem, lambda _: None, np.ones(1, dtype=np.uint64), 0, 17 * CHUNK_ROWS)
    stem.evict(16 * CHUNK_ROWS)
    tie = shape_of(clause).tie((0, 1))
    with pytest.raises(PageExpiredError):
        candidates(side, tie, asking(tables, clause))
    with pytest.raises(PageExpiredError):
        ClauseSide(stem, sides_of(clause)[1], tables.spans(clause)[1])


def test_lightest_side_is_the_first_of_those_with_the_fewest_rows():
    """Ties go to the source that stands earlier."""

    def side(rows):
        return GroupSide(None, lambda _: None, np.zeros(1, dtype=np.uint64), 5, 5 + rows)  # type: ignore[arg-type]

    assert 1 == lightest([side(9), side(2), side(2), side(3)])
    assert 0 == lightest([side(-4), side(0)])
