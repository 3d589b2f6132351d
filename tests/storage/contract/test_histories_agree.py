"""Histories of both stores given the same drawn steps: equal answers, refusals and bytes."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from psoup.engine import limits
from psoup.engine.clock import ManualClock
from psoup.engine.errors import EngineError
from psoup.engine.limits import HISTORY_CLAIM_S, HISTORY_LIFE_S
from psoup.engine.log.operation import Remove
from psoup.engine.store.archive_answers import AskedHistory, History, HistoryId, HistoryState
from psoup.engine.store.contract import Store
from psoup.storage.memory.store import MemoryStore
from tests.storage.histories import (
    OTHER,
    WORKER,
    asked,
    history_id,
    part,
    pass_time,
    with_queries,
)
from tests.storage.samples import query_id, register

pytestmark = pytest.mark.redis
QUERIES = 4
STEPS = 300
SMALL_LIMITS = {
    "HISTORIES_MAX": 4,
    "HISTORY_ROWS_MAX": 12,
    "HISTORY_BYTES_MAX": 40,
    "HISTORIES_BYTES_MAX": 60,
}
"""So small that a few steps reach them."""


def shown(found: Any) -> Any:
    """Return what an answer says but for instants and generations, which differ."""
    if isinstance(found, AskedHistory):
        return found.history_id, found.query_id, found.sql, found.seq, found.now_us
    if isinstance(found, History):
        return (
            shown(found.asked),
            *(found.state, found.is_free, found.done, found.of, found.rows, found.parts),
            *(found.nbytes, found.complete_from_us, found.detail, found.ended_us is None),
        )
    return [shown(one) for one in found] if isinstance(found, list) else found


def outcome(step: Callable[[Store], Any], store: Store) -> Any:
    """Return what a step answers, a refusal as its class and extras."""
    try:
        return shown(step(store))
    except EngineError as error:
        return type(error).__name__, error.detail, dict(error.extras)


def counts(chance: random.Random, memory: MemoryStore, number: HistoryId) -> dict[str, Any]:
    """Return how many parts and rows to say: mostly those that are there."""
    kept = memory.histories._kept.get(number)
    if kept is None or chance.random() < 0.3:
        return {"parts": chance.randint(0, 3), "rows": chance.randint(0, 8)}
    return {"parts": len(kept.parts), "rows": sum(one.rows for one in kept.parts.values())}


def drawn(chance: random.Random, memory: MemoryStore, last: int) -> Callable[[Store], Any]:
    """Return one step, mostly of a history there is; the next one begun is `last` + 1."""
    number = chance.choice([*memory.histories._kept] * 3 + [history_id(chance.randint(1, last))])
    worker = chance.choice([WORKER] * 8 + [OTHER])
    query, now_us = chance.randint(1, QUERIES), chance.choice([None, None, 7])
    replaces = chance.choice([None, None, None, number])
    place = chance.randint(0, 2)
    sent = part(
        place,
        10 * place + chance.randint(0, 6),
        rows=chance.randint(0, 5),
        body=bytes(chance.randint(0, 20)),
    )
    said = counts(chance, memory, number)
    steps: dict[str, tuple[float, Callable[[Store], Any]]] = {
        "begin": (
            3,
            lambda s: s.histories.begin(asked(s, last + 1, query, now_us), replaces=replaces),
        ),
        "claim": (5, lambda s: s.histories.claim(number, worker, done=1, of=None)),
        "put": (14, lambda s: s.histories.put(number, worker, sent)),
        "finish": (
            5,
            lambda s: s.histories.finish(
                number, worker, **said, complete_from_us=query, overflowed=["SUM(ü)"] * (query - 1)
            ),
        ),
        "fail": (0.5, lambda s: s.histories.fail(number, worker, "why")),
        "drop": (0.5, lambda s: s.histories.drop(number)),
        "find": (2, lambda s: s.histories.find(query_id(query), now_us)),
        "get": (1, lambda s: s.histories.get(number)),
        "body": (2, lambda s: s.histories.body(number, sent.number)),
        "lapse": (0.5, lambda s: pass_time(s, HISTORY_CLAIM_S)),
        "pass": (0.2, lambda s: pass_time(s, HISTORY_LIFE_S / 3)),
        "remove": (0.4, lambda s: s.log.append(Remove(query_id(query))).seq),
        "register": (1, lambda s: s.log.append(register(query, 1)).duplicate),
    }
    (name,) = chance.choices(list(steps), [weight for weight, _ in steps.values()])
    return steps[name][1]


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 6))]
)
def test_histories_of_both_stores_agree(embedded_store, monkeypatch, seed):
    """Whatever is done in whatever order."""
    for name, value in SMALL_LIMITS.items():
        monkeypatch.setattr(limits, name, value)
    chance, memory = random.Random(seed), MemoryStore(ManualClock(1_000_000_000))
    stores = [with_queries(one, QUERIES) for one in (memory, embedded_store)]
    last, answers = 1, []
    for _ in range(STEPS):
        step = drawn(chance, memory, last)
        mine, other = (outcome(step, store) for store in stores)
        assert mine == other
        answers.append(mine)
        begun = [one.histories.all() for one in stores]
        assert shown(list(begun[0])) == shown(list(begun[1]))
        last = max([last, *(int(one.asked.history_id[2:]) for one in begun[0])])
        sizes = [one.histories.statistics() for one in stores]
        assert sizes[0] == sizes[1]
    for store in stores:
        store.histories.check()
    told = {one[1] for one in answers if isinstance(one, tuple) and len(one) > 3}
    assert {HistoryState.QUEUED, HistoryState.RUNNING, HistoryState.DONE} <= told
