"""What a query answers, as operations: tables, counts, series, and why a row is in it or not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from psoup.client.changes.following import PAGE_EXPIRED
from psoup.client.changes.rule import Row, Typing, are_described, utc_text
from psoup.client.columns import ARROW_TYPES, answer_schema
from psoup.client.connections.messages import (
    JsonObject,
    Operation,
    following_page,
    get,
    json_object,
    with_json,
)
from psoup.client.connections.operations import query_path
from psoup.client.errors import ServiceProblem
from psoup.client.frames import to_pandas, to_polars

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Instant = str | int | date
"""As in SQL (`2026-01-05T10:00:00Z`, `2026-01-05`), microseconds since the epoch, or a date or datetime of Python."""

PAGE_ROWS: Final = 100_000
TRIES: Final = 3
"""How often an answer is begun anew whose pages have left retention before they were read."""
POINT: Final = "_now"
"""The column of a series that holds the instant of each row's point."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, and the instant that its answers are for; None: its NOW."""

    query_id: str
    now: str | None = None

    def table(self, *, ids: bool) -> Operation[pa.Table]:
        """Return the whole answer, all of whose pages belong to one position and instant."""
        params: dict[str, str | int] = {"format": "arrow", "limit": PAGE_ROWS, "meta": int(ids)}
        for attempt in range(TRIES):
            tables: list[pa.Table] = []
            answer = yield self._get(params)
            try:
                while True:
                    tables.append(pa.ipc.open_stream(answer.content).read_all())
                    following = following_page(answer)
                    if following is None:
                        break
                    answer = yield get(following)
            except ServiceProblem as problem:
                if problem.problem != PAGE_EXPIRED or attempt + 1 == TRIES:
                    raise
            else:
                return pa.concat_tables(tables)
        raise AssertionError("the last attempt returns or raises")

    def count(self) -> Operation[int]:
        """Return how many rows the answer has."""
        return int(json_object((yield self._get({"count": "only"})))["count"])

    def envelope(self, *, limit: int) -> Operation[JsonObject]:
        """Return the first rows of the answer, with what is said of all."""
        return json_object((yield self._get({"limit": limit, "meta": 0})))

    def series(
        self,
        begin: Instant | None,
        end: Instant | None,
        every: str | None,
        columns: Sequence[Mapping[str, Any]],
    ) -> Operation["Series"]:
        """Return what the query answers at each of a sequence of instants; `columns` as they are known."""
        given = {"from": instant(begin), "to": instant(end), "every": every}
        params = {name: one for name, one in given.items() if one is not None and one != "now"}
        path = query_path(self.query_id)
        points = json_object((yield get(f"{path}/series", params)))["points"]
        if not are_described([row for point in points for row in point["rows"]], columns):
            columns = json_object((yield get(path)))["columns"]  # it was replaced since
        return Series(points, columns)

    def explained(self, row: str | Mapping[str, object]) -> Operation[JsonObject]:
        """Return why a row is in the answer or not: one that is held, by its id, or one that is nowhere."""
        path = f"{query_path(self.query_id)}/explain"
        now: dict[str, str | int] = {} if self.now is None else {"now": self.now}
        if isinstance(row, str):
            return json_object((yield get(path, {"row_id": row, **now})))
        is_join = bool(row) and all(isinstance(part, Mapping) for part in row.values())
        body = {"rows" if is_join else "row": row}
        return json_object((yield with_json("POST", path, body)))

    def _get(self, params: Mapping[str, str | int]) -> Any:  # noqa: ANN401 (a Request)
        now: dict[str, str | int] = {} if self.now is None else {"now": self.now}
        return get(f"{query_path(self.query_id)}/results", {**params, **now})


@dataclass(frozen=True, slots=True)
class Series:
    """What a query answers at each of a sequence of instants, all at one position: what a chart draws.

    Attributes:
        points: as the service answers them: `now`, `window`, `count`, `complete_from`, `rows`.
        columns: of the query.
    """

    points: Sequence[JsonObject] = field(repr=False)
    columns: Sequence[Mapping[str, Any]]

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.points)

    def rows(self) -> list[Row]:
        """Return the rows of all points, each with its instant in `_now`."""
        typing = Typing([*self.columns, {"name": POINT, "type": "timestamp"}])
        return typing.rows(
            {POINT: point["now"], **row} for point in self.points for row in point["rows"]
        )

    def arrow(self) -> pa.Table:
        """Return the same as a table, which has its types without rows as well."""
        instants = pa.schema([(POINT, ARROW_TYPES["timestamp"])])
        schema = pa.unify_schemas([instants, answer_schema(self.columns)])
        return pa.Table.from_pylist(self.rows(), schema=schema)

    def pandas(self) -> "pd.DataFrame":
        """Return the same as a frame of pandas. Raises MissingPackageError: pandas is not installed."""
        return to_pandas(self.arrow())

    def polars(self) -> "pl.DataFrame":
        """Return the same as a frame of polars. Raises MissingPackageError: polars is not installed."""
        return to_polars(self.arrow())


def instant(given: Instant | None) -> str | None:
    """Return an instant as the service reads it; a datetime without a zone is UTC, as everywhere."""
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, datetime):
        aware = given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)
        return utc_text(aware)
    if isinstance(given, date):
        return given.isoformat()
    return str(int(given))
