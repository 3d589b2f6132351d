"""A store of the layout before this one is given checksums, by the engine that takes it over, before it is opened.

Nobody appends or publishes meanwhile: its run is closed first, which every Function asks about. Each write says again
what it would say after an interruption, and the number of the layout comes last. So an engine that is killed amid it
leaves a store that the next one goes on with. What was damaged before cannot be told by checksums that are made now:
what cannot be decoded is refused.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import orjson

from psoup.engine import limits
from psoup.engine.errors import IntegrityError
from psoup.engine.log.operation import StageId
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from psoup.storage import keys
from psoup.storage.encoding.checksums import body_sum, bound_sum, head_sum, opened, signed
from psoup.storage.encoding.histories import pairs
from psoup.storage.encoding.records import (
    FORMAT,
    decode_batch,
    decode_clause,
    decode_content,
    decode_declaration,
    decode_query,
)
from psoup.storage.redis.calls.client import Argument, RedisClient
from psoup.storage.redis.calls.write_token import WriteToken
from psoup.storage.redis.fsck import seals
from psoup.storage.redis.fsck.log import SUM, log_entries
from psoup.storage.redis.fsck.records import DAMAGED
from psoup.storage.redis.fsck.scanning import scan_keys

EARLIER: Final = 6
"""The layout that is given checksums."""
FIELDS_PER_FETCH: Final = 64
STREAM_COUNTERS: Final = 9
"""Of a stream's record, behind its id."""

Row = tuple[str, Argument, bytes]
"""Key, field and value to be written."""


def upgrade(client: RedisClient, token: WriteToken, *, meanwhile: Callable[[], None]) -> None:
    """Give a store of layout EARLIER its checksums. `meanwhile` is called all along: reading alone may outlast a lease.

    Cost: all that the store holds goes over the connection once, and back but for the bodies.

    Raises:
        IntegrityError: something in it cannot be decoded, or it has been of this layout: META is damaged, and checksums
            that are made anew would hide what else is. It stays of the earlier layout.
        FencedError: another engine has taken over.
    """
    _check_meta(client)
    writer = _Writer(token, meanwhile)
    writer.write([(keys.META, "run", b"")])
    names = sorted(scan_keys(client, f"{keys.TAG}*"))
    for key in names:
        writer.write(_signed_rows(client, key, meanwhile))
        writer.write(_part_rows(client, key))
        writer.write(_history_rows(client, key))
    writer.write(_entry_rows(client, meanwhile))
    for key in names:
        writer.write(seal_rows(client, key))
    meta = pairs(client.fetch_one("HGETALL", keys.META))
    fmt = b"%d" % keys.LAYOUT_VERSION
    total = seals.record_sum(meta | {b"fmt": fmt}, seals.META_FIELDS)
    writer.write([(keys.META, "sum", total), (keys.META, "fmt", fmt)])


def seal_rows(client: RedisClient, key: str) -> list[Row]:
    """Return the seal of a hash, or the sum of a record, of what is in it now; nothing for any other key."""
    fields, sealed = seals.record_fields(key), seals.sealed_hash(key)
    if fields is not None:
        total = seals.record_sum(pairs(client.fetch_one("HGETALL", key)), fields)
        return [(key, "sum", total)]
    if sealed is None:
        return []
    answer, _ = client.fetch(sealed.commands())
    return [(sealed.seals, key, b"%d" % sealed.of(answer))]


class _Writer:
    """Writes rows to a store of the earlier layout, in slices."""

    def __init__(self, token: WriteToken, meanwhile: Callable[[], None]) -> None:
        self._token = token
        self._meanwhile = meanwhile

    def write(self, rows: "Iterator[Row] | list[Row]") -> None:
        part: list[Row] = []
        size = 0
        for row in rows:
            full = len(part) == limits.PUBLISH_WRITES_MAX
            if part and (full or size + len(row[2]) > limits.PUBLISH_BYTES_MAX):
                self._call(part)
                part, size = [], 0
            part.append(row)
            size += len(row[2])
        if part:
            self._call(part)

    def _call(self, rows: list[Row]) -> None:
        self._meanwhile()
        numbers: dict[str, int] = {}
        arguments: list[Argument] = [EARLIER]
        for key, field, value in rows:
            arguments += [numbers.setdefault(key, len(numbers) + 2), field, value]
        self._token.call("psoup_upgrade", [keys.META, *numbers], arguments)


def _check_meta(client: RedisClient) -> None:
    """Raise IntegrityError where META has another sum than an upgrade that was interrupted has left it."""
    meta = pairs(client.fetch_one("HGETALL", keys.META))
    if b"sum" in meta and meta[b"sum"] != seals.record_sum(meta, seals.META_FIELDS):
        raise IntegrityError(
            f"{keys.META} is damaged: it says layout {EARLIER}, and its checksum is another one's. Restore the store"
            " from a copy."
        )


def _signed_rows(client: RedisClient, key: str, meanwhile: Callable[[], None]) -> Iterator[Row]:
    """Yield the values of the engine's that have no checksum yet."""
    is_result = seals.HITS.fullmatch(key) or seals.OF_RESULTS.fullmatch(key)
    if not is_result or key == keys.GARBAGE:
        return
    names = client.fetch_one("HKEYS", key)
    for at in range(0, len(names), FIELDS_PER_FETCH):
        meanwhile()
        some = names[at : at + FIELDS_PER_FETCH]
        values = client.fetch_one("HMGET", key, *some)
        for field, value in zip(some, values, strict=True):
            if not _is_signed(key, field, value):
                _check(key, field, value)
                yield key, field, signed(key, field, value)


def _is_signed(key: str, field: bytes, value: bytes) -> bool:
    try:
        opened(key, field, value)
    except IntegrityError:
        return False
    return True


def _check(key: str, field: bytes, value: bytes) -> None:
    """Raise IntegrityError where a record cannot be decoded."""
    try:
        match key:
            case keys.STREAMS:
                _decode_stream(value)
            case keys.DECLARATIONS:
                decode_declaration(value)
            case keys.CLAUSES:
                decode_clause(value)
            case keys.QUERIES:
                decode_query(value)
            case _ if key.startswith(keys.batches(StreamId(0))[:-1]):
                decode_batch(StreamId(0), Seq(int(field)), value)
            case _:
                pass
    except DAMAGED as error:
        name = field.decode(errors="replace")
        raise IntegrityError(f"The value of {key} under {name} cannot be decoded.") from error


def _decode_stream(value: bytes) -> None:
    """Decode a stream's record without its declaration."""
    version, _, *counters = orjson.loads(value)
    assert (version, len(counters)) == (FORMAT, STREAM_COUNTERS)


def _part_rows(client: RedisClient, key: str) -> list[Row]:
    """Return the sum of a staged part's body."""
    if not key.startswith(keys.PART_PREFIX) or key.endswith(":b"):
        return []
    stage_id = StageId(key.removeprefix(keys.PART_PREFIX))
    body = client.fetch_one("HGET", keys.body(stage_id), "b")
    return [(key, "c", body_sum(body or b"").encode())]


def _history_rows(client: RedisClient, key: str) -> Iterator[Row]:
    """Yield the rows of a history's parts, with the sums of their bodies."""
    if not key.startswith(f"{keys.HISTORIES}:") or not key.endswith(":p"):
        return
    bodies = f"{key.removesuffix(':p')}:b"
    for number, row in pairs(client.fetch_one("HGETALL", key)).items():
        facts = row.split()[:4]
        body = client.fetch_one("HGET", bodies, number)
        yield key, number, b" ".join([*facts, body_sum(body or b"").encode()])


def _entry_rows(client: RedisClient, meanwhile: Callable[[], None]) -> Iterator[Row]:
    """Yield the sums of the log's entries that have none yet."""
    for seq, fields in log_entries(client):
        meanwhile()
        try:
            decode_content(fields[b"k"].decode(), fields[b"h"], b"")
            total = _entry_sum(Seq(seq), fields)
        except DAMAGED as error:
            raise IntegrityError(f"Operation {seq} of the log cannot be decoded.") from error
        if fields[SUM] != total:
            yield keys.SUMS, seq, total


def _entry_sum(seq: Seq, fields: Mapping[bytes, bytes]) -> bytes:
    sums = head_sum(fields[b"k"], fields[b"h"]), body_sum(fields[b"b"])
    return bound_sum(seq, (fields[b"t"], fields[b"i"]), sums)
