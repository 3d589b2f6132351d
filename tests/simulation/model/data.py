"""The data of a Redis: hashes, one stream, strings, and the commands psoup uses on them. Without time, files or faults.

Values and fields are bytes. Every command is a method that takes the rest of its arguments and returns what Redis
answers, in the types of redis-py's protocol 2. What writes says so by changing `writes`.
"""

import copy
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Any, Final

Hash = dict[bytes, bytes]
Entry = tuple[bytes, list[bytes]]


class CommandError(Exception):
    """What Redis answers with instead of a value; the text begins with its code."""


class Stream:
    """Entries with ascending ids `seq-0`, and the last id ever given, which outlives its entry."""

    def __init__(self) -> None:
        self.entries: dict[int, list[bytes]] = {}
        self.last = 0


class ModelRedis:
    """One database. `run` executes one command; a reader never gets at what is inside."""

    def __init__(self) -> None:
        self._values: dict[bytes, Hash | Stream | bytes] = {}
        self.writes = 0
        """How often something was changed."""

    def copy(self) -> "ModelRedis":
        """Return another one with the same contents."""
        other = ModelRedis()
        other._values = copy.deepcopy(self._values)
        return other

    def nbytes(self) -> int:
        """Return about how large the contents are."""
        return sum(len(key) + _size(value) for key, value in self._values.items())

    def value(self, name: bytes) -> Hash | Stream | bytes | None:
        """Return what is under a key. Not to be changed."""
        return self._values.get(name)

    def listed(self) -> list[tuple[bytes, object]]:
        """Return everything in an order of its own, for digests."""
        found: list[tuple[bytes, object]] = []
        for key, value in sorted(self._values.items()):
            match value:
                case Stream():
                    found.append((key, (sorted(value.entries.items()), value.last)))
                case dict():
                    found.append((key, sorted(value.items())))
                case _:
                    found.append((key, value))
        return found

    def run(self, name: str, arguments: list[bytes]) -> Any:
        """Return the answer of one command. CommandError where Redis refuses it."""
        command = COMMANDS.get(name)
        if command is None:
            raise CommandError(f"ERR unknown command '{name}'")
        return command(self, *arguments)

    # --- Keys -------------------------------------------------------------------------------------

    def _exists(self, *names: bytes) -> int:
        return sum(name in self._values for name in names)

    def _unlink(self, *names: bytes) -> int:
        return sum(self._drop(name) for name in names)

    def _drop(self, name: bytes) -> bool:
        found = self._values.pop(name, None) is not None
        self.writes += found
        return found

    def _scan(self, cursor: bytes, *options: bytes) -> list[Any]:
        """Return two keys a call, so that cursors are used."""
        words = [option.upper() for option in options[::2]]
        pattern = options[1 + 2 * words.index(b"MATCH")].decode() if b"MATCH" in words else "*"
        return _scanned(sorted(self._values), int(cursor), 2, lambda name: _matches(name, pattern))

    def _flush(self, *_: bytes) -> bytes:
        self._values.clear()
        self.writes += 1
        return b"OK"

    # --- Strings ----------------------------------------------------------------------------------

    def _get(self, name: bytes) -> bytes | None:
        value = self._values.get(name)
        if value is not None and not isinstance(value, bytes):
            raise _wrong_type()
        return value

    def _set(self, name: bytes, value: bytes, *options: bytes) -> bytes:
        assert not options, "psoup sets strings plainly"
        self._values[name] = value
        self.writes += 1
        return b"OK"

    # --- Hashes -----------------------------------------------------------------------------------

    def _hash(self, name: bytes) -> Hash:
        """Return the hash, an empty one where there is none."""
        value = self._values.get(name, {})
        if not isinstance(value, dict):
            raise _wrong_type()
        return value

    def _hget(self, name: bytes, field: bytes) -> bytes | None:
        return self._hash(name).get(field)

    def _hmget(self, name: bytes, *fields: bytes) -> list[bytes | None]:
        if not fields:
            raise _arity("hmget")
        held = self._hash(name)
        return [held.get(field) for field in fields]

    def _hset(self, name: bytes, *pairs: bytes) -> int:
        if not pairs or len(pairs) % 2:
            raise _arity("hset")
        held = self._hash(name)
        before = len(held)
        held.update(zip(pairs[::2], pairs[1::2], strict=True))
        self._values[name] = held
        self.writes += 1
        return len(held) - before

    def _hsetnx(self, name: bytes, *pairs: bytes) -> int:
        if len(pairs) != 2:
            raise _arity("hsetnx")
        field, value = pairs
        return 0 if field in self._hash(name) else self._hset(name, field, value)

    def _hdel(self, name: bytes, *fields: bytes) -> int:
        if not fields:
            raise _arity("hdel")
        held = self._hash(name)
        found = sum(held.pop(field, None) is not None for field in fields)
        if not held:
            self._values.pop(name, None)
        self.writes += bool(found)
        return found

    def _hincrby(self, name: bytes, field: bytes, by: bytes) -> int:
        number = int(self._hash(name).get(field, b"0")) + int(by)
        self._hset(name, field, b"%d" % number)
        return number

    def _hlen(self, name: bytes) -> int:
        return len(self._hash(name))

    def _hexists(self, name: bytes, field: bytes) -> int:
        return int(field in self._hash(name))

    def _hstrlen(self, name: bytes, field: bytes) -> int:
        return len(self._hash(name).get(field, b""))

    def _hkeys(self, name: bytes) -> list[bytes]:
        return list(self._hash(name))

    def _hvals(self, name: bytes) -> list[bytes]:
        return list(self._hash(name).values())

    def _hgetall(self, name: bytes) -> list[bytes]:
        return [one for pair in self._hash(name).items() for one in pair]

    def _hscan(self, name: bytes, cursor: bytes, *_: bytes) -> list[Any]:
        """Return a few fields a call, whatever COUNT says: it is a hint."""
        held = self._hash(name)
        at, fields = _scanned(sorted(held), int(cursor), 7, lambda _: True)
        return [at, [one for field in fields for one in (field, held[field])]]

    # --- The stream -------------------------------------------------------------------------------

    def _stream(self, name: bytes) -> Stream:
        """Return the stream, an empty one where there is none."""
        value = self._values.get(name, Stream())
        if not isinstance(value, Stream):
            raise _wrong_type()
        return value

    def _xadd(self, name: bytes, entry_id: bytes, *pairs: bytes) -> bytes:
        stream, number = self._stream(name), int(entry_id.removesuffix(b"-0"))
        if number <= stream.last:
            text = "The ID specified in XADD is equal or smaller than the target stream top item"
            raise CommandError(f"ERR {text}")
        stream.entries[number] = list(pairs)
        stream.last = number
        self._values[name] = stream
        self.writes += 1
        return entry_id

    def _xdel(self, name: bytes, *ids: bytes) -> int:
        if not ids:
            raise _arity("xdel")
        entries = self._stream(name).entries
        numbers = [int(entry_id.removesuffix(b"-0")) for entry_id in ids]
        found = sum(entries.pop(number, None) is not None for number in numbers)
        self.writes += bool(found)
        return found

    def _xrange(self, name: bytes, first: bytes, last: bytes, *options: bytes) -> list[Entry]:
        low = 0 if first == b"-" else _entry_number(first)
        high = float("inf") if last == b"+" else _entry_number(last)
        entries = self._stream(name).entries
        found = [(b"%d-0" % n, list(entries[n])) for n in sorted(entries) if low <= n <= high]
        return found[: int(options[1])] if options else found

    def _xlen(self, name: bytes) -> int:
        return len(self._stream(name).entries)

    def _xinfo(self, _: bytes, name: bytes) -> list[Any]:
        if name not in self._values:
            raise CommandError("ERR no such key")
        stream = self._stream(name)
        last = b"%d-0" % stream.last
        return [b"length", len(stream.entries), b"last-generated-id", last]


def _scanned(names: list[bytes], at: int, count: int, wanted: Callable[[bytes], bool]) -> list[Any]:
    past = at + count
    cursor = b"0" if past >= len(names) else b"%d" % past
    return [cursor, [name for name in names[at:past] if wanted(name)]]


def _matches(name: bytes, pattern: str) -> bool:
    return fnmatchcase(name.decode(), pattern)


def _entry_number(entry_id: bytes) -> int:
    return int(entry_id.partition(b"-")[0])


def _size(value: Hash | Stream | bytes) -> int:
    match value:
        case bytes():
            return len(value)
        case Stream():
            return sum(map(_sum, value.entries.values()))
        case _:
            return _sum(value) + _sum(value.values())


def _sum(values: Iterable[bytes]) -> int:
    return sum(map(len, values))


def _arity(name: str) -> CommandError:
    return CommandError(f"ERR wrong number of arguments for '{name}' command")


def _wrong_type() -> CommandError:
    return CommandError("WRONGTYPE Operation against a key holding the wrong kind of value")


COMMANDS: Final[dict[str, Callable[..., Any]]] = {
    "EXISTS": ModelRedis._exists,
    "DEL": ModelRedis._unlink,
    "UNLINK": ModelRedis._unlink,
    "SCAN": ModelRedis._scan,
    "FLUSHALL": ModelRedis._flush,
    "GET": ModelRedis._get,
    "SET": ModelRedis._set,
    "HGET": ModelRedis._hget,
    "HMGET": ModelRedis._hmget,
    "HSET": ModelRedis._hset,
    "HSETNX": ModelRedis._hsetnx,
    "HDEL": ModelRedis._hdel,
    "HINCRBY": ModelRedis._hincrby,
    "HLEN": ModelRedis._hlen,
    "HEXISTS": ModelRedis._hexists,
    "HSTRLEN": ModelRedis._hstrlen,
    "HKEYS": ModelRedis._hkeys,
    "HVALS": ModelRedis._hvals,
    "HGETALL": ModelRedis._hgetall,
    "HSCAN": ModelRedis._hscan,
    "XADD": ModelRedis._xadd,
    "XDEL": ModelRedis._xdel,
    "XRANGE": ModelRedis._xrange,
    "XLEN": ModelRedis._xlen,
    "XINFO": ModelRedis._xinfo,
}
WRITING: Final = frozenset(
    [
        "DEL",
        "UNLINK",
        "FLUSHALL",
        "SET",
        "HSET",
        "HSETNX",
        "HDEL",
        "HINCRBY",
        "XADD",
        "XDEL",
        "PUBLISH",
    ]
)
FREEING: Final = frozenset(["DEL", "UNLINK", "FLUSHALL", "HDEL", "XDEL"])
"""Writing commands that run without memory."""
