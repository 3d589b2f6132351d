"""Joins of any shape, beside every combination there is; and what they count."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.data import join_keys
from psoup.engine.data.source import DatedRows
from psoup.engine.joins import join as module, side as join_side
from psoup.engine.joins.clause_join import (
    conditions_of,
    joining,
    joining_count,
    partnered,
    taken_from,
)
from psoup.engine.joins.counts import JoinCounts, StepCounts
from psoup.engine.joins.join import Condition, Join, OverrunError
from psoup.engine.joins.slices import sliced
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.query.join_shape import JoinPlan, shape_of
from tests.engine.joins.folds import FOREVER, Tables, row, rows_drawn, sparse, written_out

TIES = [
    "{p}.i = {q}.i",
    "{p}.i = {q}.i",
    "{p}.f = {q}.f",
    "{p}.i = {q}.f",
    "{p}.t = {q}.t",
    "{p}.i = {q}.i AND {p}.t = {q}.t",
    "{p}.f = {q}.i AND {p}.b = {q}.b AND {p}.i < {q}.i",
    "{p}.ts = {q}.ts",
    "{p}.i < {q}.f",
    "{p}.i >= {q}.i",
    "ABS({p}.i - {q}.i) <= 1",
    "{p}.f BETWEEN {q}.f - 0.5 AND {q}.f + 0.5",
    "{p}.ts BETWEEN {q}.ts AND {q}.ts + INTERVAL '0.000002' SECOND AND {p}.t = {q}.t",
    "{p}.i + 1 > {q}.i * 2",
    "ABS({p}.i - {q}.i) = 1",
    "ABS(ABS({p}.i - {q}.i) - 2) <= 1",
    "{p}.ts < {q}.ts + INTERVAL '0.000002' SECOND AND {p}.ts > {q}.ts",
    "ABS({p}.i - {q}.i + 1) < 2.5 AND {p}.i <= {q}.i",
    "{p}.i - {q}.i = 1",
    "{p}.i = {q}.i AND {p}.f > {q}.f AND {p}.ts < {q}.ts",
    "{p}.i <> {q}.i",
]
EQUALITIES = [
    "{p}.i = {q}.i",
    "{p}.f = {q}.f",
    "{p}.i = {q}.f",
    "{p}.t = {q}.t",
    "{p}.ts = {q}.ts",
    "{p}.i = {q}.i AND {p}.t = {q}.t",
]
"""Ties that close circles, where others do."""
MORE = [
    "{p}.i > 0",
    "{p}.t LIKE 'a%'",
    "{p}.b",
    "({p}.i > 1 OR {q}.t = 'a')",
    "{p}.i + {q}.i < 4",
    "{p}.f IS NOT NULL",
    "{p}.t <> {q}.t",
]
STREAMS = ("r", "s", "u")


def clause_drawn(rng, tables, sources, *, ties=TIES, more=()):
    """Draw a clause over so many sources, tied as a tree or in circles, some streams more than once."""
    aliases = [f"x{i}" for i in range(sources)]
    parts = [
        rng.choice(ties).format(p=aliases[rng.randrange(i)], q=aliases[i])
        for i in range(1, sources)
    ]
    for _ in range(rng.randrange(3)):
        p, q = rng.sample(aliases, 2)
        parts.append(rng.choice([*ties, *MORE]).format(p=p, q=q))
    parts += [one.format(p=alias) for one in more for alias in aliases]
    named = ", ".join(f"{rng.choice(STREAMS)} AS {alias}" for alias in aliases)
    return tables.clause(f"SELECT x0.i FROM {named} WHERE {' AND '.join(parts)}")


def spans_drawn(rng, tables, clause):
    found = []
    for whole in tables.spans(clause):
        first, past = sorted(rng.randrange(whole.past_row + 1) for _ in range(2))
        begin_us, end_us = rng.choice([(None, FOREVER), (2, 6), (None, 4), (3, FOREVER)])
        if rng.random() < 0.5:
            first, past = 0, whole.past_row
        found.append(DatedRows(whole.stream_id, first, past, begin_us, end_us))
    return found


def composites(tables, clause, spans):
    """Return what the join of a clause finds; nothing twice, and as many as it counts."""
    plan = JoinPlan(clause)
    rows = joining(tables.stem, plan, spans)
    found = list(map(tuple, rows.T.tolist()))
    assert len(found) == len(set(found)) == joining_count(tables.stem, plan, spans)
    assert len(spans) == rows.shape[0]
    for source in (None, 0, 1):
        some = partnered(tables.stem, plan, spans, source)
        assert some is None or sorted(found) == sorted(written_out(some))
    return set(found)


@given(st.integers(0, 2**32), st.sampled_from([1_000_000, 3]), st.booleans())
def test_joining_of_any_clause_oracle_finds_all_composites(seed, slice_pairs, colliding):
    """Two to four sources, whole streams or spans of them; in slices; where all digests collide."""
    rng = Random(seed)
    tables = Tables(*STREAMS)
    for name in STREAMS:
        tables.send(name, rows_drawn(rng, rng.choice([0, 1, 5, 9, 9])))
    clause = clause_drawn(rng, tables, rng.choice([2, 2, 3, 4]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SLICE_PAIRS", slice_pairs)
        patch.setattr(module, "PLAIN_PAIRS", slice_pairs)
        if colliding:
            patch.setattr(join_keys, "digests_of", lambda texts: np.full(len(texts), 7))
        for spans in (tables.spans(clause), spans_drawn(rng, tables, clause)):
            assert tables.expected(clause, spans) == composites(tables, clause, spans), clause.text


@pytest.mark.parametrize("seed", [11, 13, 19, 30])
def test_joining_in_circles_of_equalities_oracle_finds_all_composites(seed):
    """Draws, NULL among the values, in which what closes a circle takes partners away that nothing else would."""
    rng, tables = Random(seed), Tables(*STREAMS)
    for name in STREAMS:
        tables.send(name, rows_drawn(rng, rng.choice([5, 9]), keys=3))
    clause = clause_drawn(rng, tables, 3, ties=EQUALITIES)
    expected = tables.expected(clause)
    assert expected
    assert expected == composites(tables, clause, tables.spans(clause)), clause.text


@pytest.mark.parametrize(
    "seed", [*range(2), *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 12))]
)
@pytest.mark.parametrize("digest", ["", "7"])
def test_joining_through_key_indexes_oracle_finds_all_composites(monkeypatch, seed, digest):
    """Rows are looked up in indexes of whole chunks, and those of the open chunk beside; digests may collide."""
    monkeypatch.setattr(join_side, "DIRECT_ROWS_MAX", 0)
    if digest:
        monkeypatch.setattr(join_keys, "digests_of", lambda texts: np.full(len(texts), int(digest)))
    rng, tables = Random(seed), Tables(*STREAMS)
    for name in STREAMS:
        count = rng.choice([1, 2]) * CHUNK_ROWS + 100
        tables.send(name, sparse(rng, count, rows_drawn(rng, 14)))
        tables.send(name, rows_drawn(rng, 3))
    for _ in range(6):
        clause = clause_drawn(
            rng, tables, rng.choice([2, 3]), more=["({p}.i IS NOT NULL OR {p}.t IS NOT NULL)"]
        )
        for spans in (tables.spans(clause), spans_drawn(rng, tables, clause)):
            assert tables.expected(clause, spans) == composites(tables, clause, spans), clause.text


# --- What is counted ------------------------------------------------------------------------------


def join_of(tables, clause, *, steps_max=10**9, fresh=0):
    """Return a join that begins with one source, its route in the order of steps, and its counts."""
    shape, counts = shape_of(clause), JoinCounts()
    plan = JoinPlan(clause)
    sides = taken_from(tables.stem, plan, tables.spans(clause))
    join = Join(shape, sides, conditions_of(plan), counts, steps_max=steps_max)
    known, route = {fresh}, []
    while len(known) < shape.count:
        route.append(shape.steps(known)[0])
        known.add(route[-1][1])
    return join, tuple(route), counts


def run(tables, clause, **asked):
    join, route, counts = join_of(tables, clause, **asked)
    found = [
        rows
        for some in join.run(route, fresh=asked.get("fresh", 0))
        for rows in map(tuple, some.rows.T.tolist())
    ]
    return found, route, counts


TREES = [
    "r AS x, s AS y, u AS z WHERE x.i = y.i AND y.t = z.t",
    "r AS x, s AS y, u AS z WHERE x.i = y.i AND x.t = z.t",
    "r AS x, s AS y, u AS z, r AS v WHERE x.i = y.i AND y.t = z.t AND x.b = v.b",
    "r AS x, s AS y, u AS z, s AS v WHERE x.i = y.i AND y.t = z.t AND z.f < v.f",
    "r AS x, s AS y, u AS z, s AS v WHERE x.i = y.i AND x.t = z.t AND y.f = v.i",
]


@given(st.sampled_from(TREES), st.integers(0, 3), st.integers(0, 2**32))
def test_joining_of_trees_oracle_builds_nothing_that_finds_no_end(text, fresh, seed):
    """Every composite of some of the sources is part of one of all: the parts of results are counted."""
    rng, tables = Random(seed), Tables(*STREAMS)
    for name in STREAMS:
        tables.send(name, rows_drawn(rng, 9))
    clause = tables.clause(f"SELECT x.i FROM {text}")
    fresh = min(fresh, len(clause.sources) - 1)
    found, route, counts = run(tables, clause, fresh=fresh)
    assert tables.expected(clause) == set(found)
    known, built, pairs = [fresh], 0, 0
    for _, to in route:
        known.append(to)
        parts = len({tuple(one[k] for k in known) for one in found})
        pairs += parts
        built += parts if len(known) < len(clause.sources) else 0
    assert (len(found), built) == (counts.results, counts.intermediates)
    assert pairs + counts.candidates == counts.steps, "every pair looked at is one that is there"
    if found:
        assert pairs == sum(seen.partners for seen in counts.by_step.values())


def test_joining_counts_rows_that_the_semi_join_takes_out():
    """Of two rows that x finds in y, one has no partner in z: no pair is made of it."""
    tables = Tables("r", "s", "u")
    tables.send("r", [row(i=1)])
    tables.send("s", [row(i=1, t="a"), row(i=1, t="b"), row(i=2, t="a")])
    tables.send("u", [row(t="a"), row(t="a")])
    clause = tables.clause(f"SELECT x.i FROM {TREES[0]}")
    found, _, counts = run(tables, clause)
    assert [(0, 0, 0), (0, 0, 1)] == sorted(found)
    assert (1, 2, 1, 1) == (
        counts.fresh_rows,
        counts.results,
        counts.intermediates,
        len(counts.by_step) - 1,
    )
    assert 1 == counts.semijoined, "(1, b); (2, a) finds a partner, and is never asked for one"
    assert (3 + 2) + (1 + 2) == counts.steps, "rows taken, and pairs"
    assert [1.0, 2.0] == [counts.step(one).fan_out for one in ((0, 1), (1, 2))]


def test_joining_of_nothing_stops_at_the_first_source_without_rows():
    """No source behind it is looked at."""
    tables = Tables("r", "s", "u")
    tables.send("r", [row(i=1)])
    tables.send("u", [row(t="a")] * 5)
    found, _, counts = run(tables, tables.clause(f"SELECT x.i FROM {TREES[0]}"))
    assert ([], 0, 0) == (found, counts.candidates, counts.steps)
    assert (1.0, 1.0) == (StepCounts().fan_out, Condition(None, frozenset()).selectivity)  # type: ignore[arg-type]


@pytest.mark.parametrize("slice_pairs", [1_000_000, 4])
def test_joining_takes_no_more_steps_than_it_may(monkeypatch, slice_pairs):
    """With as many as it needs it ends; with one less it raises, and has told what rows wanted them."""
    monkeypatch.setattr(module, "SLICE_PAIRS", slice_pairs)
    tables = Tables("r", "s")
    tables.send("r", [row(i=n % 2) for n in range(6)])
    tables.send("s", [row(i=n % 2) for n in range(4)])
    more = "" if slice_pairs > 4 else " AND (x.i < 3 OR y.i < 3)"
    clause = tables.clause(f"SELECT x.i FROM r AS x, s AS y WHERE x.i = y.i{more}")
    needed = 4 + 6 * 2 + (12 if more else 0)
    found, _, counts = run(tables, clause, steps_max=needed)
    assert (12, needed) == (len(found), counts.steps)
    with pytest.raises(OverrunError) as raised:
        run(tables, clause, steps_max=needed - 1)
    assert raised.value.words is None
    if more:
        assert raised.value.steps is not None
        assert {1} == set(raised.value.steps.tolist())
    with pytest.raises(OverrunError) as raised:
        run(tables, clause, steps_max=3)
    assert raised.value.steps is None, "candidates are nobody's alone"


def test_joining_count_of_a_plain_pair_makes_none(monkeypatch):
    """Spans tell how many there are; where something is asked besides, they are made and counted."""
    tables = Tables("r", "s")
    tables.send("r", [row(i=n % 2, f=1.0) for n in range(6)])
    tables.send("s", [row(i=n % 2, f=1.0) for n in range(4)])
    for more in (" AND x.f + y.f > 1 AND x.i + y.i >= 0", "", " AND x.b IS NULL"):
        clause = tables.clause(f"SELECT x.i FROM r AS x, s AS y WHERE x.i = y.i{more}")
        join, route, _ = join_of(tables, clause)
        assert 12 == join.count(route, fresh=0)
        for name in ("paired", "paired_rows", "paired_alive"):
            monkeypatch.setattr(module, name, None, raising=False)
    empty = tables.clause("SELECT x.i FROM r AS x, s AS y WHERE x.i = y.i AND y.i = 9")
    join, route, _ = join_of(tables, empty)
    assert 0 == join.count(route, fresh=0)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), max_size=12), st.integers(1, 9))
def test_slices_of_any_spans_oracle_have_every_place_once(drawn, most):
    """Pieces have at most so many places, but for none: spans are cut, empty ones left out, the order stays."""
    low = np.array([one[0] for one in drawn], dtype=np.int64)
    lengths = np.array([one[1] for one in drawn], dtype=np.int64)
    numbers = np.arange(len(drawn))
    expected = [(i, at) for i, (begin, n) in enumerate(drawn) for at in range(begin, begin + n)]
    found = []
    for some, begins, pasts in sliced(low, low + lengths, lengths, most):
        piece = [
            (i, at)
            for i, begin, past in zip(numbers[some].tolist(), begins, pasts, strict=True)
            for at in range(begin, past)
        ]
        assert 0 < len(piece) <= most
        found += piece
    assert expected == found
