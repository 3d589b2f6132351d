"""The parser's own promises: limits, places in the text, and an end to any text."""

import pytest
from hypothesis import given

from psoup.engine import limits
from psoup.engine.errors import QueryTooComplexError, SqlError, SqlSyntaxError, UnsupportedSqlError
from psoup.engine.query.clause import BoundQuery
from psoup.engine.query.text.parser import parse
from psoup.engine.query.text.syntax import ExpressionSyntax
from psoup.engine.query.text.syntax_parts import operands
from tests.engine.query.expression_strategies import bound, noise

HEAD = "SELECT i FROM s WHERE "
LONGEST = limits.QUERY_TEXT_BYTES_MAX


def test_parse_of_joins_knows_the_place_of_conditions_and_windows():
    """The span of each is exactly its text; brackets may stand on either side of an alias."""
    text = (
        "SELECT a.i FROM s [ RANGE  5 ] AS a JOIN s b [RANGE INTERVAL '1' HOUR] ON (a.i = b.i) "
        "cross join s AS c INNER JOIN s AS e ON e.i = 1 OR b.b WHERE TRUE"
    )
    sources = parse(text).sources
    assert ["a", "b", "c", "e"] == [source.alias.text for source in sources if source.alias]
    ranges = [source.range for source in sources]
    assert [(5_000_000, "[ RANGE  5 ]"), (3_600_000_000, "[RANGE INTERVAL '1' HOUR]")] == [
        (one.us, text[one.span.start : one.span.past]) for one in ranges if one is not None
    ]
    assert ["(a.i = b.i)", "e.i = 1 OR b.b"] == [
        text[source.on.span.start : source.on.span.past] for source in sources if source.on
    ]


def test_parse_of_every_kind_of_node_knows_its_place():
    """The span of each node is exactly its text."""
    text = (
        "SELECT i FROM s WHERE NOT (s.i + 2) * -j >= ABS( f ) AND t NOT LIKE 'a''%' ESCAPE '!' "
        "OR b IS  NOT TRUE AND i NOT IN (1, -2) OR ts BETWEEN TIMESTAMP  '2014-01-05' "
        "AND ts - INTERVAL '6' HOUR OR NULL OR f<1.5e3 OR - i = 1"
    )
    where = parse(text).where
    assert where is not None
    found = []
    level: list[ExpressionSyntax] = [where]
    while level:
        found += [text[node.span.start : node.span.past] for node in level]
        level = [child for node in level for child in operands(node)]
    expected = {
        "NOT (s.i + 2) * -j >= ABS( f )",
        "(s.i + 2) * -j >= ABS( f )",
        "(s.i + 2) * -j",
        "(s.i + 2)",
        "s.i",
        "2",
        "-j",
        "j",
        "ABS( f )",
        "f",
        "t NOT LIKE 'a''%' ESCAPE '!'",
        "t",
        "b IS  NOT TRUE",
        "i NOT IN (1, -2)",
        "-2",
        "ts BETWEEN TIMESTAMP  '2014-01-05' AND ts - INTERVAL '6' HOUR",
        "TIMESTAMP  '2014-01-05'",
        "ts - INTERVAL '6' HOUR",
        "INTERVAL '6' HOUR",
        "NULL",
        "f<1.5e3",
        "1.5e3",
        "- i = 1",
        "- i",
    }
    assert expected <= set(found)


def refusal(text: str) -> SqlError:
    """Return how the text is refused."""
    with pytest.raises(SqlError) as refused:
        bound(text)
    return refused.value


def test_refusal_counts_lines_and_columns_in_characters():
    """Line ends, tabs and characters outside ASCII count one each."""
    error = refusal("SELECT i,\r\n\t'日本' AS é, wrong\nFROM s")
    assert (2, 13, 5) == (error.position.line, error.position.column, error.position.length)
    assert error.excerpt.split("\n") == [" '日本' AS é, wrong", " " * 12 + "^^^^^"]


def test_refusal_in_a_long_line_shows_the_place_alone():
    """An excerpt is a line of a screen's width with the caret where it belongs."""
    error = refusal("SELECT " + "i + " * 200 + "wrong" + " + i" * 200 + " FROM s")
    assert isinstance(error, QueryTooComplexError)
    error = refusal("SELECT i FROM s WHERE i IN (" + "1, " * 500 + "'x'" + ", 1" * 400 + ")")
    line, carets = error.excerpt.split("\n")
    assert len(line) < 140
    assert "'x'" == line[carets.index("^") : len(carets)]
    assert line.startswith("...")
    assert line.endswith("...")


@pytest.mark.parametrize("text", ["", " \n ", ";", "-- nothing", "/* nothing */ ;;"])
def test_text_without_a_statement_is_refused_as_unsupported(text):
    """An empty text is no SELECT."""
    assert isinstance(refusal(text), UnsupportedSqlError)


def test_text_at_its_limit_is_read_and_one_byte_more_is_not():
    """64 KiB are accepted, in bytes of UTF-8."""
    text = "SELECT i FROM s -- é"
    fill = "x" * (LONGEST - len(text.encode()))
    assert isinstance(bound(text + fill), BoundQuery)
    error = refusal(text + fill + "x")
    assert "query-too-complex" == error.code
    assert {"limit": LONGEST, "actual": LONGEST + 1}.items() <= error.extras.items()


@pytest.mark.parametrize(
    ("at_limit", "past_limit"),
    [
        (HEAD + " AND ".join(f"i > {n}" for n in range(n_max)), HEAD + " AND ".join(["i > 1"] * 65))
        for n_max in [limits.QUERY_FACTORS_MAX]
    ]
    + [
        (
            f"{HEAD}i IN ({','.join(map(str, range(1_000)))})",
            f"{HEAD}i IN ({','.join(map(str, range(1_001)))})",
        ),
        (HEAD + "(" * 16 + "b" + ")" * 16, HEAD + "(" * 17 + "b" + ")" * 17),
        (f"{HEAD}i{' + i' * 15} > 1", f"{HEAD}i{' + i' * 16} > 1"),
        (f"{HEAD}{'- ' * 15}i > 1", f"{HEAD}{'- ' * 16}i > 1"),
        (f"{HEAD}{'NOT ' * 16}b", f"{HEAD}{'NOT ' * 17}b"),
        (
            "SELECT " + ", ".join(f"i AS i{n}" for n in range(256)) + " FROM s",
            "SELECT " + ", ".join(f"i AS i{n}" for n in range(257)) + " FROM s",
        ),
        (f"{HEAD}t LIKE '{'%_' * 512}'", f"{HEAD}t LIKE '{'%_' * 512}%'"),
        (
            "SELECT *, " + ", ".join(f"i AS i{n}" for n in range(246)) + " FROM s",
            "SELECT *, " + ", ".join(f"i AS i{n}" for n in range(247)) + " FROM s",
        ),
        (
            f"SELECT i FROM s WHERE t = '{'x' * (LONGEST - 28)}'",
            f"SELECT i FROM s WHERE t='{'x' * (LONGEST - 27)}'",
        ),
        (
            "SELECT i FROM s BEGIN (NOW - INTERVAL '36525' DAY) END (NOW)",
            "SELECT i FROM s BEGIN (NOW - INTERVAL '36526' DAY) END (NOW)",
        ),
    ],
    ids=[
        "factors",
        "in",
        "brackets",
        "chain",
        "signs",
        "not",
        "outputs",
        "pattern",
        "star",
        "canonical",
        "reach",
    ],
)
def test_query_at_a_limit_is_accepted_and_one_more_is_refused(at_limit, past_limit):
    """Each limit holds exactly, says itself and what was counted, and canonical text keeps it."""
    query = bound(at_limit)
    assert query == bound(query.canonical)
    error = refusal(past_limit)
    assert isinstance(error, QueryTooComplexError)
    limit, actual = error.extras["limit"], error.extras["actual"]
    assert isinstance(limit, int)
    assert isinstance(actual, int)
    assert limit < actual


def test_from_of_four_streams_is_read_and_of_five_too_complex():
    """However they are joined; the fifth is pointed at."""
    sources = [f"s AS s{n}" for n in range(5)]
    query = parse(f"SELECT i FROM {', '.join(sources[:4])}")
    assert 4 == len(query.sources) == limits.QUERY_STREAMS_MAX
    for joined in (", ", " CROSS JOIN ", " JOIN s AS s9 ON b, "):
        error = refusal(f"SELECT i FROM {joined.join(sources)}")
        assert isinstance(error, QueryTooComplexError)
        assert (4, 5) == (error.extras["limit"], error.extras["actual"])


def test_on_counts_as_where():
    """64 conditions, wherever they stand; and as many operators inside each other."""
    on = " AND ".join(["r.i = s.i", *(f"r.i > {n}" for n in range(39))])
    text = f"SELECT s.i FROM s JOIN s AS r ON {on} WHERE s.f > 0"
    where = " AND ".join(f"s.j > {n}" for n in range(23))
    assert isinstance(bound(f"{text} AND {where}"), BoundQuery)
    error = refusal(f"{text} AND {where} AND s.b")
    assert isinstance(error, QueryTooComplexError)
    assert (64, 65) == (error.extras["limit"], error.extras["actual"])
    error = refusal(f"SELECT s.i FROM s JOIN s AS r ON {'NOT ' * 17}s.b")
    assert isinstance(error, QueryTooComplexError)
    assert (16, 17) == (error.extras["limit"], error.extras["actual"])


@pytest.mark.parametrize(
    ("written", "into"), [("1abc", "abc"), ("1.5.5", ".5"), ("1_000", "_000"), ("2é", "é")]
)
def test_number_that_runs_into_something_is_refused_with_both(written, into):
    """No reader of the text would agree on what was meant."""
    error = refusal(f"SELECT i FROM s WHERE i > {written}")
    assert isinstance(error, SqlSyntaxError)
    assert f"A number runs into {into!r}." == error.quoting
    assert (27, len(written)) == (error.position.column, error.position.length)


@pytest.mark.parametrize("end", [" ", "\n\t", "-- junk ' (", "/* ' ( */", "/**/ -- /*", ";"])
def test_text_may_end_with_what_is_skipped(end):
    """Nothing of it is read a second time as something else."""
    assert bound("SELECT i FROM s") == bound(f"SELECT i FROM s{end}")


@pytest.mark.parametrize("character", ["\0", "\ud800"])
def test_text_with_what_is_no_character_is_refused_at_its_place(character):
    """NUL and half a surrogate pair never reach a name or a string."""
    error = refusal(f"SELECT i FROM s WHERE t = 'a{character}'")
    assert isinstance(error, SqlSyntaxError)
    assert 29 == error.position.column


@pytest.mark.parametrize(
    "unit", ["(", "NOT ", "- ", "i+", "b AND ", "1,", "''", "/*", '"', "[", "CASE ", "é", "%", "\n"]
)
@pytest.mark.parametrize(
    "head", [HEAD, f"{HEAD}i IN (", "SELECT ", "SELECT s.i FROM s, s AS r WHERE s.i = r.i + "]
)
def test_fuzz_text_of_64_kib_of_one_thing_is_answered(head, unit):
    """No recursion without end, no explosion: a query or a refusal, at once."""
    text = head + unit * ((LONGEST - len(head)) // len(unit.encode()))
    try:
        assert isinstance(bound(text), BoundQuery)
    except SqlError as refused:
        assert refused.hint  # noqa: PT017  # the refusal itself is what is looked at


@pytest.mark.parametrize(
    "text",
    [
        "SELECT {word} FROM s",
        "SELECT i FROM {word}",
        "SELECT i FROM '{word}'",
        "SELECT i FROM s {word} 5",
        "SELECT {word}.i FROM s",
        "SELECT {word}(i) FROM s",
        'SELECT i FROM s WHERE t = "{word}"',
        'SELECT i FROM s WHERE t LIKE "{word}"',
        "SELECT i FROM s WHERE t > {number}{word}",
        "SELECT i FROM s WHERE t = `{word}`",
        "SELECT i FROM s WHERE f = '{word}'",
        "SELECT i FROM s BEGIN (NOW - {number}m) END (NOW)",
        "SELECT i FROM s BEGIN (NOW - INTERVAL '{number}m') END (NOW)",
        "SELECT i FROM s BEGIN (NOW - INTERVAL '5 {word}') END (NOW)",
        "SELECT i FROM s BEGIN ('{word}') END (NOW)",
        "{word}",
    ],
)
def test_refusal_of_a_long_token_is_short(text):
    """What is quoted is cut, so that an answer does not grow with what was sent."""
    error = refusal(text.format(word="z" * 60_000, number="9" * 60_000))
    assert len(error.detail) + len(error.remedy) < 500
    assert len(error.quoting) + len(error.hint) < 1_000
    assert len(error.excerpt) < 500


@given(noise())
def test_fuzz_any_text_is_a_query_or_a_refusal_that_points(text):
    """Whatever is sent: BoundQuery or SqlError, with a place inside the text."""
    try:
        query = bound(text)
    except SqlError as refused:
        at = refused.position
        lines = text.split("\n")
        assert 1 <= at.line <= len(lines)  # the refusal itself is what is looked at
        assert 1 <= at.column <= len(lines[at.line - 1]) + 1  # the same
        assert at.length >= 0  # the same
        assert refused.hint  # noqa: PT017  # the same
    else:
        assert query == bound(query.canonical)
