"""Many queries at one position: each as if it were asked alone, or why it has no answer."""

import pytest

from psoup.engine.errors import NotFoundError, NowOutOfRangeError, OverloadedError, PageExpiredError
from psoup.engine.invocation.position.answer import Answer, Request
from psoup.engine.invoke import ATTEMPTS_MAX, invoke, invoke_many
from psoup.engine.log.operation import QueryId
from tests.engine.batches import schema_keeping
from tests.engine.one_stream import SLIDING, T0, ask, send, world_of

NOBODY = QueryId("q_nobody")


class Leaving:
    """A source whose tuples are gone whenever they are evaluated, so many times."""

    def __init__(self, source, times):
        self._source, self._left = source, times

    def matching(self, stream_id, clause, first_row, past_row):
        if self._left:
            self._left -= 1
            raise PageExpiredError
        return self._source.matching(stream_id, clause, first_row, past_row)

    def __getattr__(self, name):
        return getattr(self._source, name)


def ask_many(world, query_ids, *, source=None, **request):
    return invoke_many(
        world.store.results,
        source or world.engine.source,
        query_ids=query_ids,
        request=Request(limit=100, **request),
        cache=world.cache,
    )


def standing():
    world = world_of(schema_keeping(rows=3))
    handles = [world.register(sql) for sql in (SLIDING, "SELECT a FROM s WHERE a > 1")]
    send(world, *[(T0 + 10 * i, i) for i in range(5)])
    return world, handles


def test_invoke_many_answers_each_as_alone_and_says_who_is_not_there():
    """Answers stand in the order asked, and a handle that nobody has is refused in its place."""
    world, handles = standing()
    first, missing, second = ask_many(world, [handles[0], NOBODY, handles[1]])
    assert isinstance(missing, NotFoundError)
    for query_id, answer in zip(handles, (first, second), strict=True):
        assert isinstance(answer, Answer)
        alone = ask(world, query_id)
        assert (alone.cut.seq, alone.count) == (answer.cut.seq, answer.count)
        assert alone.tuple_ids.tolist() == answer.tuple_ids.tolist()


def test_invoke_many_at_an_instant_out_of_reach_refuses_each():
    """The refusal that a query alone would raise stands in its place."""
    world, handles = standing()
    refused = ask_many(world, handles, now_us=T0 + 999)
    assert [NowOutOfRangeError] * 2 == [type(one) for one in refused]


def test_invoke_while_tuples_keep_leaving_is_tried_again_and_given_up():
    """Read again from a later position some times, then refused as too much at once."""
    world, (query_id, _) = standing()
    (answer,) = ask_many(world, [query_id], source=Leaving(world.engine.source, ATTEMPTS_MAX - 1))
    assert isinstance(answer, Answer)
    gone = Leaving(world.engine.source, 2 * ATTEMPTS_MAX)
    with pytest.raises(OverloadedError):
        ask_many(world, [query_id], source=gone)
    with pytest.raises(OverloadedError):
        invoke(
            world.store.results,
            gone,
            query_id=query_id,
            request=Request(limit=100),
            cache=world.cache,
        )
