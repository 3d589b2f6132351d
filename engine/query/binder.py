"""Query text against the declared streams: to a clause, a window, canonical text and warnings."""

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache

from engine import limits
from engine.errors import (
    UnknownColumnError,
    UnknownStreamError,
    UnsupportedSqlError,
)
from engine.query import normal_form as form
from engine.query.canonical import (
    default_name,
    sql_clause,
    sql_expression,
    sql_name,
    sql_window,
)
from engine.query.clause import BoundQuery, Output, QueryWarning, Source, StandingQueryClause
from engine.query.expression import (
    ColumnRef,
    Compare,
    Constant,
    Expression,
    column_refs,
)
from engine.query.expression_binder import bind_expression, bind_predicate
from engine.query.factor import AttributeFactor, BooleanFactor, ResidualFactor
from engine.query.parser import parse
from engine.query.refusal import Refused, Span
from engine.query.size import check_size, too_complex
from engine.query.syntax import (
    ColumnSyntax,
    ExpressionSyntax,
    Name,
    OutputSyntax,
    QuerySyntax,
    SourceSyntax,
    StarSyntax,
)
from engine.query.truth_set import true_set
from engine.query.value_set import ValueSet, intersection
from engine.query.window_binder import bind_window, retention_warnings
from engine.tuples.schema import RESERVED_COLUMNS, ColumnSchema, StreamId, StreamSchema

Streams = Mapping[str, tuple[StreamId, StreamSchema]]
"""The declared streams by name."""

Bind = Callable[[str, Streams], BoundQuery]
"""`bind`, or what remembers its answers."""

_NAMES_SHOWN_MAX = 10
_SQL_SHOWN_LENGTH_MAX = 100


def bind(text: str, streams: Streams) -> BoundQuery:
    """Return the query that `text` means over the declared `streams`.

    Texts that mean the same in an obvious way (`normal_form.py`) have equal clauses; binding `canonical`
    gives an equal query.

    Names are taken exactly; an unquoted name that is none but agrees with exactly one but for capitals
    is that one. Two outputs of one name are refused: an answer's rows are objects, and a silent rename
    would make a column's name depend on its place. A bare NULL in the select list is a BOOLEAN.

    Raises:
        SqlError: one of its children, with position, excerpt and hint. Nothing else, whatever the text.

    Cost: linear in the text, but for sorting factors.
    """
    try:
        return _bind(parse(text), streams)
    except Refused as refused:
        raise refused.in_text(text) from None


def _bind(syntax: QuerySyntax, streams: Streams) -> BoundQuery:
    scope = _Scope(syntax.sources, streams)
    outputs = _outputs(syntax.outputs, scope)
    where = form.TRUE if syntax.where is None else _where(syntax.where, scope)
    window = bind_window(syntax.window)
    text = sql_clause(
        distinct=syntax.distinct,
        outputs=outputs,
        stream=scope.source.stream,
        where=None if where == form.TRUE else where,
    )
    canonical = text + sql_window(window)
    size = len(canonical.encode())
    if size > limits.QUERY_TEXT_BYTES_MAX:
        raise too_complex(
            "Bytes of the canonical text", size, limits.QUERY_TEXT_BYTES_MAX, Span(0, 0)
        )
    factors = factors_of(where)
    clause = StandingQueryClause(text, (scope.source,), factors, outputs, syntax.distinct)
    warnings = (*retention_warnings(window, scope.schema), *_index_warnings(factors, scope.source))
    return BoundQuery(clause, window, canonical, warnings)


class _Columns:
    """The columns of one declaration as expressions, and as what `*` stands for."""

    __slots__ = ("outputs", "refs")

    def __init__(self, columns: tuple[ColumnSchema, ...]) -> None:
        self.refs = {column.name: ColumnRef(0, column.name, column.type) for column in columns}
        self.outputs = tuple(Output(ref.name, ref) for ref in self.refs.values())


@lru_cache(maxsize=limits.STREAMS_COUNT_MAX)
def _columns_of(columns: tuple[ColumnSchema, ...]) -> _Columns:
    """Return the columns; shared by the queries over one declaration, which are many."""
    return _Columns(columns)


class _Scope:
    """The names that FROM brings: today those of one stream."""

    __slots__ = ("_alias", "_columns", "schema", "source")

    def __init__(self, sources: tuple[SourceSyntax, ...], streams: Streams) -> None:
        if len(sources) > 1:
            raise Refused(
                UnsupportedSqlError,
                "FROM names more than one stream.",
                sources[1].stream.span,
                "joins are not offered yet: register one query for each stream",
            )
        stream, alias = sources[0].stream, sources[0].alias
        found = _resolve(stream, streams)
        if found is None:
            raise Refused(
                UnknownStreamError,
                f"There is no stream {stream.text[: limits.COLUMN_NAME_LENGTH_MAX]!r}.",
                stream.span,
                _nearest(stream.text, streams, "declared streams"),
            )
        stream_id, self.schema = streams[found]
        self.source = Source(found, found, stream_id)
        self._alias = alias or Name(found, quoted=stream.quoted, span=stream.span)
        self._columns = _columns_of(self.schema.columns)

    def all_columns(self, qualifier: Name | None) -> tuple[Output, ...]:
        """Return what `*` stands for."""
        self._check_qualifier(qualifier)
        return self._columns.outputs

    def column(self, syntax: ColumnSyntax) -> ColumnRef:
        """Return the column of this name; refuse one that is not declared."""
        self._check_qualifier(syntax.qualifier)
        name = syntax.name
        refs = self._columns.refs
        found = _resolve(name, refs)
        if found is not None:
            return refs[found]
        hint = _nearest(name.text, refs, f"columns of {self.source.stream}")
        if not name.quoted and name.text.upper() == "NOW":
            hint = "NOW stands only in BEGIN-END: BEGIN (NOW - INTERVAL '1' HOUR) END (NOW)"
        raise Refused(
            UnknownColumnError,
            f"{self.source.stream} has no column {name.text[: limits.COLUMN_NAME_LENGTH_MAX]!r}.",
            name.span,
            hint,
        )

    def _check_qualifier(self, qualifier: Name | None) -> None:
        if qualifier is None or _resolve(qualifier, (self._alias.text,)) is not None:
            return
        raise Refused(
            UnknownColumnError,
            f"FROM brings no {qualifier.text[: limits.COLUMN_NAME_LENGTH_MAX]!r}.",
            qualifier.span,
            f"write {sql_name(self._alias.text)}.column, or the column alone",
        )


def _resolve(name: Name, declared: Collection[str]) -> str | None:
    """Return the declared name that is meant, or None."""
    if name.text in declared:
        return name.text
    if name.quoted:
        return None
    folded = name.text.casefold()
    alike = [one for one in declared if one.casefold() == folded]
    return alike[0] if len(alike) == 1 else None


def _nearest(given: str, declared: Iterable[str], what: str) -> str:
    names = sorted(declared)
    folded = {name.casefold(): name for name in names}
    given = given[: limits.COLUMN_NAME_LENGTH_MAX]
    near = difflib.get_close_matches(given.casefold(), folded, n=1)
    listed = ", ".join(sql_name(name) for name in names[:_NAMES_SHOWN_MAX]) or "none"
    if len(names) > _NAMES_SHOWN_MAX:
        listed += ", ..."
    return f"did you mean {sql_name(folded[near[0]])}?" if near else f"{what}: {listed}"


def _outputs(syntax: tuple[OutputSyntax, ...], scope: _Scope) -> tuple[Output, ...]:
    found: dict[str, Output] = {}
    for entry in syntax:
        span = entry.what.span if entry.alias is None else entry.alias.span
        for output in _output(entry, scope):
            if output.name in found:
                raise Refused(
                    UnsupportedSqlError,
                    f"Two outputs are named {output.name[:_SQL_SHOWN_LENGTH_MAX]!r}.",
                    span,
                    f"give one of them an alias: AS {sql_name(output.name[:100] + '_2')}",
                )
            found[output.name] = output
    if len(found) > limits.QUERY_OUTPUTS_MAX:
        raise too_complex("Outputs", len(found), limits.QUERY_OUTPUTS_MAX, syntax[-1].what.span)
    return tuple(found.values())


def _output(entry: OutputSyntax, scope: _Scope) -> tuple[Output, ...]:
    if isinstance(entry.what, StarSyntax):
        return scope.all_columns(entry.what.qualifier)
    expression = bind_expression(entry.what, scope.column)
    check_size(expression, entry.what.span)
    if entry.alias is None:
        return (Output(default_name(expression), expression),)
    name, span = entry.alias.text, entry.alias.span
    if (
        name in RESERVED_COLUMNS
        or not name.isprintable()
        or len(name) > limits.COLUMN_NAME_LENGTH_MAX
    ):
        raise Refused(
            UnsupportedSqlError,
            f"An output cannot be named {name[:40]!r}.",
            span,
            f"1 to {limits.COLUMN_NAME_LENGTH_MAX} printable characters; _id and _x are psoup's own",
        )
    return (Output(name, expression),)


def _where(syntax: ExpressionSyntax, scope: _Scope) -> Expression:
    where = form.where_form(bind_predicate(syntax, scope.column))
    check_size(where, syntax.span)
    return where


def factors_of(where: Expression) -> tuple[BooleanFactor, ...]:
    """Return the boolean factors of a WHERE in normal form.

    First one AttributeFactor per column, by name, of all conjuncts that are sets of its values; then the
    other conjuncts, in canonical order. What every value and NULL satisfies is left out.
    """
    sets: dict[ColumnRef, list[ValueSet]] = {}
    residual: list[BooleanFactor] = []
    for conjunct in form.conjuncts(where):
        ref = _only_column(conjunct)
        values = None if ref is None else true_set(conjunct)
        if ref is None or values is None:
            residual.append(ResidualFactor(conjunct))
        else:
            sets.setdefault(ref, []).append(values)
    indexed = [
        AttributeFactor(ref, values)
        for ref in sorted(sets, key=lambda ref: (ref.source, ref.name))
        if not (values := intersection(sets[ref])).is_all
    ]
    return (*indexed, *residual)


def _only_column(expression: Expression) -> ColumnRef | None:
    """Return the column that the expression reads, where it is one alone."""
    if isinstance(expression, Compare) and isinstance(expression.right, Constant):
        left = expression.left
        if isinstance(left, ColumnRef):
            return left
    refs = column_refs(expression)
    return next(iter(refs)) if len(refs) == 1 else None


def _index_warnings(factors: tuple[BooleanFactor, ...], source: Source) -> list[QueryWarning]:
    return [
        QueryWarning(
            "not-indexed",
            f"runs for every row of {source.stream} that the other factors leave: "
            f"{sql_expression(factor.expression)[:_SQL_SHOWN_LENGTH_MAX]}",
        )
        for factor in factors
        if isinstance(factor, ResidualFactor) and not isinstance(factor.expression, Constant)
    ]
