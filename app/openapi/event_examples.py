"""Examples of streams of events: each event with an answer, or a problem, that a service has given."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from psoup.app.openapi.examples import Example, problem_examples
from psoup.app.wire.answers.event_stream import MEDIA_TYPE, PING, event, retry
from psoup.engine import limits

_TOLD: Final[Mapping[str, tuple[str, str]]] = {
    "follow_query": ("invoke_query", "changes"),
    "sync_queries": ("sync_queries", "gone"),
}
"""The operation and the name of the example that an event `result` holds, by the operation that streams it."""


def event_examples(examples: Sequence[Example], operation: str) -> list[Example]:
    """Return an example of each event that an operation sends; none where it streams none."""
    if operation not in _TOLD:
        return []
    (told,) = (one for one in examples if (one.operation, one.name) == _TOLD[operation])
    cursor: str | None = told.answer.get("cursor")
    result = event("result", orjson.dumps(told.answer), cursor=cursor)
    end = event("end", orjson.dumps(problem_examples(examples)["not-found"]))
    shown: dict[str, tuple[str, bytes]] = {
        "result": (
            "What has changed, at the begin of a stream",
            retry(limits.EVENTS_RETRY_MS) + result,
        ),
        "comment": ("Nothing has happened for a while", PING),
        "end": ("Nothing will follow", end),
    }
    return [_streamed(operation, name, *one) for name, one in shown.items()]


def _streamed(operation: str, name: str, summary: str, written: bytes) -> Example:
    about: dict[str, Any] = {"operation": operation, "name": name, "summary": summary}
    return Example(**about, status=200, answer_media=MEDIA_TYPE, answer=written.decode())
