"""What is asked of a query at an invocation, and what it answers."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psoup.engine.results.contract import Cut, Gen
from psoup.engine.results.delta import QueryRecord
from psoup.engine.tuples.batch import Column, Seq
from psoup.engine.tuples.value_type import value_type


class PartPosition(NamedTuple):
    """One stream of FROM at the position of an answer. Hashed and compared without a call of Python.

    Attributes:
        past_row: rows of the stream at that position.
        floor_row, floor_us: retention's floors at that position.
    """

    past_row: int
    floor_row: int
    floor_us: int | None


@value_type
class PagePosition:
    """Where a page begins, and which answer it belongs to: what a page token holds.

    Attributes:
        gen, seq, now_us: the position and the instant of the answer.
        parts: its streams, in FROM order.
        complete_from_us: as in the answer.
        oldest_rows: for each of them the smallest row number in the answer, or a smaller one: once it is dropped,
            so is the answer.
        offset: rows of the answer before this page.
    """

    gen: Gen
    seq: Seq
    now_us: int
    parts: tuple[PartPosition, ...]
    complete_from_us: int | None
    oldest_rows: tuple[int, ...]
    offset: int = 0

    def behind(self, offset: int, oldest_rows: tuple[int, ...]) -> "PagePosition":
        """Return the position in the same answer behind `offset` rows. Faster than `replace`."""
        return PagePosition(
            self.gen,
            self.seq,
            self.now_us,
            self.parts,
            self.complete_from_us,
            oldest_rows,
            offset,
        )

    def whole(self) -> "PagePosition":
        """Return the position of the answer that the page belongs to: one for all of its pages."""
        if not self.offset and not any(self.oldest_rows):
            return self
        return self.behind(0, (0,) * len(self.parts))

    def first_row(self, source: int) -> int:
        """Return the first row of a source that may be in the answer."""
        return max(self.oldest_rows[source], self.parts[source].floor_row)


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
        tuple_ids: (n,) the rows' tuple ids; (p, n) those of the parts, in FROM order, of a join of p streams.
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
