"""Shapes: which sources are tied by what, what is left to ask, and what each source is asked alone."""

from psoup.engine.query.canonical import sql_expression
from psoup.engine.query.join_shape import across, shape_of, sides_of
from psoup.engine.query.values.expression import column_refs
from tests.engine.joins.folds import Tables

TABLES = Tables("r", "s", "u")


def shape(where, sources="r AS x, s AS y, u AS z"):
    return shape_of(TABLES.clause(f"SELECT x.i FROM {sources} WHERE {where}"))


def texts(expressions):
    return [sql_expression(one) for one in expressions]


def test_join_shape_of_clauses_that_differ_in_other_factors_is_one():
    """What is asked of single sources, or of composites besides, or shown, does not tell shapes apart."""
    tied = "x.i = y.i AND y.t = z.t"
    others = ["x.b", "z.f > 2 AND y.i = 3", "(x.f > 1 OR z.b)", "x.i + y.i > z.i"]
    keys = {shape(f"{tied} AND {other}").key for other in others}
    assert {shape(tied).key} == keys
    assert shape("y.t = z.t AND x.i = y.i").key in keys, "in whatever order"


def test_join_shape_of_other_streams_or_factors_is_another():
    """FROM in its order, and each join factor with its constants."""
    keys = {
        shape("x.i = y.i", "r AS x, s AS y").key,
        shape("x.i = y.i", "s AS x, r AS y").key,
        shape("x.i = y.i", "r AS x, r AS y").key,
        shape("x.i = y.f", "r AS x, s AS y").key,
        shape("x.i < y.i", "r AS x, s AS y").key,
        shape("x.i < y.i + 5", "r AS x, s AS y").key,
        shape("x.i = y.i AND x.t = y.t", "r AS x, s AS y").key,
    }
    assert 7 == len(keys)


def test_join_shape_ties_have_both_directions():
    """The first of each pair is over the source that is known; the band is the same."""
    made = shape("x.i = y.f + 1 AND x.t = y.t AND x.f < y.f AND y.b = z.b")
    forth, back = made.tie((0, 1)), made.tie((1, 0))
    assert {(other, one) for one, other in forth.equal} == set(back.equal)
    for tie in (forth, back):
        for one, other in tie.equal:
            assert {tie.of} == {ref.source for ref in column_refs(one)}
            assert {tie.to} == {ref.source for ref in column_refs(other)}
    assert forth.band == back.band is not None
    nothing = made.tie((0, 2))
    assert ((), None, ()) == (nothing.equal, nothing.band, nothing.rest)


def test_join_shape_goes_by_the_band_with_two_ends_and_asks_the_others():
    """One band orders an index; what other ones say is asked of pairs."""
    made = shape("x.i < y.i AND ABS(x.f - y.f) <= 2", "r AS x, s AS y")
    tie = made.tie((0, 1))
    assert tie.band is not None
    assert tie.band.is_bounded
    assert ["r.i < s.i"] == texts(tie.rest)
    assert 2 == len(tie.conditions)
    plain = shape("x.i < y.i", "r AS x, s AS y").tie((0, 1))
    assert () == plain.rest, "the index says all of it"
    assert 1 == len(plain.conditions)


def test_join_shape_steps_follow_ties_and_only_without_any_go_anywhere():
    """A chain is walked along; a source that nothing ties is reached in the end."""
    chain = shape("x.i = y.i AND y.t = z.t")
    assert [(0, 1)] == chain.steps({0})
    assert [(1, 0), (1, 2)] == chain.steps({1})
    assert [(1, 2)] == chain.steps({0, 1})
    loose = shape("x.i = y.i AND z.i = 3 AND x.i = 1 AND y.f > 2")
    assert [(0, 1)] == loose.steps({0})
    assert [(0, 2)] == loose.steps({0, 1})
    assert [(2, 0), (2, 1)] == loose.steps({2})


def test_join_shape_checks_ask_what_closes_a_circle():
    """Of three sources tied in a circle the last step asks for the tie that it did not go by."""
    circle = shape("x.i = y.i AND y.t = z.t AND x.f <= z.f")
    assert () == circle.checks((0, 1), {0})
    (asked,) = circle.checks((1, 2), {0, 1})
    assert {0, 2} == {ref.source for ref in column_refs(asked)}
    (asked,) = circle.checks((0, 2), {0, 1})
    assert {1, 2} == {ref.source for ref in column_refs(asked)}
    assert 3 == len(circle.texts)


def test_join_shape_closing_is_the_first_other_tie_by_equality_of_a_step_by_equality():
    """Its equalities are asked for no more, whatever else it has is; a step by a band is closed by nothing."""
    circle = shape("x.i = y.i AND y.t = z.t AND x.f = z.f AND x.i <= z.i")
    assert circle.closing((0, 1), {0}) is None
    assert (0, 2) == circle.closing((1, 2), {0, 1})
    assert (0, 1) == circle.closing((2, 1), {0, 2})
    assert 2 == len(circle.checks((1, 2), {0, 1}))
    (asked,) = circle.checks((1, 2), {0, 1}, 0)
    assert {"i"} == {ref.name for ref in column_refs(asked)}
    assert circle.closing((0, 2), {0, 1}) is None
    assert shape("x.i = y.i AND y.t = z.t AND x.f <= z.f").closing((1, 2), {0, 1}) is None


def test_sides_of_a_clause_have_what_is_asked_of_each_source_alone():
    """Every factor is in one place: a join factor, a side, or across."""
    clause = TABLES.clause(
        "SELECT x.i FROM r AS x, s AS y WHERE x.i = y.i AND x.b AND y.t LIKE 'a%' AND y.f > 1"
        " AND (x.f > 1 OR y.b) AND x.i <> y.f"
    )
    sides = sides_of(clause)
    assert [1, 2] == [len(side.factors) for side in sides]
    assert [(one,) for one in clause.sources] == [side.sources for side in sides]
    rest = across(clause)
    assert 2 == len(rest)
    assert len(clause.factors) == 1 + 2 + len(rest) + len(shape_of(clause).factors)


def test_sides_of_a_clause_that_nothing_satisfies_ask_the_first_source():
    """A constant reads no column: it is asked of the first source, and nothing of it passes."""
    clause = TABLES.clause("SELECT x.i FROM r AS x, s AS y WHERE x.i = y.i AND 1 > 2")
    assert len(clause.factors) - len(shape_of(clause).factors) == len(sides_of(clause)[0].factors)
    assert () == sides_of(clause)[1].factors
