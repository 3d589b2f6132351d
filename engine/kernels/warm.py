"""Kernels compiled, or loaded from where an earlier start has left them, before anybody waits for one."""

import numpy as np

from engine.kernels import bits, clause_hits, harvest, json_bodies, order
from engine.kernels.bits import CHUNK_WORDS, LITTLE
from engine.kernels.block_rows import WIDTH as BLOCK_WIDTH, locate, write_rows
from engine.kernels.gather import ascends, gather
from engine.kernels.narrow import narrow
from engine.kernels.span import least_most
from engine.kernels.within import WIDTH, within


def warm_up() -> int:
    """Call every kernel with every type of arguments it is used with; return how many that were.

    Cost: seconds where they have to be compiled, milliseconds each where they are loaded.
    """
    words = np.zeros(CHUNK_WORDS, dtype=LITTLE)
    lineage = np.zeros((1, CHUNK_WORDS), dtype=LITTLE)
    places = np.zeros(1, dtype=np.int32)
    flags = np.zeros(1, dtype=np.bool_)
    bits.positions(words)
    for values in (np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.float64)):
        order.places_below(values, values)
        order.places_up_to(values, values)
        least_most(values)
    bitmaps, low, high = order.prefixes(places, places, places)
    edges = np.zeros(2, dtype=np.int32)
    narrow(lineage, flags, 0, places, edges, low, high, flags, bitmaps, words)
    harvest.counts(lineage, flags)
    harvest.write_offsets(lineage, np.zeros(0, dtype=np.int64), np.zeros(4, dtype=np.uint16), 0)
    counts = np.zeros(1, dtype=np.int32)
    table, factors = np.zeros((1, 0, WIDTH), dtype=np.int64), np.zeros((0, 4), dtype=np.int64)
    within(table, factors, np.zeros((1, 2, 0), dtype=np.int64), 0, 1, words, counts)
    clause_hits.place(counts, 0, (0, 1), np.zeros(1, dtype=np.uint8), places)
    clause_hits.write_lists(words, counts, 0, np.zeros(0, dtype=np.uint16))
    rows, columns = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64)
    gather(np.zeros((1, 1, 3), dtype=np.int64), columns, 0, rows, np.zeros((0, 1), dtype=np.int64))
    ascends(rows)
    blocks = np.zeros((1, BLOCK_WIDTH), dtype=np.int64)
    found = np.zeros((1, 3), dtype=np.int64)
    locate(blocks, 0, found)
    write_rows(blocks, found, 0, rows[:0])
    return 18 + json_bodies.warm_up()
