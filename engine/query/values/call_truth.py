"""Where a function of one attribute compares so with a constant: for which values of the attribute, as intervals.

Only functions whose answer is a few intervals: DATE_TRUNC and TIME_BUCKET, which are steps that never fall, LEFT, whose
texts begin alike, and COALESCE, which says what NULL counts as. Any other is left to the evaluator.
"""

from collections.abc import Callable, Mapping, Sequence

from psoup.engine.limits import TIMESTAMP_US_MAX, TIMESTAMP_US_MIN
from psoup.engine.query.functions.times import UNITS_US_MAX
from psoup.engine.query.values.evaluate import evaluate
from psoup.engine.query.values.expression import (
    Call,
    ColumnRef,
    Compare,
    CompareOp,
    Constant,
    Expression,
    Value,
)
from psoup.engine.query.values.like import prefix_past
from psoup.engine.query.values.value_set import (
    NO_VALUE,
    ValueSet,
    intersection,
    values_between,
    values_where,
)
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType

Truth = tuple[ValueSet, ValueSet]
"""The values for which a predicate is TRUE, and those for which it is FALSE; unknown for the others."""
Compared = Callable[[Compare], ValueSet | None]
"""From a comparison of a column with a constant to where it is TRUE; None where that is not worth finding."""

_NEGATED = {
    CompareOp.NE: CompareOp.EQ,
    CompareOp.LT: CompareOp.GE,
    CompareOp.LE: CompareOp.GT,
}


def call_truth(test: Compare, compared: Compared) -> Truth | None:
    """Return the truth of a call compared with a constant; None where it is not a few intervals."""
    call, constant = test.left, test.right
    assert isinstance(call, Call), "which is compared"
    assert isinstance(constant, Constant), "with a constant"
    truth = _TRUTHS.get(call.function)
    return None if truth is None else truth(call.arguments, test, compared)


def _step_truth(parts: Sequence[Expression], test: Compare, _: Compared) -> Truth | None:
    """Return the truth of DATE_TRUNC or TIME_BUCKET: f(t) >= c from the first step on that begins at c or later."""
    if not isinstance(parts[1], ColumnRef) or test.right.type is not ColumnType.TIMESTAMP:
        return None
    at = _constant(test.right)
    assert isinstance(at, int), "an instant"
    longest = _longest(parts[0])

    def begun(us: int) -> int | None:
        """Return where the step begins that an instant lies in; None for none."""
        if us > TIMESTAMP_US_MAX:
            return None
        assert isinstance(test.left, Call), "a step"
        moved = (parts[0], Constant(us, ColumnType.TIMESTAMP))
        found = _value(Call(test.left.function, moved, ColumnType.TIMESTAMP))
        assert found is None or isinstance(found, int), "an instant, or none"
        return found

    def behind(us: int) -> int | None:
        """Return where the step begins that follows the one of an instant."""
        begin = begun(us)
        return begun((us if begin is None else begin) + longest)

    begins = begun(at) == at
    if test.op in (CompareOp.EQ, CompareOp.NE):
        true = values_between(at, behind(at)) if begins else NO_VALUE
    elif test.op in (CompareOp.GE, CompareOp.LT):
        true = _from(at if begins else behind(at))
    else:
        true = _from(behind(at))
    if test.op in _NEGATED:
        true = true.complement()
    if begun(TIMESTAMP_US_MIN) is not None:
        return _decided(true)
    known = _from(behind(TIMESTAMP_US_MIN))  # before it lies a bucket that begins before the year 1
    return intersection([true, known]), intersection([true.complement(), known])


def _left_truth(parts: Sequence[Expression], test: Compare, _: Compared) -> Truth | None:
    """Return the truth of LEFT(column, count) = text: texts that begin so, or are so where the text is shorter."""
    column, count = parts
    if test.op not in (CompareOp.EQ, CompareOp.NE) or not isinstance(column, ColumnRef):
        return None
    length, text = _constant(count), _constant(test.right)
    if not isinstance(length, int) or length < 1:
        return None
    assert isinstance(text, str), "what a text is compared with"
    true = NO_VALUE
    if len(text) == length:
        true = values_between(text, prefix_past(text))
    elif len(text) < length:
        true = values_where(CompareOp.EQ, text)
    return _decided(true if test.op is CompareOp.EQ else true.complement())


def _coalesce_truth(parts: Sequence[Expression], test: Compare, compared: Compared) -> Truth | None:
    """Return the truth of COALESCE(column, constant): that of the column, and NULL as the constant has it."""
    if len(parts) != 2 or not isinstance(parts[0], ColumnRef) or _constant(parts[1]) is None:
        return None
    true = compared(Compare(test.op, parts[0], test.right))
    if true is None:
        return None
    null = _value(Compare(test.op, parts[1], test.right)) is True
    return (
        ValueSet(true.intervals, null=null),
        ValueSet(true.complement().intervals, null=not null),
    )


def _decided(true: ValueSet) -> Truth:
    return true, true.complement()


def _longest(length: Expression) -> int:
    """Return how long the longest step is, in microseconds."""
    value = _constant(length)
    if isinstance(value, str):
        return UNITS_US_MAX[value]
    assert isinstance(value, int), "the microseconds of an INTERVAL"
    return value


def _from(us: int | None) -> ValueSet:
    return NO_VALUE if us is None else values_where(CompareOp.GE, us)


def _constant(expression: Expression) -> Value | None:
    return expression.value if isinstance(expression, Constant) else None


def _value(expression: Expression) -> Value | None:
    """Return the value of an expression over constants."""
    (value,) = evaluate(expression, _no_columns, 1).to_list()
    return value


def _no_columns(column: ColumnRef) -> Column:
    raise AssertionError(f"a constant expression reads {column}")


_TRUTHS: Mapping[str, Callable[[Sequence[Expression], Compare, Compared], Truth | None]] = {
    "DATE_TRUNC": _step_truth,
    "TIME_BUCKET": _step_truth,
    "LEFT": _left_truth,
    "COALESCE": _coalesce_truth,
}
"""By function, what finds its intervals."""
