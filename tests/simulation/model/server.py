"""A Redis server that runs in this process: commands and Functions over a model, an append-only file, its deaths.

The file is a base and a journal of what each call changed. A server that comes back holds a beginning of it: at level
`always` everything whose answer was given, at `everysec` perhaps not the last second. One thing is modelled as Redis
7.0.15 has it: after an end that was torn, what is appended behind it is lost with the next restart, unless the file
was written anew first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from psoup.storage import keys
from tests.simulation.model.data import FREEING, WRITING, CommandError, ModelRedis
from tests.simulation.model.functions import library
from tests.simulation.simulated_time import SimulatedTime

META: Final = keys.META.encode()
Words = list[bytes]
REWRITE_S: Final = 0.02
LOADING_S: Final = 0.02
UNSYNCED_S: Final = 1.0
"""At level everysec the file may lack what was written in the last second."""
MEMORY_MAX: Final = 1_000_000_000
WHILE_LOADING: Final = frozenset({"INFO"})


@dataclass(frozen=True, slots=True)
class Record:
    """What one call changed, and when."""

    at_s: float
    effects: tuple[tuple[str, tuple[bytes, ...]], ...]


class ModelServer:
    """One server. It is down until `start`; `execute` runs calls one by one."""

    def __init__(self, rng: Random, clock: SimulatedTime, appendfsync: str) -> None:
        """Begin without data. `rng` draws run ids and what a crash leaves."""
        self._rng = rng
        self._clock = clock
        self.appendfsync = appendfsync
        self.up = False
        self.full = False
        """Whether memory is used up."""
        self.rewrite_fails = False
        """Whether the next rewriting of the file does."""
        self.rewrites_failed = 0
        self.run_id = ""
        self.published: list[tuple[bytes, bytes]] = []
        """Messages, by channel, in their order."""
        self.times: list[int] = []
        """All that the clock was ever said to show."""
        self.data = ModelRedis()
        self._library = b""
        self._base, self._base_library = ModelRedis(), b""
        self._journal: list[Record] = []
        self._torn_at: int | None = None
        self._effects: list[tuple[str, tuple[bytes, ...]]] = []
        self._loads_until_s = 0.0
        self._rewrites_until_s: float | None = None
        self._rewrite_status = "ok"
        self._last_wrote = False

    # --- Its life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Come up with what the file holds, in a new run."""
        if self._torn_at is not None:
            del self._journal[self._torn_at :]
            self._torn_at = None
        self.data, self._library = self._base.copy(), self._base_library
        for record in self._journal:
            for name, arguments in record.effects:
                self._redo(name, list(arguments))
        self.up, self.full = True, False
        self.run_id = f"{self._rng.getrandbits(160):040x}"
        self._loads_until_s = self._clock.elapsed_s + LOADING_S
        self._rewrites_until_s, self._rewrite_status = None, "ok"

    def crash(self, *, answered: bool, forgets: bool = False) -> int:
        """Die. Without `answered` the last call's answer was not given. Return how many records are lost.

        With `forgets` they are all that may be, else so many of them as is drawn.
        """
        self._finish_rewrite()
        self.up = False
        keep = len(self._journal)
        if self.appendfsync == "everysec":
            horizon_s = self._clock.elapsed_s - UNSYNCED_S
            synced = sum(record.at_s < horizon_s for record in self._journal)
            keep = synced if forgets else self._rng.randint(synced, keep)
            keep = max(keep, self._beginning())
        elif not answered and self._last_wrote and keep and self._rng.random() < 0.5:
            keep -= 1
        lost = len(self._journal) - keep
        torn = lost > 0 and len(self._journal[keep].effects) > 1
        del self._journal[keep:]
        if torn and self._torn_at is None:
            self._torn_at = keep
        if self._torn_at is not None:
            self._torn_at = min(self._torn_at, keep)
        return lost

    def _beginning(self) -> int:
        """Return how many records it takes until there is a store: they are never lost.

        A store that loses its own beginning, in its first second, is an empty one: no engine that knows of it goes on
        there, and its operator has to decide. `SERVER_EMPTIED` is that, with an operator who does.
        """
        if self._base.run("EXISTS", [META]):
            return 0
        born = (
            n for n, one in enumerate(self._journal, 1) if any(META in w for _, w in one.effects)
        )
        return next(born, 0)

    @property
    def is_torn(self) -> bool:
        """Whether what is appended to the file now would be lost with the next restart."""
        return self._torn_at is not None

    def put_away(self) -> object:
        """Lose the file; return it."""
        away = (self._base, self._base_library, self._journal, self._torn_at)
        self._base, self._base_library = ModelRedis(), b""
        self._journal, self._torn_at = [], None
        return away

    def put_back(self, away: Any) -> None:
        """Have a file again that was put away."""
        self._base, self._base_library, self._journal, self._torn_at = away

    # --- Calls ------------------------------------------------------------------------------------

    def execute(self, commands: Sequence[Words]) -> list[Any]:
        """Return the answers of `commands`, all in one step; a refusal stands as CommandError."""
        assert self.up
        self._effects = []
        try:
            return [self._answer(words) for words in commands]
        finally:
            self._last_wrote = bool(self._effects)
            if self._effects:
                self._journal.append(Record(self._clock.elapsed_s, tuple(self._effects)))

    def _answer(self, words: Words) -> Any:
        self._finish_rewrite()
        name, arguments = words[0].decode().upper(), words[1:]
        if self._clock.elapsed_s < self._loads_until_s and name not in WHILE_LOADING:
            return CommandError("LOADING Redis is loading the dataset in memory")
        try:
            if name in {"FCALL", "FCALL_RO"}:
                return self._function(arguments, read_only=name == "FCALL_RO")
            return self._command(name, arguments, memory=not self.full)
        except CommandError as error:
            return error

    def _function(self, arguments: Words, *, read_only: bool) -> Any:
        name, count, rest = arguments[0], int(arguments[1]), arguments[2:]
        loaded = library(self._library, self.run_id) if self._library else None
        if loaded is None or name not in loaded.functions:
            raise CommandError("ERR Function not found")
        flags = loaded.functions[name].flags
        reads = b"no-writes" in flags
        if read_only and not reads:
            raise CommandError("ERR Can not execute a script with write flag using *_ro command.")
        if self.full and not reads and b"allow-oom" not in flags:
            raise _out_of_memory()

        def call(command: str, words: Words) -> Any:
            if reads and command in WRITING:
                raise CommandError("ERR Write commands are not allowed from read-only scripts.")
            return self._command(command, words, memory=True)

        return loaded.run(name, rest[:count], rest[count:], call)

    def _command(self, name: str, arguments: Words, *, memory: bool) -> Any:
        if not memory and name in WRITING - FREEING:
            raise _out_of_memory()
        if name in SPECIAL:
            return SPECIAL[name](self, *arguments)
        before = self.data.writes
        answer = self.data.run(name, arguments)
        if self.data.writes != before:
            self._effects.append((name, tuple(arguments)))
        return answer

    def _redo(self, name: str, arguments: Words) -> None:
        if name == "FUNCTION":
            self._library = arguments[-1]
        else:
            self.data.run(name, arguments)

    # --- Commands about the server -----------------------------------------------------------------

    def _time(self) -> Words:
        self.times.append(self._clock.server_us())
        seconds, micros = divmod(self.times[-1], 1_000_000)
        return [b"%d" % seconds, b"%d" % micros]

    def _ping(self) -> bytes:
        return b"PONG"

    def _publish(self, channel: bytes, message: bytes) -> int:
        self.published.append((channel, message))
        return 0

    def _function_command(self, word: bytes, *arguments: bytes) -> Any:
        if word.upper() == b"LIST":
            shown = [b"library_name", b"psoup", b"library_code", self._library]
            return [shown] if self._library else []
        assert word.upper() == b"LOAD"
        if self.full:
            raise _out_of_memory()
        library(arguments[-1], self.run_id)
        self._library = arguments[-1]
        self._effects.append(("FUNCTION", (word, *arguments)))
        return b"psoup"

    def _config(self, _: bytes, name: bytes) -> Words:
        shown = {
            "appendonly": "yes",
            "maxmemory-policy": "noeviction",
            "no-appendfsync-on-rewrite": "no",
            "appendfsync": self.appendfsync,
        }
        value = shown.get(name.decode())
        return [] if value is None else [name, value.encode()]

    def _bgrewriteaof(self) -> bytes:
        if self._rewrites_until_s is None:
            self._rewrites_until_s = self._clock.elapsed_s + REWRITE_S
        return b"Background append only file rewriting started"

    def _finish_rewrite(self) -> None:
        """Replace the file if its rewriting has ended by now."""
        if self._rewrites_until_s is None or self._clock.elapsed_s < self._rewrites_until_s:
            return
        self._rewrites_until_s = None
        self._rewrite_status = "err" if self.rewrite_fails else "ok"
        self.rewrites_failed += self.rewrite_fails
        self.rewrite_fails = False
        if self._rewrite_status == "ok":
            self._base, self._base_library = self.data.copy(), self._library
            self._journal, self._torn_at = [], None

    def _info(self, *sections: bytes) -> bytes:
        return b"".join(map(self._info_section, sections))

    def _info_section(self, section: bytes) -> bytes:
        match section:
            case b"commandstats":
                shown: dict[str, object] = {"cmdstat_config|set": "calls=0,usec=0"}
            case b"server":
                shown = {"redis_version": "7.0.15", "run_id": self.run_id}
            case b"replication":
                shown = {"role": "master"}
            case b"persistence":
                shown = {
                    "loading": int(self._clock.elapsed_s < self._loads_until_s),
                    "aof_rewrite_in_progress": int(self._rewrites_until_s is not None),
                    "aof_rewrite_scheduled": 0,
                    "aof_last_bgrewrite_status": self._rewrite_status,
                }
            case _:
                assert section == b"memory"
                used = MEMORY_MAX + 1 if self.full else self.data.nbytes()
                shown = {"used_memory": used, "maxmemory": MEMORY_MAX}
        return "".join(f"{name}:{value}\r\n" for name, value in shown.items()).encode()


def _out_of_memory() -> CommandError:
    return CommandError("OOM command not allowed when used memory > 'maxmemory'.")


SPECIAL: Final[dict[str, Callable[..., Any]]] = {
    "TIME": ModelServer._time,
    "PING": ModelServer._ping,
    "PUBLISH": ModelServer._publish,
    "CONFIG": ModelServer._config,
    "BGREWRITEAOF": ModelServer._bgrewriteaof,
    "INFO": ModelServer._info,
    "FUNCTION": ModelServer._function_command,
}
"""Commands about the server, not about its data."""
