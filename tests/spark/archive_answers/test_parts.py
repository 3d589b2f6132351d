"""An answer that is too large: found out before it is made, and before anything is sent."""

from typing import Any

import pytest

from psoup.engine import limits
from psoup.engine.tuples.schema import ColumnType
from psoup.pipeline.errors import ArchiveAnswerRefusedError
from psoup.pipeline.spark.archive_answers import parts
from psoup.pipeline.spark.sql.standing_query import agreeing

TO: dict[str, Any] = {"connection": None, "history_id": "h_1", "worker": "nobody"}
"""Nowhere: nothing is sent."""
NUMBER = [("n", ColumnType.INT64)]


def rows_of(spark, table, *, output="id"):
    """Return rows of an answer, one for each row of a table with an `id`."""
    times = "timestamp_micros(id) AS time, array(id) AS ids, timestamp_micros(id) AS leaves"
    return agreeing(spark).sql(f"SELECT {times}, {output} AS c0 FROM {table}")


def test_answer_with_too_many_rows_is_refused(spark, monkeypatch):
    """In all partitions together, or in one; with what to ask instead."""
    monkeypatch.setattr(limits, "HISTORY_ROWS_MAX", 99)
    for partitions in (1, 2, 100):
        rows = rows_of(spark, f"range(0, 100, 1, {partitions})")
        with pytest.raises(ArchiveAnswerRefusedError, match=r"more than 99 rows.*narrower window"):
            parts.send_parts(parts.dated_rows(rows, NUMBER), **TO)


@pytest.mark.parametrize("partition_rows", [50, parts.PARTITION_ROWS], ids=["several", "one"])
def test_answer_with_too_many_bytes_is_refused(spark, monkeypatch, partition_rows):
    """However many partitions it has: they are counted before a part is sent."""
    monkeypatch.setattr(limits, "HISTORY_BYTES_MAX", 1 << 20)
    monkeypatch.setattr(parts, "PARTITION_ROWS", partition_rows)
    rows = rows_of(spark, "range(200)", output="repeat('x', 8192)")
    with pytest.raises(ArchiveAnswerRefusedError, match=r"2 MiB, more than 1 MiB.*narrower window"):
        parts.send_parts(parts.dated_rows(rows, [("text", ColumnType.STRING)]), **TO)


def test_rows_past_the_limit_are_not_made(spark, monkeypatch):
    """Nor the rest of an answer that would take days."""
    monkeypatch.setattr(limits, "HISTORY_ROWS_MAX", 1_000)
    with pytest.raises(ArchiveAnswerRefusedError, match=r"more than 1,000 rows"):
        parts.send_parts(parts.dated_rows(rows_of(spark, f"range({10**15})"), NUMBER), **TO)


def test_rows_are_bounded_where_they_are_made(spark):
    """No task gets the rows of all others, and those that a condition passes over do not count."""
    spread = parts._bounded(rows_of(spark, "range(0, 1000, 1, 4)"), 100)
    assert 4 == spread.rdd.getNumPartitions()
    joined = "range(0, 100, 1, 1) AS a, range(100) AS b WHERE a.id + b.id = 99"
    rows = rows_of(spark, f"(SELECT a.id FROM {joined})")
    assert 100 == parts._counted(parts._bounded(rows, 100), 100)
    with pytest.raises(ArchiveAnswerRefusedError, match=r"more than 99 rows"):
        parts._counted(parts._bounded(rows, 99), 99)
