"""Operations that are published as one: the last thing that happened to a handle counts."""

from psoup.engine.log.operation import QueryId, Register, Remove
from psoup.engine.query.bind.binder import bind
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema
from tests.world import World

SCHEMA = StreamSchema("s", (ColumnSchema("a", ColumnType.INT64),), None, ClockKind.SERVER)


def registration(world: World, sql: str = "SELECT a FROM s WHERE a > 1") -> Register:
    """Return the registration of one handle, as it is sent again and again."""
    bound = bind(sql, world.streams)
    return Register(QueryId("q_1"), bound.canonical, {"s": world.streams["s"][0]})


def test_merge_of_a_handle_removed_and_registered_again_keeps_it():
    """An attempt that was given up may come through after the handle's removal: what it registers stands."""
    world = World()
    world.declare(SCHEMA)
    again = registration(world)
    for content in (again, Remove(again.query_id), again):
        world.append_content(content, fold=False)
    world.append("s", [{"a": value} for value in range(4)], fold=False)
    world.fold()
    world.check()
    assert [(2,), (3,)] == [values for _, _, values in world.invoke(again.query_id).rows]
    assert [again.query_id] == [one.query_id for one in world.store.results.queries()]


def test_merge_of_a_handle_registered_again_and_removed_drops_it():
    """The other way round nothing is left of it, neither handle nor clause."""
    world = World()
    world.declare(SCHEMA)
    again = registration(world)
    world.append_content(again)
    for content in (Remove(again.query_id), again, Remove(again.query_id)):
        world.append_content(content, fold=False)
    world.fold()
    world.check()
    checkpoint = world.store.results.checkpoint()
    assert ((), ()) == (tuple(checkpoint.queries), tuple(checkpoint.clauses))
