"""Declarations of streams as the web side knows them: cached, and dropped when the log says stale.

The log has the last word: an operation checked against an old declaration is refused there with
StaleDeclarationError, and `retried_once` checks it again against the present one.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from psoup.engine import limits
from psoup.engine.errors import StaleDeclarationError
from psoup.engine.results.contract import ResultsReader
from psoup.engine.tuples.schema import StreamId, StreamSchema

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Declaration:
    """A stream in force: its id and what it was declared to be."""

    stream_id: StreamId
    schema: StreamSchema


@dataclass(frozen=True, slots=True)
class CatalogueStatistics:
    """Counters of a catalogue."""

    held: int
    loads: int
    forgets: int


class Catalogue:
    """A cache of declarations by name, at most STREAMS_COUNT_CEILING of them. Any thread may use it."""

    def __init__(self, results: ResultsReader, catch_up: Callable[[], Awaitable[None]]) -> None:
        """Load from `results`, which show what the log holds some time after `catch_up` has been awaited."""
        self._results = results
        self._catch_up = catch_up
        self._held: dict[str, Declaration] = {}
        self._loads = self._forgets = 0
        self._known = object()
        """Another one each time that everything is forgotten."""

    def known(self, name: str) -> Declaration | None:
        """Return the stream in force under `name`, as it was last loaded; None where it was not. Asks nobody."""
        return self._held.get(name)

    def stream(self, name: str) -> Declaration:
        """Return the stream in force under `name`. May block.

        Raises:
            NotFoundError: there is none.
        """
        held = self._held.get(name)
        if held is not None:
            return held
        known = self._known
        record = self._results.stream(name)
        self._loads += 1
        declaration = Declaration(record.stream_id, record.schema)
        if known is not self._known:  # all was forgotten meanwhile: this may have been read before
            return declaration
        if len(self._held) >= limits.STREAMS_COUNT_CEILING:
            self._held.clear()
        self._held[name] = declaration
        return declaration

    def streams(self) -> Mapping[str, tuple[StreamId, StreamSchema]]:
        """Return all streams in force, never from the cache: what a query is bound against. May block."""
        self._loads += 1
        return {one.schema.name: (one.stream_id, one.schema) for one in self._results.streams()}

    def forget(self, name: str) -> None:
        """Load `name` again when it is next asked for."""
        self._forgets += self._held.pop(name, None) is not None

    def forget_all(self) -> None:
        """Load everything again when it is next asked for."""
        self._forgets += len(self._held)
        self._known = object()
        self._held.clear()

    async def retried_once(self, attempt: Callable[[], Awaitable[Result]]) -> Result:
        """Return what `attempt` returns; where the log calls it stale, load again and try once more.

        The log knows a declaration before the results show it: they are given time to.
        """
        try:
            return await attempt()
        except StaleDeclarationError:
            await self._catch_up()
            self.forget_all()
            return await attempt()

    def statistics(self) -> CatalogueStatistics:
        """Return counters."""
        return CatalogueStatistics(len(self._held), self._loads, self._forgets)

    def check(self) -> None:
        """Raise AssertionError if a declaration is held under another name. For tests."""
        wrong = [name for name, held in self._held.items() if held.schema.name != name]
        if wrong:
            raise AssertionError(f"held under another name: {wrong}")
