"""Drives a store as a service does: append, fold, publish; and says what it shows."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from psoup.engine.errors import QueryExpiredError
from psoup.engine.invocation.one_stream.matching import runs
from psoup.engine.log.operation import Content, Operation
from psoup.engine.results.composites import CompositePage
from psoup.engine.results.contract import Checkpoint
from psoup.engine.results.delta import ClauseRecord, Delta, StreamRecord, merge
from psoup.engine.results.page import Page
from psoup.engine.store.contract import Store
from psoup.engine.tuples.batch import Seq
from tests.storage.fold import Fold


def delta(expect: int, seq: int, arrival_us: int, **changes: Any) -> Delta:
    """Return a delta from plain numbers."""
    return Delta(Seq(expect), Seq(seq), arrival_us, **changes)


def apply_next(store: Store, fold: Fold, operations: int = 64) -> None:
    """Fold the next operations and publish what they change in one delta."""
    applied = store.results.cut().seq
    read = store.log.read(applied, operations_max=operations, bytes_max=1 << 30)
    if read:
        store.results.publish(merged(fold, read))


def apply_all(store: Store) -> None:
    """Publish an empty delta up to the head, as an engine does that found nothing to change."""
    applied, before = store.results.cut().seq, Seq(store.log.head() - 1)
    (last,) = store.log.read(before, operations_max=1, bytes_max=1 << 30)
    store.results.publish(Delta(expect=applied, seq=last.seq, arrival_us=last.arrival_us))


def merged(fold: Fold, operations: Iterable[Operation]) -> Delta:
    """Fold the operations and return what they change together."""
    return merge([fold.apply(operation) for operation in operations])


def do(store: Store, fold: Fold, contents: Iterable[Content]) -> list[Seq]:
    """Append and apply; return the seqs."""
    seqs = [store.log.append(content).seq for content in contents]
    while store.results.cut().seq < store.log.head():
        apply_next(store, fold)
    return seqs


def rows_of(pages: Mapping[int, Page]) -> dict[int, list[int] | None]:
    """Return pages as plain values that can be compared; None for one that is not kept."""
    return {
        chunk: page.rows(0).tolist() if page.kept else None for chunk, page in sorted(pages.items())
    }


def shown_pages(store: Store, clause: ClauseRecord, chunks: int) -> dict[int, list[int] | None]:
    """Return the clause's hits in those of the first `chunks` where they may be kept, as plain values."""
    return rows_of(store.results.pages(clause, kept_chunks(store, clause, chunks)))


def shown_hits(store: Store, clause: ClauseRecord, chunks: int) -> tuple[list[int], list[int]]:
    """Return the same as rows, ascending, and the chunks whose hits are told by the columns."""
    rows: list[int] = []
    unkept: list[int] = []
    for first, past in runs(kept_chunks(store, clause, chunks)):
        for part, told in store.results.hits(clause, first, past):
            rows += part.tolist()
            unkept += told
    assert rows == sorted(rows), "parts follow each other"
    return rows, unkept


def kept_chunks(store: Store, clause: ClauseRecord, chunks: int) -> list[int]:
    """Return those of the first `chunks` in which the clause's hits are kept."""
    found = {stream.stream_id: stream for stream in store.results.streams()}
    stream = found.get(clause.streams[0])
    rows = 0 if stream is None else stream.rows
    return [chunk for chunk in range(chunks) if clause.keeps(chunk, rows)]


def plain_pages(pages: Iterable[CompositePage]) -> list[tuple[Any, ...]]:
    """Return pages of composites as plain values that can be compared."""
    return [
        (
            page.rows.tolist(),
            page.earliest.tolist(),
            page.latest.tolist(),
            [(c, hits.offsets is None, page.places(c).tolist()) for c, hits in page.block.pages()],
        )
        for page in pages
    ]


def assert_shows(store: Store, fold: Fold, chunks: int = 200) -> None:
    """Assert that the store shows exactly the fold's state."""
    checkpoint = store.results.checkpoint()
    assert replace(checkpoint, composites={}) == expected_checkpoint(fold, checkpoint)
    assert list(checkpoint.composites) == sorted(fold.composites)
    assert plain_pages(checkpoint.composites.values()) == plain_pages(
        fold.composites[key] for key in checkpoint.composites
    )
    assert checkpoint.streams == tuple(store.results.streams())
    assert checkpoint.queries == tuple(store.results.queries())
    for stream in checkpoint.streams:
        assert stream == store.results.stream(stream.schema.name)
        assert_shows_batches(store, fold, stream)
    for query in checkpoint.queries:
        snapshot = store.results.snapshot(query.query_id)
        clause = fold.clauses[query.clause_id]
        assert (query, clause) == (snapshot.query, snapshot.clause)
        assert tuple(fold.streams[s] for s in clause.streams) == snapshot.streams
        assert checkpoint.cut.seq == snapshot.cut.seq
    snapshots = store.results.snapshots([query.query_id for query in checkpoint.queries])
    assert [store.results.snapshot(q.query_id).query for q in checkpoint.queries] == [
        snapshot and snapshot.query for snapshot in snapshots
    ]
    for gone in store.results.gone([*fold.expired]):
        assert isinstance(gone, QueryExpiredError)
        assert gone.extras["expired_at"] in fold.expired.values()
    for clause_id, clause in fold.ever.items():
        standing = clause_id in fold.clauses
        shown = shown_pages(store, clause, chunks)
        assert (rows_of(fold.pages(clause_id)) if standing else {}) == shown
        if clause.join is not None:
            composites = fold.composites_of(clause) if standing else []
            assert plain_pages(composites) == plain_pages(store.results.composites(clause))
    store.results.check()
    store.log.check()


def assert_shows_batches(store: Store, fold: Fold, stream: StreamRecord) -> None:
    """Assert that the store shows where the stream's tuples lie: all of them, and those that came lately."""
    held = [fold.batches[key] for key in sorted(fold.batches) if key[0] == stream.stream_id]
    middle = held[len(held) // 2].seq if held else Seq(0)
    for after in (Seq(0), middle, store.log.head()):
        found = store.results.batches(stream.stream_id, after)
        assert (stream, store.results.cut().seq) == (found.stream, found.applied)
        assert tuple(batch for batch in held if batch.seq > after) == found.batches


def expected_checkpoint(fold: Fold, like: Checkpoint) -> Checkpoint:
    """Return the fold's state as a checkpoint at the cut of `like`, without composites."""
    return Checkpoint(
        cut=like.cut,
        streams=tuple(sorted(fold.streams.values(), key=lambda s: s.schema.name)),
        clauses=tuple(fold.clauses[key] for key in sorted(fold.clauses)),
        queries=tuple(sorted(fold.queries.values(), key=lambda q: q.seq)),
        batches=tuple(fold.batches[key] for key in sorted(fold.batches)),
        expired=fold.expired,
    )
