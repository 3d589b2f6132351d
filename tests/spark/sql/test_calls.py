"""What Spark cannot be made to say is refused in a sentence; what it can, grows linearly with its calls."""

import pytest

from psoup.client.errors import PsoupError
from psoup.pipeline.spark.sql.calls import UntranslatedError
from psoup.pipeline.spark.sql.standing_query import spark_query
from tests.engine.query.expression_strategies import SCHEMA


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("CAST(t AS BIGINT)", "declare a column"),
        ("t::DOUBLE", "declare a column"),
        ("CAST(t AS DATE)", "declare a column"),
        ("CAST(f AS VARCHAR)", "beside the text"),
        ("t || f", "beside the text"),
        ("ROUND(f, j)", "write a constant"),
    ],
)
def test_what_spark_cannot_say_is_refused_in_a_sentence(text, hint):
    """The reader of an archive answer is shown it."""
    with pytest.raises(UntranslatedError, match=hint) as refused:
        spark_query(f"SELECT {text} AS v FROM s", [SCHEMA], now_us=0)
    assert isinstance(refused.value, PsoupError)


def test_translation_of_calls_in_each_other_grows_linearly():
    """What a function's meaning names twice is written once."""
    lengths = []
    for depth in (2, 4, 8):
        text = "SUBSTRING(" * depth + "t" + ", 1, 2)" * depth
        query = spark_query(f"SELECT {text} AS v FROM s", [SCHEMA], now_us=0)
        lengths.append(len(query.rows))
    assert lengths[2] - lengths[1] == 2 * (lengths[1] - lengths[0])
