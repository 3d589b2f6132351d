"""A SQLite file with what is held of some queries: rows and cursor are written in one transaction."""

import contextlib
import secrets
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from psoup.client.changes.rule import Change, Held, Position
from psoup.client.connections.messages import JsonObject
from psoup.client.errors import MirrorError

BUSY_S: Final = 30.0
"""How long another process may hold the file."""
_UNKNOWN: Final = "?"
"""No version of the rows in a file."""
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS psoup_queries (
    id TEXT PRIMARY KEY, url TEXT NOT NULL, description TEXT NOT NULL, version TEXT NOT NULL, cursor TEXT, state TEXT
);
CREATE TABLE IF NOT EXISTS psoup_rows (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    query TEXT NOT NULL, id TEXT NOT NULL, leaves TEXT, row TEXT NOT NULL, UNIQUE (query, id)
);
"""


class MirrorFile:
    """One query's part of a file, which may hold several, and tables of somebody else. Use it in one thread."""

    def __init__(self, path: str | Path, query: str | None = None) -> None:
        """Open the file, or make it.

        Args:
            path: of the file.
            query: a handle, or the name of a query; None: the only one of the file.

        Raises:
            MirrorError: the file is no database or cannot be used, or `query` is None and the file has not just one.
        """
        self.path = Path(path)
        self._own = secrets.token_hex(8)
        self._changes = 0
        with self._told():
            self._database = sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None)
            try:
                self._database.executescript(_TABLES)
                self.query_id = self._chosen(query)
            except BaseException:
                self._database.close()
                raise
        self._version = _UNKNOWN

    def close(self) -> None:
        """Close the file. Twice does nothing more."""
        self._database.close()

    def url(self) -> str:
        """Return the URL of the service. Raises MirrorError: the file does not have the query."""
        return self._described("url")

    def description(self) -> JsonObject:
        """Return the description of the query. Raises MirrorError: the file does not have it."""
        description: JsonObject = orjson.loads(self._described("description"))
        return description

    def describe(self, url: str, description: Mapping[str, Any]) -> None:
        """Note which query of which service this is; what is held of it stays."""
        with self._told(), self._transaction():
            self._database.execute(
                "INSERT INTO psoup_queries (id, url, description, version) VALUES (?, ?, ?, '')"
                " ON CONFLICT (id) DO UPDATE SET url = excluded.url, description = excluded.description",
                (self.query_id, url, _text(description)),
            )

    def load(self) -> Held:
        """Return what is held of the query; nothing where it was never answered."""
        with self._told(), self._transaction():
            found = self._database.execute(
                "SELECT version, cursor, state FROM psoup_queries WHERE id = ?", (self.query_id,)
            ).fetchone()
            rows = self._database.execute(
                "SELECT id, row FROM psoup_rows WHERE query = ? ORDER BY place", (self.query_id,)
            ).fetchall()
        if found is None or found[2] is None:
            return Held()
        self._version, cursor, state = found[0], found[1], orjson.loads(found[2])
        held = {name: orjson.loads(row) for name, row in rows}
        return Held(
            held,
            cursor,
            _position(state["at"]),
            state["ahead_us"],
            state["complete"],
            state["window"],
            _position(state.get("given")),  # files of earlier versions have none
        )

    def save(self, held: Held, change: Change, description: Mapping[str, Any]) -> None:
        """Write what an answer has changed, and the cursor with it; all of it where another one has written meanwhile.

        A reset may be that of another definition: the description goes with its rows.

        Raises:
            MirrorError: the file cannot be written; it is as it was before.
        """
        self._changes += 1
        version = f"{self._own}.{self._changes}"
        expected, self._version = (
            self._version,
            _UNKNOWN,
        )  # if this fails, the next one writes everything
        with self._told(), self._transaction():
            ((present,),) = self._database.execute(
                "SELECT version FROM psoup_queries WHERE id = ?", (self.query_id,)
            ).fetchall() or [("",)]
            if present == expected and not change.reset:
                gone = [(self.query_id, row["_id"]) for row in (*change.removed, *change.expired)]
                put = [*change.entered, *change.changed]
                self._database.executemany(
                    "DELETE FROM psoup_rows WHERE query = ? AND id = ?", gone
                )
            else:
                put = list(held.rows.values())
                self._database.execute("DELETE FROM psoup_rows WHERE query = ?", (self.query_id,))
            self._database.executemany(
                "INSERT OR REPLACE INTO psoup_rows (query, id, leaves, row) VALUES (?, ?, ?, ?)",
                [(self.query_id, row["_id"], row["_x"], _text(row)) for row in put],
            )
            state = {
                "at": held.at,
                "given": held.given,
                "ahead_us": held.ahead_us,
                "complete": held.complete,
                "window": held.window,
            }
            self._database.execute(
                "UPDATE psoup_queries SET version = ?, cursor = ?, state = ? WHERE id = ?",
                (version, held.cursor, _text(state), self.query_id),
            )
            if change.reset:
                self._database.execute(
                    "UPDATE psoup_queries SET description = ? WHERE id = ?",
                    (_text(description), self.query_id),
                )
        self._version = version

    def _described(self, column: str) -> str:
        with self._told():
            found = self._database.execute(
                f"SELECT {column} FROM psoup_queries WHERE id = ?",  # noqa: S608 (a name of this module's)
                (self.query_id,),
            ).fetchone()
        if found is None:
            raise MirrorError(f"{self.path} holds no query {self.query_id}.")
        return str(found[0])

    def _chosen(self, query: str | None) -> str:
        known = self._database.execute("SELECT id, description FROM psoup_queries").fetchall()
        named = {orjson.loads(text).get("name"): handle for handle, text in known}
        if query is not None:
            return str(named.get(query, query))
        if len(known) == 1:
            return str(known[0][0])
        raise MirrorError(
            f"{self.path} holds {len(known)} queries: name one of them by its handle or name."
            if known
            else f"{self.path} holds no query yet: make it by query.mirror()."
        )

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Raise what SQLite says as MirrorError."""
        try:
            yield
        except sqlite3.Error as error:
            raise MirrorError(
                f"{self.path} cannot be used as a mirror: {error}. Give the path of a SQLite file, or of a new one."
            ) from error


def _position(written: list[Any] | None) -> Position | None:
    return None if written is None else (written[0], written[1], written[2])


def _text(value: object) -> str:
    return orjson.dumps(value).decode()
