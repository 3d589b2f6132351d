"""The benchmarks of joins measure what they say: workloads, and what is switched off for comparison."""

import numpy as np
import pytest

from benchmarks import joins_composite, joins_inequality, joins_routes, joins_sharing, joins_stocks
from benchmarks.bench import Size, Survey
from benchmarks.ways_joins import Arriving, without_semi_join
from benchmarks.ways_joins_arrays import Histograms, Outer
from benchmarks.workloads_joins import first_rows, table, whole
from psoup.engine.joins.join import Join
from psoup.engine.limits import CHUNK_ROWS, JOIN_MATCHES_MAX

SIZE = 300


def test_conditions_of_figure_8_leave_every_query_standing():
    """No query has as many pairs of one chunk as would suspend it, and every one has some."""
    tables = joins_inequality.drawn(CHUNK_ROWS)
    counts = Histograms(tables, joins_inequality.rare(8), values=256).run(None)
    assert max(counts) <= JOIN_MATCHES_MAX
    assert min(counts) > 0


@pytest.mark.parametrize("compared", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("constant", [-400, -255, -7, 0, 7, 255, 400])
def test_histograms_count_the_pairs_that_the_outer_comparison_finds(compared, constant):
    """Counting without pairs gives their number, whatever the operator and the constant's sign."""
    sign = "-" if constant < 0 else "+"
    tables = joins_inequality.drawn(SIZE)
    conditions = [f"r.a {compared} s.b {sign} {abs(constant)}"]
    (count,) = Histograms(tables, conditions, values=256).run(None)
    ((left, right),) = Outer(tables, conditions).run(None)
    assert count == len(left) == len(right)


def test_without_semi_join_holds_only_while_it_lasts():
    """What is switched off for one contender is on again for the next, after an error as well."""
    before = Join._semi_join

    def fails():
        with without_semi_join():
            assert Join._semi_join is not before
            raise ValueError("a run")

    with pytest.raises(ValueError, match="a run"):
        fails()
    assert Join._semi_join is before


def test_hybrids_are_as_many_as_they_are_called():
    """Many queries are all different and satisfied by the one tuple; of many tuples none is NULL."""
    queries = joins_composite.of_queries(SIZE)
    assert SIZE == len(set(queries.constants))
    assert max(c1 for c1, _ in queries.constants) <= joins_composite.FRESH
    tuples = joins_composite.of_tuples(SIZE)
    held = [np.ma.count(one.r.columns["a"]) for one in (queries, tuples)]
    assert [1, SIZE] == held
    assert CHUNK_ROWS == len(queries.r) == len(tuples.r)


def test_prices_cover_everything():
    """One query wants all stocks, as in the paper, and no stock is without a price."""
    assert "s.price > 0.0" == joins_stocks.prices(5)[0]
    prices = joins_stocks.drawn_stocks().columns["price"]
    assert 0 < prices.min()
    assert prices.max() <= 100


def test_articles_are_as_many_for_each_stock():
    """The fan-out is that of every stock."""
    _, counts = np.unique(joins_stocks.drawn_articles(3).columns["symbol"], return_counts=True)
    assert [3] == np.unique(counts).tolist()
    assert CHUNK_ROWS == len(counts)


def test_few_queries_are_in_as_many_groups_as_many():
    """What is compared is the number of queries, not of groups."""
    queries = joins_sharing.drawn_queries(100, joins_sharing.GROUPS)
    few = queries[: joins_sharing.GROUPS]
    assert {key for key, *_ in queries} == {key for key, *_ in few}


def test_semi_join_builds_less_where_the_last_source_has_few_partners():
    """JIT's left-deep workload: the same results, by way of fewer composites, and some results there are."""
    surveys = [one for one in joins_routes.contests(Size.SMOKE) if isinstance(one, Survey)]
    built = {
        figure.key: figure.value
        for one in surveys
        if one.key.startswith("joins-jit-deep")
        for figure in one.run()
    }
    of = {
        name: [built[f"joins-deep-built-{name}-{what}"] for what in ("intermediates", "results")]
        for name in (joins_routes.IN_ORDER, joins_routes.WITHOUT)
    }
    with_it, without = of[joins_routes.IN_ORDER], of[joins_routes.WITHOUT]
    assert without[0] > 2 * with_it[0]
    assert with_it[1] == without[1] > 0


def test_star_turns_round_half_way():
    """The source with the most partners, the first in FROM, has the fewest from the second half of all rows on."""
    star = joins_routes.star(3, (4.0, 0.25), CHUNK_ROWS)
    halves = np.split(star.arriving.columns["a"], 2)
    for other, partners in zip(star.others, ((4.0, 0.25), (0.25, 4.0)), strict=True):
        held = other.columns["a"]
        assert 0 == len(held) % CHUNK_ROWS
        for half, expected in zip(halves, partners, strict=True):
            found = np.isin(held, half).sum() / len(np.unique(half))
            assert expected == pytest.approx(found, rel=0.05)


def test_arriving_answers_for_the_run_alone():
    """Every run finds what the first one did: what arrived before it is retained no more."""
    keys = np.arange(CHUNK_ROWS)
    texts = ["SELECT r.n AS r_n, s.n AS s_n FROM r, s WHERE r.k = s.k"]
    way = Arriving(table("r", k=keys), [table("s", k=keys % 7)], texts)
    answers = set()
    for _ in range(3):
        way.run(way.setup())
        answers.add(way.answer(None))
    assert {np.int64(CHUNK_ROWS).tobytes()} == answers


def test_first_rows_are_followed_by_null():
    """Rows that fill a chunk up have no value, those that fill a table up a value that nobody has."""
    padded = first_rows(np.arange(5), 2, of=4)
    assert [0, 1, None, None] == padded.tolist()
    assert CHUNK_ROWS == len(whole(np.arange(5), absent=-1))
    assert [-1] == np.unique(whole(np.arange(5), absent=-1)[5:]).tolist()
