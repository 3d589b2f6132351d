"""The options of `format("psoup")`, with their types; others are refused.

Spark passes options as texts, with keys in lower case. A token appears in no message and no `repr`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeVar

from psoup.client.connections.address import checked_token, checked_url
from psoup.engine.tuples.schema import ClockKind
from psoup.pipeline.errors import OptionError

_Value = TypeVar("_Value")

RETRY_S_DEFAULT: Final = 600.0
"""Seconds for which a task retries while the service is overloaded, before it fails."""
_EVERYWHERE: Final = ("url", "token", "retrySeconds")
_WRITING: Final = (
    "stream",
    "createStream",
    "time",
    "clock",
    "retentionTime",
    "retentionRows",
    "retentionBytes",
    "txnAppId",
    "txnVersion",
    "compression",
)
_READING: Final = (
    *("query", "sql", "params", "meta", "now", "minSeq", "history", "pageRows", "pushdown"),
    *("stream", "startingSeq", "maxBatchesPerTrigger", "hold", "failOnDataLoss"),
    *("lossKnownThrough", "allColumns"),
)
_OF_SPARK: Final = frozenset(
    {"path", "checkpointlocation", "queryname", "mergeschema", "ignoremissingfiles"}
)
"""Further options that Spark passes; ignored."""


class Compression(StrEnum):
    """Compression of request bodies."""

    ZSTD = "zstd"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The service of a reader or a writer, and how to reach it."""

    url: str
    token: str | None = field(default=None, repr=False)
    retry_s: float = RETRY_S_DEFAULT


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """Options of a write or a writeStream."""

    connection: Connection
    stream: str
    create: bool = False
    time: str | None = None
    clock: ClockKind | None = None
    retention: Mapping[str, str | int] = field(default_factory=dict)
    txn: tuple[str, int] | None = None
    """Name and version of a batch write, if the user gives them."""
    compression: Compression = Compression.ZSTD


class SparkOptions:
    """Known options, by name in any case."""

    def __init__(self, given: Mapping[str, str], *, known: tuple[str, ...]) -> None:
        """Keep the options.

        Raises:
            OptionError: names the unknown options, and all known ones.
        """
        self._given = {name.lower(): value for name, value in given.items()}
        names = {name.lower() for name in known}
        strange = sorted(set(self._given) - names - _OF_SPARK)
        if strange:
            listed = ", ".join(sorted(known))
            raise OptionError(
                f'format("psoup") has no option {", ".join(map(repr, strange))} here.'
                f" It has: {listed}."
            )

    def text(self, name: str) -> str | None:
        """Return an option's text; None: not given, or empty."""
        return self._given.get(name.lower()) or None

    def required(self, name: str, example: str) -> str:
        """Return the text of a required option.

        Raises:
            OptionError: it is missing.
        """
        value = self.text(name)
        if value is None:
            raise OptionError(
                f'format("psoup") needs the option {name!r}, as in .option("{name}", "{example}").'
            )
        return value

    def number(self, name: str, *, least: int) -> int | None:
        """Return a whole number of at least `least`, or None.

        Raises:
            OptionError: it is something else.
        """
        return self._parsed(
            name, f"a whole number from {least} on", lambda text: _from(text, least)
        )

    def seconds(self, name: str, default: float) -> float:
        """Return a number of seconds, 0 or more.

        Raises:
            OptionError: it is something else.
        """
        found = self._parsed(name, "a number of seconds, 0 or more", _seconds)
        return default if found is None else found

    def truth(self, name: str) -> bool:
        """Return true or false; false if it was not given.

        Raises:
            OptionError: it is something else.
        """
        truths = {"true": True, "false": False}
        return bool(self._parsed(name, "true or false", lambda text: truths[text.lower()]))

    def one_of(self, name: str, choices: tuple[str, ...]) -> str | None:
        """Return one of `choices`; None: not given.

        Raises:
            OptionError: it is something else.
        """
        expected = "one of " + ", ".join(choices)
        return self._parsed(name, expected, lambda text: choices[choices.index(text.lower())])

    def connection(self) -> Connection:
        """Return the connection to the service.

        Raises:
            AddressError, OptionError: the URL, the token or `retrySeconds` is malformed.
        """
        token = self.text("token")
        return Connection(
            url=checked_url(self.required("url", "http://127.0.0.1:8000")),
            token=None if token is None else checked_token(token),
            retry_s=self.seconds("retrySeconds", RETRY_S_DEFAULT),
        )

    def _parsed(self, name: str, expected: str, parse: Callable[[str], _Value]) -> _Value | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            return parse(text)
        except (ValueError, KeyError):
            raise OptionError(f"The option {name!r} is {text!r}: expected {expected}.") from None


def write_options(given: Mapping[str, str]) -> WriteOptions:
    """Return the options of a write.

    Raises:
        AddressError, OptionError: names the malformed option, and what is expected.
    """
    options = SparkOptions(given, known=_EVERYWHERE + _WRITING)
    clock = options.one_of("clock", tuple(ClockKind))
    retention: dict[str, str | int | None] = {
        "time": options.text("retentionTime"),
        "rows": options.number("retentionRows", least=1),
        "bytes": options.text("retentionBytes"),
    }
    found = WriteOptions(
        connection=options.connection(),
        stream=options.required("stream", "trades"),
        create=options.truth("createStream"),
        time=options.text("time"),
        clock=None if clock is None else ClockKind(clock),
        retention={name: value for name, value in retention.items() if value is not None},
        txn=_txn(options),
        compression=Compression(options.one_of("compression", tuple(Compression)) or "zstd"),
    )
    if not found.create and (found.time or found.clock or found.retention):
        raise OptionError(
            "The options 'time', 'clock' and 'retention...' say how a stream is declared: add"
            ' .option("createStream", "true"), or leave them out.'
        )
    return found


def read_options(given: Mapping[str, str]) -> SparkOptions:
    """Return the options of a read.

    Raises:
        OptionError: names the unknown options.
    """
    return SparkOptions(given, known=_EVERYWHERE + _READING)


def _txn(options: SparkOptions) -> tuple[str, int] | None:
    app, version = options.text("txnAppId"), options.number("txnVersion", least=0)
    if app is None and version is None:
        return None
    if app is None or version is None:
        raise OptionError(
            "The options 'txnAppId' and 'txnVersion' go together: the name of the job, and a number"
            " that grows with each of its writes."
        )
    return app, version


def _from(text: str, least: int) -> int:
    number = int(text)
    if number < least:
        raise ValueError
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 <= number < float("inf"):
        raise ValueError
    return number
