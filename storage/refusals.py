"""The refusals of `Log.append`, worded once for every store. No text a user sent is repeated."""

from collections.abc import Sequence

from psoup.engine import limits
from psoup.engine.errors import (
    NO_QUERY,
    NO_STREAM,
    AnswerTooLargeError,
    CommitTooLargeError,
    HasQueriesError,
    HistoryPartsMissingError,
    HistoryTakenError,
    IntegrityError,
    NotFoundError,
    OverloadedError,
    QuotaExceededError,
    RequestKeyReusedError,
    StageMissingError,
    StaleDeclarationError,
    StreamDiffersError,
    TxnContentDiffersError,
)
from psoup.engine.store.errors import (
    CommitUnknownError,
    RecoveringError,
    StoreFullError,
    StoreUnsuitableError,
)

BACKLOG_RETRY_AFTER_S = 1
"""The engine folds thousands of operations a second: a full backlog has room again soon."""
STAGED_RETRY_AFTER_S = 5
"""Staged parts make room as they are committed: a micro-batch takes seconds."""
SETTINGS_RETRY_AFTER_S = 1
"""The engine looks at settings that were changed within a second."""
HISTORIES_RETRY_AFTER_S = 60
"""Histories make room as they expire, an hour after they were done."""


def stream_differs(stream_id: int) -> StreamDiffersError:
    """Return the refusal of a declaration that differs from the one in force."""
    return StreamDiffersError(
        "A stream of this name is declared otherwise. Drop it first, or choose another name.",
        stream_id=stream_id,
    )


def stream_not_found() -> NotFoundError:
    """Return the refusal to touch a stream that is not declared."""
    return NotFoundError(NO_STREAM)


def query_not_found() -> NotFoundError:
    """Return the refusal to touch a query that does not stand."""
    return NotFoundError(NO_QUERY)


def has_queries(queries: int) -> HasQueriesError:
    """Return the refusal to drop a stream that queries read."""
    return HasQueriesError(
        "Standing queries read this stream. Remove them first, or drop it with cascade=true.",
        queries=queries,
    )


def stale_declaration() -> StaleDeclarationError:
    """Return the refusal of an operation that was checked against what is no longer in force."""
    return StaleDeclarationError(
        "The streams or queries this was checked against have changed. Load them and check again."
    )


def txn_content_differs(seq: int) -> TxnContentDiffersError:
    """Return the refusal of other content under a version that is committed."""
    return TxnContentDiffersError(
        "This version is committed with other rows. A producer repeats a version only with the"
        " same rows.",
        seq=seq,
    )


def request_key_reused(seq: int) -> RequestKeyReusedError:
    """Return the refusal of another request under an idempotency key."""
    return RequestKeyReusedError(
        "This idempotency key was sent with another request. Give each request a key of its own, and repeat a key only"
        " with the same body.",
        seq=seq,
    )


def stage_missing(stages: Sequence[str]) -> StageMissingError:
    """Return the refusal of a commit that names parts which are not there."""
    return StageMissingError(
        "Parts of the commit are not staged: unknown, expired, discarded, committed as another version, or"
        " for a stream that was declared anew since. Stage all of its rows again and commit those.",
        stages=list(stages),
    )


def commit_too_large() -> CommitTooLargeError:
    """Return the refusal of a commit of too many bytes."""
    return CommitTooLargeError(
        "The parts are larger together than one commit may be. Commit fewer rows as one version.",
        max_bytes=limits.COMMIT_BYTES_MAX,
    )


def staged_full() -> OverloadedError:
    """Return the refusal of one more part while too much is staged."""
    return OverloadedError(
        "As many bytes as psoup holds are staged. Commit or discard parts; others expire by themselves."
        " Send the same again later.",
        reason="staged-bytes",
        retry_after_s=STAGED_RETRY_AFTER_S,
    )


def history_not_found() -> NotFoundError:
    """Return the refusal to touch a history that is not there."""
    return NotFoundError(
        "There is no such history: it has expired, or its query has been removed. Take another one."
    )


def history_taken() -> HistoryTakenError:
    """Return the refusal to touch a history that another worker has, or that has ended."""
    return HistoryTakenError(
        "The history is not this worker's: another one has claimed it, it has ended, or nobody has claimed it yet."
        " Claim it, or take another one."
    )


def history_parts_missing(parts: Sequence[int]) -> HistoryPartsMissingError:
    """Return the refusal of an end whose parts are not all there; the first of them are named."""
    return HistoryPartsMissingError(
        "Parts of the history are not there. Send them, then say once more that it is done.",
        parts=list(parts),
    )


def history_rows_differ(rows: int) -> HistoryPartsMissingError:
    """Return the refusal of an end that counts other rows than its parts have."""
    return HistoryPartsMissingError(
        f"The parts of the history have {rows} rows together, not as many as were said.",
        parts=[],
        rows=rows,
    )


def history_parts_disordered(part: int) -> HistoryPartsMissingError:
    """Return the refusal of an end with a part whose rows belong in front of earlier ones."""
    return HistoryPartsMissingError(
        f"Part {part} of the history does not begin behind the rows of the parts before it: rows are in order of"
        " their time, then of their ids, over all parts.",
        parts=[part],
    )


def history_too_long() -> AnswerTooLargeError:
    """Return the refusal of a part that makes an answer of too many rows."""
    return AnswerTooLargeError(
        "The answer has more rows than a history may have. Narrow the query's window, or add conditions.",
        limit=limits.HISTORY_ROWS_MAX,
    )


def history_too_large() -> AnswerTooLargeError:
    """Return the refusal of a part that makes an answer of too many bytes."""
    return AnswerTooLargeError(
        "The answer has more bytes than a history may have. Select fewer columns, or narrow the query's window.",
        limit=limits.HISTORY_BYTES_MAX,
    )


def histories_full() -> OverloadedError:
    """Return the refusal of one more history than there may be."""
    return OverloadedError(
        "As many histories as psoup holds are in work or kept. Delete one that is done, or wait until one expires.",
        reason="histories",
        retry_after_s=HISTORIES_RETRY_AFTER_S,
    )


def histories_large() -> OverloadedError:
    """Return the refusal of a part while all histories together have as many bytes as they may."""
    return OverloadedError(
        "As many bytes of histories as psoup holds are kept. Delete one that is done, or wait until one expires.",
        reason="histories-bytes",
        retry_after_s=HISTORIES_RETRY_AFTER_S,
    )


def quota_exceeded(things: str, limit: int) -> QuotaExceededError:
    """Return the refusal of one more of `things` than `limit`."""
    return QuotaExceededError(
        f"There are {limit} {things} already, as many as there may be. Remove some first.",
        limit=limit,
    )


def streams_quota(limit: int) -> QuotaExceededError:
    """Return the refusal of one more stream than the setting `streams` allows."""
    return QuotaExceededError(
        f"There are {limit} streams or more, and the setting PSOUP_STREAMS allows {limit}. Drop a stream first, or"
        f" raise the setting: {limits.STREAMS_COUNT_CEILING} is the most that it takes.",
        limit=limit,
    )


def queries_quota() -> QuotaExceededError:
    """Return the refusal of one more standing query."""
    return quota_exceeded("standing queries", limits.QUERIES_COUNT_MAX)


def apps_quota() -> QuotaExceededError:
    """Return the refusal of one more producer of a stream."""
    return QuotaExceededError(
        f"The stream remembers {limits.APPS_COUNT_MAX} producers that have sent rows, as many as there may be, and"
        " forgets none of them. Send under the name of one of them, with a version above its last.",
        limit=limits.APPS_COUNT_MAX,
    )


def recovering() -> RecoveringError:
    """Return the refusal of any call while nobody has verified this life of the server."""
    return RecoveringError(
        "The store has restarted or is loading; its contents are not verified yet. Try again later."
    )


def settings_changed() -> StoreUnsuitableError:
    """Return the refusal of an operation while nobody knows that the server's settings keep what is promised."""
    return StoreUnsuitableError(
        "The store's settings were changed, and the engine has not found them right since. Nothing was stored. Send"
        " the same again; while it stays so, /readyz says config-drift, and the settings have to be put right.",
        retry_after_s=SETTINGS_RETRY_AFTER_S,
    )


def disk_full() -> StoreFullError:
    """Return the refusal of what adds to a store whose disk is full."""
    return StoreFullError(
        "The store's disk is nearly full. Nothing was stored; reads and removals go on. Free space on it."
    )


def backlog_full() -> OverloadedError:
    """Return the refusal of any operation while too many wait to be applied."""
    return OverloadedError(
        "Too many committed operations wait to be applied. Send the same again later.",
        reason="backlog",
        retry_after_s=BACKLOG_RETRY_AFTER_S,
    )


def publish_out_of_order(*, applied: int, expect: int) -> IntegrityError:
    """Return the refusal of a delta that does not follow the applied one."""
    return IntegrityError(
        f"A delta that follows operation {expect} was published, but {applied} is the applied one:"
        " another engine writes here, or this one lost its place. Stop, and start one engine."
    )


def publish_past_head(*, head: int, seq: int) -> IntegrityError:
    """Return the refusal of a delta for operations that are not in the log."""
    return IntegrityError(
        f"A delta up to operation {seq} was published, but the log ends at {head}: the engine has"
        " folded another history. Stop, and start the engine again."
    )


def hold_past_head(*, head: int, through: int) -> IntegrityError:
    """Return the refusal to hold a stream from where there is nothing yet."""
    return IntegrityError(
        f"A stream was to be held through operation {through}, but the log ends at {head}: that"
        " position is of another history. Begin with what the stream has."
    )


def trim_past_applied(*, applied: int, seq: int) -> IntegrityError:
    """Return the refusal to forget an operation whose effects are not published."""
    return IntegrityError(
        f"Operation {seq} was to be forgotten, but only those up to {applied} are applied."
    )


def read_across_trimmed(*, after: int) -> IntegrityError:
    """Return the refusal to read on where entries have been forgotten."""
    return IntegrityError(
        f"The log was read on after operation {after}, but the next one has been forgotten, because"
        " it is applied. Begin at the applied operation."
    )


def unknown_answer() -> CommitUnknownError:
    """Return the error for an answer to an append that this version cannot read."""
    return CommitUnknownError(
        "The store answers as another version of psoup does: whether the operation was stored is not known. Start engine"
        " and workers of one version, then repeat the same request: with an idempotency key or a producer's headers it"
        " is stored once, without them it may be stored twice."
    )
