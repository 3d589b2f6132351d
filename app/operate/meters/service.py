"""The meters of a service: of its engine and its store, which any process can tell, and of each process itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from psoup.app.admission.slots import SlotStatistics
from psoup.app.admission.traffic import TrafficStatistics
from psoup.app.backend.at_hand import AtHandStatistics
from psoup.app.backend.partials_ahead import AheadStatistics
from psoup.app.backend.renewals import RenewalStatistics
from psoup.app.backend.service import Service
from psoup.app.backend.submission import SubmissionStatistics
from psoup.app.http.access.guesses import Guesses, GuessStatistics
from psoup.app.http.front import Front
from psoup.app.operate.meters.engine import (
    APPLIED,
    BACKLOG_BYTES,
    BACKLOG_OPERATIONS,
    CONDITION,
    FOLDED,
    HITS_MEMORY,
    JOIN_GROUPS,
    LOG_HEAD,
    LONGEST_PUBLISH,
    MATCH_MEMORY,
    OPERATIONS,
    PUBLISHES,
    EngineReading,
)
from psoup.app.operate.meters.meter import Kind, Meter, Value, counter, gauge
from psoup.app.waiting.room import WaitingRoom, WaitingStatistics
from psoup.engine.aggregates.partials.partial_cache import PartialStatistics
from psoup.engine.engine import CachedTuplesStatistics
from psoup.engine.errors import EngineError
from psoup.engine.log.contract import LogStatistics
from psoup.engine.store.archive_answers import HistoriesStatistics


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceReading(EngineReading):
    """A service's engine and store; of a store that does not answer and was never seen all is None."""

    is_ready: bool
    log: LogStatistics | None = None
    archive_answers: HistoriesStatistics | None = None
    store_memory_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessReading:
    """What one process of a service has and has counted by itself.

    Attributes:
        invocations: queries that it has answered.
        lines_left_out: of its request log, because there were too many.
        at_hand: operations kept from append to fold; None = the engine is in another process.
        tuples_cache: of an API worker; None = the engine is in this process.
        partials: aggregates of whole chunks that are kept between invocations.
        ahead: who makes some of them before anybody asks.
        renewals: of queries with a time to live that were used.
    """

    submission: SubmissionStatistics
    at_hand: AtHandStatistics | None
    slots: SlotStatistics
    waiting: WaitingStatistics
    traffic: TrafficStatistics
    guesses: GuessStatistics
    invocations: int
    lines_left_out: int
    tuples_cache: CachedTuplesStatistics | None
    partials: PartialStatistics
    ahead: AheadStatistics
    renewals: RenewalStatistics


def read_service(service: Service) -> ServiceReading:
    """Return what a service knows of its engine and its store. Blocks, some seconds at most."""
    figures, applied = service.backend.figures(), service.applied.seq
    try:
        inventory, state = service.inventoried(), service.state.seen().value
        is_ready = not service.reasons()
    except EngineError:
        return ServiceReading(figures=figures, applied=applied, is_ready=False)
    return ServiceReading(
        figures=figures,
        applied=applied,
        log_head=inventory.log.head,
        backlog_operations=max(0, inventory.log.head - service.applied.seq),
        backlog_bytes=inventory.waiting_bytes,
        is_ready=is_ready,
        log=inventory.log,
        archive_answers=inventory.histories,
        store_memory_bytes=0 if state is None else state.health.memory_bytes,
    )


def read_process(
    service: Service, room: WaitingRoom, front: Front, guesses: Guesses
) -> ProcessReading:
    """Return what this process has and has counted. Asks no store."""
    hand = service.backend.at_hand
    return ProcessReading(
        submission=service.submission.statistics(),
        at_hand=None if hand is None else hand.statistics(),
        slots=front.slots.statistics(),
        waiting=room.statistics(),
        traffic=front.traffic.statistics(),
        guesses=guesses.statistics(),
        invocations=service.invoked.count,
        lines_left_out=front.requests.statistics().left_out,
        tuples_cache=service.backend.tuples_cache(),
        partials=service.invocations.partials.statistics(),
        ahead=service.ahead.statistics(),
        renewals=service.renewals.statistics(),
    )


def _log(name: str, text: str, read: Callable[[LogStatistics], Value]) -> Meter[ServiceReading]:
    """Return a gauge of the log."""
    return gauge(name, text, lambda one: None if one.log is None else read(one.log))


def _archive(
    name: str, text: str, read: Callable[[HistoriesStatistics], Value]
) -> Meter[ServiceReading]:
    """Return a gauge of the answers that Spark computes from an archive."""
    return gauge(
        name, text, lambda one: None if one.archive_answers is None else read(one.archive_answers)
    )


def _cache(
    name: str, text: str, kind: Kind, read: Callable[[CachedTuplesStatistics], Value]
) -> Meter[ProcessReading]:
    """Return a meter of an API worker's cache of tuples."""
    return Meter(
        name, text, kind, lambda one: None if one.tuples_cache is None else read(one.tuples_cache)
    )


def _at_hand(
    name: str, text: str, kind: Kind, read: Callable[[AtHandStatistics], Value]
) -> Meter[ProcessReading]:
    """Return a meter of a process that appends and applies."""
    return Meter(name, text, kind, lambda one: None if one.at_hand is None else read(one.at_hand))


SERVICE: Final[Sequence[Meter[ServiceReading]]] = (
    APPLIED,
    gauge(
        "unpublished_operations",
        "Operations that are applied and not published.",
        lambda one: max(0, one.figures.applied - one.figures.published),
    ),
    HITS_MEMORY,
    MATCH_MEMORY,
    JOIN_GROUPS,
    LONGEST_PUBLISH,
    *CONDITION,
    gauge("ready", "1 if the service is ready.", lambda one: one.is_ready),
    LOG_HEAD,
    _log("log_entries", "Entries in the log.", lambda log: log.entries),
    _log("log_bytes", "Bytes of bodies in the log.", lambda log: log.bytes),
    _log("staged_bytes", "Bytes staged for commits to come.", lambda log: log.staged_bytes),
    _archive(
        "histories",
        "Answers computed from an archive, in work or kept.",
        lambda answers: answers.count,
    ),
    _archive("history_bytes", "Bytes of their parts.", lambda answers: answers.nbytes),
    BACKLOG_OPERATIONS,
    gauge("store_memory_bytes", "Memory of the store.", lambda one: one.store_memory_bytes),
    BACKLOG_BYTES,
    *OPERATIONS,
    *PUBLISHES,
    *FOLDED,
)
"""Any worker shows them for all."""

PROCESS: Final[Sequence[Meter[ProcessReading]]] = (
    gauge("appends_in_flight", "Appends on their way.", lambda one: one.submission.in_flight),
    gauge(
        "appends_gathering",
        "Operations that wait for the next call of the log.",
        lambda one: one.submission.gathering,
    ),
    counter("append_calls", "Calls of the log that append.", lambda one: one.submission.calls),
    counter(
        "append_operations",
        "Operations that these calls carried.",
        lambda one: one.submission.operations,
    ),
    _at_hand(
        "at_hand_operations",
        "Operations kept to be folded without reading the log.",
        Kind.GAUGE,
        lambda hand: hand.operations,
    ),
    _at_hand(
        "at_hand_bytes",
        "Their bytes.",
        Kind.GAUGE,
        lambda hand: hand.nbytes,
    ),
    _at_hand(
        "at_hand_folded",
        "Operations folded without reading the log.",
        Kind.COUNTER,
        lambda hand: hand.taken,
    ),
    gauge("requests_working", "Requests that are worked on.", lambda one: one.slots.working),
    gauge(
        "requests_reading",
        "Requests whose bodies are on their way.",
        lambda one: one.slots.reading,
    ),
    gauge(
        "requests_waiting",
        "Requests that wait for an operation.",
        lambda one: one.slots.waiting,
    ),
    gauge(
        "requests_watching",
        "Long polls, and streams of events, that wait for a change.",
        lambda one: one.slots.watching,
    ),
    gauge(
        "watched_queries",
        "Queries whose answers somebody waits for.",
        lambda one: one.waiting.lookout.queries,
    ),
    gauge(
        "requests_unparsed_bytes",
        "Bytes of requests that clients have sent ahead.",
        lambda one: one.traffic.unparsed_bytes,
    ),
    gauge(
        "answers_unsent_bytes",
        "Bytes of large answers that clients have not taken.",
        lambda one: one.traffic.unsent_bytes,
    ),
    _cache("workers", "API workers that live.", Kind.GAUGE, lambda _: 1),
    _cache(
        "tuples_cache_bytes",
        "Tuples that API workers keep.",
        Kind.GAUGE,
        lambda cache: cache.nbytes,
    ),
    gauge(
        "partials_bytes",
        "Aggregates of whole chunks that were asked for.",
        lambda one: one.partials.asked.size,
    ),
    gauge(
        "partials_ahead_bytes",
        "Aggregates of whole chunks that were made before anybody asked.",
        lambda one: one.partials.ahead.size,
    ),
    gauge(
        "partials_ahead_refused",
        "Conditions and groupings for whose partials there is no room.",
        lambda one: one.ahead.refused,
    ),
    gauge(
        "renewals_due",
        "Used queries with a time to live that are to be renewed.",
        lambda one: one.renewals.due,
    ),
    counter(
        "renewals",
        "Queries whose time to live began anew because they were used.",
        lambda one: one.renewals.renewed,
    ),
    counter(
        "renewals_refused",
        "Renewals that the log did not take; most are tried again.",
        lambda one: one.renewals.refused,
    ),
    counter(
        "partials_chunks",
        "Chunks aggregated because somebody asked.",
        lambda one: one.partials.chunks_asked,
    ),
    counter(
        "partials_ahead_chunks",
        "Chunks aggregated before anybody asked.",
        lambda one: one.partials.chunks_ahead,
    ),
    counter("invocations", "Queries answered.", lambda one: one.invocations),
    counter("waits_woken", "Waits that have ended with a change.", lambda one: one.waiting.woken),
    counter(
        "waits_shed",
        "Waits that were ended, or not begun, for want of room.",
        lambda one: one.waiting.shed,
    ),
    counter(
        "waits_looks",
        "Looks at the queries that somebody waits for.",
        lambda one: one.waiting.lookout.looks,
    ),
    counter(
        "appends_refused",
        "Appends refused for want of a place.",
        lambda one: one.submission.refused,
    ),
    counter(
        "requests_turned_away",
        "Requests refused for want of a place.",
        lambda one: one.slots.turned_away,
    ),
    counter(
        "traffic_refused",
        "Answers and requests refused for want of memory in connections.",
        lambda one: one.traffic.refused,
    ),
    counter(
        "connections_stalled",
        "Connections given up because their clients took no answer.",
        lambda one: one.traffic.stalled,
    ),
    counter(
        "request_lines_left_out",
        "Log lines of requests that were not written, because there were too many.",
        lambda one: one.lines_left_out,
    ),
    counter(
        "authentications_failed",
        "Requests with a wrong key.",
        lambda one: one.guesses.failed,
    ),
    counter(
        "authentications_refused",
        "Requests from addresses with too many wrong keys.",
        lambda one: one.guesses.refused,
    ),
    _cache(
        "tuples_cache_hits",
        "Reads of tuples that were all kept.",
        Kind.COUNTER,
        lambda cache: cache.hits,
    ),
    _cache(
        "tuples_cache_misses",
        "Reads of tuples that had to be made in part.",
        Kind.COUNTER,
        lambda cache: cache.misses,
    ),
)
"""Of all workers of a port they are added up."""
