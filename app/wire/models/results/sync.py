"""What has changed in many queries at once, as it travels: the request, and the envelope around the answers."""

from collections.abc import Collection, Mapping
from typing import Annotated, Final, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field

from psoup.app.wire.models.problem import Problem
from psoup.app.wire.models.results.invocations import ResultsAnswer, place_members
from psoup.engine import limits
from psoup.engine.results.contract import Cut

ALL_OTHERS: Final = "*"
"""Stands in `unchanged` for every query that is neither in `results` nor in `gone`."""
_LISTED_MAX: Final = 20
"""More queries are not listed one by one as unchanged: nothing new is a short answer."""
_PROBLEM_OPTIONS: Final = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY


class SyncQuery(BaseModel):
    """Where the client stands in what one query answers."""

    model_config = ConfigDict(extra="forbid", strict=True)

    cursor: Annotated[str, Field(max_length=limits.URL_BYTES_MAX)] | None = Field(
        default=None, description="What its last answer gave; none: everything visible."
    )


class SyncBody(BaseModel):
    """The body of POST /v1/sync: queries and cursors by handle, and how long to wait for a change."""

    model_config = ConfigDict(extra="forbid", strict=True)

    queries: dict[Annotated[str, Field(max_length=limits.QUERY_NAME_LENGTH_MAX)], SyncQuery] = (
        Field(
            min_length=1,
            max_length=limits.SYNC_QUERIES_MAX,
            examples=[{"q_7HcT0u9XbK2mPq4sVw1zRd": {"cursor": "AQAAAB..."}}],
        )
    )
    wait: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        default=0,
        description=f"Seconds to wait where nothing is new, clipped to {limits.WAIT_S_MAX}.",
    )
    on: Literal["enter", "any"] = Field(
        default="enter", description="What ends the wait: rows enter, or, with `any`, leave too."
    )
    linger: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = Field(
        default=None,
        description="Seconds after a change, or after the last event, within which further changes join it, clipped to"
        f" {limits.LINGER_S_MAX:g}; not given: {limits.LINGER_S_DEFAULT:g} from the begin of the wait, and a change"
        " after that is told at once.",
    )
    max_bytes: Annotated[int, Field(ge=1)] = Field(
        default=limits.SYNC_BYTES_DEFAULT,
        description=f"Of the answers together, clipped to {limits.SYNC_BYTES_MAX}; one answer is given in any case.",
    )
    shape: Literal["rows", "columns"] = "rows"
    meta: bool = True


class SyncAnswer(BaseModel):
    """What has changed, all at one position and one instant of the server."""

    gen: int = Field(
        description="The history that `seq` counts in: it grows where a part of it was lost."
    )
    seq: int = Field(description="Position: all that was accepted up to here is in the answer.")
    now: str | None = Field(description="The server's clock. Each answer has the NOW of its query.")
    results: dict[str, ResultsAnswer] = Field(description="The answers that have changed.")
    unchanged: list[str] = Field(
        description="Queries whose cursors stay. `*`: all that are neither in `results` nor in `gone`. With `more`: none."
    )
    gone: dict[str, Problem] = Field(
        description="Queries that have no answer, and the problem that asking for each of them alone would meet."
    )
    more: bool = Field(
        description="There was no room for all: ask again at once, with the new cursors."
    )
    poll_after_ms: int = Field(description="Who polls may ask again after so many milliseconds.")


def encode_sync(
    cut: Cut,
    results: Mapping[str, bytes],
    *,
    unchanged: Collection[str],
    gone: Mapping[str, Mapping[str, object]],
    more: bool,
    poll_after_ms: int,
) -> bytes:
    """Return the whole body; each of `results` is JSON already, `gone` are problem bodies."""
    listed = list(unchanged) if len(unchanged) <= _LISTED_MAX else [ALL_OTHERS]
    members = b",".join(b'"%b":%b' % (name.encode(), body) for name, body in results.items())
    rest = {
        "unchanged": [] if more else listed,
        "gone": gone,
        "more": more,
        "poll_after_ms": 0 if more else poll_after_ms,
    }
    first = place_members(cut, cut.server_now_us)
    ends = orjson.dumps(rest, option=_PROBLEM_OPTIONS)[1:]
    return b'%b,"results":{%b},%b' % (orjson.dumps(first)[:-1], members, ends)
