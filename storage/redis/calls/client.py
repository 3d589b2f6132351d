"""The one door to Redis and its likes: connections, the Function library, errors. Only importer of redis.

Nothing is ever sent twice: retries are off, and whoever calls decides whether a lost answer may be asked
for again. A call borrows a connection from a bounded pool, so threads share it safely.
"""
# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import contextlib
import hashlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from redis import BlockingConnectionPool
from redis.backoff import NoBackoff
from redis.client import PubSub
from redis.connection import Connection, SSLConnection, UnixDomainSocketConnection
from redis.credentials import CredentialProvider
from redis.exceptions import (
    BusyLoadingError,
    ConnectionError as RedisConnectionError,
    NoPermissionError,
    OutOfMemoryError,
    RedisError,
    ResponseError,
)
from redis.retry import Retry

from psoup.engine import limits
from psoup.engine.checkpoint import check_hold, checkpoint, is_checked
from psoup.engine.errors import EngineError
from psoup.engine.store.address import UNIX, StoreAddress, StoreUrlError, read_store_address
from psoup.engine.store.errors import StoreUnavailableError
from psoup.storage import refusals
from psoup.storage.redis.calls.library import library_text
from psoup.storage.redis.calls.refused import (
    memory_full,
    not_allowed,
    refusal_of,
    standing_refusal,
)
from psoup.storage.redis.calls.wire import CommandPacker

LIBRARY = "psoup"
RULES = (
    "~{ps}:* &{ps}:n +@read +@write +@scripting +@transaction +publish +info +time +config|get"
    " +bgrewriteaof"
)
"""What an ACL has to give the user of an engine."""
WORKER_RULES = (
    "resetkeys resetchannels -@all %RW~{ps}:log %RW~{ps}:log:* %RW~{ps}:h %RW~{ps}:h:* %R~{ps}:* &{ps}:n"
    " +fcall +fcall_ro +get +hget +hmget +hgetall +hvals +hlen +hkeys +hexists +hscan +hset +hdel +hincrby"
    " +xadd +xrange +xlen +multi +exec +time +info +ping +subscribe +unsubscribe"
    " (+unlink %RW~{ps}:log:p:* %RW~{ps}:log:g:* %RW~{ps}:h:*)"
)
"""What an ACL has to give the user of API workers: all that they need, and nothing that the engine alone may do."""
CHECKED_EVERY_S = 0.1
"""So often work that waits for the store's answer looks whether it is still wanted."""
Argument = bytes | str | int
Command = tuple[Argument, ...]
Call = tuple[str, Sequence[str], Sequence[Argument]]
"""Function, keys, arguments."""


class _Connection(Protocol):
    """What is used of redis-py's connections, which are not typed."""

    def pack_commands(self, commands: Sequence[Command]) -> list[bytes]: ...
    def can_read(self, timeout: float) -> bool: ...
    def send_packed_command(self, packed: list[bytes], check_health: bool) -> None: ...  # noqa: FBT001
    def read_response(self) -> Any: ...  # noqa: ANN401
    def disconnect(self) -> None: ...


class RedisClient:
    """Calls of Functions and plain reads over a bounded pool of connections. Thread-safe."""

    def __init__(
        self,
        url: str,
        *,
        password_file: Path | None = None,
        answer_s: float = limits.STORE_ANSWER_S,
        rules: str = RULES,
    ) -> None:
        """Prepare connections to `redis://`, `rediss://` or `unix://`; none is made yet.

        Args:
            url: the address.
            password_file: holds the password, which is read for each connection: it may be changed meanwhile.
            answer_s: how long one call may take.
            rules: what the ACL has to give this user, for the error where it does not.

        Raises:
            StoreUrlError: the address is none of a server, or the password's file cannot be read.
        """
        self._pool: Any = BlockingConnectionPool(  # type: ignore[no-untyped-call]
            **_way_to(read_store_address(url), password_file),
            max_connections=limits.STORE_CONNECTIONS_MAX,
            timeout=limits.STORE_CONNECTION_WAIT_S,
            socket_timeout=answer_s,
            socket_connect_timeout=limits.STORE_CONNECT_S,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
            command_packer=CommandPacker(),
            driver_info=None,  # 7.0 does not know CLIENT SETINFO
        )
        self._rules = rules
        self._answer_s = answer_s
        self._library_text = library_text()
        self.library_sha = hashlib.sha256(self._library_text).hexdigest()

    def call(
        self,
        function: str,
        keys: Sequence[str],
        arguments: Sequence[Argument] = (),
        *,
        lost: type[EngineError] = StoreUnavailableError,
    ) -> list[Any]:
        """Return the answer of a Function that writes.

        Args:
            function: its name.
            keys: all it touches.
            arguments: what else it takes.
            lost: raised where the call was sent and its answer never came, so that it may or may not
                have run.

        Raises:
            StoreUnavailableError: no connection; the call was not sent.
            RecoveringError: the server is loading its data, or was emptied, or nobody has opened it.
            StoreFullError: no memory or disk is left; nothing was changed.
            StoreUnsuitableError: it has no such command, or does not let this user run it.
            IntegrityError: it refused what it should take.
        """
        return self._answer("FCALL", function, keys, arguments, lost)

    def call_each(
        self, calls: Sequence[Call], *, lost: type[EngineError] = StoreUnavailableError
    ) -> list[list[Any] | EngineError]:
        """Return the answers of Functions that write, sent together: each is a step of its own.

        What has refused a call stands in its place, and holds up none of the others.

        Raises:
            StoreUnavailableError: no connection; none was sent.
            RecoveringError: the server is loading its data; none has run.
            EngineError: `lost`, where an answer never came: each of them may or may not have run.
        """
        commands: list[Command] = [
            ("FCALL", function, len(keys), *keys, *arguments) for function, keys, arguments in calls
        ]
        return [
            _refusal(answer, command, self._rules)
            if isinstance(answer, ResponseError)
            else standing_refusal(answer) or answer
            for command, answer in zip(commands, self._responses(commands, lost), strict=True)
        ]

    def view(
        self, function: str, keys: Sequence[str], arguments: Sequence[Argument] = ()
    ) -> list[Any]:
        """Return the answer of a Function that only reads. Raises what `call` does."""
        return self._answer("FCALL_RO", function, keys, arguments, StoreUnavailableError)

    def fetch(self, commands: Sequence[Command]) -> list[Any]:
        """Return the answers of plain reads, sent together; each is a step of its own.

        Raises what `call` does.
        """
        return self._exchange(commands, StoreUnavailableError) if commands else []

    def fetch_together(self, commands: Sequence[Command]) -> list[Any]:
        """Return the answers of plain reads, all of one instant. Raises what `call` does."""
        answers = self._exchange([("MULTI",), *commands, ("EXEC",)], StoreUnavailableError)[-1]
        for command, answer in zip(commands, answers, strict=True):
            if isinstance(answer, ResponseError):
                raise _refusal(answer, command, self._rules) from answer
            if isinstance(answer, list) and answer and answer[0] == b"RECOVERING":
                raise refusals.recovering()
        return list(answers)

    def fetch_one(self, *command: Argument) -> Any:  # noqa: ANN401 - as many types as commands
        """Return the answer of one command. Raises what `call` does."""
        return self._exchange([command], StoreUnavailableError)[0]

    def info(self, section: str) -> Mapping[str, str]:
        """Return one section of INFO."""
        text: bytes = self.fetch_one("INFO", section)
        lines = (line.partition(":") for line in text.decode().splitlines())
        return {name: value for name, colon, value in lines if colon}

    def configuration(self, names: Sequence[str]) -> Mapping[str, str]:
        """Return these settings of the server; one it does not know is absent."""
        found: dict[str, str] = {}
        for answer in self.fetch([("CONFIG", "GET", name) for name in names]):
            pairs = [item.decode() for item in answer]
            found.update(zip(pairs[::2], pairs[1::2], strict=True))
        return found

    def load_library(self) -> None:
        """Make the server's Function library the one this process knows; nothing if it is already."""
        listed = self.fetch_one("FUNCTION", "LIST", "LIBRARYNAME", LIBRARY, "WITHCODE")
        texts = [dict(zip(item[::2], item[1::2], strict=True))[b"library_code"] for item in listed]
        if texts != [self._library_text]:
            self.fetch_one("FUNCTION", "LOAD", "REPLACE", self._library_text)

    def listener(self, channel: str) -> "ChannelListener":
        """Return what hears a channel of this server's, over a connection of its own."""
        return ChannelListener(self._pool, channel)

    def shut_down(self) -> None:
        """Tell the server to end; what is committed is on its disk already."""
        with contextlib.suppress(StoreUnavailableError):  # a server that ends does not answer
            self.fetch_one("SHUTDOWN", "NOSAVE")

    def close(self) -> None:
        """Close all connections. Twice is harmless."""
        self._pool.disconnect()

    def _answer(
        self,
        command: str,
        function: str,
        keys: Sequence[str],
        arguments: Sequence[Argument],
        lost: type[EngineError],
    ) -> list[Any]:
        full: Command = (command, function, len(keys), *keys, *arguments)
        answer: list[Any] = self._exchange([full], lost)[0]
        refusal = standing_refusal(answer)
        if refusal is not None:
            raise refusal
        return answer

    def _exchange(self, commands: Sequence[Command], lost: type[EngineError]) -> list[Any]:
        """Return the answers to commands sent together. Raises the first refusal among them."""
        answers = self._responses(commands, lost)
        for command, answer in zip(commands, answers, strict=True):
            if isinstance(answer, ResponseError):
                raise _refusal(answer, command, self._rules) from answer
        return answers

    def _responses(self, commands: Sequence[Command], lost: type[EngineError]) -> list[Any]:
        """Return the answers to commands sent together; a refusal is one of them, as a ResponseError."""
        check_hold()
        connection = self._borrow()
        answers: list[Any] = []
        try:
            connection.send_packed_command(connection.pack_commands(commands), False)  # noqa: FBT003
            if is_checked():
                self._await_answer(connection)
            for _ in commands:
                answers.append(_response(connection))  # noqa: PERF401 (those that came count)
        except (RedisError, OSError) as error:
            connection.disconnect()
            if isinstance(error, BusyLoadingError) and not answers:
                raise refusals.recovering() from error
            raise lost(
                "The store's answer did not come. What was sent may have been carried out or not."
            ) from error
        except BaseException:
            connection.disconnect()  # an answer left unread would be given to the next caller
            raise
        finally:
            self._pool.release(connection)
        return answers

    def _await_answer(self, connection: "_Connection") -> None:
        """Return once the answer begins to arrive; meanwhile ask now and then whether anybody still wants it."""
        latest = time.monotonic() + self._answer_s
        while not connection.can_read(timeout=CHECKED_EVERY_S):
            checkpoint()
            if time.monotonic() > latest:
                raise TimeoutError("the store has not answered")

    def _borrow(self) -> "_Connection":
        try:
            connection: _Connection = self._pool.get_connection()
        except BusyLoadingError as error:
            raise refusals.recovering() from error
        except (RedisError, OSError) as error:
            raise StoreUnavailableError(
                "The store cannot be reached, or refuses the connection. Nothing was sent."
            ) from error
        return connection


class _PasswordFile(CredentialProvider):
    """Who a connection is, with the password that the file holds when it is made."""

    def __init__(self, username: str | None, path: Path) -> None:
        self._username = username
        self._path = path

    def get_credentials(self) -> tuple[str] | tuple[str, str]:
        password = _password(self._path)
        return (password,) if self._username is None else (self._username, password)


def _password(path: Path) -> str:
    """Return the first line of the file.

    Raises:
        StoreUrlError: it cannot be read, or is empty.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise StoreUrlError(f"store_password_file {path} cannot be read: {reason}.") from error
    if not lines or not lines[0]:
        raise StoreUrlError(f"store_password_file {path} is empty: its first line is the password.")
    return lines[0]


def _way_to(address: StoreAddress, password_file: Path | None) -> dict[str, Any]:
    """Return how redis-py reaches a server and says who it is.

    Raises:
        StoreUrlError: the address is of no server, there are two passwords, or the file cannot be read.
    """
    if not address.is_shared:
        raise StoreUrlError(f"There is no server at {address}: it is inside one process.")
    way: dict[str, Any] = {"db": address.database}
    if address.scheme == UNIX:
        way |= {"connection_class": UnixDomainSocketConnection, "path": address.socket}
    else:
        kind = SSLConnection if address.scheme == "rediss" else Connection
        way |= {"connection_class": kind, "host": address.host, "port": address.port}
    if password_file is None:
        return way | {"username": address.username, "password": address.password}
    if address.password is not None:
        raise StoreUrlError(
            "The store's address holds a password, and store_password_file is given: use one."
        )
    _password(password_file)  # what is wrong with it is said now
    return way | {"credential_provider": _PasswordFile(address.username, password_file)}


class ChannelListener:
    """Hears that something was said on a channel; what is said is of no interest. For one thread."""

    def __init__(self, pool: Any, channel: str) -> None:  # noqa: ANN401 - redis-py's, which is not typed
        """Connect to where `pool` does; nothing is sent yet."""
        self._pool = pool
        self._channel = channel
        self._heard: Any = None
        """redis-py's subscription, None = there is none."""

    def hear(self, timeout_s: float) -> bool | None:
        """Return whether something was said since the last call, waiting up to `timeout_s` for it.

        True as well where it has just begun to listen: what was said before is not known. None where it cannot,
        at once: the server is away or does not let this user listen; the next call tries again.
        """
        try:
            if self._heard is None:
                self._heard = PubSub(self._pool)
                self._heard.subscribe(self._channel)
            said = self._heard.get_message(timeout=timeout_s) is not None
            while said and self._heard.get_message(timeout=0) is not None:
                pass
        except (RedisError, OSError):
            self.close()
            return None
        return said

    def close(self) -> None:
        """Let go of the connection; the next `hear` makes another."""
        heard, self._heard = self._heard, None
        if heard is not None:
            heard.close()


def _response(connection: _Connection) -> Any:  # noqa: ANN401 - as many types as commands
    """Return the next answer; a refusal is returned like one, since others may follow it."""
    try:
        return connection.read_response()
    except RedisConnectionError:
        raise
    except ResponseError as error:
        return error


def _refusal(error: ResponseError, command: Command, rules: str) -> EngineError:
    """Return what is raised for the refusal of a command."""
    if isinstance(error, NoPermissionError):
        return not_allowed(command, rules)
    if isinstance(error, OutOfMemoryError):
        return memory_full()
    return refusal_of(str(error), command, rules)
