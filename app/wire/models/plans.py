"""Plans and forecasts as they travel: how rows meet a query, and what it would answer."""

from typing import Literal

from pydantic import BaseModel, Field

from psoup.engine.asking.forecast import Forecast
from psoup.engine.asking.plan import QueryPlan


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
    """What a query would answer now. Null: nothing can be said."""

    rows: int | None
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


def describe_forecast(forecast: Forecast, stream: str) -> dict[str, object]:
    """Return the members of `ForecastAnswer`; `stream` is the first of FROM."""
    rate = forecast.matches_per_s
    return {
        "rows": forecast.rows,
        "bytes": forecast.nbytes,
        "matches_per_s": None if rate is None else float(f"{rate:.3g}"),
        "basis": _basis(forecast, stream),
    }


def _basis(forecast: Forecast, stream: str) -> str:
    if forecast.sampled is None:
        return "nothing: joins are not estimated"
    if not forecast.reached:
        return f"no row of {stream} in reach of the window"
    looked_at = "all" if forecast.sampled == forecast.reached else f"{forecast.sampled:,} of"
    rows = "row" if forecast.reached == 1 else "rows"
    return f"{looked_at} {forecast.reached:,} {rows} of {stream} in reach of the window"
