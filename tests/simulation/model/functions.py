"""The Function library as Redis 7 runs it: the text of `storage/redis/calls/functions/`, in Lua 5.1, over a model.

Values cross as in Redis: null is false and false is null, numbers are cut to whole ones, an array ends at its first
nil. Each life of a server has an interpreter of its own: what a library keeps between calls ends with it.
"""

import functools
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lupa.lua51 import LuaRuntime, lua_type

from tests.simulation.model.data import CommandError

Call = Callable[[str, list[bytes]], Any]
"""Runs one command of a Function."""


@dataclass(frozen=True, slots=True)
class Function:
    """A registered Function."""

    callback: Any
    flags: frozenset[bytes]


class Library:
    """A loaded library: `functions` by name, `run` calls one."""

    def __init__(self, text: bytes) -> None:
        """Load the text, as FUNCTION LOAD does."""
        first, _, code = text.partition(b"\n")
        assert first.startswith(b"#!lua name=")
        self._lua = LuaRuntime(encoding=None, register_eval=False, register_builtins=False)
        self._call: Call | None = None
        self.functions: dict[bytes, Function] = {}
        self._add_redis()
        self._lua.execute(b"\n" + code)

    def run(
        self, name: bytes, keys: Sequence[bytes], arguments: Sequence[bytes], call: Call
    ) -> Any:
        """Return the answer of a Function that calls commands through `call`.

        Raises:
            CommandError: it ended with one.
        """
        self._call = call
        try:
            answer = self.functions[name].callback(self._table(keys), self._table(arguments))
        finally:
            self._call = None
        return _to_redis(answer)

    def _add_redis(self) -> None:
        """Make the table `redis`, and take away what Redis has not."""
        scope = self._lua.globals()
        for name in (b"io", b"require", b"package", b"dofile", b"loadfile", b"debug", b"python"):
            scope[name] = None
        redis = self._lua.table()
        redis[b"call"] = self._redis_call
        redis[b"register_function"] = self._register
        redis[b"sha1hex"] = lambda text: hashlib.sha1(text).hexdigest().encode()
        redis[b"error_reply"] = lambda text: self._lua.table_from({b"err": text})
        redis[b"status_reply"] = lambda text: self._lua.table_from({b"ok": text})
        scope[b"redis"] = redis

    def _register(self, entry: Any) -> None:
        flags = entry[b"flags"]
        held = frozenset(() if flags is None else flags.values())
        self.functions[entry[b"function_name"]] = Function(entry[b"callback"], held)

    def _redis_call(self, name: bytes, *arguments: bytes | float) -> Any:
        assert self._call is not None, "commands are called by a Function that runs"
        return self._to_lua(self._call(name.decode().upper(), list(map(_argument, arguments))))

    def _to_lua(self, value: Any) -> Any:
        if value is None:
            return False
        if isinstance(value, list | tuple):
            return self._table([self._to_lua(one) for one in value])
        return value

    def _table(self, values: Sequence[Any]) -> Any:
        return self._lua.table_from(values)


@functools.lru_cache(maxsize=4)
def library(text: bytes, run_id: str) -> Library:
    """Return the library of this text in one life of a server."""
    del run_id  # tells lives apart
    return Library(text)


def _argument(value: bytes | float) -> bytes:
    """Return what a command gets: text as it is, numbers as Lua writes them for Redis."""
    if isinstance(value, bool) or value is None:
        raise CommandError("ERR Lua redis lib command arguments must be strings or integers")
    return value if isinstance(value, bytes) else f"{value:.17g}".encode()


def _to_redis(value: Any) -> Any:
    if isinstance(value, bool):
        return 1 if value else None
    if isinstance(value, int | float):
        return int(value)
    if lua_type(value) != "table":
        return value
    if value[b"err"] is not None:
        raise CommandError(value[b"err"].decode())
    if value[b"ok"] is not None:
        return value[b"ok"]
    items: list[Any] = []
    while (item := value[len(items) + 1]) is not None:
        items.append(_to_redis(item))
    return items
