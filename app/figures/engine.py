"""The figures of an engine: counters since its start, bytes in memory. Encoded as JSON, they travel to API workers."""

from dataclasses import dataclass, replace
from typing import Final

from pydantic import TypeAdapter

from psoup.app.figures.clause_tally import ClauseCount
from psoup.app.figures.footprint import NOTHING, Footprint
from psoup.app.figures.join_tally import NO_JOINS, JoinReading
from psoup.engine import limits
from psoup.engine.store.condition import NOTHING_SEEN, StoreCondition


@dataclass(frozen=True, slots=True)
class Figures:
    """Counters of one engine since its start.

    Attributes:
        applied: position that invocations in the engine's process see.
        published: position that invocations in all other processes see.
        operations, tuples: folded.
        body_bytes: of the batches of these tuples, as the log keeps them.
        ticks: operations that the engine appended because time passed and nothing arrived.
        retries: steps taken again after the store was unavailable.
        voided: committed operations that could not be applied and changed nothing: damage, or a bug.
        publishes: deltas published; `publish_s` is the seconds they took together, `publish_s_max` the longest.
        pages_written, result_bytes: pages of hits that publishing has written, and their bytes.
        chunks_shared: chunks that several threads have matched together.
        footprint: bytes in memory.
        joins: cost and results of joins.
        clauses: those with the most matches or bytes of them since the start, ascending by id.
        store: the store's condition, as the engine has last seen it.
    """

    applied: int = 0
    published: int = 0
    operations: int = 0
    tuples: int = 0
    body_bytes: int = 0
    ticks: int = 0
    retries: int = 0
    voided: int = 0
    publishes: int = 0
    publish_s: float = 0.0
    publish_s_max: float = 0.0
    pages_written: int = 0
    result_bytes: int = 0
    chunks_shared: int = 0
    footprint: Footprint = NOTHING
    joins: JoinReading = NO_JOINS
    clauses: tuple[ClauseCount, ...] = ()
    store: StoreCondition = NOTHING_SEEN


NO_FIGURES: Final = Figures()
_JSON: Final = TypeAdapter(Figures)


def write_figures(figures: Figures, bytes_max: int = limits.FIGURES_BYTES_MAX) -> bytes:
    """Return figures as JSON of `bytes_max` bytes at most: groups of joins that took few steps are left out first."""
    encoded = _JSON.dump_json(figures)
    groups = sorted(figures.joins.groups, key=lambda group: -group.steps)
    while len(encoded) > bytes_max and groups:
        groups = groups[: len(groups) * bytes_max // len(encoded)]
        joins = replace(figures.joins, groups=tuple(groups))
        encoded = _JSON.dump_json(replace(figures, joins=joins))
    return encoded


def read_figures(encoded: bytes) -> Figures:
    """Return the figures that `write_figures` has encoded. Raises ValueError for any other bytes."""
    return _JSON.validate_json(encoded)
