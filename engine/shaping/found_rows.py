"""The rows of a query as they are found elsewhere: Arrow batches with the columns that its shape reads.

Of int64 are `enters` and `leaves`, the instants between which a row is shown (NULL: it never leaves), `time`, that of
its earliest tuple, and a tuple id of each source (NULL: there is none), `id0`, `id1` and so on. Behind them, of the
types that they have in streams, stand the columns that the shape reads, `v0`, `v1` and so on, in the order of
`columns_read`.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from psoup.engine.aggregates.grouping import RowsToAggregate
from psoup.engine.invocation.position.answer import NO_PART
from psoup.engine.invocation.shaped.grouping import NEVER_US
from psoup.engine.query.shape import Shape
from psoup.engine.query.values.expression import ColumnRef, Expression, column_refs
from psoup.engine.tuples.arrow import ARROW_TYPES, column_from_arrow
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType
from psoup.engine.tuples.value_type import value_type

Integers = NDArray[np.int64]

LEAVES_NEVER_US: Final = NEVER_US
"""In place of the instant at which a row leaves that never does."""
ENTERS: Final = "enters"
LEAVES: Final = "leaves"
TIME: Final = "time"


def id_name(source: int) -> str:
    """Return the name of the column with the tuple ids of a source."""
    return f"id{source}"


def value_name(place: int) -> str:
    """Return the name of the column with the values of one of `columns_read`."""
    return f"v{place}"


def columns_read(shape: Shape) -> tuple[ColumnRef, ...]:
    """Return the columns of FROM that a shape reads, each once, by source and name."""
    read: list[Expression] = []
    if shape.keys is None:
        read += [output.expression for output in shape.outputs]
        read += [entry.expression for entry in shape.order]
    else:
        read += shape.keys
        for call in shape.aggregates:
            read += call.arguments
            read += [] if call.filter is None else [call.filter]
    refs = frozenset[ColumnRef]().union(*map(column_refs, read))
    return tuple(sorted(refs, key=lambda ref: (ref.source, ref.name)))


@value_type
class FoundRows:
    """n rows of a query over p sources.

    Attributes:
        enters_us, leaves_us: (n,) when each is shown, NEVER_US: it never leaves.
        times: (n,) the time of its earliest tuple.
        tuple_ids: (p, n), NO_PART for a source of which a row of LEFT JOIN has none.
        columns: n values of each of `read`.
        read: what the shape reads.
    """

    enters_us: Integers
    leaves_us: Integers
    times: Integers
    tuple_ids: Integers
    columns: tuple[Column, ...]
    read: tuple[ColumnRef, ...]

    def __len__(self) -> int:
        """Return n."""
        return len(self.times)

    def column(self, ref: ColumnRef) -> Column:
        """Return the values of one of the columns."""
        return self.columns[self.read.index(ref)]

    def where(self, chosen: NDArray[np.bool_]) -> "FoundRows":
        """Return the chosen rows."""
        if chosen.all():
            return self
        return FoundRows(
            self.enters_us[chosen],
            self.leaves_us[chosen],
            self.times[chosen],
            self.tuple_ids[:, chosen],
            tuple([column.take(chosen) for column in self.columns]),
            self.read,
        )

    def to_aggregate(self, changes_us: Integers) -> RowsToAggregate:
        """Return the rows as a grouping reads them; `changes_us` are what it takes the first of for each group."""

        def read(ref: ColumnRef) -> Column:
            if not ref.name:  # of FIRST_TO_LEAVE
                return Column(ColumnType.TIMESTAMP, changes_us)
            return self.column(ref)

        return RowsToAggregate(read, len(self), self.times, self.tuple_ids)


def found_rows(
    batches: Iterator[pa.RecordBatch], read: Sequence[ColumnRef], sources: int
) -> Iterator[FoundRows]:
    """Yield the rows of batches, of those that have some."""
    for batch in batches:
        if batch.num_rows:
            yield _found(batch, tuple(read), sources)


def no_rows(read: Sequence[ColumnRef], sources: int) -> FoundRows:
    """Return no rows."""
    none = np.empty(0, dtype=np.int64)
    columns = tuple(
        [column_from_arrow(ref.type, pa.array([], ARROW_TYPES[ref.type])) for ref in read]
    )
    return FoundRows(none, none, none, np.empty((sources, 0), np.int64), columns, tuple(read))


def _found(batch: pa.RecordBatch, read: tuple[ColumnRef, ...], sources: int) -> FoundRows:
    def integers(name: str, instead: int) -> Integers:
        values: Integers = batch.column(name).fill_null(instead).to_numpy(zero_copy_only=False)
        return values

    columns = [
        column_from_arrow(ref.type, batch.column(value_name(place)))
        for place, ref in enumerate(read)
    ]
    ids = np.array([integers(id_name(source), NO_PART) for source in range(sources)])
    return FoundRows(
        integers(ENTERS, NEVER_US),
        integers(LEAVES, NEVER_US),
        integers(TIME, NEVER_US),
        ids,
        tuple(columns),
        read,
    )
