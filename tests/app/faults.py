"""A store whose calls can be made to fail or to wait: what its store is, until a test interferes."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from psoup.app.backend.service import Service
from psoup.engine.clock import Clock
from psoup.engine.errors import EngineError
from psoup.engine.log.contract import NO_TUPLE, Appended
from psoup.engine.log.operation import Content
from psoup.engine.store.contract import Durability, Store
from psoup.storage.opening import open_store
from tests.patience import WAIT_S


class Interfered:
    """One contract of a store; `before[name]` and `after[name]` run around each call of that name."""

    def __init__(self, contract: Any) -> None:
        self.contract = contract
        self.before: dict[str, Callable[[], None]] = {}
        self.after: dict[str, Callable[[], None]] = {}

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.contract, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            self.before.get(name, lambda: None)()
            result = method(*args, **kwargs)
            self.after.get(name, lambda: None)()
            return result

        return call


class InterferedLog(Interfered):
    """The log, which appends nothing at once, as that of a server: `append_many` is the call that brings rows.

    Where a test has it tell no tuple ids, nothing is at hand, and `read` is the call that brings rows to the fold.
    """

    def __init__(self, log: Any) -> None:
        super().__init__(log)
        self.tells_ids = True

    def append_at_once(self, _: Content) -> None:
        return None

    def append_many(self, contents: Sequence[Content]) -> list[Appended | EngineError]:
        outcomes: list[Appended | EngineError] = self.__getattr__("append_many")(contents)
        if self.tells_ids:
            return outcomes
        return [
            replace(one, first_tuple_id=NO_TUPLE) if isinstance(one, Appended) else one
            for one in outcomes
        ]


class FaultyStore:
    """A store whose log and results a test can interfere with, on memory:// where none is given."""

    def __init__(self, clock: Clock, store: Store | None = None) -> None:
        self.plain: Store = store or open_store("memory://", data=Path("unused"), clock=clock)
        self.log: Any = InterferedLog(self.plain.log)
        self.results: Any = Interfered(self.plain.results)
        self.histories: Any = Interfered(self.plain.histories)
        self.token: Any = Interfered(self.plain)
        """What only the one writer does: `take_over`, `renew`, `tell`; and `reopen`, which is counted alone."""
        self.shown: Any = None
        """What a service shows from its memory, once `interfere_with` was told of it."""
        self.durability = Durability.FSYNC
        self.reopened = 0

    def interfere_with(self, service: Service) -> None:
        """Let tests interfere with what a service shows from its memory as well, as `shown`."""
        self.shown = Interfered(service.results)
        service.results = self.shown
        service.catalogue._results = self.shown

    @property
    def is_private(self) -> bool:
        return False

    def health(self) -> Any:
        return self.plain.health()

    def look(self) -> Any:
        return self.plain.look()

    @property
    def page_key(self) -> bytes:
        return self.plain.page_key

    def take_over(self) -> float:
        seconds: float = self.token.take_over()
        return seconds

    def renew(self) -> None:
        self.token.renew()

    def tell(self, figures: bytes) -> None:
        self.token.tell(figures)

    def position(self) -> Any:
        return self.plain.position()

    def wait_appended(self, after: int, timeout_s: float) -> bool:
        return False

    def reopen(self) -> None:
        self.token.before.get("reopen", lambda: None)()
        self.reopened += 1

    def close(self) -> None:
        self.plain.close()

    @contextmanager
    def waiting(self, contract: str, method: str) -> Iterator[threading.Event]:
        """Make calls of a method wait until the block ends; yield the event of the first one's coming."""
        released, reached = threading.Event(), threading.Event()

        def wait() -> None:
            reached.set()
            assert released.wait(WAIT_S), "the test released the call"

        hooks: dict[str, Callable[[], None]] = getattr(self, contract).before
        hooks[method] = wait
        try:
            yield reached
        finally:
            released.set()
            del hooks[method]

    @contextmanager
    def failing(self, contract: str, method: str, error: Exception) -> Iterator[threading.Event]:
        """Make calls of a method fail until the block ends; yield the event of the second one's coming."""
        calls, again = 0, threading.Event()

        def fail() -> None:
            nonlocal calls
            calls += 1
            if calls > 1:
                again.set()
            raise error

        hooks: dict[str, Callable[[], None]] = getattr(self, contract).before
        hooks[method] = fail
        try:
            yield again
        finally:
            del hooks[method]
