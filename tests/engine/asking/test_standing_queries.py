"""Which standing queries a row hits: those in whose answers it is once it is appended, and no others."""

from typing import Any

from hypothesis import given, strategies as st

from psoup.engine.asking.standing_queries import RowMatches, StandingQueries
from psoup.engine.limits import DAY_US
from psoup.engine.log.operation import Materialize, QueryId
from psoup.engine.query.bind.binder import bind
from psoup.engine.tuples.arrow import encode_batch
from psoup.engine.tuples.batch import Seq, TupleBatch, TupleId
from psoup.engine.tuples.batch_reader import BatchReader
from psoup.engine.tuples.schema import StreamId, StreamSchema
from tests import strategies, strategies_join, strategies_sql, strategies_streams
from tests.agreement.test_left_joins import ROWS, drawn_join
from tests.engine.asking.test_explanations import as_batch, streams_of
from tests.engine.batches import schema_keeping
from tests.reference_values import Row
from tests.world import World, record_batch

POLICIES = st.sampled_from(list(Materialize))


def standing(world: World, name: str) -> StandingQueries:
    """Return the queries over a stream, as they stand."""
    stream_id, _ = world.streams[name]
    found = StandingQueries(stream_id)
    for record in world.store.results.readers(stream_id):
        bound = bind(record.canonical, world.streams)
        found.build(record.query_id, bound, seq=record.seq, defined_seq=record.definition_seq)
    found.check()
    return found


def matched(world: World, name: str, row: Row, *, limit: int = 1_000) -> RowMatches:
    (found,) = standing(world, name).probe(as_batch(world, name, row), limit=limit)
    return found


def unwindowed(sql: str, window: str) -> str:
    """Return the text without its window: whatever matches is then in the answer."""
    return sql.removesuffix(window).strip()


@given(data=st.data())
def test_oracle_queries_that_a_row_hits_are_those_that_answer_it(data: Any):
    """Drawn selections, of every policy, some removed: a row is in the answers of those told, of all that stand."""
    schema = data.draw(strategies.schemas())
    world = World()
    world.declare(schema)
    ids: list[QueryId] = []
    for query in data.draw(st.lists(strategies_sql.queries(schema), min_size=1, max_size=8)):
        sql = unwindowed(query.sql.replace("SELECT DISTINCT ", "SELECT ", 1), query.window.text)
        ids.append(world.register(sql, materialize=data.draw(POLICIES)))
    gone = data.draw(st.sets(st.sampled_from(ids)))
    for query_id in gone:
        world.remove(query_id)
    rows = data.draw(st.lists(strategies.rows(schema), min_size=1, max_size=5))
    stem = standing(world, schema.name)
    found = stem.probe(batch_of(world, schema, rows), limit=1_000)
    world.append(schema.name, rows)
    world.clock.advance(2 * DAY_US)
    answers = {
        query_id: {row_id for row_id, _, _ in world.invoke(query_id).rows}
        for query_id in ids
        if query_id not in gone
    }
    retained = {one.tuple_id for one in streams_of(world)[schema.name].retained()}
    for one, matches in zip(streams_of(world)[schema.name].tuples, found, strict=True):
        if one.tuple_id not in retained or is_to_come(world, schema, one.time_us):
            continue
        expected = [query_id for query_id, shown in answers.items() if str(one.tuple_id) in shown]
        assert (tuple(expected), len(expected)) == (matches.queries, matches.total)


def is_to_come(world: World, schema: StreamSchema, time_us: int) -> bool:
    """Return whether a row is dated past the server's clock, where that is NOW."""
    return schema.clock.value == "server" and time_us > world.clock.now_us()


def batch_of(world: World, schema: StreamSchema, rows: list[Row]) -> TupleBatch:
    return (
        BatchReader(schema)
        .batch(
            encode_batch(record_batch(schema, rows)),
            stream_id=world.streams[schema.name][0],
            first_tuple_id=TupleId(1),
            seq=Seq(0),
            arrival_us=world.clock.now_us(),
        )
        .whole()
    )


@given(data=st.data())
def test_oracle_joins_that_a_row_does_not_hit_never_answer_it(data: Any):
    """A row is in no answer of a join that was not told; one that asks nothing of the stream alone is always told."""
    schemas = data.draw(strategies_streams.stream_sets())
    world = World()
    for schema in schemas.values():
        world.declare(schema)
    name = data.draw(st.sampled_from(sorted(schemas)))
    ids = []
    for _ in range(data.draw(st.integers(1, 4))):
        query = strategies_join.without_ids(
            data.draw(strategies_join.queries(schemas, sources=(2, 2, 3)))
        )
        if name in query.streams:
            sql = unwindowed(query.sql, query.window.text)
            ids.append((world.register(sql, materialize=data.draw(POLICIES)), query.streams))
    for other, schema in schemas.items():
        world.append(other, data.draw(strategies_streams.batches(schema)))
    row = data.draw(strategies_streams.rows(schemas[name]))
    found = matched(world, name, row)
    assert found.total == len(found.queries) == len(set(found.queries))
    world.append(name, [row])
    tuple_id = str(streams_of(world)[name].tuples[-1].tuple_id)
    for query_id, streams in ids:
        places = [place for place, stream in enumerate(streams) if stream == name]
        shown = {
            row_id.split("-")[place]
            for row_id, _, _ in world.invoke(query_id).rows
            for place in places
        }
        if tuple_id in shown:
            assert query_id in found.queries


@given(data=st.data())
def test_oracle_left_joins_that_a_row_does_not_hit_never_answer_it(data: Any):
    """The left stands beside nothing whatever ON asks of it; the right as ON asks."""
    world, on, where = drawn_join(data)
    query_id = world.register(f"SELECT x.a FROM s AS x LEFT JOIN r AS y ON {on} {where}")
    name = data.draw(st.sampled_from(["s", "r"]))
    (row, *_) = data.draw(ROWS.filter(bool))
    found = matched(world, name, row)
    world.append(name, [row])
    tuple_id = str(streams_of(world)[name].tuples[-1].tuple_id)
    place = 0 if name == "s" else 1
    if tuple_id in {row_id.split("-")[place] for row_id, _, _ in world.invoke(query_id).rows}:
        assert (query_id,) == found.queries


@given(data=st.data())
def test_index_kept_up_is_the_index_built_anew(data: Any):
    """Queries come, go and are replaced in any order: the index tells what one of those that stand tells."""
    schema = schema_keeping()
    streams = {"s": (StreamId(1), schema)}
    kept, standing_now = StandingQueries(streams["s"][0]), dict[QueryId, tuple[int, str]]()
    world = World()
    world.declare(schema)
    texts = [
        f"SELECT {shown} FROM s WHERE {where}"
        for shown in ("a", "t")
        for where in ("a > 2", "a = 3", "t = 'x'")
    ]
    for seq in range(1, data.draw(st.integers(2, 30))):
        query_id = QueryId(f"q_{data.draw(st.integers(0, 5))}")
        if query_id in standing_now and data.draw(st.booleans()):
            kept.evict(query_id)
            del standing_now[query_id]
        else:
            text = data.draw(st.sampled_from(texts))
            registered, _ = standing_now.get(query_id, (seq, text))
            bound = bind(text, streams)
            kept.build(query_id, bound, seq=Seq(registered), defined_seq=Seq(seq))
            standing_now[query_id] = (registered, text)
            assert (query_id, seq) in list(kept)
        kept.check()
    anew = StandingQueries(streams["s"][0])
    for query_id, (seq, text) in sorted(standing_now.items()):
        anew.build(query_id, bind(text, streams), seq=Seq(seq), defined_seq=Seq(seq))
    anew.check()
    row: Row = {"ts": strategies.EPOCH_US, "a": data.draw(st.integers(1, 4)), "t": "x"}
    for limit in (1, 2, 100):
        batch = as_batch(world, "s", row)
        assert anew.probe(batch, limit=limit) == kept.probe(batch, limit=limit)
    told = kept.probe(as_batch(world, "s", row), limit=3)[0].queries
    assert list(told) == sorted(told, key=lambda one: standing_now[one][0])


def test_rows_that_many_queries_hit_name_the_first_of_them():
    """Bitmaps and lists, NULLs, queries that ask nothing: the order is that of registration, whatever is asked."""
    world = World()
    world.declare(schema_keeping())
    ids = [world.register(f"SELECT a FROM s WHERE a >= {number}") for number in range(150)]
    ids += [world.register("SELECT t FROM s"), world.register("SELECT t FROM s WHERE a IS NULL")]
    ids += [world.register("SELECT t FROM s WHERE t LIKE '%x%'") for _ in range(3)]
    rows: list[Row] = [
        {"ts": strategies.EPOCH_US, "a": 149, "t": "axe"},
        {"ts": strategies.EPOCH_US, "a": 2, "t": "b"},
        {"ts": strategies.EPOCH_US, "a": None, "t": None},
    ]
    _, schema = world.streams["s"]
    found = standing(world, "s").probe(batch_of(world, schema, rows), limit=4)
    assert [154, 4, 2] == [one.total for one in found]
    assert [tuple(ids[:4]), (*ids[:3], ids[150]), (ids[150], ids[151])] == [
        one.queries for one in found
    ]
