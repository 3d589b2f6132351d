"""Joins of a few tuples: the engine beside the twin on random programs, and beside itself written otherwise."""

from collections import Counter
from collections.abc import Mapping

from hypothesis import given, strategies as st

from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import Materialize, QueryId
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.factor import BandFactor
from psoup.engine.tuples.schema import Retention, StreamId, StreamSchema
from tests import strategies, strategies_join, strategies_streams
from tests.agreement.comparison import Paging, compare
from tests.reference import Reference, combined
from tests.reference_values import Row, holds, value_of
from tests.strategies import fewer
from tests.strategies_join import DrawnJoin
from tests.world import World

Step = tuple[str, list[Row]] | DrawnJoin | str
"""A batch for a stream, a query to register, or the name of what else happens."""

OTHER_STEPS = ("again", "remove", "tick", "lose", "page")


@st.composite
def programs(draw: st.DrawFn) -> tuple[Mapping[str, StreamSchema], list[Step]]:
    """Draw streams, and batches, queries and the rest in one order."""
    retentions = st.one_of(st.just(Retention()), strategies.retentions())
    schemas = draw(strategies_streams.stream_sets(retention=retentions))
    batches = [
        st.tuples(st.just(name), strategies_streams.batches(schema))
        for name, schema in schemas.items()
    ]
    queries = strategies_join.queries(schemas)
    some = st.one_of(*batches, *batches, queries, queries, st.sampled_from(OTHER_STEPS))
    return schemas, draw(st.lists(some, min_size=3, max_size=12))


class Program:
    """A program under way: the world, the twin behind it, and who reads what."""

    def __init__(self, schemas: Mapping[str, StreamSchema]) -> None:
        self.world = World()
        self.reference = Reference()
        for schema in schemas.values():
            self.world.declare(schema)
        self.standing: dict[QueryId, DrawnJoin] = {}
        self.pagings: list[Paging] = []

    def take(self, step: Step, data: st.DataObject) -> None:
        """Let one step happen, then every reader turn a page."""
        match step:
            case DrawnJoin():
                policy = data.draw(st.sampled_from(list(Materialize)))
                self.standing[self.world.register(step.sql, materialize=policy)] = step
            case (name, rows):
                self.world.append(name, rows)
                self.world.clock.advance(data.draw(st.sampled_from([0, SECOND_US, 5 * SECOND_US])))
            case "tick":
                self.world.tick()
            case "lose":
                self.world.lose_engine()
            case _:
                if self.standing:
                    query_id = data.draw(st.sampled_from(sorted(self.standing)))
                    self._with_a_query(step, query_id, data)
        self._settle()
        for paging in self.pagings:
            if paging.position is not None:
                paging.next(self.world)

    def _with_a_query(self, step: str, query_id: QueryId, data: st.DataObject) -> None:
        if step == "again":
            drawn = self.standing[query_id]
            window = data.draw(strategies_join.windows_for(drawn.ranges)).text
            text = drawn.sql.removesuffix(drawn.window.text) + f" {window}"
            self.standing[self.world.register(text)] = drawn
        elif step == "remove":
            self.world.remove(query_id)
            del self.standing[query_id]
            self.pagings = [one for one in self.pagings if one.query_id != query_id]
        else:
            self._settle()
            self.pagings.append(Paging(self.world, self.reference, query_id, limit=1))

    def _settle(self) -> None:
        for operation in self.world.history[self.reference.seq :]:
            self.reference.apply(operation)


@fewer(15)
@given(program=programs(), data=st.data())
def test_oracle_random_programs_of_joins_answer_as_the_twin(program, data):
    """Batches, joins, removals, ticks, restarts, pages in any order: every answer is the twin's."""
    schemas, steps = program
    running = Program(schemas)
    for step in steps:
        running.take(step, data)
    running.world.check()
    for query_id in running.standing:
        limit = data.draw(st.sampled_from([1, 1_000]))
        compare(running.world, running.reference, query_id, limit=limit)
        at_us = data.draw(strategies.times_us())
        compare(running.world, running.reference, query_id, at_us=at_us)


@given(data=st.data())
def test_oracle_binder_keeps_the_meaning_of_a_join(data):
    """What the binder makes of a text (factors, normal forms) holds for the tuples that the tree drawn holds for.

    A band lies inside the bounds it names, and its canonical text, bound again, is the same query.
    """
    schemas = data.draw(strategies_streams.stream_sets())
    drawn = data.draw(strategies_join.queries(schemas))
    streams = {name: (StreamId(i), schema) for i, (name, schema) in enumerate(schemas.items())}
    bound = bind(drawn.sql, streams)
    assert drawn.window.window == bound.window
    assert drawn.ranges == bound.ranges
    assert drawn.streams == tuple(source.stream for source in bound.clause.sources)
    parts = [
        data.draw(strategies_streams.batches(schemas[name], max_size=3)) for name in drawn.streams
    ]
    for number in range(max(map(len, parts))):
        rows = [rows[number % len(rows)] for rows in parts if rows]
        if len(rows) < len(parts):
            break
        expected = value_of(drawn.where, rows) is True
        assert expected == holds(bound.clause, rows), (drawn.sql, rows)
        shown = [value_of(output.expression, rows) for output in bound.shape.outputs]
        assert [value_of(tree, rows) for tree in drawn.outputs] == shown
        for factor in bound.clause.factors:
            if isinstance(factor, BandFactor):
                check_band(factor, rows)
    again = bind(bound.canonical, streams)
    assert bound == again


def check_band(factor: BandFactor, rows: list[Row]) -> None:
    """Assert that the difference of the sides lies between the bounds where the factor is TRUE."""
    left, right = value_of(factor.left, rows), value_of(factor.right, rows)
    held = all(value_of(one, rows) is True for one in factor.conditions)
    if held:
        assert isinstance(left, int | float)
        assert isinstance(right, int | float)
        if isinstance(left, float) != isinstance(right, float):
            left, right = float(left), float(right)
        assert factor.low is None or factor.low <= left - right
        assert factor.high is None or left - right <= factor.high


@fewer(15)
@given(data=st.data())
def test_oracle_join_written_with_on_or_where_or_in_another_order_answers_alike(data):
    """JOIN ON is FROM and WHERE; FROM in another order finds the same, named in that order."""
    schemas = data.draw(strategies_streams.stream_sets())
    drawn = strategies_join.without_ids(data.draw(strategies_join.queries(schemas)))
    places = data.draw(st.permutations(range(len(drawn.entries))))
    listing = drawn.select.removeprefix("SELECT ").partition(" FROM ")[0]
    where = f"WHERE {' AND '.join(drawn.conditions)} {drawn.window.text}"
    texts = [
        f"SELECT {listing} FROM {', '.join(drawn.entries)} {where}",
        f"SELECT {listing} FROM {', '.join(drawn.entries[place] for place in places)} {where}",
    ]
    world = World()
    for name, schema in schemas.items():
        world.declare(schema)
        world.append(name, data.draw(strategies_streams.batches(schema)))
    given_text = drawn.sql.replace("SELECT *", f"SELECT {listing}", 1)
    written, commas, moved = (
        world.invoke(world.register(text)).rows for text in [given_text, *texts]
    )
    assert written == commas
    back = [places.index(place) for place in range(len(places))]
    named = []
    for ids, leaves_us, values in moved:
        parts = ids.split("-")
        named.append(("-".join(parts[place] for place in back), leaves_us, values))
    assert sorted(commas, key=repr) == sorted(named, key=repr)


@fewer(15)
@given(data=st.data())
def test_oracle_join_registered_before_between_and_after_answers_alike(data):
    """One text over no data, over half of it, over all of it, alone and among others (NoREC)."""
    schemas = data.draw(strategies_streams.stream_sets(event_time=True))
    drawn = data.draw(strategies_join.queries(schemas))
    other = data.draw(strategies_join.queries(schemas))
    world, alone = World(), World()
    for schema in schemas.values():
        world.declare(schema)
        alone.declare(schema)
    handles = [world.register(drawn.sql)]
    for _ in range(2):
        for name in data.draw(st.permutations(sorted(schemas))):
            rows = data.draw(strategies_streams.batches(schemas[name], max_size=4))
            world.append(name, rows)
            alone.append(name, rows)
        world.register(other.sql)
        handles.append(world.register(drawn.sql))
    answers = [world.invoke(query_id) for query_id in handles]
    assert answers[0] == answers[1]
    assert answers[0] == answers[2]
    assert answers[0].rows == alone.invoke(alone.register(drawn.sql)).rows


def test_strategies_draw_joins_that_find_something():
    """Half of the drawn joins find something, and most of those leave something out: the proofs bite."""
    outcomes: Counter[str] = Counter()

    @given(data=st.data())
    def draw_and_count(data):
        schemas = data.draw(strategies_streams.stream_sets(event_time=True))
        drawn = data.draw(strategies_join.queries(schemas))
        world = World()
        for name, schema in schemas.items():
            world.declare(schema)
            world.append(name, data.draw(strategies_streams.batches(schema, min_size=5)))
        shown = len(world.invoke(world.register(drawn.sql)).rows)
        twin = Reference.fold(world.history)
        held = [twin.streams[world.streams[name][0]].tuples for name in drawn.streams]
        pairs = len(combined(held, ()))
        outcomes["all" if shown == pairs else "some" if shown else "none"] += 1

    draw_and_count()
    total = outcomes.total()
    assert outcomes["none"] <= 0.5 * total, outcomes
    assert outcomes["some"] >= 0.4 * total, outcomes
