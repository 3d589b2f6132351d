"""The same with Spark: real executors, whose processes make everything anew from what they are sent."""

import time
from random import Random

import pytest

from psoup.engine import limits
from psoup.engine.ahead.planning import ChunkTask
from psoup.engine.clauses import grouped_filter
from psoup.engine.engine import Engine
from psoup.engine.tuples.schema import StreamId
from psoup.pipeline.errors import ExecutorsError
from psoup.pipeline.spark import executors as spark_executors
from psoup.pipeline.spark.executors import SparkExecutors
from psoup.pipeline.spark.scaling import shipping
from psoup.pipeline.spark.scaling.ahead import SettledAhead
from psoup.pipeline.spark.scaling.shipping import SentClauses
from tests.spark.scaling_programs import deltas_of, plain, program

SEED = 4


@pytest.fixture
def executors(spark):
    """Return executors of the session that all tests share; it is not theirs to end."""
    return SparkExecutors(lambda: spark, lambda _: None)


def test_settled_by_spark_deltas_are_the_engines_own_bit_for_bit(executors, monkeypatch):
    """A random program whose tables are of all kinds, and sent apart; then everything is taken back."""
    history = program(SEED, 22)
    alone = deltas_of(history, Engine(), Random(SEED))
    monkeypatch.setattr(grouped_filter, "RECENT_SLOTS_MAX", 6)
    monkeypatch.setattr(grouped_filter, "PIVOT_VALUES_MIN", 3)
    monkeypatch.setattr(shipping, "INLINE_BYTES_MAX", 0)
    ahead = SettledAhead(executors, pairs_min=0, on_failed=pytest.fail)
    settled = deltas_of(history, Engine(precomputed=ahead), Random(SEED))
    for own, found in zip(alone, settled, strict=True):
        assert plain(own) == plain(found)
    counted = ahead.statistics()
    assert counted.chunks >= 10
    assert counted.jobs >= 3, "the case is the one it claims to be"
    ahead.close()
    assert 0 == ahead._shipping.statistics().held


class SlowToMake:
    """A value that takes a minute to be made at the other end."""

    def __reduce__(self) -> tuple[object, tuple[float]]:
        """Sleep there."""
        return time.sleep, (60.0,)


def test_spark_executors_tell_what_went_wrong(executors, spark, monkeypatch):
    """A task that fails, and a job that takes too long, are errors of one kind, and the session lives on."""
    task = ChunkTask(StreamId(1), 0, 1, ((b"no body", 4_096),))
    with pytest.raises(ExecutorsError, match=r"failed: .*KeyError"):
        executors.settle([task], {})
    slow = executors.send(SlowToMake())
    monkeypatch.setattr(limits, "SCALED_JOB_S_MAX", 1.0)
    with pytest.raises(ExecutorsError, match="A job for the engine was not done in 1 s"):
        executors.settle([task], {StreamId(1): SentClauses(slow, ())})
    executors.take_back(slow)
    assert executors.parallelism == spark.sparkContext.defaultParallelism


def test_spark_executors_that_are_not_ready_in_time_are_given_up(spark, monkeypatch):
    """A master may have no room for them, and would be waited for without an end."""
    ended: list[object] = []
    monkeypatch.setattr(limits, "SCALED_START_S_MAX", 0.2)
    monkeypatch.setattr(spark_executors, "warm_up", lambda: time.sleep(60.0))
    with pytest.raises(ExecutorsError, match=r"executors were not ready in 0\.2 s"):
        SparkExecutors(lambda: spark, ended.append)
    assert [spark] == ended
