"""What the names of GROUP BY, HAVING and ORDER BY mean: columns of FROM, and outputs. As in DuckDB.

In GROUP BY a name is a column, else an output. In HAVING it is a column that is a key, else an output, else a column.
Alone in ORDER BY it is an output, else a column; within an expression there it is a column, else an output. A
whole number that stands alone is the place of an output. Other parts of a query, and what an aggregate takes, read
columns and no outputs.
"""

from collections.abc import Callable, Sequence

from psoup.engine import limits
from psoup.engine.errors import UnknownColumnError, UnsupportedSqlError
from psoup.engine.query.bind.conditions.size import too_complex
from psoup.engine.query.bind.scope import Scope, resolve
from psoup.engine.query.canonical import sql_expression
from psoup.engine.query.shape import Output
from psoup.engine.query.text.refusal import ParameterSpan, Refused
from psoup.engine.query.text.syntax import ColumnSyntax, ExpressionSyntax, NumberSyntax
from psoup.engine.query.values.expression import Expression

_DIGITS_SHOWN_MAX = 20


class ShapeNames:
    """The columns of a FROM and the outputs of a select list, by name."""

    def __init__(self, scope: Scope, outputs: Sequence[Output]) -> None:
        """Know the outputs, over rows."""
        self._scope = scope
        self._written_out = 0
        self._outputs = {output.name: output.expression for output in outputs}

    def column_first(self, syntax: ColumnSyntax) -> Expression:
        """Return the column of this name, else the output; refuse a name that is neither."""
        try:
            return self._scope.column(syntax)
        except Refused as refused:
            if refused.error is not UnknownColumnError:
                raise
            output = self._output_written_out(syntax)
            if output is None:
                raise
            return output

    def output_first(self, syntax: ColumnSyntax) -> Expression:
        """Return the output of this name, else the column.

        A column of exactly this name goes before an output whose name differs in capitals.
        """
        output, name = self._output(syntax), syntax.name.text
        if output is None or (name not in self._outputs and self._scope.has_column(name)):
            return self._scope.column(syntax)
        return output

    def key_first(self, keys: Sequence[Expression]) -> Callable[[ColumnSyntax], Expression]:
        """Return the lookup of HAVING: the column of this name if it is a key, else the output, else the column."""

        def found(syntax: ColumnSyntax) -> Expression:
            meant = self.column_first(syntax)
            return meant if meant in keys else self._output_written_out(syntax) or meant

        return found

    def _output_written_out(self, syntax: ColumnSyntax) -> Expression | None:
        """Return the output of this name, where a canonical text writes it out in place of the name.

        What is written out is counted: a short name that stands a thousand times may be that of a long expression.
        """
        output = self._output(syntax)
        if output is not None:
            self._written_out += len(sql_expression(output))
            if self._written_out > limits.QUERY_TEXT_BYTES_MAX:
                what, most = "Bytes of the canonical text", limits.QUERY_TEXT_BYTES_MAX
                raise too_complex(what, self._written_out, most, syntax.span)
        return output

    def _output(self, syntax: ColumnSyntax) -> Expression | None:
        if syntax.qualifier is not None:
            return None
        meant = resolve(syntax.name, self._outputs)
        return None if meant is None else self._outputs[meant]


def output_at(
    syntax: ExpressionSyntax, outputs: Sequence[Output], clause: str
) -> Expression | None:
    """Return the output whose place, from 1, an entry of a clause names; None where it is no whole number.

    The number that a parameter gives is a value as any other: no value decides what a query is made of.
    """
    if not isinstance(syntax, NumberSyntax) or not syntax.is_integer:
        return None
    if isinstance(syntax.span, ParameterSpan):
        return None
    digits = syntax.text.lstrip("0")
    place = int(digits) if len(digits) <= _DIGITS_SHOWN_MAX and digits.isdigit() else 0
    if 1 <= place <= len(outputs):
        return outputs[place - 1].expression
    raise Refused(
        UnsupportedSqlError,
        f"{clause} {syntax.text[:_DIGITS_SHOWN_MAX]} is the place of no output: there are {len(outputs)}.",
        syntax.span,
        "a whole number is the place of an output, from 1; write the column's name to be safe",
    )
