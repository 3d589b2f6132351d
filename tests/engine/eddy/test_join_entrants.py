"""Entrants of joins: each composite of whole chunks once, whoever comes last."""

from random import Random

import pytest

from psoup.engine.eddy import join_entrants as joins
from psoup.engine.eddy.join_routing import ByFanOut, FromOrder, Lottery
from psoup.engine.joins import side as join_side
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Materialize
from tests.engine.joins.folds import BLANK, JoinFold, row, rows_drawn, sparse

QUERIES = [
    "SELECT x.i FROM r AS x, s AS y WHERE x.i = y.i AND x.t = 'a'",
    "SELECT x.i FROM r AS x, s AS y WHERE x.i = y.i AND (x.b OR y.f > x.f)",
    "SELECT x.i FROM r AS x, r AS y WHERE x.i = y.i AND y.t <> 'b'",
    "SELECT x.i FROM r AS x, r AS y, r AS z WHERE x.i = y.i AND y.t = z.t AND x.ts < z.ts",
    "SELECT x.i FROM r AS x, s AS y, r AS z WHERE x.i = y.i AND y.f = z.i AND x.t = z.t",
    (
        "SELECT x.i FROM s AS x, r AS y, u AS z WHERE ABS(x.i - y.i) < 2 AND x.i >= 0 AND y.t = z.t"
        " AND z.b AND x.b AND y.b"
    ),
    (
        "SELECT x.i FROM u AS x, s AS y, r AS z, s AS v WHERE x.i = y.i AND x.t = z.t AND z.f = v.f"
        " AND x.f = 0 AND v.i > 1"
    ),
]


def grown(fold, rng, *, turns, chunks_max=2):
    """Send batches that complete no chunk, one, or several, to any stream; clauses come between."""
    standing = []
    waiting = [(sql, kept) for sql in QUERIES for kept in (Materialize.AUTO, Materialize.PARTIAL)]
    rng.shuffle(waiting)
    for _ in range(turns):
        name = rng.choice(list(fold.streams))
        count = rng.choice([100, CHUNK_ROWS - len(fold.rows[name]) % CHUNK_ROWS, 0])
        count = count or rng.randrange(CHUNK_ROWS, chunks_max * CHUNK_ROWS + 1)
        fold.send(name, sparse(rng, count, rows_drawn(rng, min(count, 12), keys=6)))
        if waiting and rng.random() < 0.6:
            sql, kept = waiting.pop()
            standing.append(fold.register(sql, materialize=kept))
    standing += [fold.register(sql, materialize=kept) for sql, kept in waiting]
    return standing


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 6))]
)
def test_joins_in_any_order_oracle_find_every_composite_once(seed):
    """Whatever stream completes its chunks when, one or several at once, with clauses between."""
    rng, fold = Random(seed), JoinFold("r", "s", "u")
    standing = grown(fold, rng, turns=9)
    found = 0
    for clause_id in standing:
        expected = fold.expected(clause_id)
        assert expected == fold.kept(clause_id), fold.records["clauses"][clause_id].text
        found += len(expected)
    assert found > 200, "or nothing is shown"


def kept_of(routing, seed=3):
    rng, fold = Random(seed), JoinFold("r", "s", "u", routing=routing)
    standing = grown(fold, rng, turns=7)
    return [fold.kept(clause_id) for clause_id in standing], fold


def test_joins_by_any_route_find_the_same():
    """Routes tell how much is looked at, never what is found; equal seeds draw equal routes."""
    by_fan_out, fold = kept_of(ByFanOut())
    assert any(by_fan_out)
    for routing in (FromOrder(), Lottery(1), Lottery(2)):
        assert by_fan_out == kept_of(routing)[0]
    drawn = [kept_of(Lottery(seed))[1].engine.statistics().eddy.joins for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0] != fold.engine.statistics().eddy.joins


def test_joins_pages_are_in_order_of_the_latest_part():
    """Composites of one entrant are cut into pages of a chunk, ascending over all of them."""
    fold = JoinFold("r", "s")
    clause_id = fold.register("SELECT x.i FROM r AS x, s AS y WHERE x.i = y.i")
    rng = Random(5)
    fold.send("r", [row(i=1, ts=rng.randrange(50)) for _ in range(90)] + [BLANK] * 4_006)
    delta = fold.send("s", [row(i=1, ts=rng.randrange(50)) for _ in range(90)] + [BLANK] * 4_006)
    assert [(clause_id, 1, 0, page) for page in (0, 1)] == sorted(delta.composites)
    one, other = (delta.composites[clause_id, 1, 0, page] for page in (0, 1))
    assert (CHUNK_ROWS, 90 * 90 - CHUNK_ROWS) == (len(one), len(other))
    assert one.bounds.most_latest <= other.bounds.least_latest
    for page in (one, other):
        for at, (left, right) in enumerate(page.rows.T.tolist()):
            times = fold.rows["r"][left]["ts"], fold.rows["s"][right]["ts"]
            assert (min(times), max(times)) == (page.earliest[at], page.latest[at])
    assert fold.expected(clause_id) == fold.kept(clause_id)


def test_joins_statistics_count_what_was_looked_at():
    """Of two rows that enter, one has two partners, and one of the pairs is asked for."""
    fold = JoinFold("r", "s")
    first = fold.register("SELECT x.i FROM r AS x, s AS y WHERE x.i = y.i AND x.t = 'a'")
    fold.register("SELECT x.i FROM r AS x, s AS y WHERE x.i = y.i AND x.t = 'a' AND y.i > 0")
    fold.send("r", [row(i=1, t="a"), row(i=1, t="a"), row(i=1, t="b")] + [BLANK] * 4_093)
    fold.send("s", [row(i=1), row(i=2)] + [BLANK] * 4_094)
    (seen,) = fold.engine.statistics().eddy.joins
    assert (first, 2, 4) == (seen.group, seen.clauses, seen.entrants)
    assert tuple(fold.streams[name][0] for name in "rs") == seen.streams
    assert ("x.i = y.i",) == tuple(text.replace("$", "") for text in seen.factors) or seen.factors
    assert 2 == seen.results
    assert 0 == seen.intermediates == seen.semijoined
    assert {0: ((0, 1),), 1: ((1, 0),)} == dict(seen.routes)


# --- Limits ---------------------------------------------------------------------------------------

TWO_STREAMS = "SELECT x.i FROM r AS x, s AS y WHERE x.i = y.i"


def limited(monkeypatch, *, seed, **limits):
    """Return a fold under small limits: four clauses of one group, the first of which finds the most."""
    for name, value in limits.items():
        for module in (joins, __import__("psoup.engine.release", fromlist=["release"])):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, value)
    fold, rng = JoinFold("r", "s"), Random(seed)
    standing = [
        fold.register(f"{TWO_STREAMS} AND x.i >= 0 AND y.i >= 0{more}")
        for more in ("", " AND x.t = 'a'", " AND y.t = 'a' AND x.b", " AND x.i = 3 AND y.f = 2")
    ]
    for _ in range(3):
        for name in ("r", "s"):
            fold.send(name, sparse(rng, CHUNK_ROWS, rows_drawn(rng, 40)))
    return fold, standing


def suspended(fold, standing):
    """Return the clauses that are suspended, and since when."""
    found = {}
    for clause_id in standing:
        suspension = fold.join(clause_id).suspended
        if suspension is not None:
            found[clause_id] = suspension.since_seq, suspension.reason
    return found


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"JOIN_MATCHES_MAX": 500}, "more than 500 matches of one chunk or registration"),
        ({"JOIN_STEPS_MAX": 800}, "more than 800 steps for one chunk or registration"),
        ({"JOIN_RESULTS_MAX": 700}, "more than 700 results within retention"),
    ],
)
def test_joins_over_a_limit_suspend_what_offends_and_nothing_else(monkeypatch, limits, reason):
    """The stream goes on, others of the group keep what is right, and every fold decides the same."""
    fold, standing = limited(monkeypatch, seed=1, **limits)
    gone = suspended(fold, standing)
    assert standing[0] in gone
    assert standing[3] not in gone
    assert {reason} == {why for _, why in gone.values()}
    assert 3 * CHUNK_ROWS == fold.records["streams"][fold.streams["r"][0]].rows
    for clause_id in set(standing) - set(gone):
        assert fold.expected(clause_id) == fold.kept(clause_id)
    again, _ = limited(monkeypatch, seed=1, **limits)
    assert gone == suspended(again, standing)
    assert fold.pages.keys() == again.pages.keys()
    for clause_id in standing:
        assert fold.kept(clause_id) == again.kept(clause_id)


def test_joins_overrun_of_a_pair_each_suspends_those_who_have_one(monkeypatch):
    """Where the most that a clause wants is one step, slots that are nobody's are not among those who want it."""
    fold = JoinFold("r", "s")
    standing = [
        fold.register(f"{TWO_STREAMS} AND x.t = 'a' AND y.t = 'k{number}'") for number in range(3)
    ]
    some = [row(i=number, t="a") for number in range(2)]
    fold.send("r", some + [BLANK] * 4_094)
    monkeypatch.setattr(joins, "JOIN_STEPS_MAX", 3)
    some = [row(i=number, t=f"k{number}") for number in range(2)]
    fold.send("s", some + [BLANK] * 4_094)
    assert set(standing[:2]) == set(suspended(fold, standing))


def test_joins_of_clauses_that_all_offend_write_nothing(monkeypatch):
    """Candidates alone are too many: the whole group is suspended, and gone."""
    fold = JoinFold("r", "s")
    standing = [fold.register(TWO_STREAMS), fold.register(f"{TWO_STREAMS} AND x.t = 'a'")]
    fold.send("r", [row(i=1, t="a")] * CHUNK_ROWS)
    monkeypatch.setattr(joins, "JOIN_STEPS_MAX", 100)
    delta = fold.send("s", [row(i=1)] + [BLANK] * 4_095)
    assert {} == delta.composites
    assert set(standing) == set(suspended(fold, standing))
    assert () == fold.engine.statistics().eddy.joins
    assert {} == fold.send("s", [row(i=1)] * CHUNK_ROWS).composites


def test_joins_that_find_too_much_together_suspend_those_who_find_the_most(monkeypatch):
    """Nobody has too many matches for one; the two that have nearly all of them go, the third stays and is right."""
    fold = JoinFold("r", "s")
    standing = [
        fold.register(f"{TWO_STREAMS} AND x.i >= {least} AND y.i >= 0") for least in (0, 1, 19)
    ]
    rows = [row(i=number % 20) for number in range(200)]
    fold.send("r", rows + [BLANK] * (CHUNK_ROWS - 200))
    monkeypatch.setattr(joins, "JOIN_ENTRANT_BYTES_MAX", 1_000 * 8 * 5)
    fold.send("s", rows + [BLANK] * (CHUNK_ROWS - 200))
    gone = suspended(fold, standing)
    assert set(standing[:2]) == set(gone)
    assert {"the most of more than 40,000 bytes of matches that its group has in one chunk"} == {
        why for _, why in gone.values()
    }
    assert fold.expected(standing[2]) == fold.kept(standing[2])
    assert 100 == len(fold.kept(standing[2]))


def test_joins_of_a_batch_leave_out_who_had_too_much_for_an_earlier_chunk(monkeypatch):
    """Who offends is found out once, not once for each of the batch's chunks; the others get every chunk."""
    fold = JoinFold("r", "s")
    hot = fold.register(f"{TWO_STREAMS} AND x.i = 1 AND y.i = 1")
    calm = fold.register(f"{TWO_STREAMS} AND x.i = 2 AND y.i = 2")
    fold.send("r", [row(i=1)] * 200 + [row(i=2)] * 3 + [BLANK] * (CHUNK_ROWS - 203))
    found: list[object] = []
    blamed = joins._offenders

    def noted(error, alive):
        found.append(error)
        return blamed(error, alive)

    monkeypatch.setattr(joins, "_offenders", noted)
    monkeypatch.setattr(joins, "JOIN_STEPS_MAX", 5_000)
    chunk = [row(i=1)] * 100 + [row(i=2)] * 2 + [BLANK] * (CHUNK_ROWS - 102)
    delta = fold.send("s", chunk * 4)
    assert 1 == len(found)
    assert {hot: (delta.seq, "more than 5,000 steps for one chunk or registration")} == suspended(
        fold, [hot, calm]
    )
    assert fold.expected(calm) == fold.kept(calm)
    assert 3 * 2 * 4 == len(fold.kept(calm))


def test_joins_of_a_stream_with_itself_share_one_index(monkeypatch):
    """Whatever place in FROM it is asked at, and in whichever group: a chunk is put in order of a column once."""
    fold = JoinFold("r", "s")
    fold.register("SELECT x.i FROM r AS x, r AS y WHERE x.i = y.i AND y.f > x.f")
    fold.register("SELECT x.i FROM s AS x, r AS y WHERE x.i = y.i")
    fold.register("SELECT x.i FROM r AS x, s AS y WHERE x.i = y.i")
    monkeypatch.setattr(join_side, "DIRECT_ROWS_MAX", 0)
    for name in ("r", "s", "r", "s"):
        fold.send(name, sparse(Random(1), CHUNK_ROWS, rows_drawn(Random(2), 40)))
    for clause_id in fold.clauses:
        assert fold.expected(clause_id) == fold.kept(clause_id)
    (stream_id, _) = fold.streams["r"]
    stem = fold.engine._state.tuples[stream_id]
    keys = {key.equal for key, _, _ in stem.key_indexes._made}
    assert 1 == len({key for key in keys if key}), "one column, one key"


class Stubborn:
    """Always the same route, which is the dearest here."""

    def route(self, shape, fresh, counts, last):
        return ((0, 1), (0, 2)) if fresh == 0 else FromOrder().route(shape, fresh, counts, last)


@pytest.mark.parametrize("routing", [Stubborn(), FromOrder(), None])
def test_joins_too_dear_by_one_route_go_by_another(monkeypatch, routing):
    """Whoever chooses, and whatever was counted before: only what no route finds within the bound is suspended."""
    fold = JoinFold("r", "s", "t", routing=routing)
    star = fold.register(
        "SELECT x.i FROM r AS x, s AS y, t AS z WHERE x.i = y.i AND x.f = z.f AND y.t <> z.t"
    )
    fold.send("s", [row(i=1, t="a")] * 60 + [BLANK] * (CHUNK_ROWS - 60))
    fold.send("t", [row(f=2.0, t="b")] + [BLANK] * (CHUNK_ROWS - 1))
    candidates, pairs = 2 * CHUNK_ROWS, 20 * 60
    t_first = candidates + 20 + pairs + pairs  # the last for the condition
    assert t_first < candidates + 3 * pairs, "than by s first"
    monkeypatch.setattr(joins, "JOIN_STEPS_MAX", t_first)
    some = [row(i=1, f=2.0)] * 20
    fold.send("r", some + [BLANK] * (CHUNK_ROWS - 20))
    assert {} == suspended(fold, [star])
    assert fold.expected(star) == fold.kept(star)
    assert pairs == len(fold.kept(star))
    monkeypatch.setattr(joins, "JOIN_STEPS_MAX", t_first - 1)
    delta = fold.send("r", some + [BLANK] * (CHUNK_ROWS - 20))
    reason = f"more than {t_first - 1:,} steps for one chunk or registration"
    assert {star: (delta.seq, reason)} == suspended(fold, [star])
