"""A body of rows on its way in: read, parsed and checked in full. Sending rows and staging them begin alike."""

import functools
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from psoup.app.backend.catalogue import Declaration
from psoup.app.errors import BodyTooLargeError, UnsupportedMediaError
from psoup.app.routes.endpoint import Call, server_timing
from psoup.app.routes.streams.stream_names import found_stream
from psoup.app.wire.rows.body import (
    ARROW,
    COLUMNS,
    CSV,
    JSON,
    MEDIA_TYPES,
    NDJSON,
    media_type_of,
    read_rows,
)
from psoup.app.wire.rows.warnings import row_warnings
from psoup.engine import limits
from psoup.engine.errors import NO_STREAM, NotFoundError, RowsRejectedError
from psoup.engine.tuples.arrow import encode_batch
from psoup.engine.tuples.digest import digest_rows
from psoup.engine.tuples.few_rows import FewRowsReader
from psoup.engine.tuples.json_text import Form
from psoup.engine.tuples.schema import STREAM_NAME, StreamSchema

Result = TypeVar("Result")

SMALL_BYTES_MAX: Final = 2 * limits.KIB
SMALL_VALUES_MAX: Final = 8_192
"""Rows of a body up to these bounds are checked in the event loop. None of them is larger than ROW_BYTES_MAX."""
_FORMS: Final = {JSON: Form.ARRAY, NDJSON: Form.LINES}
"""Media types of which a few rows become an entry without Arrow."""


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """Rows that fit a stream's declaration, as the log keeps them.

    Attributes:
        declaration: what they were checked against.
        rows: how many.
        body: one Arrow IPC stream.
        digest: of the bag of rows; b"" where nobody asked for it.
        warnings: what is almost always a mistake, as it is answered; empty where nothing is.
    """

    declaration: Declaration
    rows: int
    body: bytes
    digest: bytes
    warnings: list[dict[str, object]]


class ReceivedRows:
    """The rows of one request: received once, and checked again where their stream was declared anew meanwhile."""

    def __init__(self, call: Call, *, digested: bool) -> None:
        """Receive nothing yet; `digested` says whether the rows' digest is needed.

        Raises:
            UnsupportedMediaError: the body is of no media type that is taken.
        """
        self._call = call
        self._digested = digested
        self._media_type = media_type_of(call.header("content-type"))
        self.name = call.path("name")
        self._declared: Declaration | None = None
        self._body = b""
        self._charged = False
        self._begun = self._received = self._parsed = time.perf_counter()
        self._latest = time.monotonic() + call.service.settings.ingest_deadline_s

    @property
    def left_s(self) -> float:
        """Return the seconds until the request is to be answered: its deadline counts from when its body is here."""
        return self._latest - time.monotonic()

    async def receive(self) -> None:
        """Read the body.

        Raises:
            NotFoundError: there is no such stream; the body is not read.
            EngineError: as `Call.raw_body`.
        """
        self._declared = await declaration(self._call, self.name)
        try:
            self._body = await self._call.raw_body(
                bytes_max=limits.BODY_INGEST_BYTES_MAX,
                decoded_bytes_max=limits.BODY_DECODED_BYTES_MAX,
            )
        except BodyTooLargeError as error:
            _name_both_bounds(error)
            raise
        except (
            UnsupportedMediaError
        ) as error:  # its encoding: the media types that are taken are told as well
            error.extras = {"supported_header": ", ".join(MEDIA_TYPES), **error.extras}
            raise
        self._received = time.perf_counter()
        self._latest = time.monotonic() + self._call.service.settings.ingest_deadline_s

    async def stored(self, store: Callable[[CheckedRows], Awaitable[Result]]) -> Result:
        """Return what `store` returns for the rows, checked.

        Where their declaration is not in force any more they are checked and stored once more (`of_declaration`).

        Raises:
            RowsRejectedError, BadBodyError, BodyTooLargeError: as `check_rows`.
            RateLimitedError: the key is over its rate of rows.
            EngineError: what `store` raises.
        """

        async def attempt(found: Declaration) -> Result:
            return await store(await self._checked(found))

        return await of_declaration(self._call, self.name, attempt, first=self._declared)

    def timing(self, last: str) -> str:
        """Return the value of a Server-Timing header; `last` names what was done since the rows were checked."""
        return server_timing(
            {
                "receive": self._received - self._begun,
                "parse": self._parsed - self._received,
                last: time.perf_counter() - self._parsed,
            }
        )

    async def _checked(self, found: Declaration) -> CheckedRows:
        service = self._call.service
        work = functools.partial(
            check_rows,
            self._body,
            self._media_type,
            found,
            service.clock.now_us(),
            digested=self._digested,
        )
        try:
            if is_small(self._body, self._media_type, found):
                checked = work()
            else:
                checked = await service.parsing.run(work, deadline_s=self.left_s)
        except BodyTooLargeError as error:
            _name_both_bounds(error)
            raise
        self._parsed = time.perf_counter()
        if not self._charged:  # an attempt that was stale has paid
            key_id = self._call.caller.key_id
            if key_id is not None:
                self._call.context.rates.take(key_id, "rows", checked.rows)
            self._charged = True
        return checked


def _name_both_bounds(error: BodyTooLargeError) -> None:
    """Let a refusal of too large a body name both bounds of a batch, bytes and rows: who splits it keeps to both."""
    bounds = {"max_bytes": limits.BODY_INGEST_BYTES_MAX, "max_rows": limits.BATCH_ROWS_MAX}
    error.extras = {**bounds, **error.extras}


def is_small(body: bytes, media_type: str, declaration: Declaration) -> bool:
    """Return whether rows are checked in less time than a thread and back take: some ten microseconds.

    A row takes a byte of a text at least, so that the body bounds rows and values. An Arrow body may be compressed:
    its bytes bound nothing.
    """
    if media_type == ARROW or len(body) > SMALL_BYTES_MAX:
        return False
    return len(body) * len(declaration.schema.columns) <= SMALL_VALUES_MAX


def check_rows(
    body: bytes, media_type: str, declaration: Declaration, now_us: int, *, digested: bool
) -> CheckedRows:
    """Return the rows of a body. CPU work: runs in a pool.

    Raises:
        BadBodyError: the body is not of its media type.
        BodyTooLargeError: too many rows, or too many bytes of them for one entry of the log.
        RowsRejectedError: rows that do not fit the stream.
    """
    schema = declaration.schema
    form = _FORMS.get(media_type)
    if form is not None and not digested and is_small(body, media_type, declaration):
        few = _few_rows(schema).read(body, form, latest_us=now_us + schema.future_us)
        if few is not None:
            rows, entry = few
            return CheckedRows(declaration, rows, entry, b"", [])
    batch = read_rows(body, media_type, schema, now_us=now_us)
    digest = digest_rows(schema, batch) if digested else b""
    encoded = encode_batch(batch)
    if len(encoded) > limits.ENTRY_BYTES_MAX:
        raise BodyTooLargeError(
            "The batch is too large for one entry of the log: split it.",
            limit="bytes of typed rows",
            max_bytes=limits.ENTRY_BYTES_MAX,
            max_rows=max(1, batch.num_rows * limits.ENTRY_BYTES_MAX // len(encoded)),
        )
    warnings = row_warnings(batch, schema, b"" if media_type == ARROW else body)
    return CheckedRows(declaration, batch.num_rows, encoded, digest, warnings)


@functools.lru_cache(limits.STREAMS_COUNT_CEILING)
def _few_rows(schema: StreamSchema) -> FewRowsReader:
    """Return the reader of a stream's small bodies."""
    return FewRowsReader(schema)


async def declaration(call: Call, name: str) -> Declaration:
    """Return the stream in force under `name`, as it is known here. Raises NotFoundError."""
    if not STREAM_NAME.fullmatch(name):
        raise NotFoundError(NO_STREAM)
    known = call.service.catalogue.known(name)
    if known is not None:
        return known
    # Not where answers are made: invocations that take long do not hold rows up.
    return await call.service.parsing.run(
        functools.partial(found_stream, call, call.service.catalogue.stream, name),
        deadline_s=call.service.settings.invoke_deadline_s,
    )


async def of_declaration(
    call: Call,
    name: str,
    attempt: Callable[[Declaration], Awaitable[Result]],
    *,
    first: Declaration | None = None,
) -> Result:
    """Return what `attempt` makes of rows, given the declaration of their stream that is known here, or `first`.

    Another process may have changed that. So `attempt` is given the one in force, once more, where the log calls the
    first one stale, and where it has rejected rows that may fit now. Raises NotFoundError where the stream is gone.
    """
    given = first

    async def checked() -> Result:
        nonlocal first, given
        # Only an attempt that was stale looks again: what changed since is for the log to tell.
        given, first = first or await declaration(call, name), None
        return await attempt(given)

    catalogue = call.service.catalogue
    try:
        return await catalogue.retried_once(checked)
    except RowsRejectedError:
        catalogue.forget(name)
        if await declaration(call, name) == given:
            raise
    return await catalogue.retried_once(checked)


# Generators take an object of which nothing more is said for one without members.
_ROW: Final = {"type": "object", "additionalProperties": True}
ROWS_BODY: Final[dict[str, Any]] = {
    "required": True,
    "content": {
        JSON: {"schema": {"anyOf": [{"type": "array", "items": _ROW}, _ROW]}},
        NDJSON: {"schema": {"type": "string"}},
        CSV: {"schema": {"type": "string"}},
        ARROW: {"schema": {"type": "string", "format": "binary"}},
        COLUMNS: {
            "schema": {"type": "object", "additionalProperties": {"type": "array", "items": {}}}
        },
    },
}
"""What the OpenAPI says of such a body."""
