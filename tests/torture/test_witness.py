"""The witness of a torture run: one log, read by one thread after the other."""

import contextlib
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

from psoup.engine.log.operation import Operation, Tick
from psoup.engine.tuples.batch import Seq, TupleId
from psoup.storage.redis.calls.client import RedisClient
from tests.torture.history import History
from tests.torture.witness import Witness

TICK = Operation(Seq(1), 1, TupleId(1), Tick())
OVERLAP_S = 0.2
"""So long the answer to one look waits for another look to begin."""


class SlowWitness(Witness):
    """A witness of a log of one operation, whose store answers two looks at once where it is asked by two."""

    def __init__(self, history: History) -> None:
        super().__init__(mock.create_autospec(RedisClient), history)
        self._both = threading.Barrier(2)

    def meta(self) -> Mapping[str, str]:
        return {}

    def _entries(self, first: str, *_: str | int) -> list[Operation]:
        found = [TICK] if first == "-" else []
        with contextlib.suppress(threading.BrokenBarrierError):
            self._both.wait(OVERLAP_S)
        return found


def test_look_beside_one_that_is_under_way_reads_no_operation_twice(tmp_path: Path) -> None:
    """A look in a thread outlives the task that waited for it: the next one begins behind it."""
    history = History(tmp_path / "history.jsonl")
    witness = SlowWitness(history)
    with ThreadPoolExecutor(2) as threads:
        for look in [threads.submit(witness.look) for _ in range(2)]:
            look.result()
    history.close()
    assert [TICK] == witness.operations
    assert [] == history.violations
