"""Members that hold a duration or another text in place of a number: read, and told of in the schema."""

from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Field

from psoup.app.wire.scalars import DURATION_FORMS, format_duration, parse_duration
from psoup.engine import limits

_DURATION_SCHEMA: Final[dict[str, object]] = {
    "type": "string",
    "examples": ["1h", "PT1H"],
    "description": DURATION_FORMS,
}


def become(schema: dict[str, object], other: dict[str, object]) -> None:
    """Make a member's schema another one."""
    schema.clear()
    schema.update(other)


def _duration(given: object) -> object:
    if isinstance(given, str):
        parsed = parse_duration(given)
        if parsed is not None:
            return parsed
    raise ValueError(f"expected {DURATION_FORMS}")


def _lifetime(us: int) -> int:
    least, most = limits.QUERY_TTL_US_MIN, limits.QUERY_TTL_US_MAX
    if not least <= us <= most:
        raise ValueError(
            f"expected {format_duration(least)} to {format_duration(most)}, or null: a query that never expires"
        )
    return us


DurationUs = Annotated[
    int, BeforeValidator(_duration), Field(json_schema_extra=lambda s: become(s, _DURATION_SCHEMA))
]
"""A duration as a text, in microseconds once it is read."""
LifetimeUs = Annotated[DurationUs, AfterValidator(_lifetime)]
"""The time to live of a query."""
