"""Explanations: what is told of a row is what the answer shows of it, and each predicate is DuckDB's verdict."""

from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

from psoup.engine.asking.explain import Explained, explain, explain_given
from psoup.engine.asking.explanation import Explanation, Reason
from psoup.engine.errors import NotFoundError, NowOutOfRangeError
from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import Materialize, QueryId
from psoup.engine.tuples.arrow import encode_batch
from psoup.engine.tuples.batch import Seq, TupleBatch, TupleId
from psoup.engine.tuples.batch_reader import BatchReader
from psoup.engine.tuples.schema import Retention
from tests import strategies, strategies_join, strategies_sql, strategies_streams
from tests.agreement.test_left_joins import SHOWN, WINDOWS, drawn_join
from tests.engine.batches import schema_keeping
from tests.oracle_duckdb import DuckDbOracle
from tests.reference import Reference
from tests.reference_streams import ReferenceStream
from tests.reference_values import Row
from tests.world import World, record_batch

POLICIES = st.sampled_from(list(Materialize))


def explained(
    world: World, query_id: QueryId, row_id: str, *, at_us: int | None = None
) -> Explained:
    ids = [int(part) if part else None for part in row_id.split("-")]
    return explain(
        world.store.results,
        world.engine.source,
        query_id=query_id,
        tuple_ids=ids,
        now_us=at_us,
        cache=world.cache,
    )


def explained_row(world: World, query_id: QueryId, name: str, row: Row) -> Explanation:
    """Return the explanation of a row that is given to a query over one stream."""
    snapshot = world.store.results.snapshot(query_id)
    given = {0: as_batch(world, name, row)}
    (found,) = explain_given(snapshot, given, cache=world.cache).explanations
    return found


def as_batch(world: World, name: str, row: Row) -> TupleBatch:
    stream_id, schema = world.streams[name]
    return (
        BatchReader(schema)
        .batch(
            encode_batch(record_batch(schema, [row])),
            stream_id=stream_id,
            first_tuple_id=TupleId(1),
            seq=Seq(0),
            arrival_us=world.store.results.cut().server_now_us,
        )
        .whole()
    )


def streams_of(world: World) -> dict[str, ReferenceStream]:
    """Return the streams as the twin has them, by name."""
    return {one.schema.name: one for one in Reference.fold(world.history).streams.values()}


def check_row(found: Explanation, *, is_answered: bool) -> None:
    """Assert that an explanation agrees with the answer, and with itself."""
    seen = found.visibility
    assert is_answered == seen.visible, found
    assert (seen.reason is Reason.SHOWN) == seen.visible
    assert not seen.visible or found.matches
    assert (seen.reason is Reason.UNMATCHED) <= (not found.matches)


def ends_of(world: World, query_id: QueryId, held: list[int], data: Any) -> list[int]:
    """Return the instants at which the window begins and ceases to show a tuple, and those just before."""
    if not held or world.invoke(query_id).now_us is None:
        return []
    tuple_id = data.draw(st.sampled_from(held))
    (row,) = explained(world, query_id, str(tuple_id)).explanations
    seen = row.visibility
    ends = [us for us in (seen.enters_us, seen.leaves_us) if us is not None]
    return [us - before for us in ends for before in (0, 1)]


@given(data=st.data())
def test_oracle_explanation_of_each_tuple_is_the_answer(data: Any):
    """Every tuple that is held, at NOW and at another instant: visible iff the answer has it; matching iff all hold."""
    schema = data.draw(strategies.schemas(retention=strategies.retentions()))
    query = data.draw(strategies_sql.queries(schema))
    assume(not query.distinct)
    world = World()
    world.declare(schema)
    query_id = world.register(query.sql, materialize=data.draw(POLICIES))
    for _ in range(2):
        world.append(schema.name, data.draw(strategies.batches(schema)))
        world.clock.advance(data.draw(st.sampled_from([0, 5 * SECOND_US])))
    stream = streams_of(world)[schema.name]
    held = {one.tuple_id for one in stream.retained()}
    instants: list[int | None] = [None, data.draw(strategies.times_us())]
    instants += ends_of(world, query_id, sorted(held), data)
    for at_us in instants:
        try:
            answer = world.invoke(query_id, at_us=at_us)
        except NowOutOfRangeError:
            with pytest.raises(NowOutOfRangeError):
                explained(world, query_id, "1", at_us=at_us)
            continue
        shown = {row_id for row_id, _, _ in answer.rows}
        for one in stream.tuples:
            row_id = str(one.tuple_id)
            if one.tuple_id not in held or answer.now_us is None:
                assert row_id not in shown
                with pytest.raises(NotFoundError):
                    explained(world, query_id, row_id, at_us=at_us)
                continue
            found = explained(world, query_id, row_id, at_us=at_us)
            (row,) = found.explanations
            assert answer.now_us == found.now_us
            assert row.matches == all(verdict.result is True for verdict in row.verdicts)
            check_row(row, is_answered=row_id in shown)


@given(data=st.data())
def test_oracle_explanation_of_each_predicate_is_that_of_duckdb(data: Any):
    """TRUE, FALSE or unknown; and the values that it reads are those of the row."""
    schema = data.draw(strategies.schemas())
    condition = data.draw(strategies_sql.conditions(schema)).text
    world = World()
    world.declare(schema)
    query_id = world.register(f"SELECT * FROM s WHERE {condition}")
    world.append(schema.name, data.draw(strategies.batches(schema)))
    tuples = streams_of(world)[schema.name].tuples
    with DuckDbOracle() as oracle:
        oracle.load(
            schema,
            [one.values for one in tuples],
            tuple_ids=[one.tuple_id for one in tuples],
            times_us=[one.time_us for one in tuples],
        )
        verdicts: dict[str, dict[int, object]] = {}
        for one in tuples:
            found = explained(world, query_id, str(one.tuple_id))
            for verdict in found.explanations[0].verdicts:
                assert {read.name: one.values[read.name] for read in verdict.read} == {
                    read.name: read.value for read in verdict.read
                }
                if verdict.sql not in verdicts:
                    answer = oracle.answer(f"SELECT ({verdict.sql}) AS v FROM s")
                    verdicts[verdict.sql] = {row: value for row, _, (value,) in answer}
                assert verdicts[verdict.sql][one.tuple_id] is verdict.result, verdict.sql


@given(data=st.data())
def test_oracle_explanation_of_a_given_row_is_the_answer_after_it_is_sent(data: Any):
    """What is told of a row that is not stored comes true when it is; telling has stored nothing."""
    kept = st.sampled_from([Retention(), Retention(time_us=20 * SECOND_US)])
    schema = data.draw(strategies.schemas(retention=kept))
    query = data.draw(strategies_sql.queries(schema))
    assume(not query.distinct)
    world = World()
    world.declare(schema)
    world.append(schema.name, data.draw(strategies.batches(schema)))
    query_id = world.register(query.sql)
    row = data.draw(strategies.rows(schema))
    before = world.store.results.checkpoint()
    found = explained_row(world, query_id, schema.name, row)
    assert before == world.store.results.checkpoint()
    world.append(schema.name, [row])
    tuple_id = streams_of(world)[schema.name].tuples[-1].tuple_id
    shown = {row_id for row_id, _, _ in world.invoke(query_id).rows}
    check_row(found, is_answered=str(tuple_id) in shown)


@given(data=st.data())
def test_oracle_explanation_of_join_rows_is_the_answer(data: Any):
    """Each combination of tuples of drawn joins; and a tuple alone fails where nothing that it is part of matches."""
    retentions = st.one_of(st.just(Retention()), strategies.retentions())
    schemas = data.draw(strategies_streams.stream_sets(retention=retentions))
    query = strategies_join.without_ids(
        data.draw(strategies_join.queries(schemas, sources=(2, 2, 3)))
    )
    world = World()
    for schema in schemas.values():
        world.declare(schema)
    query_id = world.register(query.sql, materialize=data.draw(POLICIES))
    for name, schema in schemas.items():
        world.append(name, data.draw(strategies_streams.batches(schema)))
    answer = world.invoke(query_id)
    if answer.now_us is None:
        return
    shown = {row_id for row_id, _, _ in answer.rows}
    streams = streams_of(world)
    parts = [[one.tuple_id for one in streams[name].retained()] for name in query.streams]
    assume(all(parts))
    row_ids = ["-".join(str(data.draw(st.sampled_from(ids))) for ids in parts) for _ in range(4)]
    matching: set[tuple[int, str]] = set()
    for row_id in {*row_ids, *sorted(shown)[:4]}:
        (row,) = explained(world, query_id, row_id).explanations
        check_row(row, is_answered=row_id in shown)
        assert row.matches == all(verdict.result is True for verdict in row.verdicts)
        if row.matches:
            matching |= set(enumerate(row_id.split("-")))
    for place, tuple_id in sorted(matching):
        alone = explained(world, query_id, tuple_id).explanations
        assert [one.matches for one in alone if one.place == place] == [True]


@given(data=st.data())
def test_oracle_explanation_of_left_joins_and_row_windows_is_the_answer(data: Any):
    """Pairs, and rows of the left beside nothing, where others hide them as well."""
    world, on, where = drawn_join(data)
    counted = data.draw(st.sampled_from(["", "", "[ROWS 2]", "[PARTITION BY t ROWS 1]"]))
    window = data.draw(st.sampled_from(WINDOWS))
    query_id = world.register(
        f"SELECT {SHOWN} FROM s AS x LEFT JOIN r AS y {counted} ON {on} {where} {window}",
        materialize=data.draw(POLICIES),
    )
    answer = world.invoke(query_id)
    if answer.now_us is None:
        return
    shown = {row_id for row_id, _, _ in answer.rows}
    streams = streams_of(world)
    rights = ["", *(str(one.tuple_id) for one in streams["r"].tuples)]
    for one in streams["s"].tuples[:4]:
        for right in rights[:5]:
            row_id = f"{one.tuple_id}-{right}"
            (row,) = explained(world, query_id, row_id).explanations
            check_row(row, is_answered=row_id in shown)


def test_explanation_of_what_newer_rows_hide_says_so():
    """A row window has taken others in its place."""
    world = World()
    world.declare(schema_keeping())
    world.append("s", [{"ts": strategies.EPOCH_US + i, "a": i, "t": "x"} for i in range(3)])
    query_id = world.register("SELECT a FROM s [ROWS 2]")
    reasons = [
        explained(world, query_id, str(one)).explanations[0].visibility.reason for one in (1, 2, 3)
    ]
    assert [Reason.REPLACED, Reason.SHOWN, Reason.SHOWN] == reasons


def test_explanation_of_ids_that_name_no_row_is_refused():
    """Tuples of other streams, too few or too many parts, and none at all."""
    world = World()
    for name in ("s", "r"):
        world.declare(schema_keeping(name=name))
        world.append(name, [{"ts": strategies.EPOCH_US, "a": 1, "t": "x"}])
    alone = world.register("SELECT a FROM s")
    joined = world.register("SELECT s.a FROM s, r WHERE s.a = r.a")
    for query_id, row_id in [
        (alone, "2"), (alone, "99"), (alone, "1-2"), (alone, "1-"), (alone, str(10**18)),
        (joined, "1-1"), (joined, "1-"), (joined, "1-2-1"), (joined, "3"),
    ]:  # fmt: skip
        with pytest.raises(NotFoundError):
            explained(world, query_id, row_id)
    assert explained(world, joined, "1-2").explanations[0].visibility.visible


def test_explanation_of_a_tuple_of_a_join_is_given_for_each_place():
    """In a join of a stream with itself it may stand in either."""
    world = World()
    world.declare(schema_keeping())
    world.append("s", [{"ts": strategies.EPOCH_US + i, "a": i, "t": "x"} for i in range(3)])
    query_id = world.register(
        "SELECT x.a FROM s AS x, s AS y WHERE x.t = y.t AND x.a > 1 AND y.a = 1"
    )
    found = explained(world, query_id, "2").explanations
    assert [(0, False, ["s_1.a > 1"]), (1, True, ["s_2.a = 1"])] == [
        (one.place, one.matches, [verdict.sql for verdict in one.verdicts]) for one in found
    ]


def test_explanation_at_the_ends_of_a_window_is_the_answer():
    """Both ends belong to the window: a row leaves a microsecond behind the later one, and enters at the earlier."""
    world = World()
    world.declare(schema_keeping())
    world.append(
        "s",
        [{"ts": strategies.EPOCH_US + second * SECOND_US, "a": 1, "t": ""} for second in (0, 20)],
    )
    query_id = world.register("SELECT a FROM s BEGIN (NOW - 9) END (NOW - 4)")
    told, answered = [], []
    for second, apart_us in [(4, -1), (4, 0), (9, 0), (9, 1)]:
        at_us = strategies.EPOCH_US + second * SECOND_US + apart_us
        (row,) = explained(world, query_id, "1", at_us=at_us).explanations
        told.append(row.visibility.reason)
        answered.append(len(world.invoke(query_id, at_us=at_us).rows))
    assert [0, 1, 1, 0] == answered
    assert [Reason.TO_COME, Reason.SHOWN, Reason.SHOWN, Reason.GONE] == told
