"""Parameters: what a text with values comes to is what it comes to with literals, and no value is more than one."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import assume, given, strategies as st

from psoup.engine import limits
from psoup.engine.errors import (
    ParameterError,
    QueryTooComplexError,
    SqlError,
    TypeMismatchError,
)
from psoup.engine.query.bind.author_warnings import written_warnings
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.bind.bound_queries import BoundQueries
from psoup.engine.query.canonical import sql_text
from psoup.engine.query.clause import BoundQuery
from psoup.engine.query.parameters import Parameters, ParameterValue
from psoup.engine.query.text.scanner import Token, TokenKind, scan
from tests.engine.query.expression_strategies import SCHEMA, STREAMS
from tests.strategies_sql import queries

HOSTILE = st.text() | st.sampled_from(
    [
        "' OR '1'='1",
        "'; DROP STREAM s; --",
        "\\'",
        '"',
        ":other",
        "$other",
        "/*",
        "-- ",
        "NULL",
        "TRUE",
        "5",
        "10 minutes",
        "2014-01-05",
        "NOW",
        ") END (NOW",
        "\n",
        "\u2028",
        "\u202e",
        "i",
        "''",
    ]
)
VALUES = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | HOSTILE


def parameterised(text: str, chosen: Sequence[bool]) -> tuple[str, Parameters]:
    """Return a text with parameters in place of those of its literals that are chosen, and their values.

    A sign that cannot be a minus goes with its number.
    """
    tokens = scan(text)
    params: dict[str, ParameterValue] = {}
    pieces: list[str] = []
    past = 0
    for at, token in enumerate(tokens):
        literal = _literal(token, tokens[at - 1])
        if literal is None or not chosen[at % len(chosen)]:
            continue
        (value,) = literal
        start = token.span.start
        if isinstance(value, int | float) and _is_sign(tokens[: at + 1]):
            value, start = -value, tokens[at - 1].span.start
        name = f"p{len(params)}"
        pieces += [text[past:start], f"{':$'[at % 2]}{name} "]
        params[name] = value
        past = token.span.past
    return "".join([*pieces, text[past:]]), params


def _literal(token: Token, before: Token) -> tuple[ParameterValue] | None:
    """Return the value of a literal; None where a token is none."""
    if token.kind is TokenKind.STRING:
        return (token.text,)
    if token.kind is TokenKind.NUMBER:
        return (json.loads(token.text),)
    if before.keyword in ("IS", "NOT"):
        return None
    known = {"TRUE": True, "FALSE": False, "NULL": None}
    return (known[token.keyword],) if token.keyword in known else None


def _is_sign(tokens: Sequence[Token]) -> bool:
    """Return whether a number, the last token, has a sign before it that follows a comparison or a bracket."""
    return len(tokens) > 2 and tokens[-2].keyword == "-" and tokens[-3].keyword in "(,=<>=<="


@given(query=queries(SCHEMA), chosen=st.lists(st.booleans(), min_size=1, max_size=9))
def test_drawn_query_with_parameters_for_its_literals_is_the_same_query(query, chosen):
    """Whichever literals are turned into parameters: one canonical text, one clause, one window, the same warnings."""
    try:
        literal = bind(query.sql, STREAMS)
    except SqlError:
        assume(False)
    text, params = parameterised(query.sql, chosen)
    assert literal == bind(text, STREAMS, params)


@given(query=queries(SCHEMA))
def test_drawn_query_has_parameters_for_all_its_literals(query):
    """The test above turns into parameters what it says: no literal is left but those behind IS."""
    text, params = parameterised(query.sql, [True])
    left = [one for one in scan(text) if one.kind in (TokenKind.STRING, TokenKind.NUMBER)]
    given_there = {one.text[1:] for one in scan(text) if one.kind is TokenKind.PARAMETER}
    assert ([], set(params)) == (left, given_there)


@given(value=HOSTILE.filter(lambda text: "\0" not in text))
def test_text_of_a_parameter_is_one_constant_whatever_it_holds(value):
    """Nothing in it ends the literal, begins another one, or is read as SQL; its canonical text is the same query."""
    found = bind("SELECT i FROM s WHERE t = :t AND u <> $t", STREAMS, {"t": value})
    literal = sql_text(value)
    assert f"SELECT i FROM s WHERE t = {literal} AND u <> {literal}" == found.canonical
    assert found == bind(found.canonical, STREAMS)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT :p AS o FROM s WHERE t = 'a'",
        "SELECT i AS o FROM s WHERE f > :p OR g BETWEEN :p AND 5",
        "SELECT i AS o FROM s WHERE t LIKE :p AND i IN (1, :p)",
        "SELECT ts + INTERVAL :p hour AS o FROM s BEGIN (NOW - :p) END (NOW)",
        "SELECT COALESCE(f, -:p) AS o FROM s WHERE te > TIMESTAMP :p",
    ],
)
@given(value=VALUES)
def test_value_of_a_parameter_never_changes_what_a_query_is_made_of(text, value):
    """It fits its place, or is refused there: outputs and sources are those of the text."""
    found = outcome(text, {"p": value})
    if isinstance(found, SqlError):
        start = found.position.column - 1
        blamed = ":p" in text[start : start + found.position.length]
        assert blamed or isinstance(found, QueryTooComplexError | ParameterError)
        return
    assert ["o"] == [one.name for one in found.shape.outputs]
    assert ["s"] == [one.stream for one in found.clause.sources]
    assert found == bind(found.canonical, STREAMS)


def outcome(text: str, params: Parameters) -> BoundQuery | SqlError:
    """Return what a text comes to, be it a refusal."""
    try:
        return bind(text, STREAMS, params)
    except SqlError as refused:
        return refused


def test_equal_values_of_other_types_are_other_queries():
    """1, 1.0 and TRUE are equal in Python, and are not the same constant; neither is what is kept of them."""
    cache = BoundQueries()
    texts = [
        cache.bind("SELECT :v AS v FROM s", STREAMS, {"v": value}).canonical
        for value in (1, 1.0, True, 1, "1", None)
    ]
    shown = ["1", "1.0", "TRUE", "1", "'1'", "NULL"]
    assert [f"SELECT {one} AS v FROM s" for one in shown] == texts
    cache.check()


def test_text_with_parameters_is_bound_once_for_each_values():
    """Asked for again with the same values, in any order, it is the same object; its canonical text is kept as well."""
    cache = BoundQueries()
    text = "select i from s where i > :a and i < :b"
    first = cache.bind(text, STREAMS, {"a": 1, "b": 9})
    assert first is cache.bind(text, STREAMS, {"b": 9, "a": 1})
    assert first is cache.bind(first.canonical, STREAMS)
    assert 1 == cache.statistics().bound
    assert first != cache.bind(text, STREAMS, {"a": 2, "b": 9})


def test_canonical_text_with_values_that_it_does_not_have_is_refused_though_it_is_kept():
    """What is kept under a text without parameters is no answer to one with them."""
    cache = BoundQueries()
    known = cache.bind("SELECT i FROM s", STREAMS)
    with pytest.raises(ParameterError) as refused:
        cache.bind(known.canonical, STREAMS, {"more": 1})
    errors = refused.value.extras["errors"]
    assert [{"pointer": "/params/more", "reason": "is not a parameter of the query"}] == errors


def test_parameters_that_are_missing_are_all_named_once_twenty_at_most():
    """The first of them is pointed at."""
    names = [f"p{i}" for i in range(30)]
    text = "SELECT i FROM s WHERE i IN (1, " + ", ".join(f":{name}, ${name}" for name in names)
    with pytest.raises(ParameterError) as refused:
        bind(f"{text})", STREAMS, {"p1": 5})
    missing = [f"/params/{name}" for name in names if name != "p1"]
    reason = "is missing: the query has this parameter"
    errors = [{"pointer": pointer, "reason": reason} for pointer in missing[:20]]
    assert errors == refused.value.extras["errors"]
    assert (text.index(":p0") + 1, 3) == (
        refused.value.position.column,
        refused.value.position.length,
    )


def test_name_that_is_nearly_given_is_proposed():
    """The value that has no place is the one that is meant."""
    with pytest.raises(ParameterError) as refused:
        bind("SELECT i FROM s WHERE i > :least", STREAMS, {"Least": 5})
    assert "did you mean the Least of params?" == refused.value.hint


@pytest.mark.parametrize("value", [float("inf"), -float("inf"), float("nan")])
@pytest.mark.parametrize("text", ["f > :x", "f > -:x", "ts + INTERVAL :x HOUR > te"])
def test_number_without_end_is_refused(text, value):
    """JSON has none, and Python does: as a literal that is too large for a DOUBLE."""
    refused = outcome(f"SELECT i FROM s WHERE {text}", {"x": value})
    assert isinstance(refused, ParameterError | TypeMismatchError)


@pytest.mark.parametrize("value", ["a\0b", "\ud800"])
def test_text_that_is_none_is_refused(value):
    """As in a text of SQL: NUL and halves of surrogate pairs are no characters."""
    with pytest.raises(ParameterError) as refused:
        bind("SELECT i FROM s WHERE t = :t", STREAMS, {"t": value})
    reason = "holds what is no character of text"
    assert [{"pointer": "/params/t", "reason": reason}] == refused.value.extras["errors"]


def test_values_count_as_bytes_of_the_text_wherever_they_stand():
    """A long text that stands often costs what it would as a literal: nothing is bound of it."""
    text = "SELECT i FROM s WHERE t IN (" + ", ".join([":t"] * 900) + ")"
    room = (limits.QUERY_TEXT_BYTES_MAX - len(text)) // 900
    assert bind(text, STREAMS, {"t": "x" * room}).clause.factors
    with pytest.raises(QueryTooComplexError) as refused:
        bind(text, STREAMS, {"t": "x" * (room + 1)})
    actual = len(text) + 900 * (room + 1)
    assert actual == refused.value.extras["actual"]
    with pytest.raises(QueryTooComplexError):
        bind(text, STREAMS, {"t": "ü" * (room // 2 + 1)})


def test_text_of_a_parameter_that_is_called_like_a_column_is_no_mistake():
    """Nobody writes it without quotes; the literal beside it is warned of."""
    text, params = "SELECT i FROM s WHERE u = 'f' OR u = :u", {"u": "f"}
    found = written_warnings(text, STREAMS, bind(text, STREAMS, params), params)
    places = [one.position.column for one in found if one.position is not None]
    assert [text.index("'f'") + 1] == places
