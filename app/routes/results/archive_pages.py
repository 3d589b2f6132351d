"""Pages of an answer that a job has computed: cut out of its parts, and written as any page is."""

import bisect
import functools
import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from starlette.responses import Response

from psoup.app.routes.endpoint import Call
from psoup.app.routes.results.caching import NO_CACHE, VARY
from psoup.app.routes.results.pages import (
    HistoryPage,
    encoded_response,
    kept_parameters,
    page_offsets,
    sign_history_page,
)
from psoup.app.wire.answers.encoding import RowSet
from psoup.app.wire.answers.fit import EncodedPage, fit_page
from psoup.app.wire.models.results.archive_answers import progress
from psoup.app.wire.models.results.invocations import (
    Presentation,
    answer_headers,
    encode_answer,
    page_url,
    rows_of,
)
from psoup.app.wire.rows.archive_parts import Slice, page_rows
from psoup.engine import limits
from psoup.engine.errors import PageExpiredError
from psoup.engine.invocation.row_digest import digests
from psoup.engine.invoke import Answer
from psoup.engine.query.canonical import sql_expression
from psoup.engine.query.values.expression import AggregateCall
from psoup.engine.results.contract import Snapshot
from psoup.engine.store.archive_answers import History, PartKey

_NO_IDS: Final = np.empty(0, dtype=np.int64)


class FinishedHistory:
    """A history that is done, being read for one request. Reads the store: blocks."""

    def __init__(self, call: Call, snapshot: Snapshot, history: History) -> None:
        """Read nothing yet; `snapshot` is its query's."""
        self._call = call
        self._snapshot = snapshot
        self._history = history
        self._reading = call.service.invocations.reading(snapshot)
        self._count = sum(history.parts)

    def page_links(self, limit: int) -> list[str]:
        """Return the relative URLs of all pages, `limit` rows each. InvalidFieldError where they are too many."""
        return [
            self._url(offset, min(offset + limit, self._count))
            for offset in page_offsets(self._count, limit)
        ]

    def response(
        self,
        offset: int,
        past: int | None,
        limit: int,
        shown: Presentation,
        *,
        pages: Sequence[str] | None = None,
    ) -> Response:
        """Return the page behind `offset` rows, cut to what a page may have.

        Args:
            offset: rows of the answer before it.
            past: rows of the answer up to which it may reach; None = as far as the answer.
            limit: rows at most.
            shown: how.
            pages: of the answer, where they are to be listed.

        Raises:
            PageExpiredError: the history has gone meanwhile.
        """
        begun_s = time.perf_counter()
        end = self._count if past is None else min(past, self._count)
        limit = 0 if shown.count_only else limit
        answer = self._answer(offset, min(offset + limit, end))
        evaluated_s = time.perf_counter()
        told = progress(self._history)

        def encode(part: Answer, rows: RowSet) -> EncodedPage:
            past_row = offset + rows.length
            ends = past_row >= end or shown.count_only
            link = None if ends else self._url(past_row, past)
            body = encode_answer(
                part, rows, shown, cursor=None, link=link, pages=pages, history=told
            )
            return EncodedPage(body, link)

        page = fit_page(
            answer,
            rows_of=functools.partial(rows_of, shape=self._reading.shape, shown=shown),
            encode=encode,
            bytes_max=limits.PAGE_BYTES_MAX,
            rows_min=1,
        )
        self._call.service.backend.confirm(self._snapshot.cut.gen)
        self._call.service.note_use(self._snapshot.query)
        return encoded_response(
            self._call,
            page.body,
            form=shown.format,
            headers={
                **answer_headers(answer, cursor=None, link=page.link),
                "Cache-Control": NO_CACHE,
                "Vary": VARY,
            },
            begun_s=begun_s,
            evaluated_s=evaluated_s,
        )

    def _answer(self, first: int, past: int) -> Answer:
        """Return rows from `first` on, before `past`, as many of them as a page may need; past <= first: none."""
        history, asked = self._history, self._history.asked
        answer = Answer(
            cut=replace(self._snapshot.cut, seq=asked.seq),
            query=self._snapshot.query,
            now_us=asked.now_us,
            begin_us=asked.window_us[0],
            end_us=asked.window_us[1],
            count=self._count,
            complete_from_us=history.complete_from_us,
            columns=(),
            tuple_ids=_NO_IDS,
            leaves_us=None,
            at=None,
            next=None,
            reset=not first,
            overflowed=self._overflowed(),
        )
        if past <= first:
            return answer
        found = page_rows(self._slices(first, past), self._reading)
        row_ids = found.row_ids
        if row_ids is None and self._reading.shape.distinct:
            row_ids = digests([column for _, column in found.columns])
        return replace(
            answer,
            columns=found.columns,
            tuple_ids=found.tuple_ids,
            leaves_us=found.leaves_us,
            row_ids=row_ids,
        )

    def _overflowed(self) -> tuple[AggregateCall, ...]:
        """Return the aggregates that the job has found to overflow."""
        told = self._history.overflowed
        return tuple(
            [call for call in self._reading.shape.aggregates if sql_expression(call) in told]
        )

    def _slices(self, first: int, past: int) -> Iterator[Slice]:
        """Yield rows from `first` on, before `past`, until their parts have more bytes than two pages may have."""
        nbytes = 0
        for number, begin, end in self._touched(first, past):
            if nbytes > 2 * limits.PAGE_BYTES_MAX:
                return
            body = self._body(number)
            nbytes += len(body)
            yield Slice(body, begin, end)

    def _touched(self, first: int, past: int) -> Iterator[tuple[int, int, int]]:
        """Yield which parts have rows `[first, past)` of the answer: number, first and past row inside the part."""
        parts = self._history.parts
        ends = list(itertools.accumulate(parts))
        for number in range(bisect.bisect_right(ends, first), len(parts)):
            begins = ends[number] - parts[number]
            if begins >= past:
                return
            if parts[number]:
                yield number, max(first - begins, 0), min(past, ends[number]) - begins

    def _body(self, number: int) -> bytes:
        """Return the body of a part. Raises PageExpiredError where it is not there any more."""
        service, history = self._call.service, self._history
        key = PartKey(history.asked.history_id, number, history.worker, history.ended_us)
        body = service.history_parts.get(key)
        if body is None:
            body = service.store.histories.body(key.history_id, number)
            if body is None:
                raise not_kept()
            service.history_parts.put(key, body, size=len(body))
        return body

    def _url(self, offset: int, past: int | None) -> str:
        """Return the relative URL of a page."""
        asked = self._history.asked
        page = HistoryPage(asked.history_id, offset, past)
        token = sign_history_page(self._call, asked.query_id, page)
        kept = kept_parameters(self._call)
        return page_url(f"/v1/queries/{asked.query_id}/results", token, kept)


def not_kept() -> PageExpiredError:
    """Return the refusal of a page whose answer has gone."""
    return PageExpiredError(
        "This page belongs to an answer from the archive that is not kept any more. Invoke the query again, with"
        " history=true."
    )
