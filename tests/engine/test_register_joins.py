"""Joins that come, go, expire and are taken over: fronts, pages of their own, suspension, restarts."""

from random import Random

import pytest

from psoup.engine import release
from psoup.engine.eddy import join_entrants as joins
from psoup.engine.limits import CHUNK_ROWS, RETIRED_US, SEGMENT_ROWS
from psoup.engine.log.operation import Drop, Materialize, QueryId, Remove, Tick
from psoup.engine.results.delta import JoinRecord
from tests.engine.joins.folds import BLANK, JoinFold, row, rows_drawn, sparse

TIED = "SELECT x.i FROM r AS x, s AS y WHERE x.i = y.i"
AUTO, NONE = Materialize.AUTO, Materialize.NONE


def filled(name_counts, *, seed=1, some=20, **asked):
    """Return a fold with so many rows of each stream."""
    fold, rng = JoinFold(*name_counts, **asked), Random(seed)
    for name, count in name_counts.items():
        if count:
            fold.send(name, sparse(rng, count, rows_drawn(rng, min(some, count))))
    return fold


def test_register_of_a_join_writes_what_is_whole_as_pages_of_its_own():
    """Fronts are the rows in whole chunks; what came before is the clause's, what comes is the group's."""
    fold = filled({"r": CHUNK_ROWS + 50, "s": 2 * CHUNK_ROWS})
    first = fold.register(TIED)
    assert JoinRecord(first, (CHUNK_ROWS, 2 * CHUNK_ROWS)) == fold.join(first)
    assert {(first, 2, first)} == {key[:3] for key in fold.pages}
    assert [0] == sorted(key[3] for key in fold.pages)
    second = fold.register(f"{TIED} AND x.b")
    assert JoinRecord(first, (CHUNK_ROWS, 2 * CHUNK_ROWS)) == fold.join(second)
    assert {(first, 2, first), (first, 2, second)} == {key[:3] for key in fold.pages}
    fold.send("r", sparse(Random(2), CHUNK_ROWS - 50, rows_drawn(Random(2), 20)))
    assert {(first, 0, 1)} == {key[:3] for key in fold.pages if key[1] < 2}
    for clause_id in (first, second):
        assert fold.expected(clause_id) == fold.kept(clause_id) != []


@pytest.mark.parametrize(
    ("where", "materialize", "is_kept"),
    [
        ("x.i = y.i", AUTO, True),
        ("x.i = y.i", NONE, False),
        ("x.i < y.i", AUTO, False),
        ("x.i < y.i", Materialize.PARTIAL, True),
        ("ABS(x.i - y.i) < 2", AUTO, True),
        ("x.i = y.i", Materialize.COMPLETE, True),
    ],
)
def test_register_of_a_join_keeps_what_its_policy_says(where, materialize, is_kept):
    """By `auto` what keys bound; of the others nothing is looked for before it is asked for."""
    fold = filled({"r": CHUNK_ROWS, "s": CHUNK_ROWS})
    clause_id = fold.register(
        f"SELECT x.i FROM r AS x, s AS y WHERE {where}", materialize=materialize
    )
    assert is_kept == (fold.join(clause_id) is not None) == bool(fold.pages)
    assert is_kept == (fold.engine.statistics().query_stem.clauses == 1)
    delta = fold.send("r", [row(i=1)] * CHUNK_ROWS)
    assert is_kept == bool(delta.composites)
    gone = fold.remove(clause_id)
    assert is_kept == bool(gone.dropped_composites)
    assert {} == fold.pages


def test_register_of_an_equal_join_shares_all_of_it():
    """A second handle writes nothing; with the last one the clause goes, and its pages with it."""
    fold = filled({"r": CHUNK_ROWS, "s": CHUNK_ROWS})
    first = fold.register(TIED)
    before = dict(fold.pages)
    second = fold.register(TIED)
    assert before == fold.pages
    assert 1 == len(fold.records["clauses"])
    assert frozenset() == fold.remove(first).dropped_composites
    assert before.keys() == fold.remove(second).dropped_composites
    assert () == fold.engine.statistics().eddy.joins


def test_remove_of_the_last_clause_of_a_group_drops_its_pages():
    """Of one among others only what it has for itself; a new one of that shape begins another group."""
    fold = filled({"r": CHUNK_ROWS, "s": CHUNK_ROWS})
    first, second = fold.register(TIED), fold.register(f"{TIED} AND x.b")
    fold.send("s", sparse(Random(4), CHUNK_ROWS, rows_drawn(Random(4), 20)))
    assert {(first, 2, first, 0)} == fold.remove(first).dropped_composites
    assert fold.expected(second) == fold.kept(second) != []
    gone = fold.remove(second)
    assert {(first, 2, second, 0), (first, 1, 1, 0)} == gone.dropped_composites
    third = fold.register(TIED)
    assert third == fold.join(third).group
    assert fold.expected(third) == fold.kept(third)


def test_drop_of_a_stream_takes_joins_over_it_along():
    """Their pages go; joins over other streams stay, and the other stream goes on."""
    fold = filled({"r": CHUNK_ROWS, "s": CHUNK_ROWS, "u": CHUNK_ROWS})
    gone = fold.register(TIED)
    stays = fold.register("SELECT x.i FROM s AS x, u AS y WHERE x.i = y.i")
    stream_id, _ = fold.streams["r"]
    (query,) = [q.query_id for q in fold.records["queries"].values() if q.seq == gone]
    delta = fold.apply(Drop(stream_id, "r", (query,)))
    assert {(gone, 2, gone, 0)} == delta.dropped_composites
    assert {(stays, 2, stays, 0)} == fold.pages.keys()
    fold.send("u", sparse(Random(3), CHUNK_ROWS, rows_drawn(Random(3), 20)))
    assert fold.expected(stays) == fold.kept(stays) != []
    assert 1 == fold.records["streams"][fold.streams["s"][0]].queries


# --- Suspension -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "limit"),
    [(joins, "JOIN_MATCHES_MAX"), (joins, "JOIN_STEPS_MAX"), (release, "JOIN_RESULTS_MAX")],
)
def test_register_over_a_limit_suspends_the_fresh_clause_alone(monkeypatch, module, limit):
    """It stands, has no pages and meets nothing; a smaller one of the same group is kept as ever."""
    fold = filled({"r": CHUNK_ROWS, "s": CHUNK_ROWS}, some=60)
    small = fold.register(f"{TIED} AND x.i = 1 AND x.f = 2 AND y.f = 2")
    monkeypatch.setattr(module, limit, 150)
    large = fold.register(TIED)
    suspension = fold.join(large).suspended
    assert suspension is not None
    assert large == suspension.since_seq
    assert suspension.reason.startswith("more than 150 ")
    assert [] == fold.kept(large)
    monkeypatch.undo()
    delta = fold.send("s", [row(i=1, f=2.0)] * 3 + [BLANK] * (CHUNK_ROWS - 3))
    assert {} == delta.clauses
    assert [] == fold.kept(large)
    assert fold.expected(small) == fold.kept(small) != []
    again = fold.register(TIED)
    assert again not in fold.records["clauses"], "an equal one is the same clause, suspended"
    fold.restart()
    assert 1 == fold.engine.statistics().query_stem.clauses
    fold.remove(again)
    assert large in fold.records["clauses"]
    fold.remove(large)
    assert large not in fold.records["clauses"]
    assert fold.expected(small) == fold.kept(small)


def test_ingest_over_a_limit_suspends_at_once_and_once(monkeypatch):
    """A batch that completes several chunks: what the first has found is dropped, none of it is written."""
    fold = filled({"r": CHUNK_ROWS, "s": 0}, some=60)
    large, small = fold.register(TIED), fold.register(f"{TIED} AND x.t = 'none'")
    monkeypatch.setattr(release, "JOIN_RESULTS_MAX", 100)
    delta = fold.send("s", sparse(Random(5), 3 * CHUNK_ROWS, rows_drawn(Random(5), 120)))
    assert {large} == delta.clauses.keys()
    assert delta.seq == delta.clauses[large].join.suspended.since_seq
    assert fold.join(small).suspended is None
    assert 3 * CHUNK_ROWS == fold.records["streams"][fold.streams["s"][0]].rows
    assert [] == fold.kept(small)
    fold.remove(small)
    assert {} == fold.pages, "the group has gone, and all it had"


# --- Expiry ---------------------------------------------------------------------------------------


def test_expire_drops_pages_all_of_whose_composites_have_lost_a_part():
    """Pages of dropped segments go with them; those that name one row that is held stay."""
    fold = filled({"r": CHUNK_ROWS, "s": CHUNK_ROWS}, rows_kept=CHUNK_ROWS)
    own = fold.register(TIED)
    fold.send("s", sparse(Random(6), CHUNK_ROWS, rows_drawn(Random(6), 20)))
    old = set(fold.pages)
    assert {(own, 2, own, 0), (own, 1, 1, 0)} == old
    fold.send("r", [BLANK] * (SEGMENT_ROWS - CHUNK_ROWS))
    fold.send("r", sparse(Random(7), CHUNK_ROWS, rows_drawn(Random(7), 20)))
    assert {(own, 0, 16, 0)} == fold.pages.keys() - old
    assert frozenset() == fold.apply(Tick(), after_us=RETIRED_US - 1).dropped_composites
    delta = fold.apply(Tick(), after_us=1)
    assert 1 == len(delta.dropped_segments)
    assert old == delta.dropped_composites
    assert {(own, 0, 16, 0)} == fold.pages.keys()
    held = [one for one in fold.expected(own) if one[0] >= SEGMENT_ROWS]
    assert held == fold.kept(own) != []
    fold.send("s", sparse(Random(8), CHUNK_ROWS, rows_drawn(Random(8), 20)))
    held = [one for one in fold.expected(own) if one[0] >= SEGMENT_ROWS]
    assert held == fold.kept(own), "what is dropped is joined no more"
    late = fold.register(f"{TIED} AND x.i >= 0")
    held = [one for one in fold.expected(late) if one[0] >= SEGMENT_ROWS]
    assert held == fold.kept(late) != []


# --- Restarts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_restore_continues_exactly_as_if_nothing_had_happened(monkeypatch, seed):
    """The same composites, the same counts, the same suspensions, whenever an engine takes over."""
    monkeypatch.setattr(release, "JOIN_RESULTS_MAX", 900)
    texts = [
        TIED,
        f"{TIED} AND x.b",
        f"{TIED} AND (x.f > 0 OR y.b)",
        "SELECT x.i FROM r AS x, r AS y WHERE x.i = y.i AND x.t = y.t",
        "SELECT x.i FROM r AS x, s AS y, r AS z WHERE x.i = y.i AND y.t = z.t AND z.b AND x.f = 0",
    ]

    def story(*, restarts):
        rng, fold = Random(seed), JoinFold("r", "s")
        standing, waiting, removed = [], list(texts), set()
        for turn in range(9):
            name = rng.choice(["r", "s"])
            count = rng.choice([500, CHUNK_ROWS, CHUNK_ROWS + 1])
            fold.send(name, sparse(rng, count, rows_drawn(rng, 25)))
            if waiting and turn % 2 == 0:
                standing.append(fold.register(waiting.pop(rng.randrange(len(waiting)))))
            if turn == 6:
                removed.add(standing[0])
                fold.remove(standing[0])
            if restarts and turn in (2, 5, 7):
                fold.restart()
        return fold, [one for one in standing if one not in removed]

    (fold, standing), (other, _) = story(restarts=False), story(restarts=True)
    assert fold.records == other.records
    assert fold.pages.keys() == other.pages.keys()
    for clause_id in standing:
        assert fold.kept(clause_id) == other.kept(clause_id)
        if fold.join(clause_id).suspended is None:
            assert fold.expected(clause_id) == fold.kept(clause_id)


def test_void_operations_over_joins_change_nothing():
    """A handle that does not stand, and a join over a stream that does not."""
    fold = filled({"r": CHUNK_ROWS, "s": CHUNK_ROWS})
    clause_id = fold.register(TIED)
    before = fold.kept(clause_id)
    delta = fold.apply(Remove(QueryId("nobody")))
    assert ({}, frozenset()) == (delta.clauses, delta.dropped_composites)
    assert 1 == fold.engine.voided
    assert before == fold.kept(clause_id)
