"""The syntax tree: what a query text says, before names and types are looked at.

Every node knows its span of the text, so that every refusal can point. Trees are at most
`QUERY_DEPTH_MAX` operators high: AND and OR of many operands are one node.
"""

from enum import StrEnum

from psoup.engine.query.text.refusal import Span
from psoup.engine.query.values.expression import AggregateFunction, ArithmeticOp, CompareOp
from psoup.engine.tuples.schema import ColumnType
from psoup.engine.tuples.value_type import value_type


@value_type
class Name:
    """A name as written; a quoted one is taken exactly."""

    text: str
    quoted: bool
    span: Span


@value_type
class NumberSyntax:
    """A number, with its sign."""

    text: str
    span: Span

    @property
    def is_integer(self) -> bool:
        """Whether it has neither a point nor an exponent."""
        return self.text.lstrip("-").isdigit()

    def negated(self, span: Span) -> "NumberSyntax":
        """Return the number with the other sign."""
        return NumberSyntax(self.text[1:] if self.text[0] == "-" else f"-{self.text}", span)


@value_type
class StringSyntax:
    """A string, unquoted."""

    value: str
    span: Span


@value_type
class BooleanSyntax:
    """TRUE or FALSE."""

    value: bool
    span: Span


@value_type
class NullSyntax:
    """NULL."""

    span: Span


@value_type
class TimestampSyntax:
    """TIMESTAMP 'value'."""

    value: StringSyntax
    span: Span


@value_type
class IntervalSyntax:
    """INTERVAL 'n' UNIT, in microseconds."""

    us: int
    span: Span


@value_type
class ColumnSyntax:
    """[qualifier.]column."""

    qualifier: Name | None
    name: Name
    span: Span


@value_type
class NegateSyntax:
    """-operand."""

    operand: "ExpressionSyntax"
    span: Span


@value_type
class CallSyntax:
    """name(arguments), or `a || b || c`: `name` is the function's own in the table of functions, `||` for itself."""

    name: str
    arguments: tuple["ExpressionSyntax", ...]
    span: Span
    name_span: Span


@value_type
class CastSyntax:
    """CAST(operand AS type), TRY_CAST(operand AS type) or operand::type."""

    operand: "ExpressionSyntax"
    type: ColumnType
    span: Span


@value_type
class CaseSyntax:
    """CASE [operand] WHEN ... THEN ... [ELSE default] END; `branches` are pairs of what stands behind WHEN and THEN."""

    operand: "ExpressionSyntax | None"
    branches: tuple[tuple["ExpressionSyntax", "ExpressionSyntax"], ...]
    default: "ExpressionSyntax | None"
    span: Span


@value_type
class RowSyntax:
    """(a, b, ...): two operands at least. It stands on both sides of IN alone."""

    operands: tuple["ExpressionSyntax", ...]
    span: Span


@value_type
class AggregateSyntax:
    """function([DISTINCT] arguments) [FILTER (WHERE filter)]; COUNT(*) has no argument."""

    function: AggregateFunction
    arguments: tuple["ExpressionSyntax", ...]
    distinct: bool
    filter: "ExpressionSyntax | None"
    span: Span


@value_type
class ArithmeticSyntax:
    """left op right; `op_span` is the operator's own."""

    op: ArithmeticOp
    left: "ExpressionSyntax"
    right: "ExpressionSyntax"
    span: Span
    op_span: Span


@value_type
class CompareSyntax:
    """left op right; `op_span` is the operator's own."""

    op: CompareOp
    left: "ExpressionSyntax"
    right: "ExpressionSyntax"
    span: Span
    op_span: Span


@value_type
class BetweenSyntax:
    """operand [NOT] BETWEEN low AND high."""

    operand: "ExpressionSyntax"
    low: "ExpressionSyntax"
    high: "ExpressionSyntax"
    negated: bool
    span: Span
    op_span: Span


@value_type
class InSyntax:
    """operand [NOT] IN (options)."""

    operand: "ExpressionSyntax"
    options: tuple["ExpressionSyntax", ...]
    negated: bool
    span: Span
    op_span: Span


@value_type
class LikeSyntax:
    """operand [NOT] LIKE pattern [ESCAPE escape]; ILIKE where capitals do not count."""

    operand: "ExpressionSyntax"
    pattern: StringSyntax
    escape: StringSyntax | None
    negated: bool
    span: Span
    op_span: Span
    insensitive: bool = False


class IsWhat(StrEnum):
    """What may follow IS [NOT]."""

    NULL = "NULL"
    TRUE = "TRUE"
    FALSE = "FALSE"


@value_type
class IsSyntax:
    """operand IS [NOT] what."""

    operand: "ExpressionSyntax"
    what: IsWhat
    negated: bool
    span: Span
    op_span: Span


@value_type
class DistinctSyntax:
    """left IS [NOT] DISTINCT FROM right; `negated` where NOT stands."""

    left: "ExpressionSyntax"
    right: "ExpressionSyntax"
    negated: bool
    span: Span
    op_span: Span


@value_type
class NotSyntax:
    """NOT operand."""

    operand: "ExpressionSyntax"
    span: Span


@value_type
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
    | CallSyntax
    | CastSyntax
    | CaseSyntax
    | RowSyntax
    | AggregateSyntax
    | ArithmeticSyntax
    | CompareSyntax
    | BetweenSyntax
    | InSyntax
    | LikeSyntax
    | IsSyntax
    | DistinctSyntax
    | NotSyntax
    | LogicalSyntax
)


@value_type
class StarSyntax:
    """`*` or `qualifier.*`."""

    qualifier: Name | None
    span: Span


@value_type
class OutputSyntax:
    """One entry of the select list."""

    what: ExpressionSyntax | StarSyntax
    alias: Name | None


@value_type
class RangeSyntax:
    """[RANGE us]: a window of one source that reaches so many microseconds back."""

    us: int
    span: Span


@value_type
class RowsSyntax:
    """[PARTITION BY keys ROWS count]: a window of the newest rows of one source, or of each of its partitions."""

    count: int
    keys: tuple[ExpressionSyntax, ...]
    span: Span


@value_type
class SourceSyntax:
    """One entry of FROM; `on` is the condition that JOIN joins it by to those before it, or where `left` LEFT JOIN."""

    stream: Name
    alias: Name | None
    range: RangeSyntax | None = None
    on: ExpressionSyntax | None = None
    rows: RowsSyntax | None = None
    left: bool = False


@value_type
class OrderSyntax:
    """One entry of ORDER BY: what [ASC | DESC] [NULLS (FIRST | LAST)]."""

    what: ExpressionSyntax
    descending: bool
    nulls_first: bool


@value_type
class ShapeSyntax:
    """What is said of groups, order and limit; `span` is all of it, None where nothing is said."""

    keys: tuple[ExpressionSyntax, ...] = ()
    having: ExpressionSyntax | None = None
    order: tuple[OrderSyntax, ...] = ()
    limit: int | None = None
    offset: int = 0
    span: Span | None = None


NO_SHAPE = ShapeSyntax()


@value_type
class BoundSyntax:
    """One end of the window: `constant`, or NOW minus `offset_us`."""

    constant: StringSyntax | None
    offset_us: int
    span: Span


@value_type
class HopsSyntax:
    """EVERY every_us [ALIGN align]."""

    every_us: int
    align: StringSyntax | None
    span: Span


@value_type
class WindowSyntax:
    """BEGIN begin END end [hops]."""

    begin: BoundSyntax
    end: BoundSyntax
    span: Span
    hops: HopsSyntax | None = None


@value_type
class QuerySyntax:
    """A whole query."""

    distinct: bool
    outputs: tuple[OutputSyntax, ...]
    sources: tuple[SourceSyntax, ...]
    where: ExpressionSyntax | None
    window: WindowSyntax | None
    shape: ShapeSyntax = NO_SHAPE
