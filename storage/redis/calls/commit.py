"""psoup_part_add, psoup_part_discard and psoup_commit: parts and commits as calls, and their answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from psoup.engine import limits
from psoup.engine.limits import SECOND_US
from psoup.engine.log.contract import Appended
from psoup.engine.log.operation import Commit, Rows, Staged, StageId, Txn, sum_digests
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from psoup.storage import keys, refusals
from psoup.storage.encoding.checksums import body_sum, head_sum
from psoup.storage.encoding.records import encode_content
from psoup.storage.redis.calls.append import declared
from psoup.storage.redis.calls.client import Argument, Call, Command

_FIELDS: Final = ("s", "m", "r", "d")
"""Of a part: its stream's id and name, rows, digest."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What is known of a part before its commit."""

    stream_id: StreamId
    name: str
    rows: int
    digest: bytes


def part_call(part: Staged) -> Call:
    """Return the call that stages `part`."""
    assert len(part.body) <= limits.ENTRY_BYTES_MAX, "the app refuses larger batches"
    return (
        "psoup_part_add",
        [
            keys.HEAD,
            keys.PARTS,
            keys.part(part.stage_id),
            keys.LOG_STREAMS,
            keys.body(part.stage_id),
        ],
        [
            *_common(),
            part.stage_id,
            part.name,
            part.stream_id,
            declared(part.declared),
            part.rows,
            part.digest.hex(),
            part.body,
            round(limits.STAGE_LIFE_S * SECOND_US),
            limits.STAGED_BYTES_MAX,
            body_sum(part.body),
        ],
    )


def read_expiry(answer: Sequence[bytes]) -> int:
    """Return when a part expires by the answer to its call. Raises what `Log.stage` does."""
    match answer[0]:
        case b"STALE":
            raise refusals.stale_declaration()
        case b"STAGED":
            raise refusals.staged_full()
        case _:
            return int(answer[1])


def discard_call(stage_id: StageId) -> Call:
    """Return the call that discards a part."""
    touched = [keys.HEAD, keys.PARTS, keys.part(stage_id), keys.body(stage_id)]
    return "psoup_part_discard", touched, _common()


def look_commands(commit: Commit) -> list[Command]:
    """Return the reads of what `commit_call` has to know of the parts."""
    return [("HMGET", keys.part(stage_id), *_FIELDS) for stage_id in commit.stages]


def commit_call(commit: Commit, looked: Sequence[Sequence[bytes | None]]) -> Call:
    """Return the call that commits, by the answers of `look_commands`.

    What is looked at never changes as long as the part is there, and what is not there does not come: an id is
    never used again.
    """
    found = [_found(values) for values in looked]
    digests: dict[StreamId, list[bytes]] = {}
    for part in found:
        if part is not None:
            digests.setdefault(part.stream_id, []).append(part.digest)
    txns = {
        stream_id: Txn(commit.app, commit.version, sum_digests(listed))
        for stream_id, listed in digests.items()
    }
    arguments: list[Argument] = [
        *_common(),
        limits.APP_DIGESTS_KEPT,
        limits.APPS_COUNT_MAX,
        limits.BACKLOG_OPERATIONS_MAX,
        limits.BACKLOG_BYTES_MAX,
        limits.COMMIT_BYTES_MAX,
        keys.name_hash(commit.app),
        commit.version,
        len(txns),
    ]
    for stream_id, txn in txns.items():
        arguments += [stream_id, txn.digest.hex()]
    left = len(found)
    for stage_id, part in zip(commit.stages, found, strict=True):
        left -= 1
        header, sum_ = b"", ""
        if part is not None:
            header = _header(part, txns[part.stream_id], more=left > 0)
            sum_ = head_sum(b"rows", header)
        arguments += [stage_id, header, sum_]
    touched = [keys.HEAD, keys.LOG, keys.SIZES, keys.LOG_STREAMS, keys.LOG_APPS, keys.OWNERS]
    producers = [keys.producers(stream_id) for stream_id in txns]
    return "psoup_commit", [*touched, keys.PARTS, keys.BODIES, keys.EMPTY, *producers], arguments


def read_commit(answer: Sequence[bytes]) -> Appended:
    """Return what became of a commit by the answer to its call. Raises what `Log.commit` does.

    Of an answer of another version that is not known: CommitUnknownError.
    """
    try:
        return _committed(answer)
    except (IndexError, ValueError):
        raise refusals.unknown_answer() from None


def _committed(answer: Sequence[bytes]) -> Appended:
    """Return what an answer says, or raise it. IndexError or ValueError: it is of another version."""
    what, *facts = answer
    match what:
        case b"OK":
            seq, arrival_us, rows = map(int, facts)
            return Appended(Seq(seq), arrival_us, rows=rows)
        case b"DUP":
            return Appended(Seq(int(facts[0])), int(facts[2]), duplicate=True)
        case b"MISSING":
            raise refusals.stage_missing([stage_id.decode() for stage_id in facts])
        case b"LARGE":
            raise refusals.commit_too_large()
        case b"TXN":
            raise refusals.txn_content_differs(int(facts[0]))
        case b"QUOTA":
            raise refusals.apps_quota()
        case b"BACKLOG":
            raise refusals.backlog_full()
        case _:
            raise refusals.unknown_answer()


def _common() -> list[Argument]:
    return [keys.META, keys.PART_PREFIX, limits.STAGE_MARK_BYTES]


def _found(values: Sequence[bytes | None]) -> _Found | None:
    stream_id, name, rows, digest = values
    if stream_id is None or name is None or rows is None or digest is None:
        return None
    return _Found(
        StreamId(int(stream_id)), name.decode(), int(rows), bytes.fromhex(digest.decode())
    )


def _header(part: _Found, txn: Txn, *, more: bool) -> bytes:
    """Return the header of the part's entry, whose body stays where it is."""
    return encode_content(Rows(part.stream_id, part.name, part.rows, b"", txn, more))[1]
