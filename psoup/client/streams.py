"""`Stream`: a stream of a service, to which rows are appended."""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from psoup.client.appends.appending import Receipt, appended
from psoup.client.appends.rows import batches
from psoup.client.appends.writers import Writer
from psoup.client.changes.rule import Row, Typing
from psoup.client.columns import ARROW_TYPES, Columns, column_list
from psoup.client.connections import operations
from psoup.client.connections.connection import Connection
from psoup.client.connections.messages import JsonObject, Operation, get, json_object, with_json
from psoup.client.connections.operations import Txn, stream_path


@dataclass(frozen=True, slots=True)
class Matches:
    """Which standing queries rows would enter, if they were appended.

    Attributes:
        matches: handles for each row, the first ones of them.
        total: how many there are for each row.
    """

    matches: Sequence[Sequence[str]]
    total: Sequence[int]


class Declared:
    """What the description of a stream says."""

    def __init__(self, description: JsonObject) -> None:
        """Take the description that the service has answered."""
        self.description = description

    @property
    def name(self) -> str:
        """Return its name."""
        return str(self.description["name"])

    @property
    def columns(self) -> Sequence[Mapping[str, Any]]:
        """Return its columns: `name`, `type`, `nullable`."""
        columns: Sequence[Mapping[str, Any]] = self.description["columns"]
        return columns

    @property
    def time(self) -> str | None:
        """Return the column that dates its rows; None: their arrival does."""
        time: str | None = self.description["time"]
        return time

    @property
    def schema(self) -> pa.Schema:
        """Return its columns as an Arrow schema."""
        return pa.schema(
            pa.field(one["name"], ARROW_TYPES[one["type"]], nullable=one["nullable"])
            for one in self.columns
        )

    def __repr__(self) -> str:
        """Return its name and columns."""
        columns = ", ".join(f"{column['name']} {column['type']}" for column in self.columns)
        return f"<{type(self).__name__} {self.name}: {columns}>"


class Stream(Declared):
    """A stream. Several threads may append to it: their batches are sent one after the other."""

    def __init__(
        self,
        connection: Connection,
        description: JsonObject,
        writer: Writer,
        turn: threading.Lock,
    ) -> None:
        """Ask nothing. `turn` is held while a batch is sent: versions have to arrive in their order."""
        super().__init__(description)
        self._connection = connection
        self._writer = writer
        self._turn = turn

    def append(self, rows: Any, *, txn: Txn | None = None) -> Receipt:  # noqa: ANN401 (of any library)
        """Append rows; return once every later answer shows them.

        However often they have to be sent, because the service was overloaded, restarted or killed, or an answer was
        lost, they are stored once. Up to 100,000 rows and 8 MiB are one batch, stored whole or not at all; more are
        several, one after the other.

        Args:
            rows: a frame of pandas or polars, a table of pyarrow, one dict, or an iterable of dicts.
            txn: a name and a version of your own, for rows that are sent again by another run of the program.

        Raises:
            DefinitionError: they are none of these, or a column does not fit; nothing of its batch was sent.
            ServiceProblem: the service refused them; for `rows-rejected` its `body` lists what is wrong with which row.
            ServiceUnreachableError: nothing answers. A note says how to send the same rows again, each once.
        """
        with self._turn:
            return self._connection.run(
                appended(self.name, batches(rows, self.columns), self._writer, txn)
            )

    def match(self, rows: Iterable[Mapping[str, object]], *, limit: int | None = None) -> Matches:
        """Return which standing queries these rows would enter; nothing is stored. `limit`: handles for each row."""
        return self._connection.run(matched(self.name, rows, limit))

    def sample(self, limit: int = 20) -> list[Row]:
        """Return the latest rows, the newest last; instants are datetimes in UTC."""
        return self._connection.run(sampled(self.name, limit))

    def describe(self) -> JsonObject:
        """Ask for the description anew, with the counts of this moment, and return it."""
        self.description = self._connection.run(operations.described(stream_path(self.name)))
        return self.description

    def add_columns(self, columns: Columns) -> JsonObject:
        """Add columns behind the last one, NULL in the rows there are; return the description, with all columns.

        Queries that stand keep the columns they have. A column that is there just so stays, so that a program may do
        this at each start.

        Args:
            columns: `{"note": "string"}`, or the objects of the HTTP contract.

        Raises:
            ServiceProblem: `incompatible-change`, where the stream has another column of a name; `invalid-field`.
        """
        self.description = self._connection.run(
            operations.add_columns(self.name, column_list(columns))
        )
        return self.description

    def drop(self, *, cascade: bool = False) -> None:
        """Drop the stream; with `cascade` also the queries over it."""
        self._connection.run(operations.drop(self.name, cascade=cascade))


class Turns:
    """One lock for each stream of a database, whichever object stands for the stream."""

    def __init__(self) -> None:
        """There are none yet."""
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._guard = threading.Lock()

    def of(self, stream: str) -> threading.Lock:
        """Return the lock of a stream."""
        with self._guard:
            return self._locks[stream]


def matched(
    stream: str, rows: Iterable[Mapping[str, object]], limit: int | None
) -> Operation[Matches]:
    """Return which standing queries rows would enter."""
    body: JsonObject = {"rows": [dict(row) for row in rows]}
    if limit is not None:
        body["limit"] = limit
    found = json_object((yield with_json("POST", f"{stream_path(stream)}/match", body)))
    return Matches(found["matches"], found["total"])


def sampled(stream: str, limit: int) -> Operation[list[Row]]:
    """Return the latest rows of a stream."""
    found = json_object((yield get(f"{stream_path(stream)}/sample", {"limit": limit})))
    return Typing(found["columns"]).rows(found["rows"])
