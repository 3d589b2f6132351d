"""Plans and forecasts as they travel: how rows meet a query, and what it would answer."""

from typing import Literal

from pydantic import BaseModel, Field

from psoup.engine.asking.forecast import Forecast
from psoup.engine.asking.plan import QueryPlan
from psoup.engine.query.reading import Reading
from psoup.pipeline.wording import counted


class SourcePlanAnswer(BaseModel):
    """How the rows of one stream of FROM meet a query."""

    stream: str
    alias: str = Field(description="Its name in `canonical`.")
    driver: str | None = Field(
        description="What is asked of the column by which rows find the query; null: no column is indexed."
    )
    index: Literal["hash", "ordered", "none"] = Field(
        description="`hash`: by value, where many queries ask for many values; `ordered`: by where its bounds lie among"
        " the values; `none`: the query is evaluated for every row."
    )
    residual: list[str] = Field(description="What is asked of the rows besides.")


class PlanAnswer(BaseModel):
    """How rows meet a query."""

    streams: list[SourcePlanAnswer] = Field(description="The streams of FROM, in its order.")
    joined_on: list[str] = Field(description="By what rows of several streams find each other.")
    residual: list[str] = Field(description="What is asked of rows that have found each other.")
    shared_with: int | None = Field(
        description="Other standing queries that share its evaluation and its matches: their FROM, WHERE and"
        " `materialize` are the same. Null: too many queries stand to be counted each time."
    )


class ForecastAnswer(BaseModel):
    """What a query would answer now. Null: nothing can be said; `basis` says why."""

    rows: int | None
    rows_at_most: int | None = Field(
        description="The answer has no more now: of groups, of DISTINCT, of row windows and of joins, whose `rows` values decide."
    )
    bytes: int | None = Field(description="Of their values.")
    matches_per_s: float | None = Field(
        description="Rows that meet its condition, a second of their time, as the latest came."
    )
    basis: str = Field(description="What it was estimated from.")


def describe_plan(plan: QueryPlan, *, shared_with: int | None) -> dict[str, object]:
    """Return the members of `PlanAnswer`."""
    return {
        "streams": [
            {
                "stream": one.source.stream,
                "alias": one.source.alias,
                "driver": one.driver,
                "index": one.index.value,
                "residual": list(one.residual),
            }
            for one in plan.sources
        ],
        "joined_on": list(plan.joined_on),
        "residual": list(plan.residual),
        "shared_with": shared_with,
    }


def describe_forecast(forecast: Forecast, reading: Reading) -> dict[str, object]:
    """Return the members of `ForecastAnswer` for a query."""
    rate = forecast.matches_per_s
    return {
        "rows": forecast.rows,
        "rows_at_most": forecast.rows_at_most,
        "bytes": forecast.nbytes,
        "matches_per_s": None if rate is None else float(f"{rate:.3g}"),
        "basis": _basis(forecast, reading),
    }


def _basis(forecast: Forecast, reading: Reading) -> str:
    """Return what a forecast was made from, and why rows are not estimated where they are not."""
    streams = [source.stream for source in reading.clause.sources]
    if not forecast.reached:
        return f"nothing: {' or '.join(dict.fromkeys(streams))} changed while it was looked at"
    if forecast.sampled is None:
        parts = [
            f"{counted(n, 'row')} of {name}"
            for n, name in zip(forecast.reached, streams, strict=True)
        ]
        looked_at = f"{', '.join(parts[:-1])} and {parts[-1]} in reach of the windows"
    elif not forecast.sampled:
        looked_at = f"no row of {streams[0]} in reach of the window"
    else:
        (reached,) = forecast.reached
        share = "all" if forecast.sampled == reached else f"{forecast.sampled:,} of"
        looked_at = f"{share} {counted(reached, 'row')} of {streams[0]} in reach of the window"
    return looked_at if forecast.rows is not None else f"{looked_at}; {_undecided(reading)}"


def _undecided(reading: Reading) -> str:
    """Return what of an answer is not estimated, because values decide it."""
    shape = reading.shape
    if shape.keys is not None:
        what = "how many groups these make"
    elif shape.distinct:
        what = "how many of these differ"
    elif len(reading.clause.sources) > 1:
        what = "which of these find each other"
    else:
        what = "how many of these the row window shows"
    return f"{what} is not estimated"
