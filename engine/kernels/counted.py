"""Bitmaps of a chunk's smallest rows where its values span little: rows are counted into cells, nothing is sorted.

A bound lies below, among or above the values: it is one of `span + 2` edges. The edges that are asked for part the
span into cells, and the bitmap of an edge is the union of the cells before it. A block of 512 rows has a line of the
cache for each cell, so that rows are scattered over some kilobytes, and the union of the cells grows in registers.
"""

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.bits import Words
from psoup.engine.kernels.compiled import compiled
from psoup.engine.kernels.order import Integers
from psoup.engine.kernels.rows import add_up, count_of


@compiled
def find_edges(
    bounds: Integers,
    least: int,
    most: int,
    edges: NDArray[np.int32],
    cells: NDArray[np.int32],
    *,
    up_to: bool,
) -> None:
    """Write how many of the whole numbers from `least` to `most` lie below each bound, or up to it, and mark these.

    Args:
        bounds: (c,) in any order.
        least: the smallest value.
        most: the largest.
        edges: (c,) written.
        cells: (most - least + 3,) written: 1 for each edge that is found.
        up_to: whether a value that equals a bound counts.
    """
    for i in range(len(bounds)):
        bound = bounds[i]
        if bound < least:
            edge = 0
        elif bound > most:
            edge = most - least + 1
        else:
            edge = bound - least + up_to
        edges[i] = edge
        cells[edge] = 1


@compiled
def number_cells(cells: NDArray[np.int32]) -> int:
    """Turn the marks of edges into the cell of each value of the span; return how many edges are marked.

    A value lies in the cell of the first edge behind it. Values behind the last edge lie in one cell more, as
    NULL does, for which the last of `cells` stands.
    """
    count = 0
    for value in range(len(cells)):
        count += cells[value]
        cells[value] = count
    return count


@compiled
def put_into_cells(
    values: Integers,
    null_rows: Words,
    least: int,
    cells: NDArray[np.int32],
    parts: Words,
    bitmaps: Words,
    counts: NDArray[np.int32],
    rows: NDArray[np.int32],
) -> None:
    """Write the bitmap of the rows below each edge, how many they are, and the rows by cell.

    Args:
        values: (4096,) by row; those of rows that hold a value are in the span.
        null_rows: (64,) words, rows that hold NULL, whatever their values.
        least: the smallest value.
        cells: as `number_cells` leaves them.
        parts: (u + 1 or more, 8) words: zeros, and zeros again afterwards.
        bitmaps: (u, 64) words; written.
        counts: (u,) written.
        rows: (4096,) written: the rows of each cell, ascending, cell after cell; last those below no edge.

    Cost: O(4096 + 64 u).
    """
    edges, of_null = np.uint64(len(bitmaps)), len(cells) - 1
    cell_of = np.empty(4_096, dtype=np.uint64)
    for block in range(8):
        for word in range(8):
            nulls = null_rows[block * 8 + word]
            for bit in range(64):
                row, mask = block * 512 + word * 64 + bit, np.uint64(1) << np.uint64(bit)
                value = of_null if nulls & mask else values[row] - least
                cell = np.uint64(cells[np.uint64(value)])
                cell_of[row] = cell
                parts[cell, np.uint64(word)] |= mask
        parts[edges] = 0
        add_up(parts, bitmaps, block)
    places = np.zeros(len(bitmaps) + 1, dtype=np.uint64)
    for edge in range(len(bitmaps)):
        counts[edge] = count_of(bitmaps[edge])
        places[edge + 1] = counts[edge]
    for row in range(4_096):
        cell = cell_of[row]
        place = places[cell]
        rows[place] = row
        places[cell] = place + np.uint64(1)


@compiled
def rows_below(
    edges: NDArray[np.int32],
    cells: NDArray[np.int32],
    counts: NDArray[np.int32],
    first: int,
    rows: NDArray[np.int32],
) -> None:
    """Write which bitmap is that of each edge, and replace the edge by how many rows lie below it.

    Args:
        edges: (c,) as `find_edges` writes them; written.
        cells: as `number_cells` leaves them.
        counts: as `put_into_cells` writes them.
        first: the number of the bitmap of the lowest edge.
        rows: (c,) written.
    """
    for i in range(len(edges)):
        number = cells[edges[i]] - 1
        edges[i] = counts[number]
        rows[i] = first + number
