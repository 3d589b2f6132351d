"""Clients of a service that dies under them: what each was told, and what may therefore be there.

An answer is definite if it arrived. A batch is either all there or not at all; an acknowledged one is
there; one with a producer's version is repeated until it is acknowledged, and there once.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import httpx2

from tests.patience import WAIT_S
from tests.strategies import EPOCH_US

STREAMS = {
    "events": {
        "columns": [
            {"name": "ts", "type": "timestamp", "nullable": False},
            {"name": "client", "type": "string", "nullable": False},
            {"name": "batch", "type": "int64", "nullable": False},
            {"name": "n", "type": "int64"},
        ],
        "time": "ts",
    },
}

BATCH_ROWS_MAX = 20


@dataclass(slots=True)
class Told:
    """What one client sent and heard."""

    batches: dict[int, int] = field(default_factory=dict)
    """Rows of each batch sent."""
    acknowledged: set[int] = field(default_factory=set)
    standing: dict[str, str] = field(default_factory=dict)
    """Handles with 201 and their text."""
    removed: set[str] = field(default_factory=set)
    """Handles with 204."""
    leaving: set[str] = field(default_factory=set)
    """Handles whose removal had no answer."""


class Client(threading.Thread):
    """Appends, registers and removes until it is told to stop or the service is gone."""

    def __init__(self, url: str, name: str, told: Told, *, seed: int, versions: bool) -> None:
        """Act as producer `name`; with `versions` each batch has a number of its own."""
        super().__init__(name=name, daemon=True)
        self.told = told
        self.versions = versions
        self._client = httpx2.Client(base_url=url, timeout=WAIT_S)
        self._rng = Random(seed)
        self._ending = threading.Event()
        self.failure: BaseException | None = None

    def run(self) -> None:
        """Work until a connection breaks: whatever was under way then is indefinite."""
        try:
            while not self._ending.is_set():
                self._step()()
        except httpx2.TransportError:
            pass
        except BaseException as error:  # noqa: BLE001 - shown by the test that joins this thread
            self.failure = error
        finally:
            self._client.close()

    def stop(self) -> None:
        """End after the request under way."""
        self._ending.set()

    def finish(self, url: str) -> None:
        """Repeat what had no answer, where a version makes that safe."""
        with httpx2.Client(base_url=url, timeout=WAIT_S) as self._client:
            for batch in sorted(self.told.batches.keys() - self.told.acknowledged):
                if self.versions:
                    self._send(batch)

    def _step(self) -> Callable[[], None]:
        chance = self._rng.random()
        if chance < 0.1:
            return self._register
        if chance < 0.15 and self.told.standing:
            return self._remove
        return self._append

    def _append(self) -> None:
        batch = len(self.told.batches) + 1
        self.told.batches[batch] = self._rng.randint(1, BATCH_ROWS_MAX)
        self._send(batch)

    def _send(self, batch: int) -> None:
        headers = {}
        if self.versions:
            headers = {"Psoup-Txn-App": self.name, "Psoup-Txn-Version": str(batch)}
        answer = self._client.post(
            "/v1/streams/events/rows", json=self._rows(batch), headers=headers
        )
        assert answer.status_code in {200, 202, 503}, answer.text
        if answer.status_code != 503:
            self.told.acknowledged.add(batch)

    def _rows(self, batch: int) -> list[dict[str, object]]:
        return [
            {
                "ts": EPOCH_US + batch * 1_000_000 - n * 300_000,
                "client": self.name,
                "batch": batch,
                "n": n if n % 5 else None,
            }
            for n in range(self.told.batches[batch])
        ]

    def _register(self) -> None:
        bound = self._rng.randint(0, BATCH_ROWS_MAX)
        window = self._rng.choice(
            ["", "BEGIN (NOW - 10) END (NOW)", "BEGIN (NOW - 30) END (NOW - 2)"]
        )
        sql = f"SELECT client, batch, n FROM events WHERE n >= {bound} OR n IS NULL {window}"
        answer = self._client.post("/v1/queries", json={"sql": sql})
        assert answer.status_code in {201, 202, 503}, answer.text
        if answer.status_code != 503:
            self.told.standing[answer.json()["id"]] = sql

    def _remove(self) -> None:
        query_id = self._rng.choice(sorted(self.told.standing))
        del self.told.standing[query_id]
        self.told.leaving.add(query_id)
        answer = self._client.delete(f"/v1/queries/{query_id}")
        assert answer.status_code in {204, 202, 503}, answer.text
        if answer.status_code != 503:
            self.told.leaving.remove(query_id)
            self.told.removed.add(query_id)
