"""The syntax tree: what a query text says, before names and types are looked at.

Every node knows its span of the text, so that every refusal can point. Trees are at most
`QUERY_DEPTH_MAX` operators high: AND and OR of many operands are one node.
"""

from dataclasses import dataclass
from enum import StrEnum

from engine.query.expression import ArithmeticOp, CompareOp
from engine.query.refusal import Span


@dataclass(frozen=True, slots=True)
class Name:
    """A name as written; a quoted one is taken exactly."""

    text: str
    quoted: bool
    span: Span


@dataclass(frozen=True, slots=True)
class NumberSyntax:
    """A number, with its sign."""

    text: str
    span: Span

    @property
    def is_integer(self) -> bool:
        """Whether it has neither a point nor an exponent."""
        return self.text.lstrip("-").isdigit()


@dataclass(frozen=True, slots=True)
class StringSyntax:
    """A string, unquoted."""

    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class BooleanSyntax:
    """TRUE or FALSE."""

    value: bool
    span: Span


@dataclass(frozen=True, slots=True)
class NullSyntax:
    """NULL."""

    span: Span


@dataclass(frozen=True, slots=True)
class TimestampSyntax:
    """TIMESTAMP 'value'."""

    value: StringSyntax
    span: Span


@dataclass(frozen=True, slots=True)
class IntervalSyntax:
    """INTERVAL 'n' UNIT, in microseconds."""

    us: int
    span: Span


@dataclass(frozen=True, slots=True)
class ColumnSyntax:
    """[qualifier.]column."""

    qualifier: Name | None
    name: Name
    span: Span


@dataclass(frozen=True, slots=True)
class NegateSyntax:
    """-operand."""

    operand: "ExpressionSyntax"
    span: Span


@dataclass(frozen=True, slots=True)
class AbsoluteSyntax:
    """ABS(operand)."""

    operand: "ExpressionSyntax"
    span: Span


@dataclass(frozen=True, slots=True)
class ArithmeticSyntax:
    """left op right; `op_span` is the operator's own."""

    op: ArithmeticOp
    left: "ExpressionSyntax"
    right: "ExpressionSyntax"
    span: Span
    op_span: Span


@dataclass(frozen=True, slots=True)
class CompareSyntax:
    """left op right; `op_span` is the operator's own."""

    op: CompareOp
    left: "ExpressionSyntax"
    right: "ExpressionSyntax"
    span: Span
    op_span: Span


@dataclass(frozen=True, slots=True)
class BetweenSyntax:
    """operand [NOT] BETWEEN low AND high."""

    operand: "ExpressionSyntax"
    low: "ExpressionSyntax"
    high: "ExpressionSyntax"
    negated: bool
    span: Span
    op_span: Span


@dataclass(frozen=True, slots=True)
class InSyntax:
    """operand [NOT] IN (options)."""

    operand: "ExpressionSyntax"
    options: tuple["ExpressionSyntax", ...]
    negated: bool
    span: Span
    op_span: Span


@dataclass(frozen=True, slots=True)
class LikeSyntax:
    """operand [NOT] LIKE pattern [ESCAPE escape]."""

    operand: "ExpressionSyntax"
    pattern: StringSyntax
    escape: StringSyntax | None
    negated: bool
    span: Span
    op_span: Span


class IsWhat(StrEnum):
    """What may follow IS [NOT]."""

    NULL = "NULL"
    TRUE = "TRUE"
    FALSE = "FALSE"


@dataclass(frozen=True, slots=True)
class IsSyntax:
    """operand IS [NOT] what."""

    operand: "ExpressionSyntax"
    what: IsWhat
    negated: bool
    span: Span
    op_span: Span


@dataclass(frozen=True, slots=True)
class NotSyntax:
    """NOT operand."""

    operand: "ExpressionSyntax"
    span: Span


@dataclass(frozen=True, slots=True)
class LogicalSyntax:
    """operands joined by AND, or by OR; two at least."""

    conjunction: bool
    operands: tuple["ExpressionSyntax", ...]
    span: Span


ExpressionSyntax = (
    NumberSyntax
    | StringSyntax
    | BooleanSyntax
    | NullSyntax
    | TimestampSyntax
    | IntervalSyntax
    | ColumnSyntax
    | NegateSyntax
    | AbsoluteSyntax
    | ArithmeticSyntax
    | CompareSyntax
    | BetweenSyntax
    | InSyntax
    | LikeSyntax
    | IsSyntax
    | NotSyntax
    | LogicalSyntax
)


@dataclass(frozen=True, slots=True)
class StarSyntax:
    """`*` or `qualifier.*`."""

    qualifier: Name | None
    span: Span


@dataclass(frozen=True, slots=True)
class OutputSyntax:
    """One entry of the select list."""

    what: ExpressionSyntax | StarSyntax
    alias: Name | None


@dataclass(frozen=True, slots=True)
class SourceSyntax:
    """One entry of FROM."""

    stream: Name
    alias: Name | None


@dataclass(frozen=True, slots=True)
class BoundSyntax:
    """One end of the window: `constant`, or NOW minus `offset_us`."""

    constant: StringSyntax | None
    offset_us: int
    span: Span


@dataclass(frozen=True, slots=True)
class WindowSyntax:
    """BEGIN begin END end."""

    begin: BoundSyntax
    end: BoundSyntax
    span: Span


@dataclass(frozen=True, slots=True)
class QuerySyntax:
    """A whole query."""

    distinct: bool
    outputs: tuple[OutputSyntax, ...]
    sources: tuple[SourceSyntax, ...]
    where: ExpressionSyntax | None
    window: WindowSyntax | None


def operands(expression: ExpressionSyntax) -> tuple[ExpressionSyntax, ...]:
    """Return the expressions directly below this one, left to right."""
    match expression:
        case (
            NegateSyntax(operand=one)
            | AbsoluteSyntax(operand=one)
            | NotSyntax(operand=one)
            | IsSyntax(operand=one)
            | LikeSyntax(operand=one)
        ):
            return (one,)
        case ArithmeticSyntax(left=left, right=right) | CompareSyntax(left=left, right=right):
            return (left, right)
        case BetweenSyntax(operand=one, low=low, high=high):
            return (one, low, high)
        case InSyntax(operand=one, options=options):
            return (one, *options)
        case LogicalSyntax(operands=many):
            return many
        case _:
            return ()
