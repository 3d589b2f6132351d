"""Restarts of the fold: same log, same state, wherever it was left; damaged records are refused."""

from dataclasses import replace
from typing import Any

import pytest

from psoup.engine.engine import Engine
from psoup.engine.errors import IntegrityError
from psoup.engine.limits import QUERY_EXPIRED_KEPT_US
from psoup.engine.log.operation import (
    Alter,
    Declare,
    Expire,
    Materialize,
    QueryId,
    Remove,
    Renew,
    Replace,
    Tick,
)
from psoup.engine.results.contract import Checkpoint, Cut, Gen
from psoup.engine.results.delta import Delta, merge
from psoup.engine.tuples.schema import Retention
from tests.engine.batches import SCHEMA, WIDE, Operations, schema_keeping, wide_rows
from tests.engine.one_fold import STREAM, folded, numbers, register
from tests.engine.results.blocks import plain as plain_block, plain_pages


def checkpoint_of(delta, engine):
    """Return what a store that applied `delta` from the beginning would hand to a restart."""
    return Checkpoint(
        cut=Cut(Gen(1), delta.seq, delta.arrival_us, delta.arrival_us),
        streams=tuple(delta.streams.values()),
        clauses=tuple(delta.clauses.values()),
        queries=tuple(delta.queries.values()),
        expired=dict(delta.expired),
        batches=tuple(sorted(delta.batches.values(), key=lambda batch: batch.seq)),
    )


def history(kept=None):
    """Return operations of every kind, with retention at work and chunks sealed and open."""
    op = Operations()
    schema = kept or SCHEMA
    return [
        op(Declare(schema)),
        op(register(1)),
        op.rows(numbers(0, 3_000)),
        op(register(2, "SELECT * FROM s WHERE t LIKE '%x%' AND a IN (1, 4)")),
        op.rows(
            [(4_000 + i, None if i % 3 else i, ["x", None, "yx"][i % 3]) for i in range(2_000)]
        ),
        op(register(3, "SELECT a + 1 FROM s WHERE a IS NULL BEGIN (NOW - 9) END (NOW)")),
        op(Remove(QueryId("q1"))),
        op.rows([(-5, 4, "late")]),
        op(Tick(), after_us=5_000),
        op(register(4)),
        op(register(5, materialize=Materialize.PARTIAL)),
        op(register(6, "SELECT t FROM s WHERE a < 4", Materialize.COMPLETE)),
        op(register(7, "SELECT t FROM s WHERE a < 4", Materialize.NONE)),
        op(register(8, "SELECT t FROM s WHERE a < 4", Materialize.COMPLETE)),
        op.rows(numbers(6_000, 4_000)),
        op(Remove(QueryId("q6"))),
        op(Remove(QueryId("q5"))),
        op(register(9, "SELECT ts FROM s WHERE a + 1 = 2")),
        op(Replace(register(4, "SELECT t FROM s WHERE a < 4 BEGIN (NOW - 9) END (NOW)"))),
        op(Replace(register(9, "SELECT a FROM s WHERE a + 1 = 2"))),
        op.rows(numbers(7_000, 4_000)),
        op(Alter(STREAM, replace(schema, retention=Retention(rows=6_000)))),
        op(Replace(register(4))),
        op(replace(register(10), ttl_us=100)),
        op(replace(register(11, "SELECT t FROM s WHERE a < 3"), ttl_us=100)),
        op(Replace(replace(register(4), labels={"team": "b"}, ttl_us=10_000))),
        op(Renew(QueryId("q10")), after_us=99),
        op(Expire(QueryId("q11")), after_us=1),
        op(Renew(QueryId("q4")), after_us=10),
        op(Expire(QueryId("q10")), after_us=100),
        op.rows(numbers(9_000, 3)),
        op(Alter(STREAM, WIDE)),
        op(register(12, "SELECT a, more FROM s WHERE more IS NULL OR more < 5")),
        op(register(13, "SELECT COUNT(more) FROM s WHERE a < 4", Materialize.COMPLETE)),
        op.rows(numbers(9_000, 2_000)),
        op(wide_rows(9_010, 5_000)),
        op(wide_rows(9_900, 5_000)),
        op(Tick(), after_us=QUERY_EXPIRED_KEPT_US),
    ]


KEPT = {
    "all": SCHEMA,
    "rows": schema_keeping(rows=100),
    "time": schema_keeping(time_us=3_000),
    "bytes": schema_keeping(bytes=60_000),
}


@pytest.mark.parametrize("kept", KEPT)
def test_apply_of_one_log_twice_gives_the_same_deltas(kept):
    """Same log, same deltas, bit for bit."""
    operations = history(KEPT[kept])
    assert plain(folded(Engine(), operations)) == plain(folded(Engine(), operations))


@pytest.mark.parametrize(
    ("kept", "first", "step"),
    [
        ("all", 1, 1),
        *(
            pytest.param(kept, first, 3, marks=pytest.mark.no_cover)
            for first, kept in enumerate(["rows", "time", "bytes"], 1)
        ),
        *(pytest.param(kept, 1, 1, marks=pytest.mark.slow) for kept in ("rows", "time", "bytes")),
    ],
)
def test_restore_at_every_position_continues_as_if_nothing_had_happened(kept, first, step):
    """Whatever the position, the deltas after a restart are those of an engine that never stopped.

    The suite plays each position once with all rows and once with some that have gone.
    """
    operations = history(KEPT[kept])
    expected = plain(folded(Engine(), operations))
    by_seq = {operation.seq: operation for operation in operations}
    for k in range(first, len(operations), step):
        before = Engine()
        merged = merge(folded(before, operations[:k]))
        checkpoint = checkpoint_of(merged, before)
        batches = [by_seq[batch.seq] for batch in checkpoint.batches]
        engine = Engine.restore(checkpoint, batches)
        engine.check()
        assert expected[k:] == plain(folded(engine, operations[k:])), f"restart at {k}"


def plain(deltas: list[Delta]):
    """Return deltas as values that compare: blocks and pages by their hits and their forms."""
    return [
        (
            delta.expect,
            delta.seq,
            delta.streams,
            delta.clauses,
            delta.queries,
            delta.batches,
            {key: plain_block(block) for key, block in delta.blocks.items()},
            plain_pages(delta.pages),
            delta.dropped_clauses,
            delta.dropped_queries,
            delta.expired,
            delta.forgotten,
            delta.dropped_batches,
            delta.dropped_segments,
            delta.dropped_pages,
        )
        for delta in deltas
    ]


def restorable():
    op, engine = Operations(), Engine()
    operations = [op(Declare(SCHEMA)), op(register(1)), op.rows(numbers(0, 5))]
    merged = merge(folded(engine, operations))
    return checkpoint_of(merged, engine), operations[2]


def test_restore_without_a_batch_that_is_held_is_refused():
    """A checkpoint whose tuples the log does not have is damage, not a start."""
    checkpoint, _ = restorable()
    with pytest.raises(IntegrityError):
        Engine.restore(checkpoint, [])


def test_restore_with_a_batch_that_is_not_held_is_refused():
    """A batch without a record, or another operation in its place, is refused."""
    checkpoint, batch = restorable()
    op = Operations()
    op(Tick())
    with pytest.raises(IntegrityError):
        Engine.restore(checkpoint, [op(Tick()), batch])


def test_restore_with_other_rows_than_recorded_is_refused():
    """A batch of another length than its record says is refused."""
    checkpoint, _ = restorable()
    op = Operations()
    other = [op(Tick()), op(Tick()), op.rows(numbers(0, 4))][2]
    with pytest.raises(IntegrityError):
        Engine.restore(checkpoint, [other])


@pytest.mark.parametrize("damage", ["clauses", "rows", "text"])
def test_restore_from_records_that_do_not_agree_is_refused(damage):
    """A query without its clause, rows without batches, a text that does not bind: damage, not a start."""
    checkpoint, batch = restorable()
    (stream,), (clause,) = checkpoint.streams, checkpoint.clauses
    changes: dict[str, dict[str, Any]] = {
        "clauses": {"clauses": ()},
        "rows": {"streams": (replace(stream, rows=6),)},
        "text": {"clauses": (replace(clause, text="SELECT nothing FROM s"),)},
    }
    with pytest.raises(IntegrityError):
        Engine.restore(replace(checkpoint, **changes[damage]), [batch])
