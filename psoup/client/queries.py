"""`Query`: a standing query and what it answers. `Answers`: the same at another instant."""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from psoup.client.answers import Asked, Instant, Series, instant
from psoup.client.changes.following import Follower, Pace
from psoup.client.changes.rule import Change, Held, Row, Typing
from psoup.client.changing import UNCHANGED, Unchanged, given_members
from psoup.client.connections import operations
from psoup.client.connections.connection import Connection
from psoup.client.connections.messages import JsonObject
from psoup.client.errors import PsoupError
from psoup.client.frames import to_pandas, to_polars
from psoup.client.mirror_file import MirrorFile
from psoup.client.mirrors import Mirror
from psoup.client.notebook import ROWS_SHOWN, answer_html, problem_html
from psoup.engine.clock import SystemClock
from psoup.engine.query.parameters import ParameterValue

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class Described:
    """What the description of a query says."""

    def __init__(self, description: JsonObject) -> None:
        """Take the description that the service has answered."""
        self.description = description

    @property
    def id(self) -> str:
        """Return the handle."""
        return str(self.description["id"])

    @property
    def name(self) -> str | None:
        """Return the name that it was registered with."""
        name: str | None = self.description.get("name")
        return name

    @property
    def sql(self) -> str:
        """Return the query as the service understands it."""
        return str(self.description["canonical"])

    @property
    def labels(self) -> Mapping[str, str]:
        """Return its labels."""
        labels: Mapping[str, str] = self.description["labels"]
        return labels

    @property
    def columns(self) -> Sequence[Mapping[str, Any]]:
        """Return the columns of its answer: `name` and `type`."""
        columns: Sequence[Mapping[str, Any]] = self.description["columns"]
        return columns

    @property
    def window(self) -> Mapping[str, Any]:
        """Return its window: `kind`, `begin`, `end`."""
        window: Mapping[str, Any] = self.description["window"]
        return window

    @property
    def warnings(self) -> Sequence[JsonObject]:
        """Return what the service warns of: `code` and `detail`."""
        warnings: Sequence[JsonObject] = self.description["warnings"]
        return warnings

    def _typed(self, change: Change) -> Change:
        """Return a change with instants, those of the columns that the query has by now."""
        return Typing(self.columns).change(change)

    def __repr__(self) -> str:
        """Return its handle, its name and its text."""
        named = "" if self.name is None else f" {self.name!r}"
        return f"<{type(self).__name__} {self.id}{named}: {self.sql}>"


class Answers(Described):
    """What a query answers at one instant. Each method asks anew, and raises as `Connection.run`."""

    def __init__(
        self, connection: Connection, description: JsonObject, now: str | None = None
    ) -> None:
        """Ask nothing yet. `now` None: the query's NOW at each call."""
        super().__init__(description)
        self._connection = connection
        self._asked = Asked(self.id, now)

    def arrow(self, *, ids: bool = False) -> pa.Table:
        """Return the answer as a table, which has its types without rows as well.

        With `ids` its first columns are `_id`, which names a row as long as it is there, and `_x`, the instant at which
        it leaves the window.
        """
        return self._connection.run(self._asked.table(ids=ids))

    def pandas(self, *, ids: bool = False) -> "pd.DataFrame":
        """Return the answer as a frame of pandas, with types as in `psoup.client.frames.to_pandas`."""
        return to_pandas(self.arrow(ids=ids))

    def polars(self, *, ids: bool = False) -> "pl.DataFrame":
        """Return the answer as a frame of polars."""
        return to_polars(self.arrow(ids=ids))

    def rows(self, *, ids: bool = False) -> list[Row]:
        """Return the answer as dicts; instants are datetimes in UTC."""
        rows: list[Row] = self.arrow(ids=ids).to_pylist()
        return rows

    def count(self) -> int:
        """Return how many rows the answer has, and transfer none."""
        return self._connection.run(self._asked.count())

    def _repr_html_(self) -> str:
        """Return the first rows as a table, for a notebook."""
        try:
            envelope = self._connection.run(self._asked.envelope(limit=ROWS_SHOWN))
        except PsoupError as error:
            return problem_html(self.description, error)
        return answer_html(self.description, envelope, local_us=SystemClock().now_us())


class Query(Answers):
    """A standing query."""

    def at(self, when: Instant) -> Answers:
        """Return what it answers at another instant, up to NOW and inside retention."""
        return Answers(self._connection, self.description, instant(when))

    def series(
        self,
        begin: Instant | None = None,
        end: Instant | None = None,
        *,
        every: str | None = None,
    ) -> Series:
        """Return what it answers at each of a sequence of instants, all at one position: what a chart draws.

        Args:
            begin: the first instant, or a duration before NOW: `-1h`. None: where the window begins at `end`.
            end: the last one. None, or `now`: NOW.
            every: from one instant to the next: `1m`. None: the query's hop, or a 60th of the way.
        """
        return self._connection.run(self._asked.series(begin, end, every, self.columns))

    def follow(self, *, on: str = "enter", pace: Pace | None = None) -> Generator[Change]:
        """Yield the whole answer, and then what changes in it, for as long as it takes.

        Connections that end are made anew, from the position that was reached: nothing is missed, and nothing comes
        twice. It ends when the query's window is over. Once the query is replaced, `description` is the new one.

        Args:
            on: `enter`: rows that leave by time are told with the next change; `any`: at the time.
            pace: times, for tests.

        Raises:
            ServiceProblem: there will be no further answer: the query was removed, or the token is refused.
        """
        follower = Follower(self._connection.url, self.id, Held(), on=on, pace=pace, of=self)
        with closing(self._connection.follow(follower.steps())) as changes:
            yield from map(self._typed, changes)

    def mirror(self, path: str | Path, *, pace: Pace | None = None) -> Mirror:
        """Return a copy of the answer in a SQLite file, which outlives this program and works without a network.

        The file may hold several queries. What is in it of this one is shown at once; `refresh` asks what has changed.

        Raises:
            MirrorError: the file cannot be used.
        """
        file = MirrorFile(path, self.id)
        file.describe(self._connection.url, self.description)
        return Mirror(file, self._connection, pace=pace)

    def explain(self, row: str | Mapping[str, object]) -> JsonObject:
        """Return why a row is in the answer, or why not.

        Args:
            row: the `_id` of a row that is held; a row that is nowhere, as a dict; for a join one by each alias of
                `sql`.
        """
        return self._connection.run(self._asked.explained(row))

    def describe(self) -> JsonObject:
        """Ask for the description anew, and return it."""
        self.description = self._connection.run(
            operations.described(operations.query_path(self.id))
        )
        return self.description

    def update(
        self,
        sql: str | Unchanged = UNCHANGED,
        *,
        params: Mapping[str, ParameterValue] | Unchanged | None = UNCHANGED,
        labels: Mapping[str, str] | Unchanged | None = UNCHANGED,
        ttl: str | Unchanged | None = UNCHANGED,
    ) -> JsonObject:
        """Change what is given, and leave the rest; return the description as it is then.

        Its handle stays. Another text, or other parameters, are its next version: those who follow it get a reset.

        Args:
            sql: another text.
            params: all values of its parameters; None: it has none.
            labels: all of its labels; None: none.
            ttl: how long it stays from now on when nobody asks; None: for ever.

        Raises:
            ServiceProblem: it is refused, and nothing has changed.
        """
        members = given_members(sql=sql, params=params, labels=labels, ttl=ttl)
        self.description = self._connection.run(operations.change(self.id, members))
        return self.description

    def remove(self) -> None:
        """Remove the query."""
        self._connection.run(operations.remove(self.id))
