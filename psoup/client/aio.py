"""The same for programs that await: `aconnect`, and what it leads to. Whatever asks the service is awaited."""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from psoup.client.answers import Asked, Instant, Series, instant
from psoup.client.appends.appending import Receipt, appended
from psoup.client.appends.rows import batches
from psoup.client.appends.writers import Writer
from psoup.client.changes.following import Follower, Pace
from psoup.client.changes.rule import Change, Held, Row
from psoup.client.changing import UNCHANGED, Unchanged, given_members
from psoup.client.columns import Columns, column_list, definition
from psoup.client.connections import operations
from psoup.client.connections.async_connection import AsyncConnection
from psoup.client.connections.messages import JsonObject
from psoup.client.connections.operations import STREAMS, Txn, stream_path
from psoup.client.connections.retrying import RetryPolicy
from psoup.client.database import is_url, one_of_each, validated
from psoup.client.frames import to_pandas, to_polars
from psoup.client.mirror_file import MirrorFile
from psoup.client.mirrors import Copy
from psoup.client.own_service import MEMORY, OwnService
from psoup.client.queries import Described
from psoup.client.streams import Declared, Matches, matched, sampled
from psoup.engine.query.parameters import ParameterValue

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


async def aconnect(
    target: str | Path = MEMORY,
    *,
    token: str | None = None,
    retry: RetryPolicy | None = None,
) -> "AsyncDatabase":
    """Return a database whose methods are awaited. Arguments and errors: as `connect`."""
    own = None if is_url(target) else await asyncio.to_thread(OwnService, target)
    try:
        url = str(target) if own is None else own.url
        return AsyncDatabase(url, token=token, retry=retry, own=own)
    except BaseException:
        if own is not None:
            own.close()
        raise


class AsyncDatabase:
    """As `Database`, for tasks of one event loop. Use it as an asynchronous context manager."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        retry: RetryPolicy | None = None,
        own: OwnService | None = None,
        writer: Writer | None = None,
    ) -> None:
        """Ask nothing yet. Arguments: as `Database`."""
        self._connection = AsyncConnection(url, token=token, retry=retry)
        self._own = own
        self._writer = writer or Writer()
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def __aenter__(self) -> Self:
        """Return self."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the database."""
        await self.close()

    def __repr__(self) -> str:
        """Return where the service is."""
        return f"<AsyncDatabase {self.url}>"

    @property
    def url(self) -> str:
        """Return the URL of the service."""
        return self._connection.url

    async def close(self) -> None:
        """Close the connections, and end the service where it is the database's own."""
        await self._connection.close()
        self._writer.close()
        if self._own is not None:
            await asyncio.to_thread(self._own.close)

    async def stream(
        self,
        name: str,
        columns: Columns | None = None,
        *,
        schema: pa.Schema | None = None,
        like: object = None,
        time: str | None = None,
        clock: str | None = None,
        retention: Mapping[str, object] | None = None,
    ) -> "AsyncStream":
        """Return a stream: as `Database.stream`."""
        body = definition(columns, schema, like, time=time, clock=clock, retention=retention)
        if body is None:
            described = await self._connection.run(operations.described_stream(name))
        else:
            described, _ = await self._connection.run(operations.declare(name, body))
        return self._stream(described)

    async def streams(self) -> "list[AsyncStream]":
        """Return all streams."""
        found = await self._connection.run(operations.listed(STREAMS, "streams"))
        return [self._stream(one) for one in found]

    async def query(
        self,
        sql: str,
        *,
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        materialize: str | None = None,
        ttl: str | None = None,
        params: Mapping[str, ParameterValue] | None = None,
        **values: ParameterValue,
    ) -> "AsyncQuery":
        """Register a standing query: as `Database.query`."""
        body = operations.registration(
            sql,
            params=one_of_each(params, values),
            name=name,
            labels=labels,
            materialize=materialize,
            ttl=ttl,
        )
        return AsyncQuery(self._connection, await self._connection.run(operations.register(body)))

    async def get(self, query: str) -> "AsyncQuery":
        """Return the standing query with this handle or name: as `Database.get`."""
        found = await self._connection.run(operations.looked_up(query))
        return AsyncQuery(self._connection, found)

    async def queries(self, *, label: str | None = None) -> "list[AsyncQuery]":
        """Return the standing queries, or those with a label, `key:value`."""
        found = await self._connection.run(
            operations.listed(operations.queries_path(label), "queries")
        )
        return [AsyncQuery(self._connection, one) for one in found]

    async def validate(
        self,
        sql: str,
        *,
        params: Mapping[str, ParameterValue] | None = None,
        **values: ParameterValue,
    ) -> JsonObject:
        """Return what a registration would answer: as `Database.validate`."""
        return await self._connection.run(validated(sql, one_of_each(params, values)))

    async def status(self) -> JsonObject:
        """Return the service's figures."""
        return await self._connection.run(operations.described("/v1/status"))

    def _stream(self, description: JsonObject) -> "AsyncStream":
        turn = self._turns[str(description["name"])]
        return AsyncStream(self._connection, description, self._writer, turn)


class AsyncStream(Declared):
    """As `Stream`. Several tasks may append to it: their batches are sent one after the other."""

    def __init__(
        self,
        connection: AsyncConnection,
        description: JsonObject,
        writer: Writer,
        turn: asyncio.Lock,
    ) -> None:
        """Ask nothing. `turn` is held while a batch is sent: versions have to arrive in their order."""
        super().__init__(description)
        self._connection = connection
        self._writer = writer
        self._turn = turn

    async def append(self, rows: Any, *, txn: Txn | None = None) -> Receipt:  # noqa: ANN401 (of any library)
        """Append rows, each once, however often they have to be sent: as `Stream.append`."""
        async with self._turn:
            return await self._connection.run(
                appended(self.name, batches(rows, self.columns), self._writer, txn)
            )

    async def match(
        self, rows: Iterable[Mapping[str, object]], *, limit: int | None = None
    ) -> Matches:
        """Return which standing queries these rows would enter: as `Stream.match`."""
        return await self._connection.run(matched(self.name, rows, limit))

    async def sample(self, limit: int = 20) -> list[Row]:
        """Return the latest rows, the newest last."""
        return await self._connection.run(sampled(self.name, limit))

    async def describe(self) -> JsonObject:
        """Ask for the description anew, and return it."""
        self.description = await self._connection.run(operations.described(stream_path(self.name)))
        return self.description

    async def add_columns(self, columns: Columns) -> JsonObject:
        """Add columns behind the last one: as `Stream.add_columns`."""
        self.description = await self._connection.run(
            operations.add_columns(self.name, column_list(columns))
        )
        return self.description

    async def drop(self, *, cascade: bool = False) -> None:
        """Drop the stream; with `cascade` also the queries over it."""
        await self._connection.run(operations.drop(self.name, cascade=cascade))


class AsyncAnswers(Described):
    """As `Answers`: what a query answers at one instant."""

    def __init__(
        self, connection: AsyncConnection, description: JsonObject, now: str | None = None
    ) -> None:
        """Ask nothing yet. `now` None: the query's NOW at each call."""
        super().__init__(description)
        self._connection = connection
        self._asked = Asked(self.id, now)

    async def arrow(self, *, ids: bool = False) -> pa.Table:
        """Return the answer as a table: as `Answers.arrow`."""
        return await self._connection.run(self._asked.table(ids=ids))

    async def pandas(self, *, ids: bool = False) -> "pd.DataFrame":
        """Return the answer as a frame of pandas."""
        return to_pandas(await self.arrow(ids=ids))

    async def polars(self, *, ids: bool = False) -> "pl.DataFrame":
        """Return the answer as a frame of polars."""
        return to_polars(await self.arrow(ids=ids))

    async def rows(self, *, ids: bool = False) -> list[Row]:
        """Return the answer as dicts; instants are datetimes in UTC."""
        rows: list[Row] = (await self.arrow(ids=ids)).to_pylist()
        return rows

    async def count(self) -> int:
        """Return how many rows the answer has, and transfer none."""
        return await self._connection.run(self._asked.count())


class AsyncQuery(AsyncAnswers):
    """As `Query`: a standing query."""

    def at(self, when: Instant) -> AsyncAnswers:
        """Return what it answers at another instant, up to NOW and inside retention."""
        return AsyncAnswers(self._connection, self.description, instant(when))

    async def series(
        self,
        begin: Instant | None = None,
        end: Instant | None = None,
        *,
        every: str | None = None,
    ) -> Series:
        """Return what it answers at each of a sequence of instants: as `Query.series`."""
        return await self._connection.run(self._asked.series(begin, end, every, self.columns))

    def follow(self, *, on: str = "enter", pace: Pace | None = None) -> AsyncGenerator[Change]:
        """Yield the whole answer, and then what changes in it: as `Query.follow`."""
        follower = Follower(self._connection.url, self.id, Held(), on=on, pace=pace, of=self)
        return _mapped(self._typed, self._connection.follow(follower.steps()))

    def mirror(self, path: str | Path, *, pace: Pace | None = None) -> "AsyncMirror":
        """Return a copy of the answer in a SQLite file: as `Query.mirror`."""
        file = MirrorFile(path, self.id)
        file.describe(self._connection.url, self.description)
        return AsyncMirror(file, self._connection, pace=pace)

    async def explain(self, row: str | Mapping[str, object]) -> JsonObject:
        """Return why a row is in the answer, or why not: as `Query.explain`."""
        return await self._connection.run(self._asked.explained(row))

    async def describe(self) -> JsonObject:
        """Ask for the description anew, and return it."""
        self.description = await self._connection.run(
            operations.described(operations.query_path(self.id))
        )
        return self.description

    async def update(
        self,
        sql: str | Unchanged = UNCHANGED,
        *,
        params: Mapping[str, ParameterValue] | Unchanged | None = UNCHANGED,
        labels: Mapping[str, str] | Unchanged | None = UNCHANGED,
        ttl: str | Unchanged | None = UNCHANGED,
    ) -> JsonObject:
        """Change what is given, and leave the rest: as `Query.update`."""
        members = given_members(sql=sql, params=params, labels=labels, ttl=ttl)
        self.description = await self._connection.run(operations.change(self.id, members))
        return self.description

    async def remove(self) -> None:
        """Remove the query."""
        await self._connection.run(operations.remove(self.id))


class AsyncMirror(Copy):
    """As `Mirror`. The file is written while the event loop waits: milliseconds."""

    def __init__(
        self, file: MirrorFile, connection: AsyncConnection, *, pace: Pace | None = None
    ) -> None:
        """Ask nothing yet."""
        super().__init__(file, pace=pace)
        self._connection = connection

    async def refresh(self) -> Change | None:
        """Ask what has changed, write it, and return it: as `Mirror.refresh`."""
        change = await self._connection.run(self._refreshed())
        return change and self._typed(change)

    def follow(self, *, on: str = "enter") -> AsyncGenerator[Change]:
        """Yield what has changed since the last answer, and then what changes: as `Mirror.follow`."""
        changes = self._connection.follow(self._followed(on))
        return _mapped(self._typed, changes)


async def _mapped(
    function: Callable[[Change], Change], changes: AsyncGenerator[Change]
) -> AsyncGenerator[Change]:
    async with aclosing(changes):
        async for change in changes:
            yield function(change)
