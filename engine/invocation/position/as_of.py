"""A query as of an earlier position: the tuples there were, and the NOW that they told.

A position comes with a number of rows in each stream, and tuples once accepted never change. So what was known at a
position is what is kept now, up to that row: a snapshot of shorter streams. Retention's floors are those of today:
what has been forgotten since is missing, as it is at an earlier instant (`pinning.py`).
"""

import heapq
from collections.abc import Sequence
from dataclasses import replace

from psoup.engine.errors import (
    InvalidFieldError,
    NotFoundError,
    PageExpiredError,
    SeqOutOfRangeError,
)
from psoup.engine.invocation.position.answer import Request
from psoup.engine.invocation.position.pinning import check_reached, latest, newest, oldest
from psoup.engine.results.contract import ResultsReader, Snapshot, StreamBatches
from psoup.engine.results.delta import StreamRecord
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import ClockKind


def as_of(
    results: ResultsReader, snapshot: Snapshot, request: Request, seq: Seq
) -> tuple[Snapshot, Request]:
    """Return the snapshot of a query as of `seq`, and what is then asked of it: the answer at one instant.

    NOW at a position is the largest tuple time up to it. Of the server's clock it is known by tuples that are dated
    by their arrival: when the last of them came.

    Raises:
        NotYetVisibleError: `seq` or `min_seq` is not applied yet.
        SeqOutOfRangeError: NOW at `seq` lies before what retention has kept, or the query has been replaced since.
        InvalidFieldError: NOW is the server's clock, and no tuple tells how it stood.
        PageExpiredError: a stream has gone.

    Cost: O(batches held).
    """
    check_reached(snapshot, replace(request, min_seq=Seq(max(request.min_seq or 0, seq))))
    defined_seq = snapshot.query.defined_seq
    if seq < defined_seq:
        raise SeqOutOfRangeError(
            "The query asked for something else at seq=: ask for a position from `oldest` on.",
            oldest=defined_seq,
        )
    try:
        held = [results.batches(stream.stream_id, Seq(0)) for stream in snapshot.streams]
    except NotFoundError:
        raise PageExpiredError from None
    if any(
        found.stream.rows < seen.rows for found, seen in zip(held, snapshot.streams, strict=True)
    ):
        raise PageExpiredError  # of another history
    present = replace(snapshot, streams=tuple([found.stream for found in held]))
    past = replace(
        present,
        cut=replace(present.cut, seq=seq),
        streams=tuple([_known(found, seq) for found in held]),
    )
    now_us = request.now_us
    if now_us is None:
        now_us = _told(past, seq)
        _check_kept(present, held, now_us)
        past = replace(past, cut=replace(past.cut, server_now_us=now_us or 0))
    return past, replace(request, now_us=now_us, min_seq=None, since=None)


def _known(found: StreamBatches, seq: Seq) -> StreamRecord:
    """Return a stream with the rows, and the largest tuple time, that it had at a position."""
    stream, newest_us = found.stream, None
    rows = stream.rows
    for batch in found.batches:
        if batch.seq > seq:
            rows = batch.first_row
            break
        newest_us = latest((newest_us, batch.newest_us))
    if rows >= stream.floor_row:  # what lies below the floor came before
        newest_us = latest((newest_us, stream.forgotten_us))
    return replace(stream, rows=rows, high_water_us=newest_us)


def _told(past: Snapshot, seq: Seq) -> int | None:
    """Return NOW as tuples told it; None before the first of those that tell it."""
    told_us = latest(stream.high_water_us for stream in past.streams)
    if past.streams[0].schema.clock is ClockKind.HIGH_WATER:
        return told_us
    if told_us is None or any(stream.schema.time is not None for stream in past.streams):
        wrong = [("?now", "is needed: NOW is the server's clock, and no tuple tells how it stood")]
        raise InvalidFieldError(f"NOW at position {seq} is not known.", errors=wrong)
    return told_us


def _check_kept(present: Snapshot, held: Sequence[StreamBatches], now_us: int | None) -> None:
    """Raise unless an instant, NOW of an earlier position, may be asked for."""
    oldest_us = oldest(present)
    if oldest_us is None or now_us == newest(present):
        return
    if now_us is None or now_us < oldest_us:
        raise SeqOutOfRangeError(
            "seq= lies before what retention has kept: ask for a position from `oldest` on.",
            oldest=_first_at(held, oldest_us, otherwise=present.cut.seq),
        )


def _first_at(held: Sequence[StreamBatches], instant_us: int, *, otherwise: Seq) -> Seq:
    """Return the first position at which NOW, as batches that are held tell it, is an instant or later."""
    ascending = heapq.merge(*[found.batches for found in held], key=lambda batch: batch.seq)
    return next((batch.seq for batch in ascending if batch.newest_us >= instant_us), otherwise)
