"""Plans: which conjunct of a query finds it, and which are asked behind that."""

import pytest

from psoup.engine.asking.plan import IndexKind, plan_of
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.bind.predicates import predicates_of
from psoup.engine.query.canonical import sql_expression
from psoup.engine.query.factor import AttributeFactor
from psoup.engine.query.reading import Reading
from tests.golden.query_files import ACCEPTED, STREAMS, Case, given, read_all_cases


def plan_of_bound(bound):
    """Return the plan of a query that was bound over STREAMS."""
    reading = Reading(bound.clause, bound.shape)
    return plan_of(reading, predicates_of(bound.canonical, STREAMS))


@pytest.mark.parametrize(
    ("where", "driver", "index", "residual"),
    [
        ("", None, "none", ()),
        (" WHERE sym = 'ACME' AND px > 40", "sym = 'ACME'", "hash", ("px > 40.0",)),
        (" WHERE px > 40 AND qty < 3", "px > 40.0", "ordered", ("qty < 3",)),
        (" WHERE px > 40 AND px < 50 AND px <> 45", "px < 50.0 AND px <> 45.0 AND px > 40.0", "ordered", ()),
        (" WHERE sym LIKE '%x' AND qty = 3", "qty = 3", "ordered", ("sym LIKE '%x'",)),
        (" WHERE sym = 'A' AND \"Name\" = 'B'", "Name = 'B'", "ordered", ("sym = 'A'",)),
        (" WHERE LOWER(sym) = 'acme' AND px > 3", "LOWER(sym) = 'acme'", "hash", ("px > 3.0",)),
        (" WHERE LENGTH(sym) > 3 AND sym LIKE '%x'", "LENGTH(sym) > 3", "ordered", ("sym LIKE '%x'",)),
        (" WHERE px + qty > 3", None, "none", ("px + qty > 3.0",)),
        (" WHERE sym IN ('A', 'B')", "sym IN ('A', 'B')", "ordered", ()),
    ],
)  # fmt: skip
def test_plan_of_a_selection_names_what_finds_it(where, driver, index, residual):
    """One value by hash where nothing hinders, else an order of values, else nothing."""
    bound = bind(f"SELECT sym FROM trades{where}", STREAMS)
    plan = plan_of_bound(bound)
    (source,) = plan.sources
    assert (driver, IndexKind(index), residual) == (source.driver, source.index, source.residual)
    assert ((), ()) == (plan.joined_on, plan.residual)


def test_plan_of_a_join_names_what_ties_its_streams():
    """Equalities and bands stand apart from conditions that no index takes."""
    sql = (
        "SELECT t.sym FROM trades AS t, symbols AS s WHERE t.sym = s.id AND t.qty > 3 AND s.lot = 5"
        " AND (t.px > 4 OR s.lot > 4)"
    )
    plan = plan_of_bound(bind(sql, STREAMS))
    assert ["trades.qty > 3", "symbols.lot = 5"] == [one.driver for one in plan.sources]
    assert [IndexKind.ORDERED, IndexKind.HASH] == [one.index for one in plan.sources]
    assert ("symbols.id = trades.sym",) == plan.joined_on
    assert ("symbols.lot > 4 OR trades.px > 4.0",) == plan.residual


def test_plan_of_a_left_join_asks_where_behind_the_join():
    """What WHERE asks of the right side meets rows of the join, NULLs too."""
    sql = "SELECT t.sym FROM trades AS t LEFT JOIN symbols AS s ON t.sym = s.id AND s.lot > 2 WHERE s.lot IS NULL"
    plan = plan_of_bound(bind(sql, STREAMS))
    assert [None, "symbols.lot > 2"] == [one.driver for one in plan.sources]
    assert ("symbols.id = trades.sym",) == plan.joined_on
    assert ("symbols.lot IS NULL",) == plan.residual


@pytest.mark.parametrize("case", read_all_cases(ACCEPTED), ids=lambda case: case.text[:60])
def test_plan_names_every_predicate_once(case: Case):
    """Nothing that is asked is left out or named twice, and a driver stands wherever a column is indexed."""
    bound = bind(case.text, STREAMS, given(case.text))
    plan = plan_of_bound(bound)
    named = [text for one in plan.sources for text in (*one.residual, one.driver or "") if text]
    named += [*plan.joined_on, *plan.residual]
    predicates = predicates_of(bound.canonical, STREAMS)
    for predicate in {*predicates.on, *predicates.where}:
        text = sql_expression(predicate)
        assert [text in one for one in named].count(True) >= 1, text
    indexed = {
        one.column.source for one in bound.clause.factors if isinstance(one, AttributeFactor)
    }
    assert indexed <= {place for place, one in enumerate(plan.sources) if one.driver is not None}
