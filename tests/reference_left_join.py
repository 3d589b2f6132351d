"""LEFT JOIN of the naive twin: rows without partners, looked at at every instant at which something changes."""

from collections.abc import Mapping, Sequence

from psoup.engine.query.left_join import LeftJoin
from psoup.engine.tuples.schema import StreamSchema
from tests.reference_row_windows import Dated, Stretch, holds
from tests.reference_shapes import ShapedRow
from tests.reference_values import Row, value_of

Parts = Sequence[Dated]
"""One tuple of each source."""
Stretches = Sequence[Mapping[int, Stretch]]
"""By source and tuple id, when its windows show a tuple."""


def passes(left_join: LeftJoin, row: ShapedRow) -> bool:
    """Return whether what WHERE asks after the join is TRUE of a row."""
    return left_join.rest is None or value_of(left_join.rest, row.rows) is True


def alone_rows(
    lefts: Sequence[Parts],
    stretches: Stretches,
    pairs: Sequence[Parts],
    *,
    right: StreamSchema,
    now_us: int,
) -> list[ShapedRow]:
    """Return the rows of the left that stand alone beside NULLs, now or first at an instant to come.

    Args:
        lefts: the rows of the left, of tuples that are shown now or later.
        stretches: of the tuples of all sources.
        pairs: the rows that satisfy ON, likewise.
        right: the declaration of the right.
        now_us: NOW.
    """
    nothing: Row = {column.name: None for column in right.columns}
    found = []
    for left in lefts:
        span = _alone(left, stretches, pairs, now_us)
        if span is not None:
            enters_us, leaves_us = span
            ids = [one.tuple_id for one in left]
            order = (min(one.time_us for one in left), *ids, -1)
            rows = [*(one.values for one in left), nothing]
            name = "-".join(map(str, ids)) + "-"
            found.append(ShapedRow(name, order, rows, leaves_us, enters_us))
    return found


def _alone(
    left: Parts, stretches: Stretches, pairs: Sequence[Parts], now_us: int
) -> tuple[int | None, int | None] | None:
    """Return when a row begins to stand alone, None = it does now, and when it ends; None = it never does."""
    own = [some[one.tuple_id] for one, some in zip(left, stretches, strict=False)]
    others = [
        stretches[-1][parts[-1].tuple_id]
        for parts in pairs
        if all(one is another for one, another in zip(left, parts, strict=False))
    ]

    def alone(us: int) -> bool:
        shown = all(holds(stretch, us) for stretch in own)
        return shown and not any(holds(other, us) for other in others)

    ends = {us for stretch in (*own, *others) for us in stretch if us is not None}
    later = sorted(us for us in ends if us > now_us)
    enters_us = None if alone(now_us) else next((us for us in later if alone(us)), None)
    if enters_us is None and not alone(now_us):
        return None
    begin_us = now_us if enters_us is None else enters_us
    return enters_us, next((us for us in later if us > begin_us and not alone(us)), None)
