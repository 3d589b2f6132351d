"""LEFT JOIN of the naive twin: tuples without partners, looked at at every instant at which something changes."""

from collections.abc import Mapping, Sequence

from psoup.engine.query.left_join import LeftJoin
from psoup.engine.tuples.schema import StreamSchema
from tests.reference_row_windows import Dated, Stretch, holds
from tests.reference_shapes import ShapedRow
from tests.reference_values import Row, factor_holds, value_of


def passes(left_join: LeftJoin, row: ShapedRow) -> bool:
    """Return whether what WHERE asks after the join is TRUE of a row."""
    return left_join.rest is None or value_of(left_join.rest, row.rows) is True


def alone_rows(
    left_join: LeftJoin,
    lefts: Sequence[Dated],
    stretches: Sequence[Mapping[int, Stretch]],
    pairs: Sequence[Sequence[Dated]],
    *,
    right: StreamSchema,
    now_us: int,
) -> list[ShapedRow]:
    """Return the tuples of the left that stand alone beside NULLs, now or first at an instant to come.

    Args:
        left_join: what WHERE asks of the left.
        lefts: the tuples of the left that are shown now or later.
        stretches: by source and tuple id, when its windows show a tuple.
        pairs: all that satisfy ON, of tuples that are shown now or later.
        right: the declaration of the right.
        now_us: NOW.
    """
    nothing: Row = {column.name: None for column in right.columns}
    found = []
    for left in lefts:
        if not all(factor_holds(factor, [left.values]) for factor in left_join.alone):
            continue
        span = _alone(left, stretches, pairs, now_us)
        if span is not None:
            enters_us, leaves_us = span
            order = (left.time_us, left.tuple_id, -1)
            rows = [left.values, nothing]
            found.append(ShapedRow(f"{left.tuple_id}-", order, rows, leaves_us, enters_us))
    return found


def _alone(
    left: Dated,
    stretches: Sequence[Mapping[int, Stretch]],
    pairs: Sequence[Sequence[Dated]],
    now_us: int,
) -> tuple[int | None, int | None] | None:
    """Return when a tuple begins to stand alone, None = it does now, and when it ends; None = it never does."""
    own = stretches[0][left.tuple_id]
    others = [stretches[1][right.tuple_id] for one, right in pairs if one is left]

    def alone(us: int) -> bool:
        return holds(own, us) and not any(holds(other, us) for other in others)

    ends = {us for stretch in (own, *others) for us in stretch if us is not None}
    later = sorted(us for us in ends if us > now_us)
    enters_us = None if alone(now_us) else next((us for us in later if alone(us)), None)
    if enters_us is None and not alone(now_us):
        return None
    begin_us = now_us if enters_us is None else enters_us
    return enters_us, next((us for us in later if us > begin_us and not alone(us)), None)
