"""Spark executors that settle chunks for an engine: started with it, counted, and ended with it."""

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator

import structlog

from psoup.app.errors import SettingError
from psoup.app.operate.meters.engine import ExecutorCounts
from psoup.app.settings import Settings
from psoup.engine.engine import PrecomputedHits
from psoup.engine.store.contract import Store
from psoup.pipeline.errors import PipelineError

_LOG = structlog.get_logger("psoup.scaling")


@dataclasses.dataclass(frozen=True, slots=True)
class Executors:
    """What an engine has of its executors: what they settle for it, and what they have done."""

    precomputed: PrecomputedHits
    counts: Callable[[], ExecutorCounts]


@contextlib.contextmanager
def settled_ahead(settings: Settings, store: Store) -> Iterator[Executors | None]:
    """Have chunks settled by the executors of a Spark session meanwhile; without a master there are none.

    Whatever becomes of them: what they do not do, the engine does.

    Raises:
        SettingError: Spark is not installed, or does not start.
    """
    master = settings.spark
    if master is None:
        yield None
        return
    begun_s = time.monotonic()
    try:
        # Only who asks for Spark needs to have it.
        from psoup.pipeline.spark.executors import (  # noqa: PLC0415
            SparkExecutors,
            engine_session,
        )
        from psoup.pipeline.spark.scaling.ahead import SettledAhead  # noqa: PLC0415

        executors = SparkExecutors(lambda: engine_session(master))
    except (ImportError, PipelineError) as error:
        what = "install psoup[spark]." if isinstance(error, ImportError) else str(error)
        raise SettingError(f"spark is {master!r}, and no session starts: {what}") from error
    with contextlib.closing(executors):
        ahead = SettledAhead(
            executors,
            read_at=store.log.read_at,
            on_failed=lambda reason: _LOG.warning("executors-failed", detail=reason),
            pairs_min=settings.spark_pairs_min,
        )
        _LOG.info("executors-ready", master=master, seconds=round(time.monotonic() - begun_s, 3))
        try:
            yield Executors(ahead, ahead.statistics)
        finally:
            ahead.close()
            _LOG.info("executors-left", **dataclasses.asdict(ahead.statistics()))
