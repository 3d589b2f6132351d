"""Spark executors that compute hits for an engine: started with it, counted, and ended with it."""

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator

import structlog

from psoup.app.errors import SettingError
from psoup.app.operate.meters.engine import ExecutorCounts
from psoup.app.settings import Settings
from psoup.client.errors import PsoupError
from psoup.engine.ahead.errors import ExecutorsError
from psoup.engine.engine import PrecomputedHits
from psoup.engine.store.contract import Store

_LOG = structlog.get_logger("psoup.scaling")


@dataclasses.dataclass(frozen=True, slots=True)
class StartedExecutors:
    """Executors that run: the hits that they compute, and what they have done."""

    hits: PrecomputedHits
    counts: Callable[[], ExecutorCounts]


@contextlib.contextmanager
def started_executors(settings: Settings, store: Store) -> Iterator[StartedExecutors | None]:
    """Run executors in a Spark session while the context is open. None: the settings name no master.

    The engine computes whatever the executors do not, so their failure changes no result.

    Raises:
        SettingError: Spark is not installed, or does not start.
    """
    master = settings.spark
    if master is None:
        yield None
        return
    begun_s = time.monotonic()
    try:
        # Spark is an optional dependency, needed where the settings name a master.
        from psoup.engine.ahead.executor_hits import ExecutorHits  # noqa: PLC0415
        from psoup.pipeline.spark.executors import (  # noqa: PLC0415
            SparkExecutors,
            engine_session,
        )

        executors = SparkExecutors(lambda: engine_session(master))
    except (ImportError, PsoupError, ExecutorsError) as error:
        what = "install psoup[spark]." if isinstance(error, ImportError) else str(error)
        raise SettingError(f"spark is {master!r}, and no session starts: {what}") from error
    with contextlib.closing(executors):
        hits = ExecutorHits(
            executors,
            elapsed_s=time.monotonic,
            read_at=store.log.read_at,
            on_failed=lambda reason: _LOG.warning("executors-failed", detail=reason),
            pairs_min=settings.spark_pairs_min,
        )
        _LOG.info("executors-ready", master=master, seconds=round(time.monotonic() - begun_s, 3))
        try:
            yield StartedExecutors(hits, hits.statistics)
        finally:
            hits.close()
            _LOG.info("executors-left", **dataclasses.asdict(hits.statistics()))
