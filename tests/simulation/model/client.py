"""The real RedisClient over connections to a server in this process, which lose, delay and interrupt calls.

Each command is run when its answer is read, so a pipeline's commands are steps of their own; MULTI to EXEC are one.
Between two of them anything may happen to anybody: `Process.reaches` decides.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from redis._parsers.base import BaseParser
from redis.exceptions import (
    BusyLoadingError,
    ConnectionError as RedisConnectionError,
    RedisError,
    TimeoutError as RedisTimeoutError,
)

from psoup.storage.redis.calls.client import Command, RedisClient
from tests.simulation.faults import Fault
from tests.simulation.model.data import CommandError
from tests.simulation.model.server import ModelServer, Words

Wait = Callable[[float, Callable[[], bool]], None]
"""Waits so many seconds, or until something holds."""


class Process(Protocol):
    """Who makes the calls: an engine or a worker."""

    name: str

    def connects(self) -> bool:
        """Return whether a connection can be had."""
        ...

    def reaches(self, call: str) -> Fault | None:
        """Let happen what happens before a call; return what happens to the call itself."""
        ...

    def answered(self) -> None:
        """Let happen what happens between a call and its answer."""
        ...


@dataclass(slots=True)
class Network:
    """What is between processes and the server."""

    server: ModelServer
    delayed: list[tuple[str, Words]] = field(default_factory=list)
    """Calls that their senders have given up, and that have not run yet; and whose they are."""
    crash: Callable[[], None] = lambda: None
    """Ends the server before its last answer is given."""
    watch: Callable[[str], None] = lambda _: None
    """Is told, after each call that has run, who made it."""

    def run(self, who: str, commands: Sequence[Words]) -> list[Any]:
        """Run commands in one step. RedisConnectionError where there is no server."""
        if not self.server.up:
            raise RedisConnectionError("the server has gone")
        answers = self.server.execute(commands)
        self.watch(who)
        return answers

    def run_delayed(self, at: int) -> str:
        """Run one of the delayed calls; return what it was."""
        who, words = self.delayed.pop(at)
        if words[0] not in {b"MULTI", b"EXEC"}:
            self.run(who, [words])
        return f"{who} {_named(words)}"


class ModelConnection:
    """What RedisClient uses of a connection, which ends with the server's life."""

    def __init__(self, network: Network, process: Process) -> None:
        self._network = network
        self._run_id = network.server.run_id
        self._process = process
        self._queue: list[list[Words]] = []
        self._answers: list[Any] = []

    def pack_commands(self, commands: Sequence[Command]) -> list[list[Words]]:
        """Return the commands in steps: what stands between MULTI and EXEC is one."""
        steps: list[list[Words]] = []
        together = False
        for command in commands:
            words = [_encoded(word) for word in command]
            if together:
                steps[-1].append(words)
                together = words != [b"EXEC"]
            else:
                steps.append([words])
                together = words == [b"MULTI"]
        return steps

    def send_packed_command(self, packed: list[list[Words]], _: bool) -> None:
        """Send: nothing runs yet."""
        self._queue = list(packed)

    def read_response(self) -> Any:
        """Run the next command and return its answer; a refusal is raised."""
        if not self._answers:
            step = self._queue.pop(0)
            self._answers = self._answered(step)
        answer = self._answers.pop(0)
        if isinstance(answer, RedisError):
            raise answer
        return answer

    def disconnect(self) -> None:
        """Forget what was sent and not answered."""
        self._queue, self._answers = [], []

    def _answered(self, step: list[Words]) -> list[Any]:
        """Return the answers of one step, or fail on the way."""
        fault = self._process.reaches(_named(step[0]))
        network, who = self._network, self._process.name
        if network.server.run_id != self._run_id:
            raise RedisConnectionError("the server has gone")
        if fault is Fault.CALL_LOST:
            raise RedisTimeoutError("the call was lost")
        if fault is Fault.CALL_DELAYED:
            network.delayed += [(who, words) for one in [step, *self._queue] for words in one]
            raise RedisTimeoutError("the call is on its way")
        together = step[0] == [b"MULTI"]
        answers = [_raised(one) for one in network.run(who, step[1:-1] if together else step)]
        if fault is Fault.ANSWER_LOST:
            raise RedisTimeoutError("the answer was lost")
        if fault is Fault.SERVER_CRASH_IN_CALL:
            network.crash()
            raise RedisConnectionError("the server has gone")
        if fault is Fault.RUN_TWICE:
            network.delayed += [(who, words) for words in step]
        self._process.answered()
        if together and any(isinstance(one, BusyLoadingError) for one in answers):
            return [b"OK", *answers]  # refused as they are queued
        if together:
            return [b"OK", *[b"QUEUED"] * len(answers), answers]
        return answers


class ModelPool:
    """What RedisClient uses of a pool."""

    def __init__(self, network: Network, process: Process) -> None:
        self.network = network
        self._process = process

    def get_connection(self) -> ModelConnection:
        """Return a connection. RedisConnectionError where there is no server."""
        if not self._process.connects() or not self.network.server.up:
            raise RedisConnectionError("nobody listens")
        return ModelConnection(self.network, self._process)

    def release(self, connection: ModelConnection) -> None:
        """Do nothing: connections are not used again."""

    def disconnect(self) -> None:
        """Do nothing."""


class ModelListener:
    """What RedisClient's `listener` returns: hears that something was published."""

    def __init__(self, network: Network, wait: Wait) -> None:
        self._network = network
        self._wait = wait
        self._heard: tuple[str, int] | None = None

    def hear(self, timeout_s: float) -> bool | None:
        """Return as `Listener.hear` does."""
        server = self._network.server
        if not server.up:
            self._heard = None
            return None
        if self._heard is None or self._heard[0] != server.run_id:
            self._heard = (server.run_id, len(server.published))
            return True
        before = self._heard[1]
        self._wait(timeout_s, lambda: not server.up or len(server.published) > before)
        self._heard = (server.run_id, len(server.published))
        return len(server.published) > before

    def close(self) -> None:
        """Hear nothing more."""
        self._heard = None


class ModelClient(RedisClient):
    """A RedisClient of one process."""

    def __init__(self, network: Network, process: Process, wait: Wait) -> None:
        super().__init__("redis://model")
        self._pool = ModelPool(network, process)
        self._wait = wait

    def listener(self, channel: str) -> Any:
        """Return what hears what is published."""
        return ModelListener(self._pool.network, self._wait)


def _encoded(word: bytes | str | int) -> bytes:
    return word if isinstance(word, bytes) else str(word).encode()


def _named(words: Words) -> str:
    """Return what stands for a call in the trace."""
    return b" ".join(words[:2] if words[0].startswith(b"FCALL") else words[:1]).decode()


def _raised(answer: Any) -> Any:
    """Return a refusal as redis-py's exception, anything else as it is."""
    return BaseParser.parse_error(str(answer)) if isinstance(answer, CommandError) else answer
