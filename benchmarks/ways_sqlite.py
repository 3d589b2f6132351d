"""SQLite's ways: an index per attribute; an index over the queries where tuples look for them."""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import sqlite3
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.ways import Way, counts_answer, rows_answer
from benchmarks.workloads import ATTRIBUTES, Columns, Query


def connect(columns: Columns) -> sqlite3.Connection:
    """Return a database in memory with the table `tuples`, indexed by each attribute and analysed."""
    database = sqlite3.connect(":memory:", isolation_level=None, cached_statements=4_096)
    database.execute(f"CREATE TABLE tuples (n INTEGER PRIMARY KEY, {', '.join(ATTRIBUTES)})")
    rows = len(columns[ATTRIBUTES[0]])
    listed = zip(range(rows), *(columns[name].tolist() for name in ATTRIBUTES), strict=True)
    database.execute("BEGIN")
    database.executemany("INSERT INTO tuples VALUES (?, ?, ?, ?, ?)", listed)
    database.execute("COMMIT")
    for name in ATTRIBUTES:
        database.execute(f"CREATE INDEX by_{name} ON tuples ({name})")
    database.execute("ANALYZE")
    return database


class Indexed(Way):
    """Each query once, through statements the connection keeps: its rows, or their number."""

    def __init__(self, queries: Sequence[Query], columns: Columns, *, count_only: bool) -> None:
        """Store and index the tuples."""
        self._database = connect(columns)
        self._count_only = count_only
        shown = "count(*)" if count_only else f"n, {', '.join(ATTRIBUTES)}"
        self._texts = [f"SELECT {shown} FROM tuples WHERE {query.where}" for query in queries]

    def run(self, state: None) -> list[Any]:
        """Execute each statement."""
        execute = self._database.execute
        return [execute(text).fetchall() for text in self._texts]

    def answer(self, outcome: list[Any]) -> bytes:
        """Return the rows, or the counts."""
        if self._count_only:
            return counts_answer([rows[0][0] for rows in outcome])
        found = []
        for rows in outcome:
            table = np.array(rows, dtype=np.float64).reshape(-1, 1 + len(ATTRIBUTES))
            found.append((table[:, 0], list(table[:, 1:].T)))
        return rows_answer(found)


class Deleting(Way):
    """A table that takes as many tuples as it has, and then deletes the older half."""

    def __init__(self, columns: Columns) -> None:
        """Fill it for the first time."""
        self._database = connect(columns)
        self._rows = len(columns[ATTRIBUTES[0]])
        self._first = 0
        self._listed = list(zip(*(columns[name].tolist() for name in ATTRIBUTES), strict=True))

    def setup(self) -> None:
        """Bring the tuples again, numbered after all before."""
        self._first += self._rows
        numbered = ((self._first + i, *row) for i, row in enumerate(self._listed))
        self._database.execute("BEGIN")
        self._database.executemany("INSERT INTO tuples VALUES (?, ?, ?, ?, ?)", numbered)
        self._database.execute("COMMIT")

    def run(self, state: None) -> None:
        """Delete what was there before."""
        self._database.execute("DELETE FROM tuples WHERE n < ?", (self._first,))

    def answer(self, outcome: None) -> bytes:
        """Return the number of tuples."""
        return str(self._database.execute("SELECT count(*) FROM tuples").fetchone()[0]).encode()
