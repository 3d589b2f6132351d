"""What is asked of a query at an invocation, and what it answers."""

import numpy as np
from numpy.typing import NDArray

from engine.results.contract import Cut, Gen
from engine.results.delta import QueryRecord
from engine.tuples.batch import Column, Seq
from engine.tuples.value_type import value_type


@value_type
class PagePosition:
    """Where a page begins, and which answer it belongs to: what a page token holds.

    Attributes:
        gen, seq, now_us: the position and the instant of the answer.
        past_row: rows of the stream at that position.
        floor_row, floor_us: retention's floors at that position.
        complete_from_us: as in the answer.
        oldest_row: the smallest row number in the answer: once it is dropped, so is the answer.
        offset: rows of the answer before this page.
    """

    gen: Gen
    seq: Seq
    now_us: int
    past_row: int
    floor_row: int
    floor_us: int | None
    complete_from_us: int | None
    oldest_row: int = 0
    offset: int = 0


@value_type
class Request:
    """What is asked of a query.

    Attributes:
        limit: rows of a page at most; at least 1.
        now_us: the instant asked about; None = NOW. Ignored where there is a `position`.
        position: the page to continue with; None = the first page of a new answer.
        min_seq: do not answer from before this position.
        count_only: the count and the rest of the answer, but no rows.
    """

    limit: int
    now_us: int | None = None
    position: PagePosition | None = None
    min_seq: Seq | None = None
    count_only: bool = False


@value_type
class Answer:
    """One page of an answer.

    Attributes:
        cut: the position answered from; for a later page that of the first.
        query: the query asked.
        now_us: the instant; None where NOW is a high-water mark and there is no tuple yet.
        begin_us, end_us: the window at that instant, both inclusive; None = open.
        count: rows of the whole answer.
        complete_from_us: None if the window lies inside retention, else the time from which it does.
        columns: name and values of each output; () for a count.
        tuple_ids: (n,) the rows' tuple ids.
        leaves_us: (n,) the instants at which they leave the window; None = they never do.
        at: the position of this page; None where `now_us` is.
        next: the position of the next page; None = there is none.
    """

    cut: Cut
    query: QueryRecord
    now_us: int | None
    begin_us: int | None
    end_us: int | None
    count: int
    complete_from_us: int | None
    columns: tuple[tuple[str, Column], ...]
    tuple_ids: NDArray[np.int64]
    leaves_us: NDArray[np.int64] | None
    at: PagePosition | None
    next: PagePosition | None
