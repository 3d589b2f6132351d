"""Peers that are libraries of arrays and of bits: NumPy, bitarray, a dict of lists."""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from bitarray import bitarray
from numpy.typing import NDArray

from benchmarks.ways import Way, counts_answer, rows_answer
from benchmarks.workloads import ATTRIBUTES, INTEGER, Columns, Domain, Query, arrays_of

Mask = NDArray[np.bool_]


class Filter:
    """One query over columns of uint8 or float64; two passes per interval of bytes, three of floats."""

    def __init__(self, domain: Domain, query: Query) -> None:
        """Turn the query's constants into scalars of the columns' type."""
        kind = np.uint8 if domain is INTEGER else np.float64
        self._bytes = domain is INTEGER
        self._bounds = [
            (
                name,
                kind(domain.lowest if low is None else low),
                kind(domain.highest if high is None else high),
            )
            for name, low, high in query.bounds
        ]

    def mask(self, columns: Mapping[str, Any], out: Mask, scratch: Mask) -> None:
        """Write which tuples satisfy the query into `out`; `scratch` is of its shape."""
        found = out
        for name, low, high in self._bounds:
            values = columns[name]
            if self._bytes:  # values below `low` wrap around to large ones
                np.less_equal(values - low, high - low, out=found)
            else:
                np.greater_equal(values, low, out=found)
                found &= values <= high
            if found is scratch:
                out &= scratch
            found = scratch
        if not self._bounds:
            out[:] = True


class NumpyFilters(Way):
    """One filter per query over the whole batch: a row of booleans each."""

    def __init__(self, domain: Domain, queries: Sequence[Query], columns: Columns) -> None:
        """Make the filters, and room for what they find."""
        self._filters = [Filter(domain, query) for query in queries]
        self._columns = columns
        rows = len(columns[ATTRIBUTES[0]])
        self._found = np.empty((len(queries), rows), dtype=np.bool_)
        self._scratch = np.empty(rows, dtype=np.bool_)

    def run(self, state: None) -> Mask:
        """Filter the batch once per query."""
        for one, row in zip(self._filters, self._found, strict=True):
            one.mask(self._columns, row, self._scratch)
        return self._found

    def answer(self, outcome: Mask) -> bytes:
        """Return the counts."""
        return counts_answer(outcome.sum(axis=1))


class NumpyScan(Way):
    """Each query once over stored columns: the rows, or their number."""

    def __init__(
        self, domain: Domain, queries: Sequence[Query], columns: Columns, *, count_only: bool
    ) -> None:
        """Make the filters; row numbers stand beside the columns."""
        self._filters = [Filter(domain, query) for query in queries]
        self._columns = columns
        self._count_only = count_only
        rows = len(columns[ATTRIBUTES[0]])
        self._numbers = np.arange(rows, dtype=np.int64)
        self._mask, self._scratch = np.empty((2, rows), dtype=np.bool_)

    def run(self, state: None) -> list[Any]:
        """Scan the columns once per query."""
        found: list[Any] = []
        for one in self._filters:
            one.mask(self._columns, self._mask, self._scratch)
            if self._count_only:
                found.append(np.count_nonzero(self._mask))
                continue
            places = np.flatnonzero(self._mask)
            columns = [self._columns[name][places] for name in ATTRIBUTES]
            found.append((self._numbers[places], columns))
        return found

    def answer(self, outcome: list[Any]) -> bytes:
        """Return the rows, or the counts."""
        return counts_answer(outcome) if self._count_only else rows_answer(outcome)


class Bitsets(Way):
    """A bitarray of queries per value of each attribute; four of them ANDed for every tuple."""

    def __init__(
        self,
        domain: Domain,
        queries: Sequence[Query],
        columns: Columns,
        *,
        asked: int | None = None,
    ) -> None:
        """Fill the tables: integers only. `asked` = the answer is that of the first queries alone."""
        lows, highs = arrays_of(domain, queries)
        self._tables = [
            [_bits((low <= value) & (value <= high)) for value in range(int(domain.highest) + 1)]
            for low, high in zip(lows, highs, strict=True)
        ]
        self._rows = list(zip(*(columns[name].tolist() for name in ATTRIBUTES), strict=True))
        self._asked = len(queries) if asked is None else asked

    def run(self, state: None) -> list[bitarray]:
        """Return the bitset of each tuple."""
        of_a, of_b, of_c, of_d = self._tables
        return [of_a[a] & of_b[b] & of_c[c] & of_d[d] for a, b, c, d in self._rows]

    def answer(self, outcome: list[bitarray]) -> bytes:
        """Return the counts."""
        packed = np.frombuffer(b"".join(one.tobytes() for one in outcome), dtype=np.uint8)
        rows = np.unpackbits(packed.reshape(len(outcome), -1), axis=1, count=self._asked)
        return counts_answer(rows.sum(axis=0))


def _bits(row: Mask) -> bitarray:
    found = bitarray(endian="big")
    found.frombytes(np.packbits(row).tobytes())
    return found[: len(row)]
