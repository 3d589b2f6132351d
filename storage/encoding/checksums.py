"""Checksums of what is kept: a value that a bit has changed, or that lies in another place, is named and not read.

A value that the engine writes ends with 8 bytes, the XXH3 of it and of its place: key and field. An entry of the log
has its sum beside it (`keys.SUMS`): the client sends the XXH3 of kind and header, and that of the body; the Function
binds them to the seq, the arrival time and the tuple id that it gives. What the Functions write by themselves is in
`storage/redis/fsck/seals.py`. None of it keeps out who can write to the server: the sums are no secret.
"""

import hashlib
import struct
from typing import Final

import xxhash

from psoup.engine.errors import IntegrityError
from psoup.engine.tuples.batch import Seq

SUM: Final = struct.Struct("<Q")
BOUND_CHARS: Final = 16
"""Of the SHA-1 that binds an entry's sums, in hex: the only one that Functions have."""


class DamagedValueError(IntegrityError):
    """A value is not what was written, or not where. Names the place, what its sum says and what the value gives."""

    def __init__(self, place: str, *, said: str, found: str) -> None:
        """Say where, and both sums."""
        super().__init__(
            f"{place} is damaged: its checksum says {said}, and what is there gives {found}. Restore the"
            " store from a copy; psoup fsck lists all that is damaged."
        )


def signed(key: str, field: object, value: bytes) -> bytes:
    """Return the value as it is kept in this place, 8 bytes longer. Cost: some 0.1 ms a megabyte."""
    return value + SUM.pack(_of_place(key, field, value))


def opened(key: str, field: object, kept: bytes) -> bytes:
    """Return the value that `signed` made for this place. Raises DamagedValueError where it made another."""
    value, said = kept[: -SUM.size], kept[-SUM.size :]
    found = SUM.pack(_of_place(key, field, value))
    if found != said:
        shown = field.decode(errors="replace") if isinstance(field, bytes) else field
        place = f"The value of {key} under {shown}"
        raise DamagedValueError(place, said=said.hex(), found=found.hex())
    return value


def head_sum(kind: bytes, header: bytes) -> str:
    """Return the sum of an entry without its body."""
    return xxhash.xxh3_64_hexdigest(kind + b"\0" + header)


def body_sum(body: bytes) -> str:
    """Return the sum of a body, which is the same wherever it lies."""
    return xxhash.xxh3_64_hexdigest(body)


def check_entry(
    seq: Seq, given: tuple[bytes, bytes], sums: tuple[str, str], said: bytes | None
) -> None:
    """Raise DamagedValueError unless an entry is the one whose sum is kept.

    Args:
        seq: where it lies.
        given: its arrival time and first tuple id, as they are kept.
        sums: of its head and of its body, as they are now.
        said: what is kept under its seq, None = nothing.
    """
    found = bound_sum(seq, given, sums)
    if said != found:
        text = "nothing" if said is None else said.decode(errors="replace")
        raise DamagedValueError(f"Operation {seq} of the log", said=text, found=found.decode())


def bound_sum(seq: Seq, given: tuple[bytes, bytes], sums: tuple[str, str]) -> bytes:
    """Return what psoup_append and psoup_commit keep for an entry (`bound` in append.lua)."""
    text = b"%d %b %b %b" % (seq, *given, " ".join(sums).encode())
    return hashlib.sha1(text, usedforsecurity=False).hexdigest()[:BOUND_CHARS].encode()


def check_body(place: str, body: bytes, said: str) -> None:
    """Raise DamagedValueError unless `said` is the sum of this body."""
    found = body_sum(body)
    if found != said:
        raise DamagedValueError(place, said=said, found=found)


def _of_place(key: str, field: object, value: bytes) -> int:
    place = field if isinstance(field, bytes) else str(field).encode()
    seed = xxhash.xxh3_64_intdigest(key.encode() + b"\0" + place)
    return xxhash.xxh3_64_intdigest(value, seed)
