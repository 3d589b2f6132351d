"""Streams for the parts of joins, folds of joins, and what joins of them are: by looking at every combination."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from psoup.engine.data.data_stem import DataSteM
from psoup.engine.data.source import DatedRows, PartneredRows
from psoup.engine.engine import Engine
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Declare, Materialize, QueryId, Register, Remove, Rows
from psoup.engine.query.bind.binder import bind
from psoup.engine.results.contract import Checkpoint, Cut, Gen
from psoup.engine.tuples.arrow import encode_batch
from psoup.engine.tuples.batch import Seq, TupleId
from psoup.engine.tuples.batch_reader import BatchReader
from psoup.engine.tuples.schema import (
    ClockKind,
    ColumnSchema,
    ColumnType,
    Retention,
    StreamId,
    StreamSchema,
)
from tests.engine.batches import Operations
from tests.reference_values import factor_holds, sources_of
from tests.world import record_batch

SCHEMA = StreamSchema(
    "r",
    (
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("i", ColumnType.INT64),
        ColumnSchema("f", ColumnType.FLOAT64),
        ColumnSchema("t", ColumnType.STRING),
        ColumnSchema("b", ColumnType.BOOL),
    ),
    "ts",
    ClockKind.HIGH_WATER,
)
BLANK = {"ts": 0, "i": None, "f": None, "t": None, "b": None}
"""A tuple that no equality is TRUE of."""
FOREVER = 2**62


def row(**values: Any) -> dict[str, Any]:
    """Return a tuple; what is not given is NULL, its time 0."""
    return {**BLANK, **values}


def rows_drawn(rng, count, *, keys=4):
    """Return tuples of few values, so that many of them meet, NULL among them."""
    return [
        {
            "ts": rng.randrange(8),
            "i": rng.choice([None, *range(keys)]),
            "f": rng.choice([None, -0.0, 0.0, 0.5, 1.0, 2.0]),
            "t": rng.choice([None, "", "a", "ab", "b"]),
            "b": rng.choice([None, True, False]),
        }
        for _ in range(count)
    ]


def sparse(rng, count, some):
    """Return `count` tuples, blank but for those of `some`, which lie anywhere among them, in order."""
    made: list[dict[str, Any]] = [BLANK] * count
    for place, one in zip(sorted(rng.sample(range(count), len(some))), some, strict=True):
        made[place] = one
    return made


def brute(clause, sides: Sequence[dict[int, dict[str, Any]]]) -> set[tuple[int, ...]]:
    """Return the composites that satisfy a clause, given the tuples of each source by row number."""
    blank: list[dict[str, Any]] = [{}] * len(sides)
    alone = [
        [one for one in clause.factors if (sources_of(one) or {0}) == {i}]
        for i in range(len(sides))
    ]
    across = [
        [one for one in clause.factors if len(sources_of(one)) > 1 and max(sources_of(one)) == i]
        for i in range(len(sides))
    ]
    left: list[list[int]] = []
    for i, side in enumerate(sides):
        left.append([])
        for number, values in side.items():
            rows = [*blank[:i], values, *blank[i + 1 :]]
            if all(factor_holds(factor, rows) for factor in alone[i]):
                left[i].append(number)
    found: list[tuple[int, ...]] = [()]
    for i, numbers in enumerate(left):
        grown = [(*one, number) for one in found for number in numbers]
        found = [
            one
            for one in grown
            if all(
                factor_holds(factor, [sides[k][number] for k, number in enumerate(one)])
                for factor in across[i]
            )
        ]
    return set(found)


def written_out(found: PartneredRows) -> list[tuple[int, ...]]:
    """Return each row with any of its partners: the composites, in no order."""
    made: list[tuple[int, ...]] = []
    for at, number in enumerate(found.rows.tolist()):
        parts = [
            [number] if one is None else one.rows[one.low[at] : one.high[at]].tolist()
            for one in found.partners
        ]
        assert all(parts), "a row without a partner is part of nothing"
        made += product(*parts)
    return made


class Tables:
    """Data SteMs of streams of SCHEMA's columns, and their tuples in Python."""

    def __init__(self, *names: str) -> None:
        """Begin with streams without tuples."""
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        self.streams = {
            name: (StreamId(i), replace(SCHEMA, name=name)) for i, name in enumerate(names, 1)
        }
        self.stems = {i: DataSteM(schema) for i, schema in self.streams.values()}

    def send(self, name: str, rows: Sequence[dict[str, Any]]) -> None:
        """Append tuples to a stream."""
        stream_id, schema = self.streams[name]
        batch = BatchReader(schema).batch(
            encode_batch(record_batch(schema, rows)),
            stream_id=stream_id,
            first_tuple_id=TupleId(len(self.rows[name]) + 1),
            seq=Seq(1),
            arrival_us=1,
        )
        self.stems[stream_id].build(batch)
        self.rows[name] += rows

    def clause(self, sql: str):
        """Return the clause of a text."""
        return bind(sql, self.streams).clause

    def stem(self, stream_id: StreamId) -> DataSteM:
        """Return the Data SteM of a stream."""
        return self.stems[stream_id]

    def spans(self, clause, *, whole: bool = False) -> list[DatedRows]:
        """Return spans of all rows of a clause's streams, or of those in whole chunks."""
        found = []
        for source in clause.sources:
            count = len(self.rows[source.stream])
            count = count // CHUNK_ROWS * CHUNK_ROWS if whole else count
            found.append(DatedRows(source.stream_id, 0, count, None, FOREVER))
        return found

    def expected(self, clause, spans: Sequence[DatedRows] | None = None) -> set[tuple[int, ...]]:
        """Return the composites that satisfy a clause within spans, by looking at all there are."""
        sides = []
        for source, span in zip(clause.sources, spans or self.spans(clause), strict=True):
            begin_us = -FOREVER if span.begin_us is None else span.begin_us
            held = enumerate(self.rows[source.stream])
            sides.append(
                {
                    number: one
                    for number, one in held
                    if span.first_row <= number < span.past_row
                    and begin_us <= one["ts"] <= span.end_us
                }
            )
        return brute(clause, sides)


class JoinFold:
    """An engine over streams of SCHEMA's columns; what its deltas have published, and the tuples in Python."""

    def __init__(self, *names: str, routing=None, rows_kept: int | None = None) -> None:
        """Begin with streams without tuples; `rows_kept` bounds the first one's retention."""
        self.op, self.engine = Operations(), Engine(routing=routing)
        self.history: list[Any] = []
        self.batches: list[Any] = []
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        self.streams: dict[str, tuple[StreamId, StreamSchema]] = {}
        self.pages: dict[Any, Any] = {}
        self.records: dict[str, dict[Any, Any]] = {
            kind: {} for kind in ("streams", "clauses", "queries", "batches")
        }
        self.clauses: dict[int, Any] = {}
        for place, name in enumerate(names):
            kept = Retention(rows=rows_kept if place == 0 else None, bytes=None)
            schema = replace(SCHEMA, name=name, retention=kept)
            seq = self.apply(Declare(schema)).seq
            self.streams[name] = (StreamId(seq), schema)

    def apply(self, content, *, after_us: int = 1):
        """Fold one operation, publish what it changes, and return that."""
        operation = self.op(content, after_us=after_us)
        self.history.append(operation)
        if isinstance(content, Rows):
            self.batches.append(operation)
        delta = self.engine.apply(operation)
        self.engine.check()
        self.note(delta)
        self.engine.published()
        return delta

    def note(self, delta) -> None:
        """Publish a delta: pages are written once, and dropped once."""
        assert not delta.composites.keys() & (self.pages.keys() | delta.dropped_composites)
        for page in delta.composites.values():
            page.check()
        self.pages.update(delta.composites)
        for key in delta.dropped_composites:
            self.pages.pop(key, None)
        for kind, held in self.records.items():
            held.update(getattr(delta, kind))
            for key in getattr(delta, f"dropped_{kind}"):
                held.pop(key, None)

    def send(self, name: str, rows: Sequence[dict[str, Any]], *, after_us: int = 1):
        """Append a batch."""
        stream_id, schema = self.streams[name]
        self.rows[name] += rows
        body = encode_batch(record_batch(schema, rows))
        return self.apply(Rows(stream_id, name, len(rows), body), after_us=after_us)

    def register(self, sql: str, *, materialize: Materialize = Materialize.AUTO):
        """Register a query and return its clause's id, which is its seq."""
        bound = bind(sql, self.streams)
        streams = {source.stream: source.stream_id for source in bound.clause.sources}
        query_id = QueryId(f"q{len(self.history)}")
        delta = self.apply(Register(query_id, bound.canonical, streams, materialize=materialize))
        self.clauses[delta.seq] = bound.clause
        return delta.seq

    def remove(self, clause_id: int):
        """Remove the query that brought a clause."""
        (query_id,) = [q.query_id for q in self.records["queries"].values() if q.seq == clause_id]
        return self.apply(Remove(query_id))

    def join(self, clause_id: int):
        """Return what is published of a clause that is kept."""
        return self.records["clauses"][clause_id].join

    def kept(self, clause_id: int) -> list[tuple[int, ...]]:
        """Return the composites in the pages of a clause, sorted; one found twice is there twice."""
        record = self.records["clauses"][clause_id]
        found = []
        for (group, entrant, number, _), page in self.pages.items():
            if group != record.join.group:
                continue
            if entrant == len(record.streams) and number != clause_id:
                continue
            found += list(map(tuple, page.rows[:, page.places(clause_id)].T.tolist()))
        return sorted(found)

    def expected(self, clause_id: int) -> list[tuple[int, ...]]:
        """Return the composites of a clause all of whose parts lie in whole chunks, sorted.

        Blank tuples are not looked at: no equality is TRUE of them.
        """
        clause = self.clauses[clause_id]
        sides = []
        for source in clause.sources:
            held = self.rows[source.stream]
            whole = len(held) // CHUNK_ROWS * CHUNK_ROWS
            sides.append({n: one for n, one in enumerate(held[:whole]) if one is not BLANK})
        return sorted(brute(clause, sides))

    def checkpoint(self) -> Checkpoint:
        """Return what a store would hand to a restart."""
        seq, arrival_us = self.history[-1].seq, self.history[-1].arrival_us
        return Checkpoint(
            cut=Cut(Gen(1), seq, arrival_us, arrival_us),
            streams=tuple(self.records["streams"].values()),
            clauses=tuple(self.records["clauses"].values()),
            queries=tuple(self.records["queries"].values()),
            batches=tuple(sorted(self.records["batches"].values(), key=lambda one: one.seq)),
            composites=self.pages,
        )

    def restart(self) -> None:
        """Go on with another engine, made of what is published."""
        checkpoint = self.checkpoint()
        seqs = {one.seq for one in checkpoint.batches}
        self.engine = Engine.restore(checkpoint, [one for one in self.batches if one.seq in seqs])
        self.engine.check()
