"""Checkpoints: work that nobody waits for ends there, leaves nothing half done, and goes on where it stopped."""

from contextlib import suppress

import numpy as np
import pytest

from psoup.engine.checkpoint import check_hold, checked_by, checkpoint, is_checked
from psoup.engine.errors import OverloadedError
from psoup.engine.invoke import InvocationCache, Request, invoke
from psoup.engine.limits import SEGMENT_ROWS
from psoup.engine.query.bind.bound_queries import BoundQueries
from psoup.engine.query.functions.distinct import LENGTH_AT_ONCE_MAX, TEXTS_AT_ONCE, computed
from psoup.engine.query.values import evaluate as evaluating
from psoup.engine.query.values.evaluate import evaluate
from psoup.engine.query.values.expression import ColumnRef, Like
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType
from tests.engine.one_stream import ask, send, world_of


class Countdown:
    """A check that lets so many checkpoints pass."""

    def __init__(self, passes: int) -> None:
        self.left = passes
        self.asked = 0

    def __call__(self) -> None:
        self.asked += 1
        if not self.left:
            raise OverloadedError("nobody waits", reason="deadline")
        self.left -= 1


def test_checkpoint_of_nobody_passes():
    """What nobody checks goes on; a check counts as long as it is set, the inner one before the outer."""
    checkpoint()
    assert not is_checked()
    outer, inner = Countdown(1), Countdown(0)
    with checked_by(outer):
        assert is_checked()
        with checked_by(inner), pytest.raises(OverloadedError):
            checkpoint()
        checkpoint()
        with pytest.raises(OverloadedError):
            checkpoint()
    checkpoint()
    assert (2, 1) == (outer.asked, inner.asked)


def test_hold_has_a_check_of_its_own():
    """Work that may not hold its thread is told before it does, and goes on otherwise."""
    check_hold()
    hold = Countdown(0)
    with checked_by(Countdown(1), holds=hold):
        checkpoint()
        with pytest.raises(OverloadedError):
            check_hold()
    check_hold()
    assert 1 == hold.asked


def test_texts_are_decided_between_checkpoints(monkeypatch):
    """A predicate that costs much a text is asked of few texts before somebody may end it."""
    asked: list[str] = []

    def matcher(_pattern):
        def matches(texts):
            asked.extend(texts)
            return np.ones(len(texts), np.bool_)

        return matches

    monkeypatch.setattr(evaluating, "like_matcher", matcher)
    texts = tuple(map(str, range(10 * TEXTS_AT_ONCE)))
    column = Column(ColumnType.STRING, np.arange(len(texts), dtype=np.int32), None, texts)
    like = Like(ColumnRef(0, "body", ColumnType.STRING), "%x%", None)
    with checked_by(Countdown(5)), pytest.raises(OverloadedError):
        evaluate(like, lambda _: column, len(texts))
    assert 0 < len(asked) < len(texts)
    long = Column(ColumnType.STRING, np.zeros(1, np.int32), None, ("x" * (LENGTH_AT_ONCE_MAX + 1),))
    for decided in (long, column):
        hold = Countdown(0)
        with checked_by(Countdown(100), holds=hold), suppress(OverloadedError):
            evaluate(like, {like.operand: decided}.__getitem__, len(decided))
        assert hold.asked == (decided is long), "only long texts hold the thread"
    found = evaluate(like, lambda _: column, len(texts))
    assert found.values.all()


def test_calls_with_long_texts_say_that_they_hold_the_thread():
    """A function of texts may search each of them for as long as LIKE does."""
    for text, holds in (("x" * (LENGTH_AT_ONCE_MAX + 1), True), ("x", False)):
        column = Column(ColumnType.STRING, np.zeros(1, np.int32), None, (text,))
        hold = Countdown(0)
        with checked_by(Countdown(100), holds=hold), suppress(OverloadedError):
            computed([column], ColumnType.INT64, len)
        assert hold.asked == holds


def test_invocation_that_is_ended_goes_on_where_it_stopped():
    """Hits in whole chunks that were found before the end are kept: whoever asks again looks for the rest alone."""
    world = world_of()
    query_id = world.register("SELECT ts FROM s WHERE a % 7 = 3")
    send(world, *[(row, row) for row in range(4 * SEGMENT_ROWS)])
    expected = ask(world, query_id).count
    request, cache = Request(limit=1, count_only=True), InvocationCache(BoundQueries())

    def asked(passes: int) -> tuple[Countdown, int | None]:
        check = Countdown(passes)
        with checked_by(check):
            try:
                answer = invoke(
                    world.store.results,
                    world.engine.source,
                    query_id=query_id,
                    request=request,
                    cache=cache,
                )
            except OverloadedError:
                return check, None
        return check, answer.count

    whole = Countdown(1_000_000)
    with checked_by(whole):
        invoke(
            world.store.results,
            world.engine.source,
            query_id=query_id,
            request=request,
            cache=InvocationCache(BoundQueries()),
        )
    passes, rounds, count = whole.asked // 2, 0, None
    assert passes > 1
    while count is None:
        rounds += 1
        assert rounds < 10, "each round finds what the one before did not"
        _, count = asked(passes)
    assert rounds > 1
    assert expected == count
