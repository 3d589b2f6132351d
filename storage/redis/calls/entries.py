"""Entries of the log as operations. The bodies of a commit lie where they were staged, all others in their entries."""

from collections.abc import Mapping, Sequence
from typing import Final

from psoup.engine.errors import IntegrityError
from psoup.engine.log.operation import Operation, StageId
from psoup.engine.tuples.batch import Seq, TupleId
from psoup.storage import keys
from psoup.storage.encoding.checksums import body_sum, check_entry, head_sum
from psoup.storage.encoding.records import decode_content
from psoup.storage.redis.calls.client import Command, RedisClient

FIELDS: Final = {b"f", b"k", b"t", b"i", b"h", b"b"}
"""Of an entry: format, kind, arrival time, first tuple id, header, body."""


def body_command(part: bytes) -> Command:
    """Return the read of a part's body."""
    return ("HGET", keys.body(StageId(part.decode())), "b")


def fetch_entries(
    client: RedisClient,
    seqs: Sequence[int],
    commands: Sequence[Command],
    parts: Mapping[int, bytes | None],
) -> list[Operation | None]:
    """Return the operations that `commands` find; None for one whose body was trimmed meanwhile. One round trip.

    Args:
        client: connections to the server.
        seqs: all that the commands may find, of entries that are known to have been appended.
        commands: XRANGEs.
        parts: the part in which the body of an entry lies, by seq; None = in the entry.

    Raises:
        DamagedValueError: an entry or its body is not what was appended.
    """
    if not seqs:
        return []
    apart = {seq: part for seq, part in parts.items() if part is not None}
    # Sums first: an entry that is found then had its sum before. They go together.
    sums, *answers = client.fetch(
        [("HMGET", keys.SUMS, *seqs), *map(body_command, apart.values()), *commands]
    )
    said = dict(zip(seqs, sums, strict=True))
    bodies = dict(zip(apart, answers, strict=False))
    return [_operation(entry, bodies, said) for found in answers[len(apart) :] for entry in found]


def fetch_operations(client: RedisClient, seqs: Sequence[Seq]) -> list[Operation]:
    """Return the operations at `seqs`, read together; KeyError if one has been trimmed.

    Raises:
        DamagedValueError: an entry or its body is not what was appended.
        IntegrityError: it is lost, and was not trimmed.

    Cost: two round trips.
    """
    parts = client.fetch_one("HMGET", keys.BODIES, *seqs)
    found = fetch_entries(
        client,
        seqs,
        [("XRANGE", keys.LOG, f"{seq}-0", f"{seq}-0") for seq in seqs],
        dict(zip(seqs, parts, strict=True)),
    )
    operations = {operation.seq: operation for operation in found if operation is not None}
    missing = [seq for seq in seqs if seq not in operations]
    if missing:
        _check_trimmed(client, missing)
    return [operations[seq] for seq in seqs]


def _check_trimmed(client: RedisClient, seqs: Sequence[Seq]) -> None:
    """Raise IntegrityError where entries that were not found are still listed: trimming takes both in one step."""
    for seq, said in zip(seqs, client.fetch_one("HMGET", keys.SUMS, *seqs), strict=True):
        if said is not None:
            raise IntegrityError(
                f"Operation {seq} of the log is damaged: its checksum is there, and its entry or its body is not. Restore"
                " the store from a copy; psoup fsck lists all that is damaged."
            )


def _operation(
    entry: tuple[bytes, list[bytes]],
    bodies: Mapping[int, bytes | None],
    said: Mapping[int, bytes | None],
) -> Operation | None:
    """Return an entry as an operation, once it is what `said` has the sum of."""
    entry_id, values = entry
    seq = Seq(int(entry_id.removesuffix(b"-0")))
    fields = sound_fields(seq, dict(zip(values[::2], values[1::2], strict=True)))
    body = bodies.get(seq, fields[b"b"])
    if body is None:
        return None
    check_fields(seq, fields, body, said.get(seq))
    return decode_entry(seq, fields, body)


def check_fields(seq: Seq, fields: Mapping[bytes, bytes], body: bytes, said: bytes | None) -> None:
    """Raise DamagedValueError unless these are the fields and the body whose sum is `said`."""
    sums = head_sum(fields[b"k"], fields[b"h"]), body_sum(body)
    check_entry(seq, (fields[b"t"], fields[b"i"]), sums, said)


def decode_entry(seq: Seq, fields: Mapping[bytes, bytes], body: bytes) -> Operation:
    """Return the operation of an entry. Trusts it."""
    return Operation(
        seq=seq,
        arrival_us=int(fields[b"t"]),
        first_tuple_id=TupleId(int(fields[b"i"])),
        content=decode_content(fields[b"k"].decode(), fields[b"h"], body),
    )


def sound_fields(seq: Seq, fields: Mapping[bytes, bytes]) -> Mapping[bytes, bytes]:
    """Return the fields of an entry. Raises IntegrityError where they are not those that every entry has."""
    if fields.keys() != FIELDS or fields[b"f"] != b"1":
        raise IntegrityError(
            f"Operation {seq} of the log is damaged: it has other fields than an entry."
        )
    return fields
