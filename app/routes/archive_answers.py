"""Histories for the job that computes them: what is asked for, who has claimed it, its parts, its end."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from starlette.responses import Response

from psoup.app.http.access.keys import ADMIN
from psoup.app.routes.endpoint import Call, Endpoint, Shown, json_answer, json_body
from psoup.app.wire.models.results.archive_answers import (
    WORKER_FORM,
    WORKER_HEADER,
    HistoryAnswer,
    HistoryBody,
    HistoryList,
    described,
    read_history_id,
    read_part_number,
    read_worker,
    selected,
)
from psoup.app.wire.parameters import HISTORY_STATE
from psoup.app.wire.rows.archive_parts import read_part
from psoup.app.wire.rows.body import ARROW, media_type_of
from psoup.app.wire.scalars import format_instant
from psoup.engine import limits
from psoup.engine.errors import InvalidFieldError, NotFoundError
from psoup.engine.query.reading import Reading
from psoup.engine.store.archive_answers import Histories, History, HistoryId

Result = TypeVar("Result")


async def list_histories(call: Call) -> Response:
    """List histories, those asked for first in front."""
    state: str | None = call.arguments.get(HISTORY_STATE)
    found = await _read(call, call.service.store.histories.all)
    return json_answer({"histories": list(map(described, selected(found, state)))})


async def post_history(call: Call) -> Response:
    """Claim a history, renew the claim, or end it: 200 with the record."""
    body: HistoryBody = await call.model(HistoryBody, bytes_max=limits.BODY_OTHER_BYTES_MAX)
    body.check_members()
    step = functools.partial(_step, call.service.store.histories, _history_id(call), body)
    return json_answer(described(await _write(call, step)))


async def put_part(call: Call) -> Response:
    """Keep a part of a history: 204 when it is checked and kept."""
    worker, number = read_worker(call.header(WORKER_HEADER)), read_part_number(call.path("n"))
    media_type_of(call.header("content-type"), (ARROW,))
    history_id, service = _history_id(call), call.service
    reading = await _read(call, functools.partial(_reading, call, history_id))
    body = await call.raw_body(
        bytes_max=limits.HISTORY_PART_BYTES_MAX, decoded_bytes_max=limits.HISTORY_PART_BYTES_MAX
    )
    part = await service.parsing.run(
        functools.partial(read_part, number, body, reading),
        deadline_s=service.settings.ingest_deadline_s,
    )
    put = functools.partial(service.store.histories.put, history_id, worker, part)
    await _write(call, put, nbytes=len(part.body))
    return Response(status_code=204)


async def delete_history(call: Call) -> Response:
    """Forget a history: 204, whether there was one or not."""
    history_id = read_history_id(call.path("id"))
    if history_id is not None:
        await _write(call, functools.partial(call.service.store.histories.drop, history_id))
    return Response(status_code=204)


async def _read(call: Call, work: Callable[[], Result]) -> Result:
    """Return what `work` returns in a thread: it reads the store."""
    service = call.service
    return await service.answering.run(work, deadline_s=service.settings.invoke_deadline_s)


async def _write(call: Call, step: Callable[[], Result], *, nbytes: int = 0) -> Result:
    """Return what `step`, which writes the store, returns in a thread."""
    service = call.service
    deadline_s = service.settings.ingest_deadline_s
    return await service.submission.write(step, nbytes=nbytes, deadline_s=deadline_s)


def _history_id(call: Call) -> HistoryId:
    """Return the handle in the path. Raises NotFoundError where it never was one."""
    history_id = read_history_id(call.path("id"))
    if history_id is None:
        raise _no_history()
    return history_id


def _reading(call: Call, history_id: HistoryId) -> Reading:
    """Return clause and shape of a history's query. Blocks. Raises NotFoundError where either is no more."""
    service = call.service
    history = service.store.histories.get(history_id)
    if history is None:
        raise _no_history()
    snapshot = service.results.snapshot(history.asked.query_id)
    return service.invocations.reading(snapshot)


def _step(histories: Histories, history_id: HistoryId, body: HistoryBody) -> History:
    """Do what a worker says. Blocks. Raises what `Histories` and `_check_complete_from` do."""
    if body.state == "running":
        return histories.claim(history_id, body.worker, done=body.done or 0, of=body.of)
    if body.state == "failed":
        return histories.fail(history_id, body.worker, body.detail or "")
    _check_complete_from(histories.get(history_id), body.complete_from_us)
    return histories.finish(
        history_id,
        body.worker,
        parts=body.parts or 0,
        rows=body.rows or 0,
        complete_from_us=body.complete_from_us,
        overflowed=body.overflowed,
    )


def _check_complete_from(history: History | None, complete_from_us: int | None) -> None:
    """Refuse a time from which no answer can be complete.

    The first instant past NOW is the last one that says something: of what the answer may have, nothing is complete.

    Raises:
        InvalidFieldError: it lies later.
    """
    if history is None or complete_from_us is None:
        return
    now_us = history.asked.now_us
    if complete_from_us > now_us + 1:
        reason = f"expected no later than the history's now, {format_instant(now_us)}"
        raise InvalidFieldError(
            "The answer has nothing from that time on.", errors=[("/complete_from", reason)]
        )


def _no_history() -> NotFoundError:
    return NotFoundError("There is no such history, or it has expired.")


_WORKER: Final = {
    "name": WORKER_HEADER,
    "in": "header",
    "required": True,
    "description": f"The worker that has claimed the history: {WORKER_FORM}.",
    "schema": {"type": "string"},
}
_PART_BODY: Final[dict[str, Any]] = {
    "required": True,
    "content": {ARROW: {"schema": {"type": "string", "format": "binary"}}},
}
ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint(
        "GET",
        "/v1/histories",
        "list_histories",
        "List the answers to be computed from the archive",
        list_histories,
        {200: Shown("Histories, those asked for first in front.", HistoryList)},
        ADMIN,
        parameters=(HISTORY_STATE,),
    ),
    Endpoint(
        "POST",
        "/v1/histories/{id}",
        "work_on_history",
        "Claim a history, renew the claim, or end it",
        post_history,
        {200: Shown("The history as it stands.", HistoryAnswer)},
        ADMIN,
        body=json_body(HistoryBody),
        problems=("not-found", "history-taken", "history-parts-missing"),
        changes=True,
    ),
    Endpoint(
        "PUT",
        "/v1/histories/{id}/parts/{n}",
        "put_history_part",
        "Send a part of a history's rows",
        put_part,
        {204: Shown("Checked and kept.")},
        ADMIN,
        body=_PART_BODY,
        headers=(_WORKER,),
        problems=("not-found", "history-taken", "answer-too-large"),
        changes=True,
    ),
    Endpoint(
        "DELETE",
        "/v1/histories/{id}",
        "drop_history",
        "Forget a history",
        delete_history,
        {204: Shown("It is not there, or not any more.")},
        ADMIN,
        rate="register",
        changes=True,
    ),
)
