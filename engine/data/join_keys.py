"""Keys of joins: values of expressions as whole numbers that are equal, or ordered, as the values are.

Two kinds. `index_keys` are the same for a value wherever it stands, so that an index can be made of them long before
anybody asks: of texts, and of several values, they are digests, and equal ones are candidates. `matched_codes` are
made for the rows of two sides together, and are equal exactly where the values are.
Rows with NULL in a key match nothing: callers leave them out.
"""

from collections.abc import Sequence
from itertools import count
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.join import digests
from psoup.engine.kernels.order import Integers, sortable
from psoup.engine.kernels.span import least_most
from psoup.engine.limits import TIMESTAMP_US_MAX, TIMESTAMP_US_MIN
from psoup.engine.query.factor import SAFE_MAX, BandFactor
from psoup.engine.query.functions.distinct import used_texts
from psoup.engine.query.join_shape import Tie, is_double, source_of
from psoup.engine.query.values.expression import ColumnRef, Expression
from psoup.engine.query.values.value_set import INT64_MAX, INT64_MIN
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType
from psoup.engine.tuples.value_type import value_type

_MULTIPLIER: Final = np.uint64(0x9E37_79B9_7F4A_7C15)
_SHIFT: Final = np.uint64(32)
_SLACK: Final = 2.0**-48
"""Of the numbers that make an end of a band: many times what rounding adds or takes."""
_CODES_MAX: Final = 2**62
WHOLE: Final = frozenset({ColumnType.INT64, ColumnType.TIMESTAMP, ColumnType.BOOL})
"""Types whose values are their own keys."""


@value_type
class SideKey:
    """What the rows of one source are put in order by: values to be equal, then one to lie in a band.

    Attributes:
        equal: expressions over the source.
        doubles: for each whether it is compared as a double.
        band: an expression over the source, or None.
        band_double: whether it is compared as a double.
    """

    equal: tuple[Expression, ...]
    doubles: tuple[bool, ...]
    band: Expression | None
    band_double: bool

    @property
    def asks(self) -> bool:
        """Return whether there is a key at all."""
        return bool(self.equal) or self.band is not None


def key_of(tie: Tie, source: int) -> SideKey:
    """Return the key of one of the two sources of a tie; a column is one key wherever its stream is in FROM."""
    place = 0 if source == tie.of else 1
    band = band_side(tie, source)
    return SideKey(
        tuple(_anywhere(pair[place]) for pair in tie.equal),
        tuple(is_double(pair) for pair in tie.equal),
        None if band is None else _anywhere(band),
        tie.band is not None and is_double((tie.band.left, tie.band.right)),
    )


def band_side(tie: Tie, source: int) -> Expression | None:
    """Return the side of a tie's band that is over one of its two sources; None where it has no band."""
    if tie.band is None:
        return None
    return tie.band.left if source_of(tie.band.left) == source else tie.band.right


def _anywhere(side: Expression) -> Expression:
    """Return a side that is a column alone as that of the first source: all places in FROM share its indexes."""
    return ColumnRef(0, side.name, side.type) if isinstance(side, ColumnRef) else side


def index_keys(columns: Sequence[Column], doubles: Sequence[bool]) -> Integers:
    """Return (n,) keys of rows of (c,) columns, c at least 1: exact for one number, digests else.

    Under NULL anything. Cost: O(n c), and one digest for each distinct text.
    """
    parts = [
        _index_part(column, double=double) for column, double in zip(columns, doubles, strict=True)
    ]
    if len(parts) == 1:
        return parts[0]
    mixed = np.zeros(len(parts[0]), dtype=np.uint64)
    for part in parts:
        mixed = (mixed ^ part.view(np.uint64)) * _MULTIPLIER
        mixed ^= mixed >> _SHIFT
    return mixed.view(np.int64)


def matched_codes(
    left: Sequence[Column], right: Sequence[Column], doubles: Sequence[bool]
) -> tuple[Integers, Integers]:
    """Return codes of the rows of two sides, equal exactly where all their values are.

    Args:
        left: (c,) columns of n values, none of them NULL; c at least 1.
        right: (c,) of m values.
        doubles: (c,) whether they are compared as doubles.

    Cost: O(n + m) where the values span little, else a sort of both; one look-up for each distinct text.
    """
    codes: tuple[Integers, Integers] | None = None
    for one, other, double in zip(left, right, doubles, strict=True):
        pair = _matched(one, other, double=double)
        codes = pair if codes is None else _combined(codes, pair)
    assert codes is not None, "there is a key"
    return codes


def band_ends(band: BandFactor, *, known: Expression, column: Column) -> tuple[Integers, Integers]:
    """Return the smallest and the largest key of the other side that each value of one side matches.

    Args:
        band: the factor.
        known: which of its two sides the values are of.
        column: (n,) values, none of them NULL.

    Returns:
        (n,) and (n,), both inclusive; the first is the larger where no key matches.
    """
    if known == band.left:  # left - right in [low, high]
        less, more = band.high, None if band.low is None else -band.low
        less = None if less is None else -less
        less_closed, more_closed = band.high_closed, band.low_closed
    else:
        less, more = band.low, band.high
        less_closed, more_closed = band.low_closed, band.high_closed
    if is_double((band.left, band.right)):
        values = column.values.astype(np.float64, copy=False)
        return (
            _double_end(values, less, -1, open_by=0 if less_closed or not band.exact else 1),
            _double_end(values, more, 1, open_by=0 if more_closed or not band.exact else -1),
        )
    whole: Integers = column.values.astype(np.int64, copy=False)
    least = np.full(len(whole), INT64_MIN) if less is None else _whole_end(whole, less)
    most = np.full(len(whole), INT64_MAX) if more is None else _whole_end(whole, more)
    if band.exact and not less_closed:
        _open(least, INT64_MAX, 1, least=least, most=most)
    if band.exact and not more_closed:
        _open(most, INT64_MIN, -1, least=least, most=most)
    return least, most


def is_whole(band: BandFactor) -> bool:
    """Return whether both sides are whole numbers or instants: their keys are the values."""
    return band.left.type in WHOLE and band.right.type in WHOLE


def is_settled(band: BandFactor, left: Integers, right: Integers) -> bool:
    """Return whether the bounds say all that the conditions do, for these values of the two sides, in any order.

    They do where no condition's arithmetic can overflow, which would make it NULL. Cost: O(values).
    """
    if band.exact:
        return True
    if not is_whole(band) or not len(left) or not len(right):
        return False
    by = band.constants_said
    if by is None:
        return False
    (least, most), (low, high) = least_most(left), least_most(right)
    least, most = int(min(least, low)) - by, int(max(most, high)) + by
    if ColumnType.TIMESTAMP in (band.left.type, band.right.type):
        return least >= TIMESTAMP_US_MIN and most <= TIMESTAMP_US_MAX
    return least >= -SAFE_MAX and most <= SAFE_MAX


def _open(ends: Integers, last: int, outwards: int, *, least: Integers, most: Integers) -> None:
    """Move closed ends by one, in place; beyond the last value of all there is none, so no key matches."""
    beyond = ends == last
    ends[~beyond] += outwards
    least[beyond], most[beyond] = 1, 0


def _whole_end(values: Integers, by: float) -> Integers:
    """Return values moved by a whole number, no further than int64 reaches; an array of its own."""
    step = int(by)
    inside = values <= INT64_MAX - step if step >= 0 else values >= INT64_MIN - step
    moved = (values.view(np.uint64) + np.uint64(step % 2**64)).view(np.int64)  # exact where inside
    return np.where(inside, moved, INT64_MAX if step >= 0 else INT64_MIN)


def _double_end(
    values: NDArray[np.float64], by: float | None, outwards: int, *, open_by: int
) -> Integers:
    """Return the keys of values moved by a number, and outwards by more than rounding can be wrong by."""
    if by is None:
        return np.full(len(values), INT64_MIN if outwards < 0 else INT64_MAX)
    if by == 0:
        return sortable(values) + open_by
    with np.errstate(over="ignore"):
        slack = np.abs(values) * _SLACK + abs(by) * _SLACK  # finite, unlike the sum of both
        return sortable(values + by + outwards * slack)


def _index_part(column: Column, *, double: bool) -> Integers:
    if column.type is not ColumnType.STRING:
        return band_values(column, double=double)
    texts, places = used_texts(column)
    found: Integers = digests_of(texts)[places]
    return found


def digests_of(texts: Sequence[str]) -> Integers:
    """Return 64 bits of each text, the same in every process. Cost: O(bytes)."""
    every = "".join(texts)
    # Of ASCII a text has as many bytes as characters.
    sized = texts if every.isascii() else [text.encode() for text in texts]
    ends = np.cumsum(np.fromiter(map(len, sized), dtype=np.int64, count=len(texts)))
    found = np.empty(len(texts), dtype=np.int64)
    digests(np.frombuffer(every.encode(), dtype=np.uint8), ends, found)
    return found


def band_values(column: Column, *, double: bool) -> Integers:
    """Return (n,) whole numbers in the order of a column's values: int64 themselves, doubles made sortable."""
    if double:
        return sortable(column.values.astype(np.float64, copy=False))
    return column.values.astype(np.int64, copy=False)


def _matched(left: Column, right: Column, *, double: bool) -> tuple[Integers, Integers]:
    if left.type is not ColumnType.STRING:
        return band_values(left, double=double), band_values(right, double=double)
    texts, places = used_texts(left)
    others, other_places = used_texts(right)
    codes = dict(zip(texts, range(len(texts)), strict=True))
    own = np.fromiter(map(codes.setdefault, others, count(len(texts))), np.int64, len(others))
    return places.astype(np.int64, copy=False), own[other_places]


def _combined(
    codes: tuple[Integers, Integers], more: tuple[Integers, Integers]
) -> tuple[Integers, Integers]:
    """Return one code for two of each row."""
    first, first_span = _narrow(codes)
    second, second_span = _narrow(more)
    if first_span * second_span > _CODES_MAX:
        first, first_span = _dense(first)
        second, second_span = _dense(second)
    return first[0] * second_span + second[0], first[1] * second_span + second[1]


def _narrow(codes: tuple[Integers, Integers]) -> tuple[tuple[Integers, Integers], int]:
    """Return codes from 0, and the number past them; dense ones where these are too many for 32 bits."""
    held = [one for one in codes if len(one)]
    if not held:
        return codes, 1
    least = min(int(one.min()) for one in held)
    span = max(int(one.max()) for one in held) - least + 1
    if span > 2**31:
        return _dense(codes)
    return (codes[0] - least, codes[1] - least), span


def _dense(codes: tuple[Integers, Integers]) -> tuple[tuple[Integers, Integers], int]:
    """Return codes 0 to d - 1 of the d distinct ones, and d."""
    distinct, places = np.unique(np.concatenate(codes), return_inverse=True)
    cut = len(codes[0])
    return (places[:cut], places[cut:]), max(1, len(distinct))
