"""`Mirror`: a copy of a query's answer in a SQLite file, which is brought up to date by what has changed."""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

from collections.abc import Generator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from psoup.client.changes.following import Follower, Pace
from psoup.client.changes.refreshing import refreshed
from psoup.client.changes.rule import IDS, Change, Held, Row, Typing
from psoup.client.closing import Closing
from psoup.client.columns import answer_schema
from psoup.client.connections.connection import Connection
from psoup.client.connections.messages import Following, Operation
from psoup.client.errors import MirrorError
from psoup.client.frames import to_pandas, to_polars
from psoup.client.mirror_file import MirrorFile
from psoup.client.notebook import ROWS_SHOWN, answer_html

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class Copy(Closing):
    """What a file holds of a query. It asks nothing: rows are those of the last answer, but for those that have left.

    Of queries whose NOW is the server's clock, rows leave by the local clock, whose distance from the service's was
    measured; of other queries rows alone move NOW, and none leaves between two answers.
    """

    def __init__(self, file: MirrorFile, *, pace: Pace | None = None) -> None:
        """Load what the file holds.

        Raises:
            MirrorError: the file does not know the query, or cannot be read.
        """
        self.url, self.description = file.url(), file.description()
        self._file = file
        self._pace = pace or Pace()
        self._held = file.load()

    @property
    def query_id(self) -> str:
        """Return the handle of the query."""
        return self._file.query_id

    @property
    def cursor(self) -> str | None:
        """Return the position from which the next change is asked for; None: everything is asked for."""
        return self._held.cursor

    @property
    def now(self) -> str | None:
        """Return the instant of the last answer; None: there was none, or it had no instant."""
        return (self._held.at and self._held.at[2]) or None

    @property
    def window(self) -> Mapping[str, str | None]:
        """Return the window of the last answer: `begin` and `end`."""
        return self._held.window

    @property
    def complete(self) -> bool:
        """Return whether nothing enters or leaves any more."""
        return self._held.complete

    def rows(self, *, ids: bool = False) -> list[Row]:
        """Return the rows that the query shows now, as dicts; with `ids` also `_id` and `_x`."""
        rows = Typing(self.description["columns"]).rows(self._shown())
        return rows if ids else [_without_ids(row) for row in rows]

    def count(self) -> int:
        """Return how many rows the query shows now."""
        return len(self._shown())

    def arrow(self) -> pa.Table:
        """Return the rows that the query shows now as a table, which has its types without rows as well."""
        schema = answer_schema(self.description["columns"])
        return pa.Table.from_pylist(self.rows(), schema=schema)

    def pandas(self) -> "pd.DataFrame":
        """Return the rows that the query shows now as a frame of pandas."""
        return to_pandas(self.arrow())

    def polars(self) -> "pl.DataFrame":
        """Return the rows that the query shows now as a frame of polars."""
        return to_polars(self.arrow())

    def close(self) -> None:
        """Close the file. Twice does nothing more."""
        self._file.close()

    def _shown(self) -> list[Row]:
        return self._held.shown(self._pace.wall.now_us())

    def _refreshed(self) -> Operation[Change | None]:
        return refreshed(self.query_id, self._held, of=self, save=self._save, wall=self._pace.wall)

    def _followed(self, on: str) -> Following[Change]:
        follower = Follower(
            self.url, self.query_id, self._held, on=on, pace=self._pace, of=self, save=self._save
        )
        return follower.steps()

    def _save(self, held: Held, change: Change) -> None:
        self._file.save(held, change, self.description)

    def _typed(self, change: Change) -> Change:
        """Return a change with instants, those of the columns that the query has by now."""
        return Typing(self.description["columns"]).change(change)

    def __repr__(self) -> str:
        """Return file, query and age."""
        return f"<{type(self).__name__} {self._file.path} of {self.query_id}: {self.count()} rows, now {self.now}>"

    def _repr_html_(self) -> str:
        """Return the first rows as a table, for a notebook."""
        rows = self._shown()
        window = self._held.window
        envelope = {
            "rows": rows[:ROWS_SHOWN],
            "count": len(rows),
            "now": self.now,
            "window": window,
        }
        return answer_html(self.description, envelope, local_us=self._pace.wall.now_us())


class Mirror(Copy):
    """A copy that can ask what has changed."""

    def __init__(
        self,
        file: MirrorFile,
        connection: Connection,
        *,
        pace: Pace | None = None,
        owned: bool = False,
    ) -> None:
        """Ask nothing yet. `owned`: the connection is closed with the mirror."""
        super().__init__(file, pace=pace)
        self._connection = connection
        self._owned = owned

    def refresh(self) -> Change | None:
        """Ask what has changed, after a minute or a year, write it, and return it.

        Rows and cursor are written in one transaction: whatever ends this program, the file is right. None: a late
        answer came, of before what is held.

        Raises:
            ServiceProblem, ServiceUnreachableError: no answer came; the file stays as it was.
            MirrorError: the file cannot be written.
        """
        change = self._connection.run(self._refreshed())
        return change and self._typed(change)

    def follow(self, *, on: str = "enter") -> Generator[Change]:
        """Yield what has changed since the last answer, and then what changes; the file has it before it is told."""
        with closing(self._connection.follow(self._followed(on))) as changes:
            yield from map(self._typed, changes)

    def close(self) -> None:
        """Close the file, and the connection where it is the mirror's own. Twice does nothing more."""
        super().close()
        if self._owned:
            self._connection.close()


def open_mirror(path: str | Path, query: str | None = None, *, token: str | None = None) -> Mirror:
    """Return the mirror that a file holds, without asking anything: it works without a network.

    Args:
        path: of the file.
        query: a handle or a name; None: the only query of the file.
        token: for `refresh`; the file holds none.

    Raises:
        MirrorError: there is no such file, or it has no such query.
    """
    if not Path(path).exists():
        raise MirrorError(f"There is no file {path}: make it by query.mirror().")
    file = MirrorFile(path, query)
    try:
        return Mirror(file, Connection(file.url(), token=token), owned=True)
    except BaseException:
        file.close()
        raise


def _without_ids(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in IDS}
