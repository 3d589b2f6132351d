"""The answer to a query that is looked at and not registered."""

from typing import Literal

from pydantic import BaseModel

from psoup.app.wire.models.plans import ForecastAnswer, PlanAnswer
from psoup.app.wire.models.queries import OutputAnswer, WindowAnswer
from psoup.app.wire.models.warnings import WarningAnswer


class ValidationAnswer(BaseModel):
    """A query as its registration would describe it, with what it would cost and answer."""

    canonical: str
    window: WindowAnswer
    columns: list[OutputAnswer]
    delta: Literal["rows", "replace"]
    warnings: list[WarningAnswer]
    plan: PlanAnswer
    forecast: ForecastAnswer
