"""Records of histories as bytes, and back."""

from collections.abc import Mapping, Sequence
from typing import Final

import orjson

from psoup.engine.log.operation import QueryId
from psoup.engine.results.contract import Gen
from psoup.engine.store.archive_answers import (
    AskedHistory,
    History,
    HistoryId,
    HistoryPart,
    HistoryState,
    Place,
)
from psoup.engine.tuples.batch import Seq
from psoup.storage.encoding.checksums import body_sum
from psoup.storage.encoding.records import FORMAT

Record = Mapping[bytes, bytes]
_NO_PLACE: Final = "-"


def encode_asked(asked: AskedHistory) -> bytes:
    """Return what is asked as a record keeps it."""
    return orjson.dumps(
        [
            FORMAT,
            asked.history_id,
            asked.query_id,
            asked.sql,
            asked.gen,
            asked.seq,
            asked.now_us,
            asked.window_us,
            asked.asked_now_us,
        ]
    )


def decode_asked(value: bytes) -> AskedHistory:
    """Return what `encode_asked` wrote."""
    version, history_id, query_id, sql, gen, seq, now_us, window_us, asked_now_us = orjson.loads(
        value
    )
    assert version == FORMAT
    begin_us, end_us = window_us
    return AskedHistory(
        HistoryId(history_id),
        QueryId(query_id),
        sql,
        Gen(gen),
        Seq(seq),
        now_us,
        (begin_us, end_us),
        asked_now_us,
    )


def encode_overflowed(overflowed: Sequence[str]) -> bytes:
    """Return aggregates as a record that is done keeps them, in the place where a failed one says why."""
    return orjson.dumps(list(overflowed)) if overflowed else b""


def decode_history(read_us: bytes, found: Sequence[bytes] | Record) -> History:
    """Return a record as the Functions answer it, behind the time at which they did."""
    record = found if isinstance(found, Mapping) else pairs(found)
    state, said = HistoryState(record[b"s"].decode()), record.get(b"l", b"")
    is_done = state is HistoryState.DONE
    return History(
        decode_asked(record[b"j"]),
        int(record[b"a"]),
        int(read_us),
        int(record[b"x"]),
        state,
        worker=record[b"w"].decode(),
        claimed_us=_optional(record[b"c"]),
        done=int(record[b"d"]),
        of=_optional(record[b"o"]),
        parts=tuple(map(int, record.get(b"m", b"").split(b","))) if record.get(b"m") else (),
        nbytes=int(record[b"z"]),
        complete_from_us=_optional(record.get(b"i", b"")),
        detail="" if is_done else said.decode(),
        overflowed=tuple(orjson.loads(said)) if is_done and said else (),
        ended_us=_optional(record.get(b"e", b"")),
    )


def place_text(place: Place) -> str:
    """Return a place as a part's record keeps it."""
    return ",".join(map(str, place)) or _NO_PLACE


def part_text(part: HistoryPart) -> str:
    """Return what a part's record keeps behind its rows and bytes: first and last place, and the sum of its body."""
    return f"{place_text(part.first)} {place_text(part.last)} {body_sum(part.body)}"


def part_sum(text: bytes) -> str:
    """Return the sum of a part's body, as its record keeps it."""
    return text.rpartition(b" ")[2].decode(errors="replace")


def part_facts(text: bytes) -> tuple[int, Place, Place]:
    """Return rows, first and last place of a part."""
    rows, _, *places, _ = text.decode().split()
    first, last = (
        () if place == _NO_PLACE else tuple(map(int, place.split(","))) for place in places
    )
    return int(rows), first, last


def pairs(flat: Sequence[bytes]) -> dict[bytes, bytes]:
    """Return a hash as a server answers it."""
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _optional(value: bytes) -> int | None:
    return int(value) if value else None
