"""DuckDB's ways: the strongest forms we know, and the obvious one."""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.ways import Way, counts_answer, rows_answer
from benchmarks.workloads import ATTRIBUTES, Columns, Domain, Query, arrays_of

NAMES = ", ".join(ATTRIBUTES)


def numbered(columns: Columns) -> pa.Table:
    """Return the tuples as an Arrow table with their row numbers."""
    rows = len(columns[ATTRIBUTES[0]])
    return pa.table({"n": np.arange(rows), **{name: columns[name] for name in ATTRIBUTES}})


def connect(domain: Domain, columns: Columns | None = None) -> duckdb.DuckDBPyConnection:
    """Return a database in memory with the table `tuples`, filled where there are columns."""
    database = duckdb.connect()
    attributes = ", ".join(f"{name} {domain.sql_type}" for name in ATTRIBUTES)
    database.execute(f"CREATE TABLE tuples (n BIGINT, {attributes})")
    if columns is not None:
        database.register("given", numbered(columns))
        database.execute("INSERT INTO tuples SELECT * FROM given")
        database.unregister("given")
    return database


VALUES_AT_ONCE = 16
"""Of a table of bit strings: a million queries are a megabyte of text for each value."""


class Matching(Way):
    """A batch against a table of queries: the tuples are stored, and what they match.

    `arrived` is the batch as an Arrow table: no copy is made of it.
    """

    hits = ""
    """Columns of the table that keeps what was found."""
    probe = ""
    """The SELECT that finds it."""

    def __init__(
        self, domain: Domain, queries: Sequence[Query], columns: Columns, *, batch_rows: int
    ) -> None:
        """Build the queries' side."""
        self.database = connect(domain)
        self._queries = len(queries)
        whole = numbered(columns)
        self._batches = [
            whole.slice(first, batch_rows) for first in range(0, whole.num_rows, batch_rows)
        ]
        self.build(domain, queries)

    def build(self, domain: Domain, queries: Sequence[Query]) -> None:
        """Make the tables of queries."""
        raise AssertionError(f"{type(self).__name__} builds no tables for {domain}, {queries}")

    def setup(self) -> None:
        """Forget the last run."""
        self.database.execute(f"CREATE OR REPLACE TABLE hits ({self.hits})")
        self.database.execute("TRUNCATE tuples")

    def run(self, state: None) -> None:
        """Take all batches."""
        for batch in self._batches:
            self.take(batch)

    def take(self, batch: pa.Table) -> None:
        """Store one batch, and what it matches."""
        self.database.register("arrived", batch)
        self.database.execute("INSERT INTO tuples SELECT * FROM arrived")
        self.database.execute(f"INSERT INTO hits {self.probe}")


class BitTables(Matching):
    """A bit string of queries per value of each attribute: four joins by value, three ANDs a tuple."""

    hits = "n BIGINT, bits BIT"
    probe = (
        f"SELECT n, {' & '.join(f'of_{name}.bits' for name in ATTRIBUTES)} FROM arrived "
        + " ".join(f"JOIN of_{name} ON arrived.{name} = of_{name}.value" for name in ATTRIBUTES)
    )

    def __init__(
        self,
        domain: Domain,
        queries: Sequence[Query],
        columns: Columns,
        *,
        batch_rows: int,
        counted_rows: int | None = None,
        asked: int | None = None,
    ) -> None:
        """As for all; `counted_rows` = the answer is that of the last rows alone, `asked` = of the first queries."""
        super().__init__(domain, queries, columns, batch_rows=batch_rows)
        rows = sum(batch.num_rows for batch in self._batches)
        self._from = 0 if counted_rows is None else rows - counted_rows
        self._asked = len(queries) if asked is None else asked

    def build(self, domain: Domain, queries: Sequence[Query]) -> None:
        """Make a table per attribute: integers only."""
        lows, highs = arrays_of(domain, queries)
        values = np.arange(int(domain.highest) + 1)[:, None]
        for name, low, high in zip(ATTRIBUTES, lows, highs, strict=True):
            self.database.execute(f"CREATE TABLE of_{name} (value UTINYINT, bits BIT)")
            for first in range(0, len(values), VALUES_AT_ONCE):
                some = values[first : first + VALUES_AT_ONCE]
                inside = ((low <= some) & (some <= high)).astype(np.uint8) + ord("0")
                texts = [row.tobytes().decode() for row in inside]
                self.database.register("given", pa.table({"value": some[:, 0], "bits": texts}))
                self.database.execute(f"INSERT INTO of_{name} SELECT value, bits::BIT FROM given")

    def answer(self, outcome: None) -> bytes:
        """Return the counts."""
        found = self.database.execute(
            f"SELECT bits::BLOB AS bits FROM hits WHERE n >= {self._from}"
        ).fetchnumpy()["bits"]
        packed = np.frombuffer(b"".join(found), dtype=np.uint8).reshape(len(found), -1)
        spare = 8 * packed.shape[1] - self._queries  # bits end with the last byte
        past = spare + self._asked
        bits = np.unpackbits(packed[:, : -(-past // 8)], axis=1, count=past)
        return counts_answer(bits[:, spare:].sum(axis=0))


class BitTablesFromBodies(BitTables):
    """As `BitTables`, from the bodies of requests, which `read` turns into tables with a time `ts`."""

    def __init__(
        self,
        domain: Domain,
        queries: Sequence[Query],
        bodies: Sequence[bytes],
        read: Callable[[bytes], pa.Table],
        *,
        body_rows: int,
    ) -> None:
        """Take the bodies; the answer is that of the last of them."""
        none = {name: np.empty(0, dtype=np.uint8) for name in ATTRIBUTES}
        super().__init__(domain, queries, none, batch_rows=1)
        self._bodies, self._read = bodies, read
        self._from = int(self._table(bodies[-1]).column("n")[0].as_py())
        assert self._table(bodies[-1]).num_rows == body_rows, "bodies are read whole"

    def run(self, state: None) -> None:
        """Read, store and match one body after the other."""
        for body in self._bodies:
            self.take(self._table(body))

    def _table(self, body: bytes) -> pa.Table:
        """Return the body's tuples, numbered by their times."""
        read = self._read(body)
        times = read.column("ts").cast(pa.int64())
        return pa.table({"n": times, **{name: read.column(name) for name in ATTRIBUTES}})


class RangeJoin(Matching):
    """A join of the batch with a table of queries on all their bounds: the obvious SQL."""

    hits = "query BIGINT, n BIGINT"
    probe = "SELECT query, n FROM arrived JOIN queries ON " + " AND ".join(
        f"arrived.{name} BETWEEN queries.low_{name} AND queries.high_{name}" for name in ATTRIBUTES
    )

    def build(self, domain: Domain, queries: Sequence[Query]) -> None:
        """Make one table of all bounds."""
        lows, highs = arrays_of(domain, queries)
        table = {"query": np.arange(len(queries))}
        for name, low, high in zip(ATTRIBUTES, lows, highs, strict=True):
            table |= {f"low_{name}": low, f"high_{name}": high}
        self.database.register("given", pa.table(table))
        self.database.execute("CREATE TABLE queries AS SELECT * FROM given")

    def answer(self, outcome: None) -> bytes:
        """Return the counts."""
        found = self.database.execute("SELECT query FROM hits").fetchnumpy()["query"]
        return counts_answer(np.bincount(found, minlength=self._queries))


class Prepared(Way):
    """Each query once, as a prepared statement: its rows, or their number."""

    def __init__(
        self, domain: Domain, queries: Sequence[Query], columns: Columns, *, count_only: bool
    ) -> None:
        """Store the tuples, prepare the statements; one thread, which is faster on small inputs."""
        self.database = connect(domain, columns)
        self.database.execute("SET threads = 1")
        self._count_only = count_only
        shown = "count(*)" if count_only else f"n, {NAMES}"
        for number, query in enumerate(queries):
            where = f" WHERE {query.where}" if query.where else ""
            self.database.execute(f"PREPARE q{number} AS SELECT {shown} FROM tuples{where}")
        self._texts = [f"EXECUTE q{number}" for number in range(len(queries))]

    def run(self, state: None) -> list[Any]:
        """Execute each statement."""
        execute = self.database.execute
        if self._count_only:
            return [execute(text).fetchone() for text in self._texts]
        return [execute(text).fetchnumpy() for text in self._texts]

    def answer(self, outcome: list[Any]) -> bytes:
        """Return the rows, or the counts."""
        if self._count_only:
            return counts_answer([row[0] for row in outcome])
        return rows_answer([(one["n"], [one[name] for name in ATTRIBUTES]) for one in outcome])


class OwnTables(Way):
    """Each query's matches in a table of its own; a run cuts the window out of each and counts."""

    def __init__(self, domain: Domain, queries: Sequence[Query], columns: Columns) -> None:
        """Materialise; the window begins with the first row, as it does for the others."""
        self._database = connect(domain, columns)
        self._database.execute("SET threads = 1")
        for number, query in enumerate(queries):
            self._database.execute(
                f"CREATE TABLE found{number} AS SELECT n FROM tuples WHERE {query.where}"
            )
            self._database.execute(
                f"PREPARE q{number} AS SELECT count(*) FROM found{number} WHERE n >= 0"
            )
        self._texts = [f"EXECUTE q{number}" for number in range(len(queries))]

    def run(self, state: None) -> list[Any]:
        """Execute each statement."""
        execute = self._database.execute
        return [execute(text).fetchone() for text in self._texts]

    def answer(self, outcome: list[Any]) -> bytes:
        """Return the counts."""
        return counts_answer([row[0] for row in outcome])


class CreatingTables(Way):
    """Each query's matches into a new table of row numbers: what a registration is to a database."""

    def __init__(self, domain: Domain, queries: Sequence[Query], columns: Columns) -> None:
        """Store the tuples, at all threads."""
        self._database = connect(domain, columns)
        self._wheres = [query.where for query in queries]

    def run(self, state: None) -> None:
        """Create the tables."""
        for number, where in enumerate(self._wheres):
            self._database.execute(
                f"CREATE OR REPLACE TABLE found{number} AS SELECT n FROM tuples WHERE {where}"
            )

    def answer(self, outcome: None) -> bytes:
        """Return the counts."""
        counts = []
        for number in range(len(self._wheres)):
            row = self._database.execute(f"SELECT count(*) FROM found{number}").fetchone()
            assert row is not None
            counts.append(row[0])
        return counts_answer(counts)


class Deleting(Way):
    """A table that takes as many tuples as it has, and then deletes the older half."""

    def __init__(self, domain: Domain, columns: Columns) -> None:
        """Fill it for the first time."""
        self._database = connect(domain, columns)
        self._database.register("given", numbered(columns))
        self._rows = len(columns[ATTRIBUTES[0]])
        self._first = 0

    def setup(self) -> None:
        """Bring the tuples again, numbered after all before."""
        self._first += self._rows
        self._database.execute(f"INSERT INTO tuples SELECT n + {self._first}, {NAMES} FROM given")

    def run(self, state: None) -> None:
        """Delete what was there before."""
        self._database.execute(f"DELETE FROM tuples WHERE n < {self._first}")

    def answer(self, outcome: None) -> bytes:
        """Return the number of tuples."""
        row = self._database.execute("SELECT count(*) FROM tuples").fetchone()
        assert row is not None
        return str(row[0]).encode()
