"""A small cache of values by key that forgets the least recently used. Deterministic."""

from collections import OrderedDict
from collections.abc import Hashable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

ENTRY_BYTES: Final = 1_024
"""Bytes of an entry beside its value: key, bookkeeping, small objects. For owners that count bytes."""


@dataclass(frozen=True, slots=True)
class RecentStatistics:
    """Entries of a cache; `size` in the unit its owner counts in."""

    entries: int
    size: int


class Recent(Generic[Key, Value]):
    """At most `size_max` in all, each value counted with the size it was put with."""

    def __init__(self, size_max: int, guard: AbstractContextManager[object] | None = None) -> None:
        """Begin empty. Where threads share the cache, `guard` is their lock."""
        self._size_max = size_max
        self._size = 0
        self._table: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._guard = nullcontext() if guard is None else guard

    def __len__(self) -> int:
        """Return the number of values kept."""
        return len(self._table)

    def __contains__(self, key: Key) -> bool:
        """Return whether a value is kept for the key, which is not used by that."""
        with self._guard:
            return key in self._table

    def get(self, key: Key) -> Value | None:
        """Return the value and make it the most recent; None if there is none. Cost: O(1)."""
        with self._guard:
            found = self._table.get(key)
            if found is None:
                return None
            self._table.move_to_end(key)
            return found[0]

    def put(self, key: Key, value: Value, *, size: int = 1) -> None:
        """Keep the value as the most recent; one larger than everything allowed is not kept."""
        if size > self._size_max:
            return
        with self._guard:
            _, replaced = self._table.pop(key, (None, 0))
            self._table[key] = (value, size)
            self._size += size - replaced
            while self._size > self._size_max:
                _, (_, forgotten) = self._table.popitem(last=False)
                self._size -= forgotten

    def has_room(self, key: Key, size: int) -> bool:
        """Return whether a value of this size can be kept for the key without forgetting another one."""
        with self._guard:
            _, replaced = self._table.get(key, (None, 0))
            return self._size - replaced + size <= self._size_max

    def forget(self, key: Key) -> None:
        """Keep nothing for the key."""
        with self._guard:
            _, forgotten = self._table.pop(key, (None, 0))
            self._size -= forgotten

    def pairs(self) -> list[tuple[Key, Value]]:
        """Return what is kept, the least recently used first."""
        with self._guard:
            return [(key, value) for key, (value, _) in self._table.items()]

    def statistics(self) -> RecentStatistics:
        """Return counters."""
        with self._guard:
            return RecentStatistics(len(self._table), self._size)

    def check(self) -> None:
        """Assert that sizes are counted and the bound is kept."""
        with self._guard:
            assert self._size == sum(size for _, size in self._table.values()), "sizes are counted"
            assert self._size <= self._size_max, "the cache keeps its bound"
