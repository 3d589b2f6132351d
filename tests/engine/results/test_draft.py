"""Drafts: what is both written and dropped in one operation is dropped."""

from random import Random
from typing import Any

import pytest

from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.log.operation import QueryId
from psoup.engine.query.window import Window
from psoup.engine.results.delta import (
    BatchRecord,
    ClauseRecord,
    Delta,
    QueryRecord,
    StreamRecord,
    merge,
)
from psoup.engine.results.draft import Draft
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import EMPTY
from psoup.engine.tuples.batch import Seq, TupleId
from psoup.engine.tuples.schema import StreamId
from tests.engine.batches import SCHEMA
from tests.engine.results.blocks import block_of, runs_of
from tests.engine.results.deltas import composites_drawn

CHUNKS = SEGMENT_ROWS // CHUNK_ROWS


def drafted(rng: Random) -> Draft:
    """Return a draft in which anything may be written, dropped, both or neither, of a few of each kind."""
    draft = Draft(Seq(4), Seq(5), 60)
    some = [number for number in (1, 2) if rng.random() < 0.4]
    for number in some:
        stream_id, clause_id, query_id = StreamId(number), ClauseId(number), QueryId(f"q{number}")
        if rng.random() < 0.5:
            draft.streams[stream_id] = StreamRecord(stream_id, SCHEMA)
            batch = BatchRecord(stream_id, Seq(5), 0, 1, 8, TupleId(1), 60, 60)
            draft.batches[stream_id, Seq(5)] = batch
        if rng.random() < 0.5:
            draft.blocks[stream_id, number * CHUNKS] = EMPTY
        if rng.random() < 0.5:
            draft.clauses[clause_id] = ClauseRecord(clause_id, "", (stream_id,))
            draft.queries[query_id] = QueryRecord(query_id, Seq(5), clause_id, "", Window())
        if rng.random() < 0.5:
            page = block_of({clause_id: [7]}, rng.choice([0, 1, 2])).page(clause_id)
            assert page is not None
            for run, pages in runs_of({number * CHUNKS: page}).items():
                draft.pages[clause_id, run] = pages
        if rng.random() < 0.5:
            draft.composites[clause_id, 0, number, 0] = composites_drawn(rng, 2, [clause_id])
    drops: tuple[tuple[set[Any], object], ...] = (
        (draft.dropped_streams, StreamId(1)),
        (draft.dropped_clauses, ClauseId(1)),
        (draft.dropped_queries, QueryId("q1")),
        (draft.dropped_batches, (StreamId(1), Seq(5))),
        (draft.dropped_batches, (StreamId(1), Seq(3))),
        (draft.dropped_segments, (StreamId(1), 1)),
        (draft.dropped_pages, (ClauseId(1), 1)),
        (draft.dropped_composites, (ClauseId(1), 0, 1, 0)),
    )
    for kept, value in drops:
        if rng.random() < 0.2:
            kept.add(value)
    return draft


@pytest.mark.parametrize("seed", range(300))
def test_delta_of_any_draft_differential_is_what_merging_makes_of_it(seed):
    """The short cut past merging is taken where nothing is both written and dropped, and nowhere else."""
    draft = drafted(Random(seed))
    written = Delta(
        expect=draft.expect,
        seq=draft.seq,
        arrival_us=draft.arrival_us,
        streams=dict(draft.streams),
        clauses=dict(draft.clauses),
        queries=dict(draft.queries),
        batches=dict(draft.batches),
        blocks=dict(draft.blocks),
        pages=dict(draft.pages),
        dropped_streams=frozenset(draft.dropped_streams),
        dropped_clauses=frozenset(draft.dropped_clauses),
        dropped_queries=frozenset(draft.dropped_queries),
        dropped_batches=frozenset(draft.dropped_batches),
        dropped_segments=frozenset(draft.dropped_segments),
        dropped_pages=frozenset(draft.dropped_pages),
        composites=dict(draft.composites),
        dropped_composites=frozenset(draft.dropped_composites),
    )
    assert merge((written,)) == draft.delta()
