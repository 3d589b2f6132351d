"""The queries that a request chooses by name, labels, stream and state: those that are applied, and those to come."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from psoup.app.backend.pending import PendingQuery
from psoup.app.routes.endpoint import Call
from psoup.app.routes.queries.registration import describe_pending
from psoup.app.wire.models.queries import FILLING, LIVE, SUSPENDED
from psoup.app.wire.query_parameters import LABEL, NAME, STATE, STREAM
from psoup.engine.errors import NotFoundError
from psoup.engine.results.delta import QueryRecord


def selected(call: Call) -> Sequence[QueryRecord]:
    """Return the queries asked for that are applied, in order, whether live or suspended. May block."""
    labels: tuple[tuple[str, str], ...] = call.arguments.get(LABEL)
    if call.arguments.get(STATE) not in (None, LIVE, SUSPENDED):
        return []  # before it is applied, a query is not in the Results Structure
    return [one for one in _candidates(call) if all(one.labels.get(k) == v for k, v in labels)]


def selected_pending(call: Call) -> Sequence[PendingQuery]:
    """Return the queries asked for that are not applied, each with its description. May block."""
    if call.arguments.get(STATE) not in (None, FILLING):
        return []
    described = (
        replace(one, description=describe_pending(call, one))
        for one in call.service.pending.all()
        if _is_asked_for(
            call,
            name=one.content.name,
            streams=one.content.streams,
            labels=one.content.labels,
        )
    )
    return [one for one in described if one.description is not None]


def _candidates(call: Call) -> Sequence[QueryRecord]:
    results = call.service.results
    name: str | None = call.arguments.get(NAME)
    stream: str | None = call.arguments.get(STREAM)
    if stream is None and name is None:
        return results.queries()
    named = () if name is None else tuple(filter(None, [results.named(name)]))
    if stream is None:
        return named
    reading = _readers(call, stream)
    return reading if name is None else [one for one in reading if one.name == name]


def _is_asked_for(
    call: Call, *, name: str | None, streams: Container[str], labels: Mapping[str, str]
) -> bool:
    """Return whether a request chooses a query of this name, these streams and labels."""
    stream: str | None = call.arguments.get(STREAM)
    wanted: tuple[tuple[str, str], ...] = call.arguments.get(LABEL)
    if call.arguments.get(NAME) not in (None, name):
        return False
    return (stream is None or stream in streams) and all(labels.get(k) == v for k, v in wanted)


def _readers(call: Call, stream: str) -> Sequence[QueryRecord]:
    results = call.service.results
    try:
        stream_id = results.stream(stream).stream_id
    except NotFoundError:
        return []
    return results.readers(stream_id)
