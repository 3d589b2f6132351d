"""One stream, queries over it, and what they answer: the words of the invocation's tests."""

from psoup.engine.invoke import Request, invoke
from tests.engine.batches import schema_keeping
from tests.world import World

T0 = 1_000_000
ALL = schema_keeping()

SLIDING = "SELECT ts FROM s BEGIN (NOW - 0.000020) END (NOW)"


def world_of(schema=ALL):
    world = World()
    world.declare(schema)
    return world


def send(world, *rows, fold=True):
    """Append (ts, a) or (ts, a, t) tuples as one batch."""
    named = [dict(zip(("ts", "a", "t"), (*row, None), strict=False)) for row in rows]
    return world.append("s", named, fold=fold)


def ask(world, query_id, **request):
    limit = request.pop("limit", 100)
    return invoke(
        world.store.results,
        world.engine.source,
        query_id=query_id,
        request=Request(limit=limit, **request),
        cache=world.cache,
    )


def times(answer):
    return answer.columns[0][1].to_list()
