"""Which type holds every value: the lattice, and what cells of a CSV look like."""

import itertools

import pyarrow as pa
import pytest

from psoup.engine.tuples.schema import ColumnType
from psoup.pipeline.files.columns.decisions import decide_column
from psoup.pipeline.files.columns.kinds import ColumnSurvey, Kind, widened
from psoup.pipeline.files.columns.text_kinds import TextProfiler
from psoup.pipeline.files.options import ReadOptions


def survey_of(*blocks):
    survey = ColumnSurvey("c")
    row = 0
    for block in blocks:
        TextProfiler().fold(survey, pa.array(block, pa.string()), range(row, row + len(block)))
        row += len(block)
    return survey


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", "-2", None], ColumnType.INT64),
        (["1", "2.5"], ColumnType.FLOAT64),
        (["1e3", ".5", "5.", "+5"], ColumnType.FLOAT64),
        (["9223372036854775807"], ColumnType.INT64),
        (["9223372036854775808"], ColumnType.STRING),
        (["9007199254740993", "0.5"], ColumnType.STRING),
        (["0.5", "9007199254740993"], ColumnType.STRING),
        (["00501", "10001"], ColumnType.STRING),
        (["0", "0.1", "-0.5"], ColumnType.FLOAT64),
        (["0x1F"], ColumnType.STRING),
        (["true", "FALSE"], ColumnType.BOOL),
        (["true", "1"], ColumnType.STRING),
        (["2013-02-08", "2013-02-08 10:00:01.5"], ColumnType.TIMESTAMP),
        (["2013-02-08T10:00:00Z", "2013-02-08T10:00:00+02:00", "2013-02-08"], ColumnType.TIMESTAMP),
        (["2013-02-08T10:00:01.123456789Z"], ColumnType.TIMESTAMP),
        (["2013-02-30"], ColumnType.STRING),
        (["2013-02-08", "5"], ColumnType.STRING),
        (["nan"], ColumnType.STRING),
        (["1.5", "inf"], ColumnType.STRING),
        ([None, None], ColumnType.STRING),
        ([], ColumnType.STRING),
    ],
)
def test_text_looks_values_of_a_column_give_the_narrowest_type(values, expected):
    """Every value fits the type without loss, and no narrower type holds them all."""
    assert expected == decide_column(survey_of(values), None, ReadOptions(), None).type


@pytest.mark.parametrize("length", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_text_looks_differential_one_block_or_many_give_one_type(length):
    """How the reader happens to cut the file decides nothing: type and first witness are the same."""
    pool = ["1", "2.5", "true", "2013-02-08", "x", None, "00", "9007199254740993"]
    for values in itertools.product(pool, repeat=length):
        whole = survey_of(list(values))
        for cut in range(1, length):
            parts = survey_of(list(values[:cut]), list(values[cut:]))
            assert whole.kind == parts.kind, values
            assert whole.witness_at == parts.witness_at, values


def test_text_looks_misfit_deep_in_a_block_is_the_witness():
    """The note names the first value that made the column text, not just any."""
    values = [str(i) for i in range(5_000)]
    values[3_217] = "NA"
    values[4_000] = "-"
    survey = survey_of(values)
    assert 3_217 == survey.witness_at
    assert (
        "'NA' in line 3219 is not int64" == decide_column(survey, 3_219, ReadOptions(), None).note
    )


def test_widened_of_any_three_kinds_is_a_join():
    """The lattice's join does not depend on order or grouping, except where text ends it all."""
    for a, b, c in itertools.product(Kind, repeat=3):
        assert widened(a, b) == widened(b, a)
        assert widened(widened(a, b), c) == widened(a, widened(b, c))
        assert a == widened(a, a)
