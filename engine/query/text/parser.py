"""Query text to syntax: `SELECT list FROM sources [WHERE expression] [groups, order, limit] [window]`.

The grammar is our own, so that nothing is accepted that is not written down in it, every node knows its
place in the text, and a query kept in the log means tomorrow what it means today. sqlglot is asked one
thing: whether a text that the grammar refuses is SQL (`unsupported-sql`) or no SQL at all (`sql-syntax`).
This is the only module that imports it; its pure Python parser alone, whose recursion can be caught.
"""

import difflib

import sqlglot
from sqlglot.errors import SqlglotError

from psoup.engine import limits
from psoup.engine.errors import (
    QueryTooComplexError,
    SqlSyntaxError,
    UnsupportedSqlError,
)
from psoup.engine.query import dialect
from psoup.engine.query.parameters import NO_PARAMETERS, Parameters
from psoup.engine.query.text.expression_grammar import expression
from psoup.engine.query.text.parameter_values import check_used, check_values
from psoup.engine.query.text.reader import (
    END_OF_QUERY,
    TokenReader,
    UnexpectedError,
    alias,
    kind_of,
    name,
    refuse_rest,
    shown,
)
from psoup.engine.query.text.refusal import Refused, Span
from psoup.engine.query.text.scanner import Token, TokenKind, scan
from psoup.engine.query.text.shape_grammar import shape_syntax
from psoup.engine.query.text.source_grammar import sources_syntax
from psoup.engine.query.text.stray_characters import NO_CHARACTER
from psoup.engine.query.text.syntax import (
    ExpressionSyntax,
    LogicalSyntax,
    NotSyntax,
    OutputSyntax,
    QuerySyntax,
    StarSyntax,
)
from psoup.engine.query.text.syntax_parts import expressions_of, operands, partition_keys
from psoup.engine.query.text.window_grammar import window_syntax

_JUDGED_LENGTH_MAX = 4 * limits.KIB
"""Longer texts are not judged by sqlglot, which takes a second for 64 KiB: they are no SQL of ours anyway."""
_WORD_SHOWN_MAX = 40
_WINDOW = frozenset({"BEGIN", "END"})
_OUTSIDE = "This is SQL outside the dialect of standing queries."
_FORM = "SELECT a, b FROM stream WHERE a > 5 BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)"


def parse(text: str, parameters: Parameters = NO_PARAMETERS) -> QuerySyntax:
    """Return the syntax of one query, with a literal in place of each parameter.

    Raises:
        Refused: `sql-syntax`, `unsupported-sql` or `query-too-complex` (length, nesting,
            lists, reach of the window), with its place in the text; `invalid-field` for parameters that were not
            given, or that the text does not have.

    Cost: linear in the text, and one call of sqlglot for a text of at most 4 KiB that is refused.
    """
    _check_text(text)
    tokens = scan(text)
    if parameters:
        check_values(text, tokens, parameters)
    try:
        syntax = _query(TokenReader(tokens, parameters))
    except UnexpectedError as refused:
        if not _is_select_to(text, refused.span):
            raise
        raise refused.as_unsupported(_OUTSIDE) from None
    if parameters:
        check_used(tokens, parameters)
    return syntax


def _check_text(text: str) -> None:
    size = len(text.encode("utf-8", errors="surrogatepass"))
    if size > limits.QUERY_TEXT_BYTES_MAX:
        raise Refused(
            QueryTooComplexError,
            f"The text has {size} bytes; {limits.QUERY_TEXT_BYTES_MAX} are accepted.",
            Span(0, 0),
            "split the query into several",
            limit=limits.QUERY_TEXT_BYTES_MAX,
            actual=size,
        )
    found = NO_CHARACTER.search(text)
    if found is not None:
        raise Refused(
            SqlSyntaxError,
            f"The text holds U+{ord(found[0]):04X}, which is no character of text.",
            Span(found.start(), found.end()),
            "send plain UTF-8 text",
        )


def _query(reader: TokenReader) -> QuerySyntax:
    _select(reader)
    distinct = reader.take_if("DISTINCT") is not None
    _refuse_before_outputs(reader, distinct=distinct)
    outputs = _outputs(reader)
    sources = sources_syntax(reader)
    where = expression(reader) if reader.take_if("WHERE") else None
    shape = shape_syntax(reader)
    conditions = [source.on for source in sources if source.on is not None]
    if where is not None:
        conditions.append(where)
    for condition in conditions:
        _check_height(condition)
    _check_factors(conditions)
    for one in (*expressions_of(shape), *partition_keys(sources)):
        _check_height(one)
    has_window = reader.token.keyword in _WINDOW or reader.at("EVERY")
    window = window_syntax(reader) if has_window else None
    _check_end(reader)
    return QuerySyntax(distinct, outputs, sources, where, window, shape)


def _select(reader: TokenReader) -> None:
    token = reader.token
    if reader.take_if("SELECT"):
        return
    if token.kind is TokenKind.END or token.keyword == ";":
        raise Refused(UnsupportedSqlError, "The text holds no query.", token.span, f"write {_FORM}")
    if token.keyword in dialect.STATEMENTS or (
        token.keyword == "(" and reader.following.keyword == "SELECT"
    ):
        raise Refused(
            UnsupportedSqlError,
            "A standing query is one SELECT, without brackets around it.",
            token.span,
            dialect.STATEMENT_HINTS.get(token.keyword, f"the form is {_FORM}"),
        )
    misspelt = difflib.get_close_matches(token.text[:_WORD_SHOWN_MAX].upper(), ["SELECT"])
    raise Refused(
        SqlSyntaxError,
        f"Expected SELECT, found {kind_of(token)}.",
        token.span,
        f"write {_FORM}",
        quoting=f"Expected SELECT, found {shown(token)}.",
        hint=f"did you mean SELECT? The form is {_FORM}" if misspelt else None,
    )


def _refuse_before_outputs(reader: TokenReader, *, distinct: bool) -> None:
    """Refuse TOP n and DISTINCT ON (...), which other dialects write before the select list."""
    token, following = reader.token, reader.following
    if token.keyword == "TOP" and following.kind is TokenKind.NUMBER:
        raise Refused(
            SqlSyntaxError,
            "TOP is not offered.",
            token.span.to(following.span),
            "write LIMIT behind ORDER BY: ORDER BY a DESC LIMIT 10",
        )
    if distinct and token.keyword == "ON":
        raise Refused(
            SqlSyntaxError,
            "DISTINCT takes no ON: it tells whole rows apart.",
            token.span,
            "write SELECT DISTINCT and the columns; the latest row of each is FROM s [PARTITION BY a ROWS 1]",
        )


def _outputs(reader: TokenReader) -> tuple[OutputSyntax, ...]:
    found = [_output(reader)]
    while comma := reader.take_if(","):
        if len(found) == limits.QUERY_OUTPUTS_MAX:
            raise Refused(
                QueryTooComplexError,
                f"The select list has more than {limits.QUERY_OUTPUTS_MAX} entries.",
                comma.span,
                "select fewer columns",
                limit=limits.QUERY_OUTPUTS_MAX,
                actual=len(found) + 1,
            )
        found.append(_output(reader))
    return tuple(found)


def _output(reader: TokenReader) -> OutputSyntax:
    token = reader.token
    if reader.take_if("*"):
        _refuse_star_change(reader)
        return OutputSyntax(StarSyntax(None, token.span), None)
    if reader.following.keyword == "." and reader.peek(2).keyword == "*":
        qualifier = name(reader, "a stream")
        reader.take()
        star = reader.take()
        _refuse_star_change(reader)
        return OutputSyntax(StarSyntax(qualifier, token.span.to(star.span)), None)
    found = expression(reader)
    _check_height(found)
    return OutputSyntax(found, alias(reader))


def _refuse_star_change(reader: TokenReader) -> None:
    """Refuse `* EXCEPT (...)` and its kin: `*` is all columns as they are."""
    token = reader.token
    if token.keyword in dialect.STAR_CHANGES and reader.following.keyword == "(":
        raise Refused(
            UnsupportedSqlError,
            f"* takes no {token.keyword}.",
            token.span,
            "name the columns to select in place of *",
        )


def _check_height(top: ExpressionSyntax) -> None:
    """Refuse an expression of more operators above each other than the limit; level by level."""
    level = [top]
    for _ in range(limits.QUERY_DEPTH_MAX):
        level = [child for node in level for child in operands(node)]
        if not level:
            return
    for node in level:
        if operands(node):
            raise Refused(
                QueryTooComplexError,
                f"The expression nests more than {limits.QUERY_DEPTH_MAX} operators deep.",
                node.span,
                "write it with fewer operators inside each other",
                limit=limits.QUERY_DEPTH_MAX,
                actual=limits.QUERY_DEPTH_MAX + 1,
            )


def _check_factors(conditions: list[ExpressionSyntax]) -> None:
    """Refuse a WHERE, with what stands behind ON, of more conditions than the limit; heights are bounded already."""
    found = 0
    waiting = conditions[::-1]
    while waiting:
        node = waiting.pop()
        if isinstance(node, LogicalSyntax | NotSyntax):
            waiting.extend(reversed(operands(node)))
            continue
        found += 1
        if found > limits.QUERY_FACTORS_MAX:
            raise Refused(
                QueryTooComplexError,
                f"WHERE has more than {limits.QUERY_FACTORS_MAX} conditions.",
                node.span,
                "use IN (...) for many values of one column, or split the query into several",
                limit=limits.QUERY_FACTORS_MAX,
                actual=found,
            )


def _check_end(reader: TokenReader) -> None:
    ended = False
    while reader.take_if(";"):
        ended = True
    token = reader.token
    if token.kind is TokenKind.END:
        return
    if ended:
        raise Refused(
            UnsupportedSqlError,
            "The text holds more than one statement.",
            token.span,
            "register each query on its own",
        )
    refuse_rest(reader, END_OF_QUERY)


def _window_start(tokens: tuple[Token, ...]) -> Token:
    """Return the first BEGIN, or END that ends no CASE; the last token where there is neither."""
    cases = 0
    for token in tokens:
        if token.keyword == "CASE":
            cases += 1
        elif token.keyword == "END" and cases:
            cases -= 1
        elif token.keyword in _WINDOW:
            return token
    return tokens[-1]


def _is_select_to(text: str, refused: Span) -> bool:
    """Return whether the refused place lies before the window, and sqlglot takes what does as SQL."""
    if len(text) > _JUDGED_LENGTH_MAX:
        return False
    tokens = scan(text)
    past = _window_start(tokens)
    if refused.start >= past.span.start and past is not tokens[-1]:
        return False
    try:
        sqlglot.parse_one(text[: past.span.start])
    except (SqlglotError, RecursionError):
        return False
    return True
