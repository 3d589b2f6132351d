"""What the engine has to reach, as data, and how far it got: a table of text.

Ratios are medians of per-round ratios of one contest, ours to the strongest form of a peer that we know;
`engine` goals are rates, times and sizes of psoup alone. Numbers are those of the project's table of goals;
`H`, `F` and `C` are the goals of the service, `J` is what groups of join queries share, `P` those of processes apart;
`R` are contests in which a peer was faster, and is to be no longer: 1, or 0.8 beside what stores rows without a reader.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from benchmarks import (
    bench_aggregates as aggregates,
    bench_answers as answers,
    bench_ingest as ingest,
    bench_invoke as invoke,
    bench_pubsub as pubsub,
    bench_register as register,
    bench_series as series,
    bench_spark as spark,
    bench_windows as windows,
    joins_composite as composite,
    joins_inequality as inequality,
    joins_sharing as sharing,
    joins_stocks as stocks,
    processes_invocations as invocations,
)
from benchmarks.bench import Figure, Findings, Measurement, Survey


class Kind(StrEnum):
    """What is compared with the bound."""

    RATIO = "a peer's time over ours, at least"
    RATE = "things per second, at least"
    TIME = "seconds per thing, at most"
    LEAST = "a figure, at least"
    MOST = "a figure, at most"
    LATER = "for a later version"


@dataclass(frozen=True, slots=True)
class Goal:
    """One bound on one measured number.

    Attributes:
        number: its row in the table of goals.
        text: what is done.
        kind: what is compared.
        key: of the contest, or of the survey's figure.
        bound: what is to be reached: a ratio, per second, seconds, or the figure's unit.
        peer: the contender that a ratio is to.
    """

    number: str
    text: str
    kind: Kind
    key: str = ""
    bound: float = 0.0
    peer: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A goal and what was measured; `value` None = it was not, and `note` says why.

    `title` is that of the contest or figure, with the sizes it was run at.
    """

    goal: Goal
    value: float | None
    note: str
    title: str

    @property
    def margin(self) -> float | None:
        """Return how often the goal is reached: 1 is just reached, 0.5 half of it; None = not known."""
        if self.value is None:
            return None
        if self.goal.kind in (Kind.TIME, Kind.MOST):
            return self.goal.bound / self.value
        return self.value / self.goal.bound

    @property
    def is_below_peer(self) -> bool:
        """Return whether a peer was faster, and by more than the goal allows."""
        if self.goal.kind is not Kind.RATIO or self.value is None:
            return False
        return self.value < min(1.0, self.goal.bound)


_BATCH = "4,096 interval queries, 8,192 tuples"
_WIDE = "the same, all constants distinct"
_ONE = "4,096 interval queries, one tuple"
_MILLION = "pub/sub, a million queries"
_OVER = "register over 2^16 tuples"
_FAR = "register over 10^7 tuples"
_EQUAL = "rows of equalities, window 2^16"
_RANGE = "rows of intervals, window 2^16"
_FIG9 = "figure 9, 4,096 queries"
_GROUPS = "1,000 join queries in 10 groups at a third of the speed of 10"
_JOIN_COUNT = "count of an inequality join, 2^16 by 2^16"
_JOIN_PAIRS = "pairs of an inequality join, 2^12 by 2^12"
_ROWS_EQUAL = "invocations over HTTP, equalities"
_ROWS_RANGE = "invocations over HTTP, intervals"
_MOMENTS = "count, sum and max of a window of"
_BY_SYMBOL = "count and sum of 256 groups, window 2^20"
_P99 = "99 % at 500 invocations/s and worker"
_PUBLISHED = "publish 8,192 tuples past 4,096 queries"
_SINGLY = "rows posted one by one over 64 connections"
_MIXES = "1,000 mixes over two streams, figure 11"
_FIRST_ROWS = "an equality's first rows over HTTP"
_RATIO = Kind.RATIO


def _each(text: str, key: str, bound: float, *peers: str) -> tuple[Goal, ...]:
    """Return one goal beside several forms of a peer."""
    return tuple(Goal("R", text, _RATIO, key, bound, peer) for peer in peers)


GOALS: Sequence[Goal] = (
    Goal("1", _BATCH, _RATIO, "ingest-interval-integers", 15, ingest.BITS),
    Goal("1", _BATCH, _RATIO, "ingest-interval-integers", 40, ingest.FILTERS),
    Goal("1", _BATCH, _RATIO, "ingest-interval-integers", 150, ingest.EXPRESSIONS),
    Goal("2", _BATCH, _RATIO, "ingest-interval-integers", 500, ingest.RANGES),
    Goal("3", _ONE, _RATIO, "ingest-single", 100, ingest.BITS),
    Goal("3", _ONE, Kind.TIME, "ingest-single", 20e-6),
    Goal("4", _WIDE, _RATIO, "ingest-interval-continuous", 12, ingest.FILTERS),
    Goal("4", _WIDE, _RATIO, "ingest-interval-continuous", 80, ingest.RANGES),
    Goal("4", "a query's memory among twice as many", Kind.MOST, "memory-growth", 1.2),
    Goal("5", "pub/sub, 65,536 at a time", _RATIO, "pubsub-large", 2, pubsub.POLARS),
    Goal("5", "pub/sub, 65,536 at a time", _RATIO, "pubsub-large", 2, pubsub.DUCKDB),
    Goal("5", "pub/sub, 1,024 at a time", _RATIO, "pubsub-small", 50, pubsub.POLARS),
    Goal("5", "pub/sub, 1,024 at a time", _RATIO, "pubsub-small", 50, pubsub.DUCKDB),
    Goal("5", "pub/sub, one at a time", _RATIO, "pubsub-single", 1, pubsub.SQLITE),
    Goal("5", f"{_MILLION}, 65,536 at a time", _RATIO, "pubsub-million-large", 2, pubsub.POLARS),
    Goal("5", f"{_MILLION}, 65,536 at a time", _RATIO, "pubsub-million-large", 2, pubsub.DUCKDB),
    Goal("5", f"{_MILLION}, 1,024 at a time", _RATIO, "pubsub-million-small", 50, pubsub.POLARS),
    Goal("5", f"{_MILLION}, 1,024 at a time", _RATIO, "pubsub-million-small", 50, pubsub.DUCKDB),
    Goal("5", f"{_MILLION}, one at a time", _RATIO, "pubsub-million-single", 1, pubsub.SQLITE),
    Goal("6", _OVER, _RATIO, "register-few", 40, register.TABLES),
    Goal("6", _OVER, _RATIO, "register-few", 10, register.MASKS),
    Goal("6", _FAR, _RATIO, "register-many", 15, register.TABLES),
    Goal("6", _FAR, _RATIO, "register-many", 3, register.MASKS),
    Goal("6", "register 4,096 queries in bulk", _RATIO, "register-bulk", 100, register.TABLES),
    Goal("7", _EQUAL, _RATIO, "rows-equality-integers-whole", 60, invoke.PREPARED),
    Goal("7", _EQUAL, _RATIO, "rows-equality-integers-whole", 30, invoke.FILTERS),
    Goal("7", _EQUAL, _RATIO, "rows-equality-integers-whole", 10, invoke.INDEXED),
    Goal("7", _RANGE, _RATIO, "rows-interval-integers-whole", 15, invoke.PREPARED),
    Goal("7", _RANGE, _RATIO, "rows-interval-integers-whole", 8, invoke.FILTERS),
    Goal("7", _RANGE, _RATIO, "rows-interval-integers-whole", 50, invoke.INDEXED),
    Goal("8", "count, window 2^16", _RATIO, "count", 100, invoke.PREPARED),
    Goal("8", "count, window 2^16", _RATIO, "count", 60, invoke.OWN_TABLES),
    Goal("A1", f"{_MOMENTS} 2^20, again", _RATIO, "aggregates-again", 300, aggregates.DUCKDB),
    Goal("A1", f"{_MOMENTS} 2^20, first", _RATIO, "aggregates-first", 5, aggregates.DUCKDB),
    Goal("A1", f"{_MOMENTS} 2^24, again", Kind.TIME, "aggregates-long-again", 25e-6),
    Goal("A2", "four aggregates, 4,096 conditions", Kind.TIME, "aggregates-conditions", 150e-9),
    Goal("A4", f"{_BY_SYMBOL}, first", Kind.TIME, "aggregates-groups-first", 3e-3),
    Goal("A4", f"{_BY_SYMBOL}, again", Kind.TIME, "aggregates-groups-again", 100e-6),
    Goal("A4", f"{_BY_SYMBOL}, again", _RATIO, "aggregates-groups-again", 50, aggregates.DUCKDB),
    Goal("A1", f"{_MOMENTS} 2^20, invoked again", _RATIO, "answers-again", 300, aggregates.DUCKDB),
    Goal("A1", f"{_MOMENTS} 2^20, invoked first", _RATIO, "answers-first", 5, aggregates.DUCKDB),
    Goal("A1", f"{_MOMENTS} 2^24, invoked again", Kind.TIME, "answers-long-again", 25e-6),
    Goal(
        "A3", "10,000 aggregates standing", _RATIO, "answers-standing", 1 / 1.2, answers.SELECTIONS
    ),
    Goal("A4", f"{_BY_SYMBOL}, invoked first", Kind.TIME, "answers-groups-first", 3e-3),
    Goal("A4", f"{_BY_SYMBOL}, invoked again", Kind.TIME, "answers-groups-again", 100e-6),
    Goal(
        "A4", f"{_BY_SYMBOL}, invoked again", _RATIO, "answers-groups-again", 50, aggregates.DUCKDB
    ),
    Goal("A5", "an average at 1,000 instants", _RATIO, "series", 100, series.PREPARED),
    Goal("A5", "an average at 1,000 instants", _RATIO, "series", 3, series.FUNCTION),
    Goal("10", _JOIN_COUNT, _RATIO, "joins-count-65536", 2_000, inequality.COUNT_STAR),
    Goal("10", _JOIN_COUNT, _RATIO, "joins-count-65536", 30, inequality.BY_VALUE),
    Goal("10", _JOIN_PAIRS, _RATIO, "joins-pairs", 5, inequality.SELECT),
    Goal("10", _JOIN_PAIRS, _RATIO, "joins-pairs", 5, inequality.JOIN_WHERE),
    Goal("11", "Arrow bodies of 4,096, 4,096 queries", Kind.RATE, "wire-arrow", 8e6),
    Goal("11", "NDJSON bodies of 4,096, 4,096 queries", Kind.RATE, "wire-ndjson", 1e6),
    Goal("11", "column JSON bodies, 4,096 queries", Kind.RATE, "wire-columns", 3e6),
    Goal("12", "drop a segment", Kind.TIME, "drop-segment", 20e-6),
    Goal("12", "dense results, to a bit per tuple and query", Kind.MOST, "memory-dense", 1.1),
    Goal("12", "equality results, to the same", Kind.MOST, "memory-sparse", 0.05),
    Goal("13", _FIG9, _RATIO, "figure9-integers-most", 100, windows.SCAN),
    Goal("13", _FIG9, _RATIO, "figure9-integers-most", 15, windows.EVENT),
    Goal("13", _FIG9, _RATIO, "figure9-integers-most", 200, windows.UNSHARED),
    Goal("J", _GROUPS, _RATIO, "joins-sharing-both", 1 / 3, sharing.FEW),
    Goal("J", _GROUPS, _RATIO, "joins-sharing-one", 1 / 3, sharing.FEW),
    Goal(
        "H", "memory://, 4,096 queries, per CPU second", Kind.LEAST, "http-memory-auto-few-cpu", 1e6
    ),
    Goal(
        "H", "durable, 4,096 queries, per CPU second", Kind.LEAST, "http-durable-auto-few-cpu", 2e5
    ),
    Goal("H", "register 100,000 range queries", Kind.MOST, "http-memory-auto-many-register", 30),
    Goal(
        "H", "memory://, 100,000 queries, per second", Kind.LEAST, "http-memory-auto-many-wall", 5e4
    ),
    *_each(_MIXES, "joins-figure11-equal-queries", 1, composite.SELECT),
    *_each(_MIXES, "joins-figure11-equal-tuples", 1, composite.SELECT),
    *_each(_MIXES, "joins-figure11-individual-queries", 1, composite.SELECT),
    *_each(_MIXES, "joins-figure11-individual-tuples", 1, composite.SELECT),
    *_each(_MIXES, "joins-figure11-inequal-queries", 1, composite.SELECT),
    *_each(_MIXES, "joins-figure11-inequal-tuples", 1, composite.SELECT),
    *_each("LIKE, a pair a row", "joins-figure12-stocks-1", 1, stocks.PUSH_DOWN, stocks.PULL_UP),
    *_each("LIKE, ten a row", "joins-figure12-stocks-10", 1, stocks.PUSH_DOWN, stocks.PULL_UP),
    *_each("one join query", "joins-figure11-stocks-1", 1, stocks.PUSH_DOWN, stocks.PULL_UP),
    *_each(f"{_FIRST_ROWS}, 1 worker", "processes-equality-1", 1, invocations.POSTGRES),
    *_each(f"{_FIRST_ROWS}, 2 workers", "processes-equality-2", 1, invocations.POSTGRES),
    *_each("rows by df.write", "spark-write", 0.8, spark.PARQUET),
    Goal("P", _ROWS_EQUAL, _RATIO, "processes-equality-1", 5, invocations.POSTGRES),
    Goal("P", _ROWS_EQUAL, _RATIO, "processes-equality-2", 5, invocations.POSTGRES),
    Goal("P", _ROWS_RANGE, _RATIO, "processes-interval-1", 5, invocations.POSTGRES),
    Goal("P", _ROWS_RANGE, _RATIO, "processes-interval-2", 5, invocations.POSTGRES),
    Goal("P", f"{_P99}, equalities", Kind.MOST, "processes-rate-equality-1-p99", 20),
    Goal("P", f"{_P99}, intervals", Kind.MOST, "processes-rate-interval-1-p99", 20),
    Goal("P", _PUBLISHED, Kind.MOST, "processes-lag-4096-1-publish-batch", 50),
    Goal("C1", "append to event, 1 stream, median", Kind.MOST, "waiting-events-1-p50", 2),
    Goal("C1", "append to event, 1,000 streams, median", Kind.MOST, "waiting-events-1000-p50", 5),
    Goal("C1", "append to event, 1,000 streams, 99 %", Kind.MOST, "waiting-events-1000-p99", 25),
    Goal("C2", "memory while 11,000 wait, serve", Kind.MOST, "waiting-idle-memory", 512),
    Goal("C2", "the same, a worker", Kind.MOST, "waiting-idle-worker-memory", 512),
    Goal("C3", "a sync of 1,000 unchanged queries", Kind.MOST, "waiting-sync-again", 5),
    Goal("C3", "the same, its answer", Kind.MOST, "waiting-sync-bytes", 2_000),
    Goal("F1", "count=only, memory, beside bare", Kind.MOST, "front-memory-1", 3),
    Goal("F1", "count=only, durable, beside bare", Kind.MOST, "front-durable-1", 3),
    Goal("F1", "10 rows, memory, beside bare", Kind.MOST, "front-memory-2", 3),
    Goal("F2", "100 rows, memory, beside bare", Kind.MOST, "front-memory-3", 4),
    Goal("F3", "an unchanged answer, memory, beside bare", Kind.MOST, "front-memory-6", 2),
    Goal("F4", "a row posted, memory, beside bare", Kind.MOST, "front-memory-5", 4),
    Goal("F4", "a row posted, durable, beside bare", Kind.MOST, "front-durable-5", 6),
    Goal("F5", "100 rows, a worker, beside bare", Kind.MOST, "front-worker-3", 6),
    Goal("F6", "CPU of a handle among 100, 10 rows", Kind.MOST, "front-memory-4-cpu", 50),
    Goal("F7", f"{_SINGLY}, per second", Kind.LEAST, "append-durable-64-rate", 3_000),
    Goal("F7", f"{_SINGLY}, beside one", Kind.LEAST, "append-durable-ratio", 20),
    Goal("F7", f"{_SINGLY}, 99 %", Kind.MOST, "append-durable-64-p99", 60),
)


def wanted(one: Measurement) -> bool:
    """Return whether some goal needs this measurement."""
    if isinstance(one, Survey):
        return any(goal.key.startswith(one.key) for goal in GOALS) or (
            one.key in ("memory-results", "memory-queries")
        )
    return any(goal.key == one.key for goal in GOALS)


def outcomes(findings: Findings) -> list[Outcome]:
    """Return every goal beside what was measured of it, in the table's order."""
    return [_outcome(goal, findings) for goal in GOALS]


def _outcome(goal: Goal, findings: Findings) -> Outcome:
    if goal.kind is Kind.LATER:
        return Outcome(goal, None, "later", goal.text)
    if goal.kind in (Kind.LEAST, Kind.MOST):
        return _of_figure(goal, findings.figure(goal.key))
    ours = findings.result(goal.key)
    if ours is None:
        return Outcome(goal, None, "not measured", goal.text)
    if goal.kind is Kind.RATE:
        return Outcome(goal, 1 / ours.median_s, ours.unit, ours.title)
    if goal.kind is Kind.TIME:
        return Outcome(goal, ours.median_s, ours.unit, ours.title)
    theirs = findings.result(goal.key, goal.peer)
    if theirs is None:
        return Outcome(goal, None, "peer not installed", ours.title)
    return Outcome(goal, theirs.times(ours), ours.contender, ours.title)


def _of_figure(goal: Goal, figure: Figure | None) -> Outcome:
    if figure is None:
        return Outcome(goal, None, "not measured", goal.text)
    title = f"{figure.group}: {figure.title}"
    if figure.value <= 0:
        return Outcome(goal, None, "too little to see", title)
    return Outcome(goal, figure.value, figure.unit, title)
