"""What functions may cost: of an expression, of a text, of a column; and that each text is computed once."""

import numpy as np
import pytest

from psoup.engine import limits
from psoup.engine.checkpoint import checked_by
from psoup.engine.errors import OverloadedError, QueryTooComplexError
from psoup.engine.query.clause import BoundQuery
from psoup.engine.query.functions import texts
from psoup.engine.query.functions.distinct import CALLS_AT_ONCE, computed
from psoup.engine.query.values.evaluate import evaluate
from psoup.engine.query.values.expression import Call, ColumnRef, Constant
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType
from tests.engine.query.expression_strategies import bound

STRING = ColumnType.STRING
LONGEST = limits.STRING_BYTES_MAX
ARGUMENTS, CALLS = limits.QUERY_ARGUMENTS_MAX, limits.QUERY_CALLS_MAX


def calls(count: int) -> str:
    """Return a sum of so many calls of little height, all of them another one."""
    terms = [f"ABS(i + {n})" for n in range(count)]
    while len(terms) > 1:
        terms = [f"({' + '.join(terms[n : n + 2])})" for n in range(0, len(terms), 2)]
    return terms[0]


def cases(count: int) -> str:
    """Return a CASE of so many branches."""
    return f"CASE{' WHEN b THEN 1' * count} END"


@pytest.mark.parametrize(
    ("at_limit", "past_limit"),
    [
        (f"CONCAT({', '.join('t' * ARGUMENTS)})", f"CONCAT({', '.join('t' * (ARGUMENTS + 1))})"),
        (" || ".join("t" * ARGUMENTS), " || ".join("t" * (ARGUMENTS + 1))),
        (
            f"({' || '.join('t' * 32)}) || ({' || '.join('u' * 32)})",
            f"({' || '.join('t' * 32)}) || ({' || '.join('u' * 33)})",
        ),
        (cases(ARGUMENTS), cases(ARGUMENTS + 1)),
        (calls(CALLS), calls(CALLS + 1)),
        ("ABS(" * 15 + "i" + ")" * 15, "ABS(" * 17 + "i" + ")" * 17),
        (
            "CASE WHEN b THEN " * 15 + "i" + " END" * 15,
            "CASE WHEN b THEN " * 17 + "i" + " END" * 17,
        ),
        (
            f"(i, j) IN ({', '.join(f'({n}, 1)' for n in range(32))})",
            f"(i, j) IN ({', '.join(f'({n}, 1)' for n in range(33))})",
        ),
    ],
    ids=[
        "arguments",
        "joined",
        "joined in brackets",
        "branches",
        "calls",
        "depth",
        "CASE in CASE",
        "rows",
    ],
)
def test_call_at_a_limit_is_accepted_and_one_more_is_refused(at_limit, past_limit):
    """The canonical text keeps the limit, too."""
    query = bound(f"SELECT {at_limit} AS v FROM s")
    assert query == bound(query.canonical)
    with pytest.raises(QueryTooComplexError) as refused:
        bound(f"SELECT {past_limit} AS v FROM s")
    limit, actual = (refused.value.extras[name] for name in ("limit", "actual"))
    assert isinstance(limit, int)
    assert isinstance(actual, int)
    assert limit < actual


@pytest.mark.parametrize(
    "text",
    [
        "NULLIF(" * 15 + "i" + ", 1)" * 15,
        "(CASE " * 7 + "i" + " WHEN 1 THEN 2 WHEN 3 THEN 4 END)" * 7,
        "(" * 8 + "b" + " IS DISTINCT FROM c)" * 8,
        f"NULLIF({'i + ' * 3}{'(i + i) * ' * 10}{' + '.join(['i'] * 9)}, 1)",
        f"CASE {' || '.join(['t'] * 60)} {''.join(f'WHEN {n!r} THEN 1 ' for n in 'abcdefghij' * 6)} END",
        f"CASE ({' + '.join(['(i * j)'] * 9)}) {'WHEN 1 THEN 1 ' * 64}END",
    ],
)
def test_operand_that_is_written_again_and_again_ends_bounded(text):
    """What stands twice in what a text means doubles at every level: it is accepted within its limits, or refused."""
    found = bound_or_too_complex(f"SELECT {text} AS v FROM s")
    assert found is None or len(found.canonical) <= limits.QUERY_TEXT_BYTES_MAX


def bound_or_too_complex(text: str) -> BoundQuery | None:
    """Return the text bound; None where it is refused for its size."""
    try:
        return bound(text)
    except QueryTooComplexError:
        return None


def text_column(*found: str | None) -> Column:
    """Return a column of texts."""
    dictionary = sorted({text for text in found if text is not None}) or [""]
    codes = [0 if text is None else dictionary.index(text) for text in found]
    valid = np.array([text is not None for text in found])
    return Column(STRING, np.array(codes, np.int32), valid, dictionary)


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("||", ("a" * LONGEST, ""), "a" * LONGEST),
        ("||", ("a" * LONGEST, "b"), None),
        ("CONCAT", ("é" * (LONGEST // 2), None), "é" * (LONGEST // 2)),
        ("CONCAT", ("é" * (LONGEST // 2), "b"), None),
        ("REPLACE", ("a" * LONGEST, "a", "b"), "b" * LONGEST),
        ("REPLACE", ("a" * LONGEST, "a", "b" * LONGEST), None),
        ("REPLACE", ("ab" * 2048, "a", "日"), "日b" * 2048),
        ("REPLACE", ("ab" * 2049, "a", "日"), None),
        ("LOWER", ("Ⱥ" * (LONGEST // 2),), None),
    ],
)
def test_text_longer_than_a_stream_holds_is_null(function, arguments, expected):
    """To the byte: no call makes what no stream could hold."""
    given = tuple(Constant(one, STRING) for one in arguments)
    (found,) = evaluate(Call(function, given, STRING), no_columns, 1).to_list()
    assert expected == found


def no_columns(column: ColumnRef) -> Column:
    """Fail: the expression has none."""
    raise AssertionError(column)


def test_replacement_that_would_be_too_long_is_never_made():
    """Its length is reckoned first: 64 MiB of one value would be memory of which nobody knows."""
    made = texts.replace("a" * LONGEST, "a", "b" * LONGEST)
    assert made is None
    assert texts.replace("aXbX", "X", "") == "ab"


@pytest.mark.parametrize("rows", [3, 40_000])
def test_function_of_texts_is_computed_once_for_each_that_occurs(rows):
    """Not for each row, and not for texts of the dictionary that no row has."""
    asked: list[tuple[str, int]] = []

    def function(text: str, count: int) -> str:
        asked.append((text, count))
        return text[:count]

    dictionary = [f"text {number}" for number in range(100_000)]
    column = Column(STRING, np.array([7, 9, 7] * (rows // 3), np.int32), None, dictionary)
    count = Column(ColumnType.INT64, np.full(len(column), 4))
    found = computed([column, count], STRING, function)
    assert [("text 7", 4), ("text 9", 4)] == asked
    assert ["text"] * len(column) == found.to_list()
    assert ["text"] == found.dictionary


def test_functions_of_texts_and_numbers_are_computed_once_for_each_combination():
    """Of columns that both vary, those that occur together; a NULL is asked of nobody."""
    asked: list[tuple[str, int]] = []

    def function(text: str, count: int) -> int:
        asked.append((text, count))
        return len(text) * count

    column = text_column("a", "bb", "a", None, "bb", "a")
    count = Column(ColumnType.INT64, np.array([1, 2, 1, 5, 2, 3]))
    found = computed([column, count], ColumnType.INT64, function)
    assert [1, 4, 1, None, 4, 3] == found.to_list()
    assert [("a", 1), ("a", 3), ("bb", 2)] == sorted(asked)


def test_texts_are_computed_between_checkpoints():
    """Work that nobody waits for any more ends within few texts."""
    asked: list[str] = []
    column = text_column(*map(str, range(10 * CALLS_AT_ONCE)))
    passes = iter([True, True])

    def check() -> None:
        if not next(passes, False):
            raise OverloadedError("enough")

    def function(text: str) -> str:
        asked.append(text)
        return text

    with checked_by(check), pytest.raises(OverloadedError):
        computed([column], STRING, function)
    assert 2 * CALLS_AT_ONCE == len(asked)


def test_functions_of_no_rows_are_empty_columns():
    """Nothing in, nothing out, of the right type."""
    refs = {
        kind: ColumnRef(0, "c", kind)
        for kind in (STRING, ColumnType.FLOAT64, ColumnType.TIMESTAMP, ColumnType.INT64)
    }
    for text, kind in (
        ("LOWER", STRING),
        ("LN", ColumnType.FLOAT64),
        ("EPOCH", ColumnType.TIMESTAMP),
    ):
        values = np.zeros(0, np.int32 if kind is STRING else np.float64)
        empty = Column(kind, values.astype(np.int64) if text == "EPOCH" else values, None, [])
        found = evaluate(Call(text, (refs[kind],), kind), lambda _: empty, 0)  # noqa: B023
        assert [] == found.to_list()
