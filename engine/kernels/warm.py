"""Kernels compiled, or loaded from where an earlier start has left them, before anybody waits for one."""

from collections.abc import Callable

import numpy as np

from psoup.engine.kernels import (
    bits,
    clause_hits,
    counted,
    digits,
    exact_sums,
    extremes,
    float_sums,
    grouping,
    hits,
    join,
    json_bodies,
    order,
    pivot,
    row_digest,
)
from psoup.engine.kernels.addresses import address
from psoup.engine.kernels.bits import CHUNK_WORDS, LITTLE, Words
from psoup.engine.kernels.block_rows import WIDTH as BLOCK_WIDTH, locate, write_rows
from psoup.engine.kernels.compiled import telling_of_compilation
from psoup.engine.kernels.gather import ascends, gather
from psoup.engine.kernels.hits import Written
from psoup.engine.kernels.instant_text import write_instants
from psoup.engine.kernels.json_transpose import transpose
from psoup.engine.kernels.like import ASCII, Needles, match_like
from psoup.engine.kernels.match import Clauses, Located, match_clauses, narrowest
from psoup.engine.kernels.rows import BLOCK_WORDS
from psoup.engine.kernels.slot_lists import list_rows
from psoup.engine.kernels.span import least_most
from psoup.engine.kernels.within import WIDTH, within

_ROWS = 4_096


def warm_up(
    *, between: Callable[[], None] = lambda: None, on_compiling: Callable[[], None] = lambda: None
) -> int:
    """Call every kernel with every type of arguments it is used with; return how many that were.

    Args:
        between: called now and then; what it raises ends the call, and the kernels that are there by then stay.
        on_compiling: called where a kernel has to be compiled, once for each.

    Cost: seconds where they have to be compiled, milliseconds each where they are loaded.
    """
    words = np.zeros(CHUNK_WORDS, dtype=LITTLE)
    bitmaps = np.zeros((_ROWS + 1, CHUNK_WORDS), dtype=LITTLE)
    steps: tuple[Callable[[], object], ...] = (
        lambda: _order(words, bitmaps),
        lambda: _match(bitmaps),
        lambda: _scan(words),
        _read,
        lambda: _join(bitmaps),
        _write,
        _digest,
        _search,
        _group,
        _sum,
    )
    with telling_of_compilation(on_compiling):
        for step in steps:
            step()
            between()
        return 92 + json_bodies.warm_up()


def _order(words: Words, bitmaps: Words) -> None:
    """Put rows in order, and list the positions of no bits."""
    places = np.zeros(1, dtype=np.int32)
    numbers = np.zeros(_ROWS + 1, dtype=np.int32)
    bits.positions(words)
    bits.positions(np.frombuffer(words.tobytes(), dtype=LITTLE))  # of pages: not to be written
    values = np.arange(_ROWS)
    order.rank(values, words, values[:1], numbers[1:].copy(), numbers[:2].copy())
    order.sorted_places(values << 2)
    order.mark(places, numbers)
    order.number(numbers)
    order.prefixes(places[:0], numbers, bitmaps)
    order.rows_of(places, numbers, 0, places)
    order.compare(values, words, values[:1], bitmaps, places, up_to=False)
    for some in (values, np.zeros(1)):
        least_most(some)
    _count(words, bitmaps)


def _count(words: Words, bitmaps: Words) -> None:
    """Count a chunk of one value into the cell before an edge."""
    values = np.zeros(_ROWS, dtype=np.int64)
    cells, edges, counts = np.zeros((3, 3), dtype=np.int32)
    rows = np.zeros(_ROWS, dtype=np.int32)
    parts = np.zeros((2, BLOCK_WORDS), dtype=LITTLE)
    counted.find_edges(values[:1], 0, 0, edges, cells, up_to=True)
    counted.number_cells(cells)
    counted.put_into_cells(values, words, 0, cells, parts, bitmaps[:1], counts, rows)
    counted.rows_below(edges[:1], cells, counts, 0, rows)


def _scan(words: Words) -> None:
    """Scan no segment for no factor, and list the rows."""
    counts = np.zeros(1, dtype=np.int32)
    table, factors = np.zeros((1, 0, WIDTH), dtype=np.int64), np.zeros((0, 4), dtype=np.int64)
    within(table, factors, np.zeros((1, 2, 0), dtype=np.int64), 0, 1, words, counts)
    clause_hits.place(counts, 0, (0, 1), np.zeros(1, dtype=np.uint8), counts.copy())
    clause_hits.write_lists(words, counts, 0, np.zeros(0, dtype=np.uint16))


def _read() -> None:
    """Read no row of no column, and the hits of nobody in a block without any."""
    rows, columns = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64)
    gather(np.zeros((1, 1, 3), dtype=np.int64), columns, 0, rows, np.zeros((0, 1), dtype=np.int64))
    ascends(rows)
    blocks = np.zeros((1, BLOCK_WIDTH), dtype=np.int64)
    found = np.zeros((1, 3), dtype=np.int64)
    locate(blocks, 0, found)
    write_rows(blocks, found, 0, rows[:0])


def _write() -> None:
    """Write no row, and no instant."""
    words, text = np.zeros(2, dtype=np.int64), np.zeros(1, dtype=np.uint8)
    transpose(address(text), address(words), 0, 0, address(text))
    write_instants(address(words), 0, address(text))


def _digest() -> None:
    """Digest one row of a number and a text."""
    states, valid = row_digest.begun(1), np.zeros(0, dtype=np.bool_)
    offsets, text = np.zeros(2, dtype=np.int32), np.zeros(1, dtype=np.uint8)
    offsets.setflags(write=False)
    text.setflags(write=False)
    row_digest.take_words(np.zeros(1, dtype=np.uint64), valid, states)
    row_digest.take_texts(offsets, text, valid, states)
    row_digest.sum_up(states, np.zeros((row_digest.LANES, 2), dtype=np.uint64))


def _search() -> None:
    """Search no text, of characters of either size."""
    edges, plain = np.zeros(1, dtype=np.int64), np.zeros(ASCII, dtype=np.int64)
    others, masks = np.zeros(0, dtype=np.int32), np.zeros((1, 1), dtype=np.uint64)
    needles = Needles(np.zeros(2, dtype=np.int64), plain, others, masks, edges)
    for kind in (np.uint8, np.int32):
        units = np.frombuffer(b"", kind)
        match_like(units, edges, needles, masks[0].copy(), np.zeros(0, dtype=np.bool_))


def _group() -> None:
    """Put one row into one group, and find what stands first in it."""
    values, labels, numbers = np.zeros((3, 1), dtype=np.int64)
    edges, seen = np.arange(2), np.zeros(1, dtype=np.bool_)
    rows = np.zeros((1, 1), dtype=np.int64)
    for some in (values, np.zeros(1, dtype=np.int32)):
        grouping.mark(some, 0, seen)
        grouping.look_up(some, 0, numbers, labels)
        grouping.divide(some, edges, 1, numbers.copy(), numbers.copy())
        grouping.first_of_groups(some, numbers.copy())
        extremes.least_of_groups(values, some, rows, 0, extremes.WHOLE, 0)
    grouping.number_distinct(values, labels, numbers)
    grouping.renumber(labels, numbers)
    grouping.rows_by_group(labels, np.zeros(2, dtype=np.int64), numbers)
    grouping.sort_runs(values, edges, 1)
    extremes.least_of_runs(values, edges, rows, 0, extremes.WHOLE, 0)
    extremes.least_of_spans(values, labels, edges[1:], np.zeros(2, dtype=np.int64), numbers)
    extremes.first_rows(values[None, :].copy(), labels, numbers)


def _sum() -> None:
    """Add one zero up, exactly."""
    floats, labels, edges = np.zeros(1), np.zeros(1, dtype=np.int64), np.arange(2)
    values, sums = np.zeros(1, dtype=np.int64), np.zeros((1, 8), dtype=np.int64)
    float_sums.exponents(floats)
    for some in (labels, np.zeros(1, dtype=np.int32)):
        float_sums.add_floats(floats, some, 0, sums, 0, 8)
        exact_sums.add_ints(values, some, sums, 0)
        exact_sums.count_rows(some, values.copy())
    float_sums.add_floats_of_runs(floats, edges, 0, sums, 0, 8)
    exact_sums.add_float_squares(values, labels, 0, sums)
    exact_sums.add_int_squares(values, labels, sums)
    exact_sums.add_ints_of_runs(values, edges, sums, 0)
    exact_sums.add_weighted(values, values, labels, 0, sums, whole=True)
    order = labels, np.zeros(3, dtype=np.int64)
    exact_sums.add_spans(values, order, order, values, labels, 0, sums, whole=True)
    exact_sums.add_counts(values, labels, values.copy())
    digits.add_numbers(sums, labels, 0, sums.copy())
    digits.merge_rows(sums, labels, 8, sums.copy())
    digits.carry(sums)
    digits.carry_all(sums, np.array([[0, 8]]))
    digits.spreads(sums[:, :1].copy(), sums[:, :1].copy(), values, sums)
    digits.quotients(sums, 0, np.ones(1, dtype=np.int64), floats)
    digits.whole_numbers(sums, values, np.zeros(1, dtype=np.bool_))


def _join(bitmaps: Words) -> None:
    """Join one row with one row, for a clause that neither satisfies."""
    keys, low, high, left, right = np.zeros((5, 1), dtype=np.int64)
    join.find_equal(keys, keys, low, high)
    join.find_listed(keys, keys, np.zeros(2, dtype=np.int64), low, high)
    join.find_within(keys, keys, keys, low, high)
    join.covered(low, high, 1, left)
    join.cover_counts(low, high, keys, np.zeros(2, dtype=np.int64))
    join.paired(low, high, left, right)
    join.paired_rows(low, high, keys, keys, left, right)
    words = bitmaps[:1, :1].copy()
    join.paired_alive(low, high, words, words, left, right, words.copy())
    offsets = np.zeros(0, dtype=np.uint16)
    join.mark_lists(keys[:0], keys[:0], keys[:0], offsets, words)
    join.mark_bitmaps(bitmaps[:64], words)
    join.bitmaps_of(words, bitmaps[:64])
    join.alive(words, keys)
    join.digests(np.frombuffer(b"a", dtype=np.uint8), keys, keys.copy())
    join.count_slots(words, keys, np.zeros(64, dtype=np.int64))
    list_rows(words, np.zeros(64, dtype=np.int64), offsets)


def _match(bitmaps: Words) -> None:
    """Match one clause without factors with a chunk without rows."""
    numbers = np.zeros(2, dtype=np.int32)
    flags = np.zeros(1, dtype=np.bool_)
    clauses = Clauses(
        names=numbers[:1],
        open=flags,
        factors=numbers,
        attributes=numbers[:0],
        nulls=flags[:0],
        intervals=numbers[:1],
        lows=numbers[:0],
        highs=numbers[:0],
    )
    orders = np.zeros((1, _ROWS), dtype=np.int32)
    located = Located(numbers[:0], numbers[:0], bitmaps, orders, flags, bitmaps[:1])
    small = np.zeros(1, dtype=np.uint8)
    written = Written(
        names=numbers[:1],
        forms=small,
        counts=numbers[:1],
        places=numbers[:1],
        offsets=np.zeros(hits.ROOM, dtype=np.uint16),
        bitmaps=bitmaps[:1],
        past=np.zeros(3, dtype=np.int64),
    )
    least = numbers[:1].copy()
    narrowest(clauses, located, least, numbers[1:])
    match_clauses(clauses, located, least, numbers[1:], small, written, bitmaps[:1], numbers[:1], 0)
    hits.write_all(bitmaps[:1], flags, numbers[:1], small, written, 0)
    _find_by_value(bitmaps, written)


def _find_by_value(bitmaps: Words, written: Written) -> None:
    """Find one clause by its value, which one row has."""
    values = np.arange(_ROWS)
    found, names, firsts, pasts = np.zeros((4, _ROWS), dtype=np.int32)
    unsettled = np.zeros((2, _ROWS), dtype=np.int32)
    pivot.find(values, bitmaps[0], pivot.table_of(values[:1]), found, unsettled)
    edges = np.arange(2, dtype=np.int32)
    digits = np.zeros(1 << order.RADIX_BITS, dtype=np.int32)
    _, some = pivot.by_place(found, 1, unsettled, digits)
    rows = unsettled[0, :some]
    count = pivot.candidates(rows, found, edges, names, firsts, pasts)
    pivoted = pivot.Pivoted(
        edges, np.zeros((2, 2), dtype=np.int32), np.zeros((0, 3), dtype=np.int64)
    )
    pivot.match_candidates(
        pivoted,
        names[:count],
        firsts[:count],
        pasts[:count],
        rows,
        values[None, :],
        bitmaps[:1],
        np.zeros(1, dtype=np.uint8),
        written,
        0,
    )
