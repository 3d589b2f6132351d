"""Stored values in intervals, in every form they are kept in, against comparing one by one."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.kernels import within as module
from psoup.engine.kernels.within import (
    BASE,
    BYTES,
    DOUBLES,
    FEW,
    FORM,
    LEAST,
    LONGS,
    MOST,
    NULLS,
    SHORTS,
    TOP,
    VALUES,
    WIDTH,
    within,
)
from tests.engine.kernels import twins
from tests.engine.kernels.test_order import FLOAT_EDGES, INT_EDGES
from tests.strategies import fewer

ROWS = 65_536
SPREAD = [-(2**62), -(2**62) + 1, -(2**62) + 100, -(2**62) + 254, -(2**62) + 255]
WIDE = [*SPREAD, -(2**62) + 256, -(2**62) + 40_000, -(2**62) + 65_535]
KINDS: dict[str, tuple[int, Any, list[Any]]] = {
    "bytes": (BYTES, np.uint8, SPREAD),
    "shorts": (SHORTS, np.uint16, WIDE),
    "longs": (LONGS, np.int64, INT_EDGES),
    "doubles": (DOUBLES, np.float64, FLOAT_EDGES),
}


def as_int64(values, form):
    """Return ends as the kernel takes them: those of float64 by their bits."""
    made = np.array(values, dtype=np.float64 if form == DOUBLES else np.int64)
    return made.view(np.int64)


def row_of(form, values, dtype, *, nulls=None, known=True):
    """Return a row of a scan table over these values, and the arrays it leads to."""
    base = min(values) if form <= SHORTS else 0
    stored = np.array([value - base for value in values] if form <= SHORTS else values, dtype)
    words = None if nulls is None else twins.words_from(nulls, ROWS // 64)
    row = np.zeros(WIDTH, dtype=np.int64)
    row[[FORM, VALUES, BASE]] = form, stored.ctypes.data, base
    row[TOP] = max(values) if form <= SHORTS else 0
    row[NULLS] = 0 if words is None else words.ctypes.data
    for chunk in range(16):
        some = range(chunk * twins.CHUNK, (chunk + 1) * twins.CHUNK)
        held = [values[i] for i in some if nulls is None or i not in nulls]
        spans = (min(held), max(held)) if held and known else (1, 0)
        row[LEAST + chunk], row[MOST + chunk] = as_int64(spans, form)
    return row, (stored, words)


def intervals_among(edges, chosen):
    """Return disjoint closed intervals whose ends are every other of the chosen edges."""
    cuts = sorted(chosen)
    return [(edges[a], edges[b]) for a, b in zip(cuts[::2], cuts[1::2], strict=False)]


def asked(*factors):
    """Return (column, form, intervals, takes NULL) of each factor as the kernel takes them."""
    rows: list[tuple[int, int, int, bool]] = []
    lows: list[int] = []
    highs: list[int] = []
    for column, form, intervals, takes_null in factors:
        rows.append((column, len(lows), len(lows) + len(intervals), takes_null))
        lows += as_int64([low for low, _ in intervals], form).tolist()
        highs += as_int64([high for _, high in intervals], form).tolist()
    made = np.array(rows, dtype=np.int64).reshape(-1, 4)
    return made, np.array([[lows, highs]], dtype=np.int64).reshape(1, 2, -1)


def found_by(kernel, table, factors, ends, rows):
    """Return the rows found, after checking that they are counted by chunk."""
    first, past = rows
    chunks = -(-past // twins.CHUNK) - first // twins.CHUNK
    words = np.full(64 * chunks, 0x5555, dtype=np.uint64)
    counts = np.full(chunks, -7, dtype=np.int32)
    kernel(table, factors, ends, first, past, words, counts)
    base = first // twins.CHUNK * twins.CHUNK
    found = {base + bit for bit in twins.bits_of(words)}
    by_chunk = [0] * chunks
    for row in found:
        by_chunk[(row - base) // twins.CHUNK] += 1
    assert by_chunk == counts.tolist()
    return found


def compare(kernel, row, interval, adds, marks):
    """Compare the first chunk of a row with one interval."""
    form, start, base, top = row[[FORM, VALUES, BASE, TOP]].tolist()
    kernel(form, start, 0, base, top, *interval.tolist(), adds, marks)


def chunk_by_chunk(rng, edges):
    """Return values of a segment whose chunks hold all edges, two, or one, so that minima decide some."""
    values = []
    for chunk in range(16):
        at = int(rng.integers(0, len(edges)))
        some = [edges, edges[at : at + 2], edges[at : at + 1]][chunk % 3]
        values += [some[i] for i in rng.integers(0, len(some), twins.CHUNK).tolist()]
    return values


EDGES = st.sampled_from([0, 1, 63, 64, 4_095, 4_096, 4_097, ROWS - 4_096, ROWS - 1])


@pytest.mark.parametrize("name", KINDS)
@fewer(8, 20)
@given(data=st.data())
def test_within_of_any_intervals_differential_keeps_what_comparing_keeps(name, data):
    """Any rows of a segment, with NULLs and without, minima known or not, none, one and more intervals."""
    form, dtype, edges = KINDS[name]
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    values = chunk_by_chunk(rng, edges)
    nulls = None
    if data.draw(st.booleans()):
        nulls = set(np.flatnonzero(rng.random(ROWS) < 0.1).tolist()) | set(range(8_192, 12_288))
    row, held = row_of(form, values, dtype, nulls=nulls, known=data.draw(st.booleans()))
    chosen = data.draw(st.lists(st.integers(0, len(edges) - 1), unique=True))
    intervals = intervals_among(edges, chosen)
    takes_null = data.draw(st.booleans())
    first = data.draw(EDGES)
    past = data.draw(EDGES.filter(lambda one: one > first) | st.just(ROWS))
    lies = {value: bool(twins.within([value], intervals, {0})) for value in set(values)}
    expected = {
        i
        for i in range(first, past)
        if (takes_null if nulls is not None and i in nulls else lies[values[i]])
    }
    factors, ends = asked((0, form, intervals, takes_null))
    assert expected == found_by(within, row.reshape(1, 1, -1), factors, ends, (first, past))
    assert held


def test_within_run_plainly_differential_finds_the_same():
    """The kernel as Python, with every form at once, over two chunks."""
    rng = np.random.default_rng(3)
    rows, held, factors = [], [], []
    for column, (form, dtype, edges) in enumerate(KINDS.values()):
        nulls = {1, 5, 4_100} if column % 2 else None
        values, known = chunk_by_chunk(rng, edges), form == BYTES
        row, arrays = row_of(form, values, dtype, nulls=nulls, known=known)
        rows.append(row)
        held.append(arrays)
        factors.append((column, form, [(edges[0], edges[-2])], column == 1))
    table = np.array([rows])
    for asking in (factors, [(0, BYTES, [(-(2**63), 2**63 - 1)], False), (1, SHORTS, [], True)]):
        given_factors, ends = asked(*asking)
        for first, past in ((0, 8_192), (4_000, 4_500), (4_096, 4_097)):
            expected = found_by(within, table, given_factors, ends, (first, past))
            found = found_by(twins.plainly(within), table, given_factors, ends, (first, past))
            assert expected == found
    assert held


@pytest.mark.parametrize("name", KINDS)
def test_each_part_run_plainly_differential_does_as_compiled(name):
    """What the kernel is made of, as Python: comparing, searching, marking and telling by minima."""
    form, dtype, edges = KINDS[name]
    values = chunk_by_chunk(np.random.default_rng(5), edges)
    row, held = row_of(form, values, dtype, nulls={0, 2, 70})
    _, ends = asked((0, form, [(edges[0], edges[1]), (edges[3], edges[-1])], False))
    expected = twins.within(
        values[:4_096], [(edges[0], edges[1]), (edges[3], edges[-1])], set(range(4_096))
    )
    one = twins.within(values[:4_096], [(edges[0], edges[1])], set(range(4_096)))
    marks = np.empty(64, dtype=np.uint64)
    for kernel in (module._compare, twins.plainly(module._compare)):
        marks.fill(0)
        for which in (0, 1):
            compare(kernel, row, ends[0, :, which], 1, marks)
        assert expected == twins.bits_of(marks)
        compare(kernel, row, ends[0, :, 0], 0, marks)
        assert one == twins.bits_of(marks)
    for kernel in (module._search, twins.plainly(module._search)):
        marks.fill(9)
        kernel(row, 0, ends[0], marks)
        assert expected == twins.bits_of(marks)
    many = np.repeat(ends[0, :, :1], FEW + 1, axis=1)
    for kernel in (module._mark, twins.plainly(module._mark)):
        for told, some, left in (
            (module._OUTSIDE, ends[0], set()),
            (module._INSIDE, ends[0], set(range(4_096))),
            (module._OPEN, many, one),
            (module._OPEN, ends[0], expected),
        ):
            kernel(row, 0, some, told, marks)
            assert left == twins.bits_of(marks)
    for takes_null, left in ((True, expected | {0, 2, 70}), (False, expected - {0, 2, 70})):
        for kernel in (module._and, twins.plainly(module._and)):
            bits = np.full(64, 2**64 - 1, dtype=np.uint64)
            kernel(marks, int(row[NULLS]), 0, takes_null, bits)
            assert left == twins.bits_of(bits)
            kernel(marks, 0, 0, takes_null, bits)
            assert left & expected == twins.bits_of(bits)
    assert held


@pytest.mark.parametrize("form", [BYTES, SHORTS])
def test_compare_with_an_interval_that_holds_no_code_clears_or_adds_nothing(form):
    """Ends outside of what a segment has are not wrapped into it."""
    dtype = np.uint8 if form == BYTES else np.uint16
    row, held = row_of(form, [10 + i % 5 for i in range(ROWS)], dtype)
    for kernel in (module._compare, twins.plainly(module._compare)):
        for low, high in ((-(2**63), 9), (15, 2**63 - 1), (12, 11)):
            _, ends = asked((0, form, [(low, high)], False))
            for adds in (1, 0):
                marks = np.full(64, 6, dtype=np.uint64)
                compare(kernel, row, ends[0, :, 0], adds, marks)
                assert (marks == (6 if adds else 0)).all()
    assert held


@pytest.mark.parametrize("count", [1, FEW, FEW + 1, 3 * FEW])
@pytest.mark.parametrize("name", KINDS)
def test_within_of_few_and_many_intervals_oracle_keeps_what_lies_inside(name, count):
    """Comparing with each and searching among them say the same on both sides of the bound."""
    form, dtype, _ = KINDS[name]
    values = [i % 251 for i in range(ROWS)]
    row, held = row_of(form, values, dtype, known=False)
    intervals = [(2 * i, 2 * i) for i in range(count)]
    factors, ends = asked((0, form, intervals, False))
    expected = {i for i in range(4_096) if values[i] % 2 == 0 and values[i] < 2 * count}
    assert expected == found_by(within, row.reshape(1, 1, -1), factors, ends, (0, 4_096))
    assert held


def test_within_of_several_segments_takes_the_ends_of_each():
    """Texts have other places in each segment, and so have the ends of their intervals; empty ones hold none."""
    made = [row_of(SHORTS, [segment, *[7] * (ROWS - 1)], np.uint16) for segment in range(3)]
    table = np.array([[row] for row, _ in made])
    factors = np.array([[0, 0, 2, 0]])
    ends = np.array([[[0, 3], [0, 2]], [[1, 2], [0, 1]], [[2, 8], [2, 9]]])
    assert {0, 2 * ROWS} == found_by(within, table, factors, ends, (0, 3 * ROWS))


def test_within_without_factors_keeps_the_rows_asked_about():
    """Nothing is asked of the values, and none is read."""
    table = np.zeros((2, 0, WIDTH), dtype=np.int64)
    factors, ends = asked()
    rows = set(range(ROWS - 70, ROWS + 5))
    assert rows == found_by(within, table, factors, ends, (ROWS - 70, ROWS + 5))


@pytest.mark.parametrize("form", [LONGS, DOUBLES])
@pytest.mark.parametrize("kernel", [module._told, twins.plainly(module._told)])
def test_told_by_least_and_most_is_what_comparing_would_find(kernel, form):
    """Outside, inside or neither; nothing where they are the wrong way round."""
    inside, outside, undecided = module._INSIDE, module._OUTSIDE, module._OPEN

    def told(*numbers, intervals):
        return kernel(form, *as_int64(numbers, form).tolist(), intervals)

    assert [outside, outside] == [told(5, 7, 8, 9, intervals=1), told(-5, -3, -9, -6, intervals=2)]
    assert [inside, undecided] == [told(5, 7, 5, 7, intervals=1), told(5, 7, 5, 7, intervals=2)]
    assert [undecided] * 2 == [told(5, 7, 6, 7, intervals=1), told(7, 5, 0, 9, intervals=1)]


def test_told_plainly_says_the_same():
    """What is told of numbers that compare, as Python."""
    kernel = twins.plainly(module._told_of)
    assert [module._OPEN, module._OUTSIDE] == [kernel(7, 5, 0, 9, 1), kernel(5.0, 7.0, 8.0, 9.0, 1)]
    assert [module._INSIDE, module._OPEN] == [kernel(5, 7, 5, 7, 1), kernel(5, 7, 5, 7, 2)]


@pytest.mark.parametrize("kind", ["compiled", "plain"])
def test_bits_of_a_chunk_are_filled_counted_and_told(kind):
    """Rows that are asked about and no other, however their range lies to the chunk."""
    fill, count, any_left = module._fill, module._count, module._any
    if kind == "plain":
        fill, count, any_left = map(twins.plainly, (fill, count, any_left))
    for first, past in ((-4_096, 9_000), (0, 4_096), (63, 65), (-5, 1), (4_000, 5_000), (7, 7)):
        bits = np.full(64, 3, dtype=np.uint64)
        fill(bits, first, past)
        rows = set(range(max(first, 0), min(past, 4_096)))
        assert (rows, len(rows), bool(rows)) == (twins.bits_of(bits), count(bits), any_left(bits))
