"""The simulation can fail: it finds the bugs of the catalogue's list, one at a time (S-03)."""

import pytest

from tests.simulation.mutants import LATER, MUTANTS, Mutant
from tests.simulation.simulation import Simulation

SEEDS = 400
"""Most are found by the first few; what needs a store that forgets who took it over, by one in twenty-five."""
STEPS = 120

ELSEWHERE = {
    "epoch check `≥` instead of `=`": "no difference: a nonce is drawn with each epoch, and compared as well",
    "duplicate check without digest": "clients here never send other rows under a version: tests/storage/contract/test_log.py",
    "digest depends on row order": "the digest is the web side's: tests/app/routes/rows/test_txn.py",
    "resend under a new number": "nothing is numbered: producers' versions tell a resend, as above",
    "fold iterates over a set": "one process has one hash seed: the same run under two of them, in test_simulation.py",
    "recovery builds tuples above applied, then folds them": "refused by Engine.restore: tests/engine/test_engine.py",
    "window by latest instead of earliest time": "no joins here: tests/agreement/joins/test_programs.py",
    "second factor on the same attribute ignored": "tests/agreement/test_engine_reference.py draws such conditions",
    "NULL treated as equal": "no joins here: tests/agreement/joins/test_programs.py",
    "join pair counted twice when both sides are in one batch": "no joins here: tests/agreement/joins/test_programs.py",
    "Results bit set for the next tuple (off by one at a segment edge)": "runs hold less than a segment:"
    " tests/agreement/test_segments.py",
    "page token not pinned to k": "tokens are the web side's: tests/app/http/test_page_tokens.py",
    "page token not bound to tenant": "there are no tenants; bound to the query: tests/app/http/test_page_tokens.py",
    "`now` from the worker's clock": "workers here have none: tests/app/backend/test_worker.py",
    "200 with cut-off rows at the cap": "bodies are the web side's: tests/app/test_limits.py",
}
"""The others of the list, and what finds them."""


def killer(mutant: Mutant) -> tuple[int, BaseException] | None:
    """Return the first seed that fails with the mutant, and how; None = it survives them all."""
    with mutant.applied():
        for seed in range(SEEDS):
            try:
                Simulation(seed).run(STEPS)
            except Exception as error:  # noqa: BLE001 (whatever it breaks)
                return seed, error
    return None


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("mutant", [pytest.param(one, id=one.name) for one in (*MUTANTS, *LATER)])
def test_simulation_with_a_bug_fails(mutant):
    """Each mutant breaks a promise in one of the seeds, which all pass without it."""
    assert killer(mutant) is not None


def test_mutants_of_the_catalogue_are_all_accounted_for():
    """What is not found here names what finds it: 32 in all."""
    names = [one.name for one in MUTANTS]
    assert 32 == len({*names, *ELSEWHERE}) == len(names) + len(ELSEWHERE)
