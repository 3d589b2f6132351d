"""DuckDB's ways to joins: statements over tables, whose answers are counted, fetched, or kept in tables."""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

from collections.abc import Sequence
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.ways import Way, counts_answer, pairs_answer
from benchmarks.workloads_joins import Table


class Statements(Way):
    """A database in memory that holds tables. Subclasses say what a run executes."""

    def __init__(
        self, tables: Sequence[Table], *, once: Sequence[str] = (), threads: int | None = None
    ) -> None:
        """Store the tables, and execute what is done `once`; `threads` None = as many as there are cores."""
        self.database = duckdb.connect()
        if threads is not None:
            self.database.execute(f"SET threads = {threads}")
        for one in tables:
            given = {name: pa.array(values) for name, values in one.columns.items()}
            self.database.register("given", pa.table(given))
            self.database.execute(f"CREATE TABLE {one.name} AS SELECT * FROM given")
            self.database.unregister("given")
        for statement in once:
            self.database.execute(statement)


class Fetched(Statements):
    """Statements that each select a count, or two columns of row numbers."""

    def __init__(
        self,
        tables: Sequence[Table],
        statements: Sequence[str],
        *,
        count_only: bool = False,
        threads: int | None = None,
    ) -> None:
        """Store the tables."""
        super().__init__(tables, threads=threads)
        self._statements = statements
        self._count_only = count_only

    def run(self, state: None) -> list[Any]:
        """Execute each statement, and take what it selects."""
        execute = self.database.execute
        if self._count_only:
            return [execute(text).fetchone() for text in self._statements]
        return [execute(text).fetchnumpy() for text in self._statements]

    def answer(self, outcome: list[Any]) -> bytes:
        """Return the counts, or the pairs."""
        if self._count_only:
            return counts_answer([row[0] for row in outcome])
        pairs = [list(one.values())[:2] for one in outcome]
        return pairs_answer([(left, right) for left, right in pairs])


class Groups(Statements):
    """A statement that selects groups in order; all of its columns are the answer."""

    def __init__(self, tables: Sequence[Table], statement: str) -> None:
        """Store the tables."""
        super().__init__(tables)
        self._statement = statement

    def run(self, state: None) -> list[tuple[Any, ...]]:
        """Execute it, and take what it selects."""
        return self.database.execute(self._statement).fetchall()

    def answer(self, outcome: list[tuple[Any, ...]]) -> bytes:
        """Return the columns."""
        return repr([list(column) for column in zip(*outcome, strict=True)]).encode()


class Kept(Statements):
    """Statements that write what they find into tables; what is in these is counted afterwards, untimed."""

    def __init__(
        self,
        tables: Sequence[Table],
        statements: Sequence[str],
        counted: str | Sequence[str],
        *,
        once: Sequence[str] = (),
        before: Sequence[str] = (),
        queries: int | None = None,
    ) -> None:
        """Store the tables.

        Args:
            tables: their rows.
            statements: of a run.
            counted: selects each a count; one text alone, with `queries`, the number of each query found.
            once: statements before the first run.
            before: statements before every run, untimed.
            queries: how many there are, numbered from 0.
        """
        super().__init__(tables, once=once)
        self._statements, self._counted, self._before = statements, counted, before
        self._queries = queries

    def setup(self) -> None:
        """Forget the last run."""
        for statement in self._before:
            self.database.execute(statement)

    def run(self, state: None) -> None:
        """Execute all statements."""
        for statement in self._statements:
            self.database.execute(statement)

    def answer(self, outcome: None) -> bytes:
        """Return the counts."""
        if isinstance(self._counted, str):
            found = self.database.execute(self._counted).fetchnumpy()
            (numbers,) = found.values()
            return counts_answer(np.bincount(numbers, minlength=self._queries or 0))
        counts = []
        for text in self._counted:
            row = self.database.execute(text).fetchone()
            assert row is not None, "a count is one row"
            counts.append(row[0])
        return counts_answer(counts)
