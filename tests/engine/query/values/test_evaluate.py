"""The evaluator at its edges: overflow, zero, NULL, dictionaries, empty columns."""

import numpy as np
import pytest

from psoup.engine.query.values.evaluate import evaluate, truth
from psoup.engine.query.values.expression import ColumnRef, Compare, CompareOp, Constant, Value
from psoup.engine.query.values.value_set import INT64_MAX, INT64_MIN
from psoup.engine.tuples.batch import DTYPES, Column
from psoup.engine.tuples.schema import ColumnType
from tests.engine.query.expression_strategies import SCHEMA, bound, columns_of

EMPTY: dict[str, Value | None] = {column.name: None for column in SCHEMA.columns}
MICROSECOND_TO_YEAR_10000 = 253_402_300_800_000_000


def values(text: str, *rows: dict[str, Value]) -> list[Value | None]:
    """Return the expression's value for rows that hold NULL where nothing is given."""
    (output,) = bound(f"SELECT {text} AS value FROM s").shape.outputs
    full = [{**EMPTY, "ts": 0, **row} for row in rows]
    found = evaluate(output.expression, columns_of(SCHEMA, full), len(full))
    assert (len(full),) == found.values.shape
    assert DTYPES[output.type] == found.values.dtype
    if found.type is ColumnType.FLOAT64:
        assert np.isfinite(found.values).all(), "not even under NULL"
    return found.to_list()


@pytest.mark.parametrize(
    ("text", "row", "expected"),
    [
        ("i + j", {"i": INT64_MAX, "j": 1}, None),
        ("i + j", {"i": INT64_MIN, "j": -1}, None),
        ("i + j", {"i": INT64_MAX, "j": INT64_MIN}, -1),
        ("i - j", {"i": INT64_MIN, "j": 1}, None),
        ("i - j", {"i": 0, "j": INT64_MIN}, None),
        ("i - j", {"i": -1, "j": INT64_MIN}, INT64_MAX),
        ("i * j", {"i": 2**32, "j": 2**31}, None),
        ("i * j", {"i": 2**32, "j": -(2**31)}, INT64_MIN),
        ("i * j", {"i": INT64_MIN, "j": -1}, None),
        ("i * j", {"i": 3037000500, "j": 3037000500}, None),
        ("i * j", {"i": 3037000499, "j": 3037000499}, 3037000499**2),
        ("i * j", {"i": INT64_MAX, "j": INT64_MAX}, None),
        ("i % j", {"i": INT64_MIN, "j": -1}, 0),
        ("i % j", {"i": -7, "j": 3}, -1),
        ("i % j", {"i": 7, "j": 0}, None),
        ("i / j", {"i": 7, "j": 2}, 3.5),
        ("i / j", {"i": 7, "j": 0}, None),
        ("i / j", {"i": 0, "j": 0}, None),
        ("-i", {"i": INT64_MIN}, None),
        ("ABS(i)", {"i": INT64_MIN}, None),
        ("ABS(i)", {"i": INT64_MIN + 1}, INT64_MAX),
        ("f * g", {"f": 1e308, "g": 10.0}, None),
        ("f - g", {"f": 1e308, "g": -1e308}, None),
        ("f % g", {"f": -7.5, "g": 2.0}, -1.5),
        ("f % g", {"f": 1.0, "g": 0.0}, None),
        ("f / g", {"f": 1.0, "g": 5e-324}, None),
        ("te + INTERVAL '1' DAY", {"te": MICROSECOND_TO_YEAR_10000 - 1}, None),
        (
            "te + INTERVAL '1' MICROSECOND",
            {"te": MICROSECOND_TO_YEAR_10000 - 2},
            MICROSECOND_TO_YEAR_10000 - 1,
        ),
        ("te - INTERVAL '9999999' DAY", {"te": 0}, None),
    ],
)
def test_arithmetic_without_a_finite_result_is_null(text, row, expected):
    """Overflow, zero divisors, infinities and impossible times are NULL; their neighbours are exact."""
    assert [expected, None] == values(text, row, {})


@pytest.mark.parametrize(
    ("text", "rows", "expected"),
    [
        ("i IN (1, NULL)", [{"i": 1}, {"i": 2}, {}], [True, None, None]),
        ("i NOT IN (1, NULL)", [{"i": 1}, {"i": 2}, {}], [False, None, None]),
        ("t IN ('a', 'b')", [{"t": "a"}, {"t": "c"}, {}], [True, False, None]),
        ("b AND c", [{"b": False}, {"b": True}, {}], [False, None, None]),
        ("b OR c", [{"b": True}, {"b": False}, {}], [True, None, None]),
        ("b IS TRUE", [{"b": True}, {"b": False}, {}], [True, False, False]),
        ("b IS NOT FALSE", [{"b": True}, {"b": False}, {}], [True, False, True]),
        ("NOT b", [{"b": True}, {"b": False}, {}], [False, True, None]),
        ("b < c", [{"b": False, "c": True}, {"b": True, "c": True}], [True, False]),
        ("t = u", [{"t": "a", "u": "a"}, {"t": "a", "u": "b"}, {"t": "a"}], [True, False, None]),
        (
            "t < u",
            [{"t": "", "u": "a"}, {"t": "日", "u": "𝄞"}, {"t": "b", "u": "aa"}],
            [True, True, False],
        ),
        ("t LIKE 'a%'", [{"t": "ab"}, {"t": "ba"}, {}], [True, False, None]),
        ("i = f", [{"i": 2**53 + 1, "f": 2.0**53}], [True]),
        ("f = -0.0", [{"f": 0.0}, {"f": -0.0}], [True, True]),
        ("1 = 2 OR i = 1", [{"i": 1}], [True]),
        ("'a'", [{}, {}], ["a", "a"]),
        ("NULL", [{}, {}], [None, None]),
        ("TIMESTAMP '1970-01-01' + INTERVAL '1' SECOND", [{}], [1_000_000]),
    ],
)
def test_predicate_over_null_and_edges_has_its_truth_value(text, rows, expected):
    """Three-valued logic, case by case."""
    assert expected == values(text, *rows)


@pytest.mark.parametrize(
    "text", ["i + 1", "f * 2", "t", "t < u", "t LIKE '%a'", "b AND c", "i IN (1, 2)"]
)
def test_evaluate_of_no_rows_is_an_empty_column(text):
    """Nothing in, nothing out, of the right type."""
    assert [] == values(text)


class CountingDictionary(list[str]):
    """A dictionary that counts how many of its texts are read."""

    reads = 0

    def __getitem__(self, index):
        """Count, then read."""
        self.reads += 1
        return super().__getitem__(index)


@pytest.mark.parametrize("rows", [3, 40_000])
def test_string_predicate_reads_only_texts_that_occur(rows):
    """A huge dictionary costs nothing where few of its texts are in use, once each, not per row."""
    texts = CountingDictionary(f"text {number}" for number in range(100_000))
    codes = np.array([7, 9, 7] * (rows // 3), np.int32)
    column = Column(ColumnType.STRING, codes, None, texts)
    less = Compare(
        CompareOp.EQ, ColumnRef(0, "t", ColumnType.STRING), Constant("text 9", ColumnType.STRING)
    )
    found = truth(less, lambda _: column, len(codes))
    assert (codes == 9).tolist() == found.tolist()
    assert texts.reads == 2


def test_string_column_of_nulls_alone_with_wild_codes_is_unknown():
    """Under NULL a code may be anything, also none of the dictionary's."""
    column = Column(ColumnType.STRING, np.array([99, -5], np.int32), np.zeros(2, np.bool_), [])
    ref = ColumnRef(0, "t", ColumnType.STRING)
    for right in (ref, Constant("a", ColumnType.STRING)):
        found = evaluate(Compare(CompareOp.EQ, ref, right), lambda _: column, 2)
        assert [None, None] == found.to_list()


def test_truth_is_the_callers_own_array():
    """Writing into the answer leaves the column as it is."""
    column = Column(ColumnType.BOOL, np.array([True, False]))
    found = truth(ColumnRef(0, "b", ColumnType.BOOL), lambda _: column, 2)
    found[:] = False
    assert [True, False] == column.to_list()
