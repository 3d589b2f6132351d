"""Sentences with numbers, and hints that name what fits."""

import pytest

from psoup.engine.tuples.schema import ColumnType
from psoup.pipeline.files.columns.hints import misfit_hint
from psoup.pipeline.wording import counted


@pytest.mark.parametrize(
    ("number", "noun", "expected"),
    [
        (1, "row", "1 row"),
        (0, "row", "0 rows"),
        (2_000, "row", "2,000 rows"),
        (1, "batch", "1 batch"),
        (2, "batch", "2 batches"),
        (2, "query", "2 queries"),
        (3, "micro-batch", "3 micro-batches"),
        (3, "day", "3 days"),
    ],
)
def test_counted_is_one_of_a_noun_or_several(number, noun, expected):
    """As English has it."""
    assert expected == counted(number, noun)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("int64", "2.5", 'Pass "n float64" to --types or --schema.'),
        ("int64", "1e3", 'Pass "n float64" to --types or --schema.'),
        ("int64", "-.5", 'Pass "n float64" to --types or --schema.'),
        ("int64", "9" * 20, 'Pass "n string" to --types or --schema. An int64 ends at'),
        ("int64", "NA", "Pass --null 'NA', or \"n string\" to --types or --schema."),
        ("int64", "x" * 60, 'Pass "n string" to --types or --schema.'),
        ("float64", "n/a", "Pass --null 'n/a', or \"n string\" to --types or --schema."),
        ("bool", "1", 'Pass "n int64" to --types or --schema.'),
        ("bool", "yes", "Pass --null 'yes', or \"n string\" to --types or --schema."),
        ("timestamp", "soon", "Pass --null 'soon', or \"n string\" to --types or --schema."),
        ("string", "x" * 9_000, "Pass --skip-columns 'n' to leave the column out."),
    ],
)
def test_hint_names_the_type_that_holds_the_value(kind, value, expected):
    """Before the one that holds anything; words may mean NULL, numbers hardly do."""
    assert misfit_hint("n", ColumnType(kind), value, nulls=True).startswith(expected)


def test_hint_names_no_word_for_null_where_the_format_has_none():
    """A number of JSON that does not fit is no word."""
    assert "--null" not in misfit_hint("n", ColumnType.INT64, "NA", nulls=False)
