"""Entries of the log as operations. The bodies of a commit lie where they were staged, all others in their entries."""

from collections.abc import Mapping, Sequence

from engine.log.operation import Operation, StageId
from engine.tuples.batch import Seq, TupleId
from storage import keys
from storage.encoding import decode_content
from storage.redis_client import Command, RedisClient


def body_command(part: bytes) -> Command:
    """Return the read of a part's body."""
    return ("HGET", keys.body(StageId(part.decode())), "b")


def fetch_entries(
    client: RedisClient, commands: Sequence[Command], parts: Mapping[int, bytes | None]
) -> list[Operation | None]:
    """Return the operations that `commands`, which are XRANGEs, find; None for one whose body was trimmed meanwhile.

    `parts` has the part in which the body of an entry lies, by seq; None = in the entry.
    """
    apart = {seq: part for seq, part in parts.items() if part is not None}
    answers = client.fetch([*map(body_command, apart.values()), *commands])
    bodies = dict(zip(apart, answers, strict=False))
    return [_operation(entry, bodies) for found in answers[len(apart) :] for entry in found]


def fetch_operations(client: RedisClient, seqs: Sequence[Seq]) -> list[Operation]:
    """Return the operations at `seqs`, read together; KeyError if one has been trimmed. Cost: two round trips."""
    parts = client.fetch_one("HMGET", keys.BODIES, *seqs)
    found = fetch_entries(
        client,
        [("XRANGE", keys.LOG, f"{seq}-0", f"{seq}-0") for seq in seqs],
        dict(zip(seqs, parts, strict=True)),
    )
    operations = {operation.seq: operation for operation in found if operation is not None}
    return [operations[seq] for seq in seqs]


def _operation(
    entry: tuple[bytes, list[bytes]], bodies: Mapping[int, bytes | None]
) -> Operation | None:
    entry_id, values = entry
    fields = dict(zip(values[::2], values[1::2], strict=True))
    assert fields[b"f"] == b"1", "an entry of a later layout"
    seq = Seq(int(entry_id.removesuffix(b"-0")))
    body = bodies.get(seq, fields[b"b"])
    if body is None:
        return None
    return Operation(
        seq=seq,
        arrival_us=int(fields[b"t"]),
        first_tuple_id=TupleId(int(fields[b"i"])),
        content=decode_content(fields[b"k"].decode(), fields[b"h"], body),
    )
