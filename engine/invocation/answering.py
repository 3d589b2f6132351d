"""What the answers over one stream and over several have in common: their select list and what is around it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.source import Tuples, TupleSource
from psoup.engine.invocation.answer import Answer, PagePosition, Request
from psoup.engine.invocation.cache import InvocationCache
from psoup.engine.query.reading import Reading
from psoup.engine.query.values.evaluate import evaluate
from psoup.engine.query.values.expression import ColumnRef
from psoup.engine.results.contract import Snapshot
from psoup.engine.results.segment_hits import NO_ROWS
from psoup.engine.tuples.batch import Column

Rows = NDArray[np.int64]


def outputs(reading: Reading, parts: Sequence[Tuples]) -> tuple[tuple[str, Column], ...]:
    """Return the select list computed for n rows.

    Args:
        reading: of a clause over p streams.
        parts: for each of these n tuples, with the columns that the select list reads of it.
    """
    count = len(parts[0].times)
    found = [
        (
            output.name,
            parts[expression.source].columns[expression.name]
            if isinstance(expression := output.expression, ColumnRef)
            else evaluate(expression, lambda ref: parts[ref.source].columns[ref.name], count),
        )
        for output in reading.clause.outputs
    ]
    return tuple(found)


def answer_at(
    snapshot: Snapshot,
    at: PagePosition,
    count: int,
    *,
    window_us: tuple[int | None, int | None],
    tuple_ids: Rows,
    columns: tuple[tuple[str, Column], ...],
    leaves_us: Rows | None,
    following: PagePosition | None,
) -> Answer:
    """Return a page as an answer; `window_us` are the ends of the query's window at the position's instant."""
    cut = snapshot.cut
    return Answer(
        cut if cut.seq == at.seq else replace(cut, seq=at.seq),
        snapshot.query,
        at.now_us,
        window_us[0],
        window_us[1],
        count,
        at.complete_from_us,
        columns,
        tuple_ids,
        leaves_us,
        at,
        following,
    )


def nothing_yet(
    source: TupleSource, snapshot: Snapshot, *, request: Request, cache: InvocationCache
) -> Answer:
    """Return the answer of a query whose streams have no tuple to tell NOW by."""
    columns: tuple[tuple[str, Column], ...] = ()
    streams = snapshot.streams
    if not request.count_only:
        reading = cache.reading(snapshot)
        parts = [
            source.tuples(stream.stream_id, names, NO_ROWS)
            for stream, names in zip(streams, reading.names, strict=True)
        ]
        columns = outputs(reading, parts)
    return Answer(
        cut=snapshot.cut,
        query=snapshot.query,
        now_us=None,
        begin_us=None,
        end_us=None,
        count=0,
        complete_from_us=None,
        columns=columns,
        tuple_ids=NO_ROWS if len(streams) == 1 else np.empty((len(streams), 0), dtype=np.int64),
        leaves_us=None,
        at=None,
        next=None,
    )
