"""The ways of peers to match tuples with subscriptions: an id and a range of prices."""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import itertools
import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.ways import Way, counts_answer
from benchmarks.workloads import Columns, slices
from psoup.engine.limits import CHUNK_ROWS

Integers = NDArray[np.int64]


class Asked(Protocol):
    """The subscriptions as arrays."""

    @property
    def ids(self) -> Integers:
        """The id each asks for."""
        ...

    @property
    def lows(self) -> Integers:
        """The lowest price each asks for."""
        ...

    @property
    def highs(self) -> Integers:
        """The highest price each asks for."""
        ...


class Matching(Way):
    """Batches against all subscriptions. Answers, of a sample of them, the matches of the last batch."""

    def __init__(
        self, asked: Asked, columns: Columns, sample: Integers, *, batch_rows: int
    ) -> None:
        """Build the side of the subscriptions."""
        self._sample = sample
        self._queries = len(asked.ids)
        self.batches = list(slices(columns, rows=batch_rows))
        self.build(asked)

    def build(self, asked: Asked) -> None:
        """Make what the batches are matched with."""
        raise AssertionError(f"{type(self).__name__} does not build on {asked}")

    def counts(self, found: ArrayLike) -> bytes:
        """Return the answer: `found` are the numbers of the queries matched, once per match."""
        numbers = np.asarray(found, dtype=np.int64)
        return counts_answer(np.bincount(numbers, minlength=self._queries)[self._sample])


class DuckJoin(Matching):
    """The tuples are stored, and their join with the table of queries into a table of matches."""

    def build(self, asked: Asked) -> None:
        """Make the tables."""
        import duckdb
        import pyarrow as pa

        self._database = duckdb.connect()
        queries = pa.table(
            {
                "query": np.arange(len(asked.ids)),
                "id": asked.ids,
                "low": asked.lows,
                "high": asked.highs,
            }
        )
        self._database.register("given", queries)
        self._database.execute("CREATE TABLE queries AS SELECT * FROM given")
        self._database.execute("CREATE TABLE tuples (n BIGINT, id BIGINT, price BIGINT)")
        self._tables = [
            pa.table({"n": np.full(len(batch["id"]), number), **batch})
            for number, batch in enumerate(self.batches)
        ]

    def setup(self) -> None:
        """Forget the last run."""
        self._database.execute("CREATE OR REPLACE TABLE hits (query BIGINT, n BIGINT)")
        self._database.execute("TRUNCATE tuples")

    def run(self, state: None) -> None:
        """Store and join batch by batch."""
        for table in self._tables:
            self._database.register("arrived", table)
            self._database.execute("INSERT INTO tuples SELECT * FROM arrived")
            self._database.execute(
                "INSERT INTO hits SELECT query, n FROM arrived JOIN queries USING (id)"
                " WHERE price BETWEEN low AND high"
            )

    def answer(self, outcome: None) -> bytes:
        """Return the counts of the last batch."""
        last = len(self.batches) - 1
        found = self._database.execute(f"SELECT query FROM hits WHERE n = {last}")
        return self.counts(found.fetchnumpy()["query"])


class SqliteProbes(Matching):
    """An index of the subscriptions by id and range, probed by every tuple. Nothing is kept but the last answer."""

    def build(self, asked: Asked) -> None:
        """Make the index."""
        self._database = sqlite3.connect(":memory:", isolation_level=None)
        self._database.execute("CREATE TABLE queries (query INTEGER PRIMARY KEY, id, low, high)")
        listed = zip(
            range(len(asked.ids)),
            asked.ids.tolist(),
            asked.lows.tolist(),
            asked.highs.tolist(),
            strict=True,
        )
        self._database.executemany("INSERT INTO queries VALUES (?, ?, ?, ?)", listed)
        self._database.execute("CREATE INDEX by_id ON queries (id, low, high)")
        self._database.execute("ANALYZE")
        self._listed = [
            list(zip(batch["id"].tolist(), batch["price"].tolist(), strict=True))
            for batch in self.batches
        ]

    def run(self, state: Any) -> Any:  # noqa: ANN401 (that of subclasses is their own affair)
        """Probe with one statement that the connection keeps; return the matches of the last batch."""
        execute = self._database.execute
        text = "SELECT query FROM queries WHERE id = ? AND low <= ? AND high >= ?"
        found: list[Any] = []
        for batch in self._listed:
            found = [row for one, price in batch for row in execute(text, (one, price, price))]
        return found

    def answer(self, outcome: Any) -> bytes:  # noqa: ANN401
        """Return the counts of the last batch."""
        return self.counts([row[0] for row in outcome])


class SqliteTables(SqliteProbes):
    """Tuples are inserted as they come, dated, and joined with the index into a table of hits a chunk at a time.

    So psoup does it too. A trigger that finds the hits of each tuple at once takes a fifth longer.
    """

    FIND = (
        "INSERT INTO hits SELECT query, ts FROM tuples"
        " JOIN queries ON queries.id = tuples.id AND low <= price AND high >= price WHERE ts >= ?"
    )

    def setup(self) -> list[list[tuple[int, int, int]]]:
        """Forget the last run; return the batches, dated."""
        for table in ("hits (query, ts)", "tuples (ts INTEGER PRIMARY KEY, id, price)"):
            self._database.execute(f"DROP TABLE IF EXISTS {table.split()[0]}")
            self._database.execute(f"CREATE TABLE {table}")
        dates = itertools.count()
        return [[(next(dates), *row) for row in batch] for batch in self._listed]

    def run(self, state: list[list[tuple[int, int, int]]]) -> int:
        """Insert each batch at once; return when the last one began."""
        execute, insert = self._database.execute, self._database.executemany
        text = "INSERT INTO tuples VALUES (?, ?, ?)"
        found_from = begun = past = 0
        for batch in state:
            begun, past = batch[0][0], batch[-1][0] + 1
            if len(batch) == 1:
                execute(text, batch[0])
            else:
                execute("BEGIN")
                insert(text, batch)
                execute("COMMIT")
            if past - found_from >= CHUNK_ROWS:
                execute(self.FIND, (found_from,))
                found_from = past
        if found_from < past:
            execute(self.FIND, (found_from,))
        return begun

    def answer(self, outcome: int) -> bytes:
        """Return the counts of the last batch."""
        found = self._database.execute("SELECT query FROM hits WHERE ts >= ?", (outcome,))
        return super().answer(found.fetchall())


class DictOfLists(Matching):
    """A dict from each id to its subscriptions, which every tuple goes through."""

    def build(self, asked: Asked) -> None:
        """Make the dict."""
        self._of: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)
        ranges = zip(asked.lows.tolist(), asked.highs.tolist(), strict=True)
        for number, (one, (low, high)) in enumerate(zip(asked.ids.tolist(), ranges, strict=True)):
            self._of[one].append((low, high, number))
        self._listed = [
            list(zip(batch["id"].tolist(), batch["price"].tolist(), strict=True))
            for batch in self.batches
        ]

    def run(self, state: None) -> list[int]:
        """Look up and compare; return the matches of the last batch."""
        of, found = self._of, list[int]()
        for batch in self._listed:
            found = [
                number
                for one, price in batch
                for low, high, number in of.get(one, ())
                if low <= price <= high
            ]
        return found

    def answer(self, outcome: Sequence[int]) -> bytes:
        """Return the counts of the last batch."""
        return self.counts(outcome)


class PolarsJoin(Matching):
    """A join of two frames and a filter."""

    def build(self, asked: Asked) -> None:
        """Make the frames."""
        import polars as pl  # type: ignore[import-not-found,unused-ignore]

        self._queries_frame = pl.DataFrame(
            {
                "query": np.arange(len(asked.ids)),
                "id": asked.ids,
                "low": asked.lows,
                "high": asked.highs,
            }
        )
        self._frames = [pl.DataFrame(dict(batch)) for batch in self.batches]
        self._inside = pl.col("price").is_between(pl.col("low"), pl.col("high"))

    def run(self, state: None) -> Any:  # noqa: ANN401 (a frame of a package that may be absent)
        """Join batch by batch; return the matches of the last."""
        found = None
        for frame in self._frames:
            joined = frame.lazy().join(self._queries_frame.lazy(), on="id")
            found = joined.filter(self._inside).select("query").collect()
        return found

    def answer(self, outcome: Any) -> bytes:  # noqa: ANN401
        """Return the counts of the last batch."""
        return self.counts(outcome["query"].to_numpy())
