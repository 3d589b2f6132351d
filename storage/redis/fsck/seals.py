"""What the Functions write by themselves, and which keys and fields there are: compared with their seals.

A server that has read damaged files has a text that was changed, a field under another name, or not at all. So each
hash has a seal, which `seals.lua` keeps with every write: the sum of one number for each field. The number is of
field and value; of hits, which are large and have checksums of their own, of the field alone. A record (head, META,
staged part, history) has a sum of its values in its field `sum`. Each key is compared of one instant, so others may
write meanwhile.
"""

import hashlib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from psoup.engine.errors import IntegrityError
from psoup.engine.verify.difference import Difference
from psoup.storage import keys
from psoup.storage.redis.calls.client import Command, RedisClient
from psoup.storage.redis.calls.tidy import scan_hash
from psoup.storage.redis.fsck.parts import lost_parts
from psoup.storage.redis.fsck.scanning import scan_keys

SHOWN_MAX: Final = 3
"""Damaged keys that an error names: `psoup fsck` lists all."""

HEAD_FIELDS: Final = (
    b"seq ts tuple_id bytes waiting controls_from staged parts_from parts_past".split()
)
META_FIELDS: Final = b"fmt cluster gen applied ts untidy page_key lost".split()
PART_FIELDS: Final = b"n s m r d x z v c".split()
HISTORY_FIELDS: Final = b"j f q g a x s w c v d o n z e m i l".split()
"""What the sum of a record is of, in this order: as in seals.lua, which a test compares."""

_ONE: Final = re.escape(keys.PART_PREFIX) + r"[^:]+"
RECORDS: Final = (
    (re.compile(re.escape(keys.HEAD)), HEAD_FIELDS),
    (re.compile(re.escape(keys.META)), META_FIELDS),
    (re.compile(_ONE), PART_FIELDS),
    (re.compile(re.escape(keys.HISTORIES) + r":[^:]+"), HISTORY_FIELDS),
)
HITS: Final = re.compile(r"\{ps\}:(r:\d+:\d+|b:\d+:\d+|j:\d+)")
OF_RESULTS: Final = re.compile(r"\{ps\}:([sdcqeg]|x:\d+)")
OF_LOG: Final = re.compile(r"\{ps\}:(log:([sqnraboktzeyi]|p:\d+(:e)?)|h|h:[^:]+:p)")
UNSEALED: Final = re.compile(r"\{ps\}:(log|log:[cv]|f|v|log:g:[^:]+:b|h:[^:]+:b)")
"""The log and its sums check each other, and so do bodies and their sums."""


@dataclass(frozen=True, slots=True)
class _Sealed:
    """A hash and where its seal is. `named`: that is of its fields alone."""

    key: str
    seals: str
    named: bool

    def commands(self) -> list[Command]:
        """Return what is read of it: the hash, and its seal."""
        return [("HKEYS" if self.named else "HGETALL", self.key), ("HGET", self.seals, self.key)]

    def of(self, answer: Sequence[bytes]) -> int:
        """Return the seal of a hash of this content."""
        if self.named:
            return seal(dict.fromkeys(answer, b""))
        return seal(dict(zip(answer[::2], answer[1::2], strict=True)))


def check_seals(client: RedisClient, *, meanwhile: Callable[[], None]) -> None:
    """Raise IntegrityError unless every key is as it was written, and where the index of parts says that it is.

    `meanwhile` is called between two keys.

    Cost: the names of all fields, and all that is not hits, bodies and entries, go over the connection once.
    """
    faults: list[Difference] = []
    for fault in itertools.chain(
        seal_faults(client, meanwhile=meanwhile), lost_parts(client, meanwhile=meanwhile)
    ):
        faults.append(fault)
        if len(faults) == SHOWN_MAX:
            break
    if faults:
        raise IntegrityError(
            f"The store is damaged: {'; '.join(fault.detail for fault in faults)}. Restore it from a"
            " copy; psoup fsck lists all that is damaged."
        )


def seal_faults(
    client: RedisClient, *, meanwhile: Callable[[], None] = lambda: None
) -> Iterator[Difference]:
    """Yield keys that are not as they were written, that are missing, or that psoup never wrote."""
    for key in names_of(client):
        meanwhile()
        fields = record_fields(key)
        sealed = sealed_hash(key)
        if fields is not None:
            fault = _record_fault(client, key, fields)
        elif sealed is not None:
            fault = _hash_fault(client, sealed)
        else:
            fault = None if UNSEALED.fullmatch(key) else f"{key} is no key of psoup's"
        if fault is not None:
            yield Difference("keys", fault)


def record_fields(key: str) -> Sequence[bytes] | None:
    """Return the fields that the sum of this record is of; None = it is no record."""
    return next((fields for pattern, fields in RECORDS if pattern.fullmatch(key)), None)


def sealed_hash(key: str) -> _Sealed | None:
    """Return the sealed hash under this key; None = it is none."""
    if HITS.fullmatch(key):
        return _Sealed(key, keys.RESULT_SEALS, named=True)
    if OF_RESULTS.fullmatch(key):
        return _Sealed(key, keys.RESULT_SEALS, named=False)
    return _Sealed(key, keys.LOG_SEALS, named=False) if OF_LOG.fullmatch(key) else None


def seal(rows: Mapping[bytes, bytes]) -> int:
    """Return the seal of a hash (`item` in seals.lua)."""
    return sum(
        int(hashlib.sha1(field + b"\0" + value, usedforsecurity=False).hexdigest()[:8], 16)
        for field, value in rows.items()
    )


def record_sum(rows: Mapping[bytes, bytes], fields: Sequence[bytes]) -> bytes:
    """Return the sum of a record (`close` in seals.lua)."""
    text = b"\0".join(rows.get(field, b"") for field in fields)
    return hashlib.sha1(text, usedforsecurity=False).hexdigest()[:16].encode()


def names_of(client: RedisClient) -> list[str]:
    """Return the keys that are there, and those that have a seal."""
    found = scan_keys(client, f"{keys.TAG}*")
    for seals in (keys.LOG_SEALS, keys.RESULT_SEALS):
        found |= {name.decode(errors="replace") for name in scan_hash(client, seals)}
    return sorted(found)


def _record_fault(client: RedisClient, key: str, fields: Sequence[bytes]) -> str | None:
    flat = client.fetch_one("HGETALL", key)
    rows = dict(zip(flat[::2], flat[1::2], strict=True))
    if not rows:
        return None  # it went meanwhile: it is the index that says what has to be there
    said, found = rows.get(b"sum", b"nothing"), record_sum(rows, fields)
    return None if said == found else _told(key, said, found)


def _hash_fault(client: RedisClient, one: _Sealed) -> str | None:
    content, seal_of = one.commands()
    while True:  # not in one transaction, which a server without memory refuses
        before, answer, after = client.fetch([seal_of, content, seal_of])
        if before == after:
            break
    said, found = before or b"0", b"%d" % one.of(answer)
    return None if said == found else _told(one.key, said, found)


def _told(key: str, said: bytes, found: bytes) -> str:
    text = said.decode(errors="replace")
    return f"{key} is not as it was written: its seal says {text}, and its fields give {found.decode()}"
