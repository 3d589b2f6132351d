"""Spark executors that settle chunks for an engine: started with it, counted, and ended with it."""

import contextlib
import dataclasses
import time
from collections.abc import Iterator

import structlog

from app.errors import SettingError
from app.settings import Settings
from app.store import Store
from engine.engine import Settled
from pipeline.errors import PipelineError

_LOG = structlog.get_logger("psoup.scaling")


@contextlib.contextmanager
def settled_ahead(settings: Settings, store: Store) -> Iterator[Settled | None]:
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
        from pipeline.spark.scaling.ahead import SettledAhead  # noqa: PLC0415
        from pipeline.spark.scaling.spark_executors import (  # noqa: PLC0415
            SparkExecutors,
            engine_session,
        )

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
            yield ahead
        finally:
            ahead.close()
            _LOG.info("executors-left", **dataclasses.asdict(ahead.statistics()))
