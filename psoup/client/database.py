"""`Database`: a service as a Python program sees it, its streams and its queries. `connect` makes one."""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pyarrow as pa

from psoup.client.appends.writers import Writer
from psoup.client.closing import Closing
from psoup.client.columns import Columns, definition
from psoup.client.connections import operations
from psoup.client.connections.connection import Connection
from psoup.client.connections.messages import JsonObject, Operation, json_object, with_json
from psoup.client.connections.operations import STREAMS
from psoup.client.connections.retrying import RetryPolicy
from psoup.client.errors import AddressError, DefinitionError
from psoup.client.own_service import MEMORY, OwnService
from psoup.client.queries import Query
from psoup.client.streams import Stream, Turns
from psoup.engine.query.parameters import ParameterValue

_HOST_AND_PORT: Final = re.compile(r"(https?:/?)?[\w.\-\[\]]+:[0-9]{1,5}(/.*)?")


def connect(
    target: str | Path = MEMORY,
    *,
    token: str | None = None,
    retry: RetryPolicy | None = None,
) -> "Database":
    """Return a database.

    Args:
        target: the URL of a service; a folder, for a service of its own over the data in it; or `:memory:`, for a
            service of its own without data. A service of its own ends with `close`, with the block of `with`, or with
            the interpreter.
        token: the key that the service asks for.
        retry: how long to try again what may succeed later; 30 s by default.

    Raises:
        AddressError: the URL or the token is malformed.
        ServiceUnreachableError: a service of its own does not start; says why. One at a URL is not asked yet.
    """
    own = None if is_url(target) else OwnService(target)
    try:
        return Database(str(target) if own is None else own.url, token=token, retry=retry, own=own)
    except BaseException:
        if own is not None:
            own.close()
        raise


def is_url(target: str | Path) -> bool:
    """Return whether a target is the URL of a service, and no folder.

    Raises:
        AddressError: it is a host and a port, for which a folder would be made.
    """
    if not isinstance(target, str):
        return False
    if _HOST_AND_PORT.fullmatch(target):
        raise AddressError(
            f"{target!r} has no scheme: for a service write it as in http://localhost:8000, for a folder of this name"
            f" ./{target}."
        )
    return "://" in target


class Database(Closing):
    """The streams and queries of a service. Use it as a context manager; several threads may use it at once."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        retry: RetryPolicy | None = None,
        own: OwnService | None = None,
        writer: Writer | None = None,
    ) -> None:
        """Ask nothing yet.

        Args:
            url: of the service.
            token: the key that it asks for.
            retry: how long to try again.
            own: the service, where it ends with this database.
            writer: names the batches that are appended.
        """
        self._connection = Connection(url, token=token, retry=retry)
        self._own = own
        self._writer = writer or Writer()
        self._turns = Turns()

    def __repr__(self) -> str:
        """Return where the service is."""
        return f"<Database {self.url}>"

    @property
    def url(self) -> str:
        """Return the URL of the service."""
        return self._connection.url

    def close(self) -> None:
        """Close the connections, and end the service where it is the database's own. Twice does nothing more."""
        self._connection.close()
        self._writer.close()
        if self._own is not None:
            self._own.close()

    def stream(
        self,
        name: str,
        columns: Columns | None = None,
        *,
        schema: pa.Schema | None = None,
        like: object = None,
        time: str | None = None,
        clock: str | None = None,
        retention: Mapping[str, object] | None = None,
    ) -> Stream:
        """Return a stream: declared, where columns are given, and else one that is there.

        Args:
            name: of the stream.
            columns: `{"ts": "timestamp", "px": "float64"}`; of int64, float64, bool, string, timestamp.
            schema: instead of them, of Arrow.
            like: instead of them, a frame or table with such columns.
            time: the column that dates the rows; None: their arrival does.
            clock: `server` or `high-water`: what NOW is.
            retention: `{"time": "1h", "rows": 10_000_000, "bytes": "2GiB"}`.

        Raises:
            DefinitionError: the columns are given in two ways, or in none where they are needed.
            ServiceProblem: `stream-differs`: it is there with other columns; `not-found`: it is not there.
        """
        body = definition(columns, schema, like, time=time, clock=clock, retention=retention)
        if body is None:
            described = self._connection.run(operations.described_stream(name))
        else:
            described, _ = self._connection.run(operations.declare(name, body))
        return self._stream(described)

    def streams(self) -> list[Stream]:
        """Return all streams."""
        return [
            self._stream(one) for one in self._connection.run(operations.listed(STREAMS, "streams"))
        ]

    def query(
        self,
        sql: str,
        *,
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        materialize: str | None = None,
        ttl: str | None = None,
        params: Mapping[str, ParameterValue] | None = None,
        **values: ParameterValue,
    ) -> Query:
        """Register a standing query; return it once old rows have been applied.

        Args:
            sql: of the query.
            name: under which the same query is found again; registering it twice is the same as once.
            labels: by which queries are listed.
            materialize: `auto`, `partial`, `complete` or `none`: what is kept between invocations.
            ttl: how long it stays when nobody asks: `7d`.
            params: values for the parameters `:name` of the text.
            values: the same, by keyword.

        Raises:
            DefinitionError: a parameter is given twice.
            ServiceProblem: the SQL is refused: `position`, `excerpt` and `hint` of its `body` say where and why.
        """
        body = operations.registration(
            sql,
            params=one_of_each(params, values),
            name=name,
            labels=labels,
            materialize=materialize,
            ttl=ttl,
        )
        return Query(self._connection, self._connection.run(operations.register(body)))

    def get(self, query: str) -> Query:
        """Return the standing query with this handle or name.

        Raises:
            DefinitionError: no query has the name.
            ServiceProblem: `not-found`: none has the handle.
        """
        return Query(self._connection, self._connection.run(operations.looked_up(query)))

    def queries(self, *, label: str | None = None) -> list[Query]:
        """Return the standing queries, or those with a label, `key:value`."""
        found = self._connection.run(operations.listed(operations.queries_path(label), "queries"))
        return [Query(self._connection, one) for one in found]

    def validate(
        self,
        sql: str,
        *,
        params: Mapping[str, ParameterValue] | None = None,
        **values: ParameterValue,
    ) -> JsonObject:
        """Return what a registration would answer, with its plan and a forecast; nothing is created.

        Raises:
            DefinitionError: a parameter is given twice.
            ServiceProblem: the SQL is refused, as by `query`.
        """
        return self._connection.run(validated(sql, one_of_each(params, values)))

    def status(self) -> JsonObject:
        """Return the service's figures."""
        return self._connection.run(operations.described("/v1/status"))

    def _stream(self, description: JsonObject) -> Stream:
        turn = self._turns.of(str(description["name"]))
        return Stream(self._connection, description, self._writer, turn)


def validated(sql: str, params: Mapping[str, ParameterValue]) -> Operation[JsonObject]:
    """Return what a registration would answer."""
    body = operations.registration(sql, params=params)
    return json_object((yield with_json("POST", "/v1/validate", body)))


def one_of_each(
    params: Mapping[str, ParameterValue] | None, values: Mapping[str, ParameterValue]
) -> Mapping[str, ParameterValue]:
    """Return the values of parameters. Raises DefinitionError: one is given twice."""
    twice = sorted((params or {}).keys() & values.keys())
    if twice:
        raise DefinitionError(
            f"The parameter {twice[0]!r} is given twice: in params= and by keyword."
        )
    return {**(params or {}), **values}
