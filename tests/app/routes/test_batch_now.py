"""The NOW that a worker tells behind a batch: read from the store, for which nobody waits long."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from psoup.app.admission.work_pool import WorkPool
from psoup.app.backend.submission import Submitted
from psoup.app.routes.rows.tuples import _now
from psoup.engine import limits
from tests.patience import WAIT_S

pytestmark = pytest.mark.anyio


async def test_a_store_that_stands_still_leaves_now_unsaid(monkeypatch: pytest.MonkeyPatch):
    """The rows are committed: the answer comes without it, and the thread is not waited for."""
    monkeypatch.setattr(limits, "STORE_LOOK_S", 0.05)
    goes_on, pool = threading.Event(), WorkPool("test", threads=1)

    def stream(_: str) -> Any:
        assert goes_on.wait(WAIT_S)
        raise AssertionError("it was not waited for")

    results = SimpleNamespace(stream=stream)
    backend = SimpleNamespace(reads_at_once=False)
    service = SimpleNamespace(backend=backend, answering=pool, results=results)
    call: Any = SimpleNamespace(service=service)
    submitted: Submitted = SimpleNamespace()  # type: ignore[assignment]
    assert await _now(call, "trades", submitted) is None
    assert not goes_on.is_set()
    goes_on.set()
    pool.close()
    assert 1 == pool.statistics().refused
