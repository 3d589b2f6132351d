"""The same log gives the same published state, bit for bit: at once, in pieces, through restarts, anywhere."""

import os
import pickle
import subprocess
import sys
from random import Random

import pytest
from hypothesis import given, strategies as st

from psoup.app.fold.match_threads import match_threads
from psoup.engine import limits
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Materialize, Operation, QueryId
from tests.agreement.joins.world import Join, JoinWorld, drawn_join
from tests.agreement.replay import published_digest, replayed
from tests.oracle_duckdb import DuckDbOracle
from tests.simulation.simulator import Simulator
from tests.strategies import fewer

LEAST_BATCHES = 14
"""Of whole chunks, in the suite; with more the history is replayed by one thread too."""


def recorded(seed: int, steps: int) -> list[Operation]:
    """Return the log of a simulated service."""
    simulator = Simulator(seed)
    simulator.run(steps)
    return simulator.world.history


@fewer(12)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 40), pieces=st.integers(1, 7))
def test_replay_in_pieces_and_through_restarts_publishes_the_same_bits(seed, steps, pieces):
    """One operation a publish, many a publish, an engine restored in between: one published state."""
    history = recorded(seed, steps)
    expected = published_digest(replayed(history))
    for world in (
        replayed(history, operations_max=1),
        replayed(history, operations_max=pieces),
        replayed(history, restart_every=1),
        replayed(history, restart_every=pieces),
    ):
        world.check()
        assert expected == published_digest(world)


@pytest.mark.parametrize(
    ("seed", "batches"),
    [(1, LEAST_BATCHES), *(pytest.param(n, 24, marks=pytest.mark.slow) for n in (1, 2))],
)
def test_replay_of_joins_over_whole_chunks_publishes_the_same_bits(seed, batches, monkeypatch):
    """Composites are the same in the same pages, however often the engine restarts, whatever threads find its hits."""
    monkeypatch.setattr(limits, "MATCH_THREADS_PAIRS_MIN", 0)
    rng = Random(seed)
    with DuckDbOracle() as oracle:
        running = JoinWorld(oracle, keys=5_000, seed=seed, rows=7_000)
        for name in "rst":  # the chunks of a batch are shared out for clauses over one stream
            running.world.register(f"SELECT n FROM {name} WHERE k < 9 AND i > 2")
        standing: list[QueryId] = []
        for name in rng.choices("rst", k=batches):
            if rng.random() < 0.5:
                join = Join(drawn_join(rng))
                standing += running.register(join, rng.choice([*Materialize]), Materialize.COMPLETE)
            if rng.random() < 0.2 and standing:
                running.world.remove(standing.pop(rng.randrange(len(standing))))
            running.send(name, rng.choice([500, 2_048, CHUNK_ROWS, 2 * CHUNK_ROWS]))
    history = running.world.history
    expected = published_digest(running.world)
    assert running.world.store.results.checkpoint().composites, (
        "the case is the one it claims to be"
    )
    with match_threads(3) as threads:
        shared = replayed(history, operations_max=3, match_threads=threads)
        worlds = [shared, replayed(history, restart_every=4, match_threads=threads)]
        if batches > LEAST_BATCHES:
            worlds.append(replayed(history, restart_every=7))
        for world in worlds:
            world.check()
            assert expected == published_digest(world)
    assert shared.engine.statistics().eddy.shared_out, "chunks are found together"


def test_replay_digest_of_another_log_differs():
    """The digest can fail: one operation less is another state."""
    history = recorded(1, 60)
    digests = {published_digest(replayed(history[:count])) for count in range(len(history) + 1)}
    assert len(history) + 1 == len(digests)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_replay_under_another_hash_seed_publishes_the_same_bits(seed, tmp_path):
    """Nothing walks over a set: a process whose strings hash otherwise than in this one publishes the same."""
    path = tmp_path / "log.pickle"
    history = recorded(seed, 90)
    path.write_bytes(pickle.dumps(history))
    command = [sys.executable, "-m", "tests.agreement.replay", str(path)]
    other = "0" if os.environ.get("PYTHONHASHSEED") == "4242" else "4242"
    run = subprocess.run(
        command,
        env=os.environ | {"PYTHONHASHSEED": other},
        check=True,
        capture_output=True,
        text=True,
    )
    assert published_digest(replayed(history)) == run.stdout
