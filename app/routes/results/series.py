"""A query at a sequence of instants: what a chart draws, by one request and at one position."""

import functools
import time
from collections.abc import Callable, Sequence
from typing import Final

from starlette.responses import Response

from psoup.app.http.access.keys import READ
from psoup.app.routes.endpoint import Call, Endpoint, Shown
from psoup.app.routes.results.caching import NO_CACHE, VARY
from psoup.app.routes.results.pages import (
    BARE_ROWS,
    await_applied,
    await_registered,
    encoded_response,
)
from psoup.app.wire.answers.negotiation import choose_format
from psoup.app.wire.models.results.invocations import Presentation
from psoup.app.wire.models.results.series import SeriesAnswer, encode_series, series_headers
from psoup.app.wire.parameters import (
    COUNT,
    EVERY,
    FROM,
    MIN_SEQ,
    SERIES_FORMAT,
    SHAPE,
    TO,
    Arguments,
    Moment,
    Parameter,
)
from psoup.engine import limits
from psoup.engine.errors import InvalidFieldError, NowOutOfRangeError
from psoup.engine.invocation.position.pinning import instant, oldest
from psoup.engine.log.operation import QueryId
from psoup.engine.results.contract import Snapshot
from psoup.engine.series import series


async def get_series(call: Call) -> Response:
    """Answer a query at a sequence of instants."""
    query_id, arguments, latest = call.query_id(), call.arguments, call.answered_by
    shown = Presentation(
        format=choose_format(arguments.get(SERIES_FORMAT), call.header("accept")),
        shape=arguments.get(SHAPE) or "rows",
        count_only=arguments.get(COUNT) == "only",
    )
    await await_registered(call, query_id, latest=latest)
    min_seq = arguments.get(MIN_SEQ)
    if min_seq is not None:
        await await_applied(call, min_seq, latest=latest)
    return await call.answered(functools.partial(_response, call, query_id, shown), latest=latest)


def instants_asked(arguments: Arguments) -> Callable[[Snapshot], Sequence[int]]:
    """Return what finds the instants that the parameters ask for, given a snapshot of the query.

    It raises InvalidFieldError where they lead nowhere, to too many points, or outside of the years that can be
    written, and NowOutOfRangeError where they end after NOW, or before what retention has kept. Counted from a NOW that
    there is not yet, there are none.
    """
    first, last = arguments.get(FROM), arguments.get(TO)
    every_us: int | None = arguments.get(EVERY)

    def found(snapshot: Snapshot) -> Sequence[int]:
        now_us = instant(snapshot, None)
        back = every_us is not None and every_us < 0
        late, early = (first, last) if back else (last, first)
        late_us = _checked(
            snapshot, (late or Moment(0, from_now=True)).at(now_us), FROM if back else TO
        )
        if late_us is None:
            return ()
        early_parameter = TO if back else FROM
        if early is None:
            early_us: int | None = _window_begin(snapshot, late_us, early_parameter)
        else:
            early_us = _checked(snapshot, early.at(now_us), early_parameter)
        if early_us is None:
            return ()
        ends = (late_us, early_us) if back else (early_us, late_us)
        return _steps(*ends, every_us or _default_step(snapshot, *ends))

    return found


def _response(call: Call, query_id: QueryId, shown: Presentation) -> Response:
    """Return the series as it is sent. Blocks: runs in a pool."""
    begun_s, service = time.perf_counter(), call.service
    try:
        found = series(
            service.results,
            service.backend.source,
            query_id=query_id,
            instants=instants_asked(call.arguments),
            cache=service.invocations,
        )
    except NowOutOfRangeError as error:
        raise NowOutOfRangeError(
            "from= and to= lie within what is kept and the query's NOW: from `oldest` up to `newest`.",
            **error.extras,
        ) from error
    service.backend.confirm(found.cut.gen)
    evaluated_s = time.perf_counter()
    service.note_use(found.query)
    return encoded_response(
        call,
        encode_series(found, shown),
        form=shown.format,
        headers={**series_headers(found), "Cache-Control": NO_CACHE, "Vary": VARY},
        begun_s=begun_s,
        evaluated_s=evaluated_s,
    )


def _window_begin(snapshot: Snapshot, late_us: int, parameter: Parameter) -> int:
    """Return where the window begins at an instant, or retention where that is later."""
    begin_us, _ = snapshot.query.window.bind(late_us)
    if begin_us is None:
        wrong = [(f"?{parameter.name}", "is needed: the query's window has no BEGIN to begin at")]
        raise InvalidFieldError("The series has no beginning.", errors=wrong)
    oldest_us = oldest(snapshot)
    return min(late_us, begin_us if oldest_us is None else max(begin_us, oldest_us))


def _default_step(snapshot: Snapshot, first_us: int, last_us: int) -> int:
    """Return the hop of the query, else a SERIES_POINTS_DEFAULTth of the way, to where the last instant lies."""
    hops = snapshot.query.window.hops
    us = -(-abs(last_us - first_us) // limits.SERIES_POINTS_DEFAULT) or 1
    us = us if hops is None else hops.every_us
    return us if last_us >= first_us else -us


def _steps(first_us: int, last_us: int, every_us: int) -> Sequence[int]:
    """Return the instants from the first to the last."""
    if (last_us - first_us) * every_us < 0:
        reason = "leads away from `to`: give it the other sign, or change from and to"
        wrong = [(f"?{EVERY.name}", reason)]
        raise InvalidFieldError("The series has no end.", errors=wrong)
    points = (last_us - first_us) // every_us + 1
    if points > limits.SERIES_POINTS_MAX:
        reason = f"makes {points:,} points of the series: {limits.SERIES_POINTS_MAX:,} are answered at most"
        wrong = [(f"?{EVERY.name}", reason)]
        raise InvalidFieldError("The series has too many points.", errors=wrong)
    return range(first_us, first_us + points * every_us, every_us)


def _checked(snapshot: Snapshot, us: int | None, parameter: Parameter) -> int | None:
    """Return an end of the series. Raises where the query cannot be answered at it."""
    if us is None:
        return None
    if not limits.TIMESTAMP_US_MIN <= us <= limits.TIMESTAMP_US_MAX:
        wrong = [(f"?{parameter.name}", "lies outside of the years 1 to 9999")]
        raise InvalidFieldError("The series reaches out of time.", errors=wrong)
    instant(snapshot, us)
    return us


ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint(
        "GET",
        "/v1/queries/{id}/series",
        "invoke_series",
        "Invoke a standing query at a sequence of instants",
        get_series,
        {
            200: Shown(
                "The answer at each instant, all at one position.",
                SeriesAnswer,
                content=BARE_ROWS,
                headers={
                    "Psoup-Gen": "Generation of the history.",
                    "Psoup-Seq": "Position all points belong to.",
                    "Psoup-Now": "NOW of the query, where there is one.",
                    "Psoup-Complete-From": "From which time on every point is whole, where one is not.",
                    "Psoup-Warnings": "The codes of `warnings`, where there are some.",
                },
            )
        },
        READ,
        parameters=(FROM, TO, EVERY, MIN_SEQ, COUNT, SHAPE, SERIES_FORMAT),
        problems=(
            "not-found",
            "query-expired",
            "not-acceptable",
            "now-out-of-range",
            "not-yet-visible",
            "query-filling",
            "query-suspended",
            "answer-too-large",
        ),
        rate="invoke",
        from_memory=True,
    ),
)
