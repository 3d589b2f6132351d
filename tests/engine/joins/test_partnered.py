"""Rows with their partners, written out, are the composites of the join; where spans cannot tell there are none."""

from random import Random

import numpy as np
import pytest

from psoup.engine.joins.clause_join import joining, partnered
from psoup.engine.query.join_shape import JoinPlan
from tests.engine.joins.folds import Tables, row, rows_drawn, written_out

TOLD = [
    "x.i = y.i",
    "x.i = y.i AND x.t = y.t AND x.b",
    "x.f = y.i AND y.i >= 1",
    "x.i <= y.i",
    "x.i < y.i AND x.t = y.t",
    "ABS(x.i - y.i) <= 1",
    "x.f > y.f",
    "x.ts BETWEEN y.ts AND y.ts + INTERVAL '0.000002' SECOND AND x.i = y.i",
    "x.i = y.i AND x.t = z.t",
    "x.i = y.i AND x.f < z.f AND z.b",
]
"""Of these spans tell of x; by the last two of no other source."""
NOT_TOLD = [
    "x.i = y.i AND x.i + y.i > 3",
    "x.f BETWEEN y.f AND y.f + 1",
    "x.i < y.i AND x.ts < y.ts",
    "x.i = y.i AND y.t = z.t AND x.f = z.f",
]


@pytest.fixture(scope="module")
def tables():
    made = Tables("r", "s", "q")
    for place, name in enumerate(("r", "s", "q")):
        made.send(name, rows_drawn(Random(place), 40))
    return made


def asked(tables, where):
    """Return plan and spans of a join of as many streams as the condition names."""
    names = ["r AS x", "s AS y", "q AS z"][: 3 if "z." in where else 2]
    clause = tables.clause(f"SELECT x.i FROM {', '.join(names)} WHERE {where}")
    return JoinPlan(clause), tables.spans(clause)


@pytest.mark.parametrize("where", TOLD)
def test_partnered_oracle_written_out_is_the_join(tables, where):
    """Of each source that the others are tied to alone, and of one that is left to choose."""
    plan, spans = asked(tables, where)
    expected = sorted(map(tuple, joining(tables.stem, plan, spans).T.tolist()))
    assert expected
    for source in (None, *range(plan.shape.count)):
        found = partnered(tables.stem, plan, spans, source)
        if found is None:
            assert source in (1, 2)
            assert plan.shape.count == 3
            continue
        assert source in (None, found.source)
        assert (np.diff(found.rows) > 0).all()
        assert expected == sorted(written_out(found))


@pytest.mark.parametrize("where", NOT_TOLD)
def test_partnered_is_none_where_composites_have_to_be_looked_at(tables, where):
    """More than keys is asked, rounding decides, or sources are tied in a circle."""
    plan, spans = asked(tables, where)
    assert [None] * 3 == [partnered(tables.stem, plan, spans, source) for source in (None, 0, 1)]


def test_partnered_of_a_band_whose_arithmetic_overflows_is_none():
    """NULL is the difference then, which bounds do not say."""
    tables = Tables("r", "s")
    tables.send("r", [row(i=2**63 - 1), row(i=1)])
    tables.send("s", [row(i=-(2**63)), row(i=1)])
    plan, spans = asked(tables, "ABS(x.i - y.i) <= 1")
    assert partnered(tables.stem, plan, spans, 0) is None


def test_partnered_of_sides_that_never_meet_is_nothing():
    """Every source has its spans, of no row."""
    tables = Tables("r", "s")
    tables.send("r", [row(i=1)])
    tables.send("s", [row(i=2)])
    plan, spans = asked(tables, "x.i = y.i")
    found = partnered(tables.stem, plan, spans, 1)
    assert found is not None
    assert ([], []) == (found.rows.tolist(), sorted(written_out(found)))
