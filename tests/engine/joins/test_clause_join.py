"""The join of one clause over rows that are there: its limits, and rows that are not there any more."""

import pytest

from psoup.engine.data.source import DatedRows
from psoup.engine.errors import AnswerTooLargeError, PageExpiredError
from psoup.engine.joins import clause_join
from psoup.engine.joins.clause_join import conditions_of, joining, joining_count, taken_from
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.query.join_shape import JoinPlan
from tests.engine.joins.folds import BLANK, FOREVER, Tables, row


def world():
    tables = Tables("r", "s")
    tables.send("r", [row(i=n % 2, ts=n) for n in range(6)])
    tables.send("s", [row(i=n % 2, ts=n) for n in range(4)])
    return tables, tables.clause("SELECT x.i FROM r AS x, s AS y WHERE x.i = y.i")


@pytest.mark.parametrize(
    ("limit", "most", "word"),
    [("JOIN_ANSWER_ROWS_MAX", 11, "rows"), ("JOIN_STEPS_MAX", 17, "steps")],
)
def test_joining_over_a_limit_says_which_and_what_to_do(monkeypatch, limit, most, word):
    """One less than it takes is refused; as many as it takes is answered."""
    tables, clause = world()
    monkeypatch.setattr(clause_join, limit, most)
    with pytest.raises(AnswerTooLargeError, match=f"more than {most} {word}") as raised:
        joining(tables.stem, JoinPlan(clause), tables.spans(clause))
    assert "narrower window" in str(raised.value)
    monkeypatch.setattr(clause_join, limit, most + 1)
    assert (2, 12) == joining(tables.stem, JoinPlan(clause), tables.spans(clause)).shape


def test_joining_count_that_has_to_make_composites_keeps_to_the_steps(monkeypatch):
    """Where the pairs themselves have to be looked at, they are counted as steps."""
    tables, _ = world()
    clause = tables.clause(
        "SELECT x.i FROM r AS x, s AS y WHERE x.i = y.i AND (x.i < 9 OR y.i < 9)"
    )
    monkeypatch.setattr(clause_join, "JOIN_STEPS_MAX", 15)
    with pytest.raises(AnswerTooLargeError, match="steps"):
        joining_count(tables.stem, JoinPlan(clause), tables.spans(clause))


def test_joining_of_no_rows_has_the_shape_of_its_sources():
    """An empty span finds nothing, whatever the others hold."""
    tables, clause = world()
    first, second = tables.spans(clause)
    nothing = DatedRows(second.stream_id, 2, 2, None, FOREVER)
    assert (2, 0) == joining(tables.stem, JoinPlan(clause), [first, nothing]).shape
    assert 0 == joining_count(tables.stem, JoinPlan(clause), [first, nothing])


def test_joining_of_rows_that_are_not_held_any_more_raises():
    """Rows of dropped segments cannot be joined; those behind can."""
    tables, clause = world()
    tables.send("r", [BLANK] * SEGMENT_ROWS)
    tables.send("r", [row(i=1)])
    first, second = tables.spans(clause)
    tables.stem(first.stream_id).evict(SEGMENT_ROWS)
    with pytest.raises(PageExpiredError):
        joining(tables.stem, JoinPlan(clause), [first, second])
    held = DatedRows(first.stream_id, SEGMENT_ROWS, first.past_row, None, FOREVER)
    assert [[SEGMENT_ROWS + 6] * 2, [1, 3]] == joining(
        tables.stem, JoinPlan(clause), [held, second]
    ).tolist()


def test_sides_of_a_plan_have_what_satisfies_their_factors_within_the_span():
    """Rows and times of the span, and what the clause asks of that source alone."""
    tables, _ = world()
    tables.send("r", [BLANK] * CHUNK_ROWS)
    clause = tables.clause(
        "SELECT x.i FROM r AS x, s AS y WHERE x.i = y.i AND x.i = 1 AND y.ts < TIMESTAMP '1970-01-01 00:00:00.000003'"
        " AND x.f + y.f > 0 AND x.i + y.i > 0"
    )
    first, second = tables.spans(clause)
    plan = JoinPlan(clause)
    spans = [DatedRows(first.stream_id, 1, first.past_row, 2, 5), second]
    sides = taken_from(tables.stem, plan, spans)
    assert [[3, 5], [0, 1, 2]] == [side.all().rows.tolist() for side in sides]
    assert [2, 3] == [side.weight for side in sides]
    conditions = conditions_of(plan)
    assert 1 <= len(conditions) <= 2, "those that are no band"
    assert {frozenset({0, 1})} == {one.sources for one in conditions}
