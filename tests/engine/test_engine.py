"""The fold: each verb's delta, void operations, shared clauses, restarts."""

from dataclasses import replace

import pytest

from psoup.engine.engine import Engine
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import (
    Alter,
    Declare,
    Drop,
    Materialize,
    QueryId,
    Remove,
    Replace,
    Rows,
)
from psoup.engine.results.hits import ClauseId
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import ClockKind, StreamId
from tests.engine.batches import (
    REQUIRED,
    SCHEMA,
    WIDE,
    Operations,
    body_of,
)
from tests.engine.one_fold import BIG, STREAM, folded, numbers, register
from tests.engine.results.blocks import plain as plain_block, plain_pages


def offsets(delta, clause_id, chunk):
    """Return the hits that a delta has of a clause in a chunk that has become whole."""
    page = delta.blocks[STREAM, chunk].page(clause_id)
    return None if page is None else page.rows(0).tolist()


def big(rows):
    """Return which of these rows BIG is about."""
    return [i for i, (_, a, _) in enumerate(rows) if a > 2]


def test_apply_writes_each_record_the_operation_changes():
    """Declaring, sending, registering and removing each write what changed and nothing else."""
    op, engine = Operations(), Engine()
    declared, sent, asked, removed = folded(
        engine,
        [
            op(Declare(SCHEMA)),
            op.rows([(10, 1, "x"), (30, 4, None), (20, 3, "y")]),
            op(register(1)),
            op(Remove(QueryId("q1"))),
        ],
    )
    assert SCHEMA == declared.streams[STREAM].schema
    record = sent.streams[STREAM]
    assert (3, 30, 2) == (record.rows, record.high_water_us, record.arrival_us)
    assert 3 * (8 + 9 + 5) + 2 == record.bytes == sent.batches[STREAM, Seq(2)].bytes
    assert ({}, {}, {}, {}) == (sent.blocks, sent.pages, asked.blocks, asked.pages)
    clause = asked.clauses[ClauseId(3)]
    assert ("SELECT 1 FROM s WHERE a > 2", 0, 0) == (clause.text, clause.kept_row, clause.block_row)
    assert 1 == asked.streams[STREAM].queries
    assert {QueryId("q1")} == removed.dropped_queries
    assert {ClauseId(3)} == removed.dropped_clauses
    assert 0 == removed.streams[STREAM].queries
    assert 0 == engine.statistics().voided


def test_apply_writes_a_block_when_a_chunk_is_whole_and_never_again():
    """An open chunk writes nothing; when it is whole its block has the clauses that were hit."""
    op, engine = Operations(), Engine()
    folded(
        engine,
        [op(Declare(SCHEMA)), op(register(1)), op(register(2, "SELECT * FROM s WHERE a = 9"))],
    )
    rows = numbers(0, CHUNK_ROWS - 1)
    open_still, whole, behind = folded(
        engine, [op.rows(rows), op.rows([(1, 0, None)]), op.rows([(1, 9, None)])]
    )
    assert ({}, {}) == (open_still.blocks, behind.blocks)
    assert {(STREAM, 0)} == whole.blocks.keys()
    assert {ClauseId(2): "unkept"} == plain_block(whole.blocks[STREAM, 0])  # dense and cheap
    (two,) = folded(engine, [op.rows(numbers(0, 2 * CHUNK_ROWS))])
    assert {(STREAM, 1), (STREAM, 2)} == two.blocks.keys()
    assert ([0], None) == (offsets(two, ClauseId(3), 1), offsets(two, ClauseId(3), 2))


def test_apply_of_a_chunk_that_nobody_asks_for_writes_no_block():
    """A block without hits is none."""
    op, engine = Operations(), Engine()
    folded(engine, [op(Declare(SCHEMA)), op(register(1, "SELECT * FROM s WHERE a = 9"))])
    (whole,) = folded(engine, [op.rows(numbers(0, CHUNK_ROWS))])
    assert {} == whole.blocks


@pytest.mark.parametrize(
    ("materialize", "sql", "form", "rows_kept"),
    [
        (Materialize.AUTO, BIG, None, 2 * CHUNK_ROWS),
        (Materialize.AUTO, "SELECT a FROM s WHERE a + 0 > 2", "bitmap", 0),
        (Materialize.PARTIAL, BIG, "bitmap", 0),
        (Materialize.COMPLETE, BIG, "list", 0),
        (Materialize.NONE, BIG, None, 2 * CHUNK_ROWS),
    ],
)
def test_apply_of_a_registration_writes_pages_of_whole_chunks_by_policy(
    materialize, sql, form, rows_kept
):
    """What is cheap is not evaluated before somebody asks, the rest is kept in its form; the open chunk is not."""
    op, engine = Operations(), Engine()
    rows = numbers(0, 2 * CHUNK_ROWS + 5)
    folded(engine, [op(Declare(SCHEMA)), op.rows(rows)])
    (asked,) = folded(engine, [op(register(1, sql, materialize))])
    record = asked.clauses[ClauseId(3)]
    assert (rows_kept, 2 * CHUNK_ROWS) == (record.kept_row, record.block_row)
    expected = {}
    if form is not None:
        for chunk in (0, 1):
            part = rows[chunk * CHUNK_ROWS : (chunk + 1) * CHUNK_ROWS]
            expected[ClauseId(3), chunk] = (form, big(part))
    assert expected == plain_pages(asked.pages)


def test_apply_of_a_registration_writes_no_page_for_a_chunk_without_hits():
    """A page that is missing says that there are no hits."""
    op, engine = Operations(), Engine()
    rows = [(i, int(i == CHUNK_ROWS + 7), None) for i in range(2 * CHUNK_ROWS)]
    folded(engine, [op(Declare(SCHEMA)), op.rows(rows)])
    (asked,) = folded(engine, [op(register(1, "SELECT * FROM s WHERE a = 1", Materialize.PARTIAL))])
    assert {(ClauseId(3), 1): ("list", [7])} == plain_pages(asked.pages)


def test_apply_of_equal_texts_under_other_policies_makes_other_clauses():
    """What is kept is part of what makes a clause the same one."""
    op, engine = Operations(), Engine()
    _, *asked = folded(
        engine,
        [op(Declare(SCHEMA)), *(op(register(i, BIG, kept)) for i, kept in enumerate(Materialize))],
    )
    assert [1] * len(Materialize) == [len(delta.clauses) for delta in asked]


def test_apply_shares_the_clause_of_equal_queries():
    """Equal clauses with other windows are one clause: it goes with its last handle."""
    op, engine = Operations(), Engine()
    window = " BEGIN (NOW - 5) END (NOW)"
    _, first, second = folded(
        engine, [op(Declare(SCHEMA)), op(register(1)), op(register(2, BIG + window))]
    )
    assert {} == second.clauses
    clauses = {one.clause_id for delta in (first, second) for one in delta.queries.values()}
    assert {ClauseId(2)} == clauses
    one, other = folded(engine, [op(Remove(QueryId("q1"))), op(Remove(QueryId("q2")))])
    assert frozenset() == one.dropped_clauses
    assert {ClauseId(2)} == other.dropped_clauses


def test_apply_drop_takes_queries_clauses_and_batches_along():
    """A dropped stream leaves nothing, and its name is free for another."""
    op, engine = Operations(), Engine()
    folded(engine, [op(Declare(SCHEMA)), op.rows(numbers(0, 5)), op(register(1)), op(register(2))])
    both = (QueryId("q1"), QueryId("q2"))
    (dropped,) = folded(engine, [op(Drop(STREAM, "s", both))])
    assert set(both) == dropped.dropped_queries
    assert ({STREAM}, {ClauseId(3)}, {(STREAM, Seq(2))}) == (
        dropped.dropped_streams,
        dropped.dropped_clauses,
        dropped.dropped_batches,
    )
    assert {} == dropped.streams
    (again,) = folded(engine, [op(Declare(SCHEMA))])
    assert [StreamId(6)] == list(again.streams)


@pytest.mark.parametrize(
    "content",
    [
        Declare(SCHEMA),
        Drop(StreamId(9), "s"),
        Drop(STREAM, "s"),
        Drop(STREAM, "s", (QueryId("q1"), QueryId("q2"))),
        Rows(StreamId(9), "s", 1, body_of([(1, 1, "x")])),
        Rows(STREAM, "other", 1, body_of([(1, 1, "x")])),
        Rows(STREAM, "s", 1, b"not Arrow"),
        register(1),
        register(3, s=StreamId(9)),
        register(3, "SELECT nothing FROM s"),
        register(3, "SELECT"),
        Remove(QueryId("q9")),
        Replace(register(9)),
        Replace(replace(register(1), name="another")),
        Replace(register(1, "SELECT no FROM s")),
        Alter(StreamId(9), SCHEMA),
        Alter(STREAM, replace(SCHEMA, time=None, clock=ClockKind.SERVER)),
        Alter(STREAM, replace(SCHEMA, columns=SCHEMA.columns[:2])),
        Alter(STREAM, replace(SCHEMA, columns=WIDE.columns[::-1])),
        Alter(STREAM, replace(SCHEMA, columns=(*SCHEMA.columns, REQUIRED))),
    ],
    ids=lambda content: type(content).__name__,
)
def test_apply_of_what_cannot_be_applied_is_void(content):
    """No effect and no exception: applied moves on, it is counted, and the next operation works."""
    op, engine = Operations(), Engine()
    folded(engine, [op(Declare(SCHEMA)), op(register(1))])
    (void,) = folded(engine, [op(content)])
    written = (void.streams, void.clauses, void.queries, void.batches, void.blocks, void.pages)
    assert ({},) * 6 == written
    assert frozenset() == void.dropped_streams | void.dropped_clauses | void.dropped_queries
    assert (3, 1, 1) == (engine.applied, engine.voided, engine.statistics().voided)
    (following,) = folded(engine, [op.rows([(1, 4, "x")] + [(1, 0, "x")] * (CHUNK_ROWS - 1))])
    assert [0] == offsets(following, ClauseId(2), 0)


def test_apply_of_an_empty_batch_stores_nothing():
    """A batch without rows takes its seq; the log need not keep it."""
    op, engine = Operations(), Engine()
    folded(engine, [op(Declare(SCHEMA)), op(register(1))])
    (empty,) = folded(engine, [op.rows([])])
    assert ({}, {}) == (empty.batches, empty.blocks)
    assert {(STREAM, Seq(3))} == empty.dropped_batches
    assert (0, None) == (empty.streams[STREAM].rows, empty.streams[STREAM].high_water_us)
