"""A query as if it stood in a world: what a forecast is made from."""

from psoup.engine.asking.forecast import Forecast, forecast
from psoup.engine.log.operation import QueryId
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.reading import Reading
from psoup.engine.results.contract import Snapshot
from psoup.engine.results.delta import ClauseRecord, QueryRecord
from psoup.engine.results.hits import ClauseId
from psoup.engine.tuples.batch import Seq
from tests.world import World


def forecast_of(world: World, sql: str) -> Forecast:
    """Return the forecast of a query that is not registered."""
    bound = bind(sql, world.streams)
    names = [source.stream for source in bound.clause.sources]
    query = QueryRecord(
        QueryId(""), Seq(0), ClauseId(0), bound.canonical, bound.window, ranges=bound.ranges
    )
    streams = tuple(world.store.results.stream(name) for name in names)
    clause = ClauseRecord(ClauseId(0), bound.clause.text, tuple(one.stream_id for one in streams))
    snapshot = Snapshot(world.store.results.cut(), query, clause, streams)
    return forecast(world.engine.source, snapshot, Reading(bound.clause, bound.shape))
