"""Where bounds lie in a chunk: compared with each or put in order, against single comparisons."""

import pytest
from hypothesis import given, strategies as st

from psoup.engine.clauses import locator
from psoup.engine.clauses.locator import COMPARED_BOUNDS_MAX, Locator
from psoup.engine.kernels import counted, order, pivot
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.query.values.expression import CompareOp
from psoup.engine.query.values.value_set import EVERY_VALUE, NO_VALUE, values_between, values_where
from psoup.engine.tuples.chunk import Chunk
from psoup.engine.tuples.lineage import Slot
from tests.engine.clauses.test_table import ATTRIBUTES, KINDS, clauses_drawn, table_of
from tests.engine.columns import chunk_values, column_of, pool, satisfying
from tests.engine.kernels import twins
from tests.strategies import fewer


def chunk_of(values):
    """Return a chunk of these values by attribute."""
    columns = {name: column_of(KINDS[name], some) for name, some in values.items()}
    return Chunk(0, columns.__getitem__)


VALUES = [
    {name: chunk_values(kind, seed=seed, nulls=nulls) for name, kind in KINDS.items()}
    for seed, nulls in ((1, 0.0), (2, 0.2), (3, 1.0))
]
"""Chunks without NULL, with some, and of nothing else."""
VALUES.append(
    VALUES[0] | {"INT64": [i % 9 for i in range(CHUNK_ROWS)], "STRING": ["b"] * CHUNK_ROWS}
)
CHUNKS = [chunk_of(values) for values in VALUES]

COMPARED = {"compared": 10_000, "in order": 0, "either": COMPARED_BOUNDS_MAX}
"""How many bounds of an attribute are compared with."""


def found(table, located):
    """Return for each clause and attribute the rows of its intervals, NULL among them if it takes it.

    Asserts that what is told of each bound is true of its bitmap, and that rows can be told where it is said so.
    """
    clauses = table.clauses
    rows_of = [twins.bits_of(located.bitmaps[row]) for row in located.rows.tolist()]
    assert [len(rows) for rows in rows_of] == located.places.tolist(), "places count rows"
    said = []
    for at in range(len(table)):
        own = {}
        for factor in range(clauses.factors[at], clauses.factors[at + 1]):
            attribute = int(clauses.attributes[factor])
            nulls = twins.bits_of(located.null_rows[attribute])
            rows: set[int] = nulls if clauses.nulls[factor] else set()
            for interval in range(clauses.intervals[factor], clauses.intervals[factor + 1]):
                low, high = int(clauses.lows[interval]), int(clauses.highs[interval])
                assert rows_of[low] <= rows_of[high], "what begins later holds what ends before"
                inside = rows_of[high] - rows_of[low]
                if located.in_order[attribute]:
                    begin, past = located.places[low], located.places[high]
                    assert inside == set(located.orders[attribute, begin:past].tolist())
                rows = rows | inside
            own[attribute] = rows
        said.append(own)
    return said


def expected(clauses, values):
    """Return for each clause and attribute the rows that satisfy it, one by one."""
    return [
        {ATTRIBUTES[name]: satisfying(values[name], asked) for name, asked in factors.items()}
        for _, (_, factors) in sorted(clauses.items())
    ]


@pytest.mark.parametrize("compared", COMPARED)
@fewer(12)
@given(st.lists(clauses_drawn(), max_size=3), st.sampled_from(range(len(CHUNKS))))
def test_locate_of_any_tables_differential_finds_the_rows_of_each_interval(compared, parts, number):
    """Compared with each bound or put in order, in one table or in several: rows are those of the values."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(locator, "COMPARED_BOUNDS_MAX", COMPARED[compared])
        tables = [table_of(clauses) for clauses in parts]
        located = Locator().locate(CHUNKS[number], tables, ATTRIBUTES)
        assert len(tables) == len(located)
        for clauses, table, one in zip(parts, tables, located, strict=True):
            assert expected(clauses, VALUES[number]) == found(table, one)
        asked = {name for clauses in parts for _, own in clauses.values() for name in own}
        if located and compared != "either":
            in_order = {n for n, at in ATTRIBUTES.items() if located[0].in_order[at]}
            assert (asked if compared == "in order" else set()) == in_order


@fewer(8, 15)
@given(st.lists(clauses_drawn(), min_size=1, max_size=2), st.sampled_from(range(len(CHUNKS))))
def test_locate_compared_and_in_order_differential_agree(parts, number):
    """Every bound has as many rows, and the same, whichever way it was found, compiled or plain."""
    tables, told = [table_of(clauses) for clauses in parts], []
    for compared in (0, 10_000):
        with pytest.MonkeyPatch.context() as patch, twins.all_plain(order, counted, pivot):
            patch.setattr(locator, "COMPARED_BOUNDS_MAX", compared)
            located = Locator().locate(CHUNKS[number], tables, ATTRIBUTES)
            told.append([(one.places.tolist(), one.bitmaps[one.rows].tolist()) for one in located])
    assert told[0] == told[1]


@fewer(15)
@given(
    st.lists(
        st.tuples(
            st.lists(clauses_drawn(), max_size=2),
            st.sampled_from(range(len(CHUNKS))),
            st.sampled_from(sorted(COMPARED.values())),
        ),
        min_size=2,
        max_size=4,
    )
)
def test_locate_again_and_again_differential_shows_nothing_of_the_chunk_before(turns):
    """Other chunks, other tables, found in the other way: arrays used again hold what is asked for now."""
    made = Locator()
    for parts, number, compared in turns:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(locator, "COMPARED_BOUNDS_MAX", compared)
            tables = [table_of(clauses) for clauses in parts]
            located = made.locate(CHUNKS[number], tables, ATTRIBUTES)
            for clauses, table, one in zip(parts, tables, located, strict=True):
                assert expected(clauses, VALUES[number]) == found(table, one)


@pytest.mark.parametrize("first", [0, 10_000])
def test_locate_in_the_other_way_than_before_shows_nothing_of_the_chunk_before(first, monkeypatch):
    """What was in order is not any more when it is compared, and the other way round, over every type."""
    asked = {name: values_where(CompareOp.GE, pool(kind)[1]) for name, kind in KINDS.items()}
    clauses = {Slot(at): (False, {name: one}) for at, (name, one) in enumerate(asked.items())}
    table, made = table_of(clauses), Locator()
    for number, compared in ((0, first), (1, 10_000 - first), (0, 10_000 - first), (1, first)):
        monkeypatch.setattr(locator, "COMPARED_BOUNDS_MAX", compared)
        (located,) = made.locate(CHUNKS[number], [table], ATTRIBUTES)
        assert [compared == 0] * len(KINDS) == located.in_order[: len(KINDS)].tolist()
        assert expected(clauses, VALUES[number]) == found(table, located)


def test_locate_with_more_attributes_than_before_has_room_for_their_orders():
    """Attributes come with clauses: the arrays grow, and what is new is in order too."""
    made, values = Locator(), VALUES[1]
    for count in range(1, len(ATTRIBUTES) + 1):
        numbers = dict(list(ATTRIBUTES.items())[:count])
        clauses = {Slot(number): (False, {name: EVERY_VALUE}) for name, number in numbers.items()}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(locator, "COMPARED_BOUNDS_MAX", 0)
            (located,) = made.locate(CHUNKS[1], [table_of(clauses, numbers)], numbers)
        assert [True] * count == located.in_order[:count].tolist()
        for name, number in numbers.items():
            held = {i for i, value in enumerate(values[name]) if value is not None}
            assert held == set(located.orders[number, : len(held)].tolist())


def test_locate_reads_the_columns_that_are_asked_for_and_no_other():
    """A column that no table names costs nothing, and nothing is put in order for a few bounds."""
    read = []

    def columns(name):
        read.append(name)
        return column_of(KINDS[name], VALUES[0][name])

    chunk = Chunk(0, columns)
    clauses = {Slot(0): (False, {"INT64": values_where(CompareOp.LT, 5)}), Slot(1): (True, {})}
    table = table_of(clauses)
    (located,) = Locator().locate(chunk, [table], ATTRIBUTES)
    assert ["INT64"] == read
    assert not located.in_order.any()
    assert [] == Locator().locate(chunk, [], ATTRIBUTES)


@pytest.mark.parametrize(("more", "in_order"), [(0, False), (1, True)])
def test_locate_puts_in_order_what_all_tables_together_ask_much_of(more, in_order):
    """Bounds are counted over all tables: with one more than are compared with, the chunk is put in order."""
    spans = [values_between(10 * i, 10 * i + 5) for i in range(7)]
    asked = [{Slot(i): (False, {"INT64": one}) for i, one in enumerate(spans[:n])} for n in (3, 7)]
    tables = [table_of(clauses) for clauses in asked]
    known = sum(table.bounds_count for table in tables)
    assert 3 + 3 + 1 + 7 + 7 + 1 == known
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(locator, "COMPARED_BOUNDS_MAX", known - more)
        located = Locator().locate(CHUNKS[0], tables, ATTRIBUTES)
    assert [in_order] * 2 == [bool(one.in_order[ATTRIBUTES["INT64"]]) for one in located]


def test_locate_of_a_set_of_nothing_finds_nothing():
    """A table that asks for no value has the bound of no end alone, which every value lies before."""
    table = table_of({Slot(0): (False, {"INT64": NO_VALUE})})
    for compared in (0, 100):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(locator, "COMPARED_BOUNDS_MAX", compared)
            (located,) = Locator().locate(CHUNKS[1], [table], ATTRIBUTES)
        held = {i for i, value in enumerate(VALUES[1]["INT64"]) if value is not None}
        assert [len(held)] == located.places.tolist()
        assert held == twins.bits_of(located.bitmaps[located.rows[0]])
        assert [{ATTRIBUTES["INT64"]: set()}] == found(table, located)
