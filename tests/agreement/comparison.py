"""The engine's answers beside the twin's, at the same position."""

import contextlib
from random import Random

import pytest

from psoup.engine.errors import NowOutOfRangeError
from psoup.engine.invocation.position.answer import PagePosition, Request
from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import QueryId
from tests.reference import Answer, AnswerRow, OutOfRangeError, Reference
from tests.world import World, rows_of


def compare(
    world: World,
    reference: Reference,
    query_id: QueryId,
    *,
    at_us: int | None = None,
    limit: int = 1_000,
) -> Answer | None:
    """Assert that the query answers as the twin does; return the answer, None where both refuse.

    A real server's clock moves between two looks at it: NOW has to lie between them, and the twin is
    asked about that instant. A manual clock stands still, so there it is one instant.
    """
    before_us = world.store.results.cut().server_now_us
    answer: Answer | None = None
    with contextlib.suppress(NowOutOfRangeError):
        answer = world.invoke(query_id, at_us=at_us, limit=limit)
    now_us = before_us
    if at_us is None and answer is not None and answer.now_us is not None:
        after_us = world.store.results.cut().server_now_us
        now_us = answer.now_us if before_us <= answer.now_us <= after_us else before_us
    expected = answer_or_range(reference, query_id, server_now_us=now_us, at_us=at_us)
    if isinstance(expected, Answer):
        assert expected == answer
        return expected
    with pytest.raises(NowOutOfRangeError) as refused:
        world.invoke(query_id, at_us=at_us, limit=limit)
    oldest_us, newest_us = expected
    assert oldest_us == refused.value.extras["oldest"]
    if world.store.results.cut().server_now_us == before_us:
        assert newest_us == refused.value.extras["newest"]
    return None


def answer_or_range(
    reference: Reference, query_id: QueryId, *, server_now_us: int, at_us: int | None
) -> Answer | tuple[int | None, int | None]:
    """Return what the twin answers, or the instants it would answer for."""
    try:
        return reference.invoke(query_id, server_now_us=server_now_us, at_us=at_us)
    except OutOfRangeError as error:
        return error.oldest_us, error.newest_us


def compare_all(world: World, reference: Reference, rng: Random) -> None:
    """Compare every standing query at NOW, and at an instant before it or a little past it."""
    for query_id in reference.queries:
        compare(world, reference, query_id, limit=rng.choice([1, 3, 1_000]))
        newest_us = reference.now_us(query_id, world.store.results.cut().server_now_us)
        if newest_us is not None:
            at_us = newest_us + rng.choice([-60, -20, -3, -1, 0, 1]) * SECOND_US
            compare(world, reference, query_id, at_us=at_us)


class Paging:
    """An answer that is being read page by page while the world moves on; the twin knew it at the start."""

    def __init__(self, world: World, reference: Reference, query_id: QueryId, limit: int) -> None:
        """Read the first page. Nothing is to be folded while this is done."""
        self.query_id = query_id
        self.limit = limit
        self.opened_us = reference.arrival_us
        first = world.page(query_id, Request(limit))
        now_us = world.clock.now_us() if first.now_us is None else first.now_us
        self.expected = reference.invoke(query_id, server_now_us=now_us)
        self.position: PagePosition | None = first.next
        self.read: list[AnswerRow] = rows_of(first)
        self.check()

    def next(self, world: World) -> bool:
        """Read one more page; return whether that was the last."""
        assert self.position is not None, "there is a next page"
        following = world.page(self.query_id, Request(self.limit, position=self.position))
        assert self.expected.seq == following.cut.seq
        self.position = following.next
        self.read += rows_of(following)
        self.check()
        return self.position is None

    def check(self) -> None:
        """Assert that what was read so far is the beginning of the answer, and all of it at the end."""
        assert list(self.expected.rows[: len(self.read)]) == self.read
        assert (len(self.read) < len(self.expected.rows)) == (self.position is not None)
