"""Normal form of expressions: what means the same in an obvious way becomes the same value.

NOT moves down to what cannot be negated otherwise (De Morgan and the opposite comparison hold in
three-valued logic), AND and OR are flattened, sorted and without repetition, constants stand on the right
and are folded, `a = 1 OR a = 2` is `a IN (1, 2)`, an IN of one is `=`, a flag compared with TRUE is the
flag. Every step keeps the value in all three truth values, so it holds in a select list as in WHERE.
"""

from collections.abc import Iterable
from operator import is_

from psoup.engine.query.canonical import sql_expression
from psoup.engine.query.values.evaluate import evaluate
from psoup.engine.query.values.expression import (
    And,
    ColumnRef,
    Compare,
    CompareOp,
    Constant,
    Expression,
    InList,
    IsNull,
    IsTrue,
    Like,
    Not,
    Or,
    Value,
    children,
)
from psoup.engine.query.values.like import parse_like
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType

TRUE = Constant(value=True, type=ColumnType.BOOL)
FALSE = Constant(value=False, type=ColumnType.BOOL)
UNKNOWN = Constant(None, ColumnType.BOOL)

Operands = dict[str, Expression]
"""Operands of AND or OR by their canonical text, which is one for one expression."""

_TRUE_TEXT, _FALSE_TEXT = sql_expression(TRUE), sql_expression(FALSE)
_EQ, _NE, _BOOL = CompareOp.EQ, CompareOp.NE, ColumnType.BOOL
_OPPOSITE = {
    CompareOp.EQ: CompareOp.NE,
    CompareOp.NE: CompareOp.EQ,
    CompareOp.LT: CompareOp.GE,
    CompareOp.GE: CompareOp.LT,
    CompareOp.GT: CompareOp.LE,
    CompareOp.LE: CompareOp.GT,
}
_MIRRORED = {
    CompareOp.EQ: CompareOp.EQ,
    CompareOp.NE: CompareOp.NE,
    CompareOp.LT: CompareOp.GT,
    CompareOp.GT: CompareOp.LT,
    CompareOp.LE: CompareOp.GE,
    CompareOp.GE: CompareOp.LE,
}


def fold(expression: Expression) -> Expression:
    """Return the constant that an expression over constants amounts to; any other as it is.

    A number or an instant that is NULL (`1 % 0`) stays as written: a bare NULL would forget its type.
    """
    parts = children(expression)
    if not parts or not all(isinstance(part, Constant) for part in parts):
        return expression
    value = value_of(expression)
    if value is None and expression.type is not ColumnType.BOOL:
        return expression
    return Constant(value + 0.0 if isinstance(value, float) else value, expression.type)


def value_of(expression: Expression) -> Value | None:
    """Return the value of an expression that reads no column."""
    (value,) = evaluate(expression, _no_columns, 1).to_list()
    return value


def negation(expression: Expression) -> Expression:
    """Return NOT of an expression in normal form, in normal form."""
    match expression:
        case Constant():
            return fold(Not(expression))
        case Not(operand=one):
            return one
        case Compare(op=op):
            return Compare(_OPPOSITE[op], expression.left, expression.right)
        case And(operands=many):
            return disjunction(negation(one) for one in many)
        case Or(operands=many):
            return conjunction(negation(one) for one in many)
        case _:
            return Not(expression)


def conjunction(operands: Iterable[Expression]) -> Expression:
    """Return the AND of expressions in normal form, in normal form; TRUE of none."""
    found = _flat(operands, And)
    if _FALSE_TEXT in found:
        return FALSE
    found.pop(_TRUE_TEXT, None)
    return _joined(found, And, TRUE)


def disjunction(operands: Iterable[Expression]) -> Expression:
    """Return the OR of expressions in normal form, in normal form; FALSE of none."""
    found = _flat(operands, Or)
    if _TRUE_TEXT in found:
        return TRUE
    found.pop(_FALSE_TEXT, None)
    return _joined(_with_merged_options(found), Or, FALSE)


def comparison(op: CompareOp, left: Expression, right: Expression) -> Expression:
    """Return left op right in normal form; the sides are in normal form and of types that compare."""
    if _stands_right(left, right):
        left, right, op = right, left, _MIRRORED[op]
    if not isinstance(right, Constant):
        return Compare(op, left, right)
    if right.value is None or is_null(left):
        return UNKNOWN
    if isinstance(left, Constant):
        return fold(Compare(op, left, right))
    if right.type is _BOOL and (op is _EQ or op is _NE):
        return left if (right == TRUE) == (op is _EQ) else negation(left)
    return Compare(op, left, right)


def membership(operand: Expression, options: Iterable[Constant]) -> Expression:
    """Return operand IN (options) in normal form; the options have the operand's type, or are NULL."""
    values: dict[Value | None, Constant] = {option.value: option for option in options}
    unknown = values.pop(None, None)
    listed = [values[value] for value in sorted(values)]  # type: ignore[type-var]
    if is_null(operand) or not listed:
        return UNKNOWN
    if unknown is not None:
        listed.append(Constant(None, operand.type))
    elif len(listed) == 1:
        return comparison(CompareOp.EQ, operand, listed[0])
    return fold(InList(operand, tuple(listed)))


def like(operand: Expression, pattern: str, escape: str | None) -> Expression:
    """Return operand LIKE pattern in normal form; without a wildcard it is `=`."""
    if is_null(operand):
        return UNKNOWN
    parts = parse_like(pattern, escape)
    assert parts is not None, "the binder refuses a pattern that ends with its escape"
    if parts.literal is not None:
        return comparison(CompareOp.EQ, operand, Constant(parts.literal, ColumnType.STRING))
    escape = escape if escape is not None and escape in pattern else None
    return fold(Like(operand, pattern, escape))


def is_true(operand: Expression) -> Expression:
    """Return operand IS TRUE in normal form."""
    never_unknown = operand.operand if isinstance(operand, Not) else operand
    if isinstance(never_unknown, IsNull | IsTrue):
        return operand
    return fold(IsTrue(operand))


def is_null(expression: Expression) -> bool:
    """Return whether the expression is the constant NULL."""
    return isinstance(expression, Constant) and expression.value is None


def where_form(expression: Expression) -> Expression:
    """Return the normal form of a WHERE, which asks for TRUE alone: unknown is as good as FALSE.

    AND and OR are TRUE or not by which of their operands are, so the same holds for these.
    """
    match expression:
        case And(operands=operands) | Or(operands=operands):
            formed = [where_form(one) for one in operands]
            if all(map(is_, formed, operands)):
                return expression  # it was in normal form
            join = conjunction if isinstance(expression, And) else disjunction
            return join(formed)
        case IsTrue(operand=operand):
            return where_form(operand)
        case InList(operand=operand, options=options) if options[-1].value is None:
            return membership(operand, options[:-1])  # NULL stands last
        case Constant(value=None):
            return FALSE
        case _:
            return expression


def conjuncts(expression: Expression) -> tuple[Expression, ...]:
    """Return what an expression in normal form ANDs; () for TRUE."""
    if isinstance(expression, And):
        return expression.operands
    return () if expression == TRUE else (expression,)


def _no_columns(column: ColumnRef) -> Column:
    raise AssertionError(f"a constant expression reads {column}")


def _flat(operands: Iterable[Expression], junction: type[And | Or]) -> Operands:
    found: Operands = {}
    for one in operands:
        for part in one.operands if isinstance(one, junction) else (one,):
            kept = found.setdefault(sql_expression(part), part)
            assert kept is part or kept == part, "one text, one expression"
    return found


def _joined(found: Operands, junction: type[And] | type[Or], nothing: Constant) -> Expression:
    if len(found) > 1:
        return junction(tuple([found[text] for text in sorted(found)]))
    return next(iter(found.values()), nothing)


def _with_merged_options(found: Operands) -> Operands:
    """Return the operands of an OR with all `=` and IN over one operand in one IN."""
    options: dict[Expression, list[Constant]] = {}
    others: Operands = {}
    for text, one in found.items():
        match one:
            case Compare(op=CompareOp.EQ, left=left, right=Constant() as right) if (
                left.type is right.type
            ):
                options.setdefault(left, []).append(right)
            case InList(operand=operand, options=listed):
                options.setdefault(operand, []).extend(listed)
            case _:
                others[text] = one
    for operand, among in options.items():
        merged = membership(operand, among)
        others[sql_expression(merged)] = merged
    return others


def _stands_right(left: Expression, right: Expression) -> bool:
    """Return whether the left side belongs on the right: constants do, then what sorts later."""
    if isinstance(right, Constant):
        return False
    return isinstance(left, Constant) or sql_expression(left) > sql_expression(right)
