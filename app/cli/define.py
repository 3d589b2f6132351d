"""`psoup declare`, `drop` and `register`: streams and standing queries, without their rows and answers."""

from typing import Annotated

import typer

from psoup.app.cli.common import (
    URL_DEFAULT,
    ListFormat,
    Materialize,
    Params,
    Token,
    Url,
    Yes,
    exits,
)
from psoup.engine.tuples.schema import ClockKind
from psoup.engine.tuples.time_unit import TimeUnit

Stream = Annotated[str, typer.Argument(help="The stream's name.")]
Dropped = Annotated[str | None, typer.Argument(help="The stream's name.")]
DroppedLabel = Annotated[
    list[str] | None,
    typer.Option("--label", help="key:value, instead of a stream: the queries that have it go."),
]
Ttl = Annotated[str | None, typer.Option(help="It goes when nobody asks for so long: 7d.")]
Column = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        "-c",
        help="name:type, once for each column. Types: int64, float64, bool, string, timestamp.",
    ),
]
Add = Annotated[
    list[str] | None,
    typer.Option(help="name:type of a column that a stream with rows gets, once for each."),
]
NotNull = Annotated[
    list[str] | None, typer.Option(help="A column of --column that allows no NULL.")
]
Schema = Annotated[
    str | None,
    typer.Option(
        help='Instead of --column: "ts timestamp, id string not null", or a JSON file as in PUT.'
    ),
]
Time = Annotated[str | None, typer.Option("--time", "-t", help="The column that dates a row.")]
Unit = Annotated[
    TimeUnit | None,
    typer.Option(help="What integers count that are sent for its timestamps. Default: us."),
]
Clock = Annotated[
    ClockKind | None, typer.Option(help="What NOW is: the largest tuple time, or the server's.")
]
RetentionRows = Annotated[int | None, typer.Option(help="Keep at most so many rows.", min=1)]
RetentionTime = Annotated[str | None, typer.Option(help="Keep rows so long: 30m, 7d.")]
RetentionBytes = Annotated[str | None, typer.Option(help="Keep at most so much: 500MiB.")]
Future = Annotated[
    str | None, typer.Option(help="Refuse rows dated further past the server's clock: 1d.")
]
Format = Annotated[
    ListFormat | None,
    typer.Option("--format", "-f", help="Default: table on a terminal, ndjson in a pipe."),
]
Sql = Annotated[str, typer.Argument(help="SELECT ... FROM ... WHERE ... BEGIN (...) END (...)")]
Name = Annotated[str | None, typer.Option(help="Its name: registered again, it is the same query.")]
Label = Annotated[list[str] | None, typer.Option(help="key:value, to find it by.")]
Kept = Annotated[
    Materialize | None,
    typer.Option(
        "--materialize", help="What is kept of its matches between invocations. Default: auto."
    ),
]
HandleFormat = Annotated[
    ListFormat | None,
    typer.Option("--format", "-f", help="Default: the handle alone; else its description."),
]


@exits
def declare(
    stream: Stream,
    *,
    column: Column = None,
    add: Add = None,
    not_null: NotNull = None,
    schema: Schema = None,
    time: Time = None,
    unit: Unit = None,
    clock: Clock = None,
    retention_rows: RetentionRows = None,
    retention_time: RetentionTime = None,
    retention_bytes: RetentionBytes = None,
    future: Future = None,
    output: Format = None,
    url: Url = URL_DEFAULT,
    token: Token = None,
) -> None:
    """Declare a stream. The same declaration again changes nothing; another one is refused. With --add: add columns."""
    from psoup.app.cli.actions.define import add_columns, declare_stream
    from psoup.client.calls import PsoupClient
    from psoup.pipeline.definition import columns_to_add, definition_from

    retention = {"rows": retention_rows, "time": retention_time, "bytes": retention_bytes}
    if add:
        declared = (column, not_null, schema, time, clock, future, *retention.values())
        columns = columns_to_add(add, unit=unit, alone=not any(declared))
        with PsoupClient(url, token=token) as service:
            add_columns(service, stream, columns, output)
        return
    definition = definition_from(
        column or (),
        schema,
        not_null=not_null or (),
        unit=unit,
        time=time,
        clock=None if clock is None else clock.value,
        retention={name: value for name, value in retention.items() if value is not None} or None,
        future=future,
    )
    with PsoupClient(url, token=token) as service:
        declare_stream(service, stream, definition, output)


@exits
def drop(
    stream: Dropped = None,
    *,
    label: DroppedLabel = None,
    yes: Yes = False,
    url: Url = URL_DEFAULT,
    token: Token = None,
) -> None:
    """Drop a stream with its rows and the queries that read it, or the queries that have labels. Asks first."""
    from psoup.app.cli.actions.define import drop_queries, drop_stream
    from psoup.app.cli.actions.pairs import labels_of
    from psoup.client.calls import PsoupClient
    from psoup.client.errors import DefinitionError

    labels = labels_of(label or ())
    if (stream is None) is not bool(labels):
        raise DefinitionError("Give the name of a stream, or --label key:value.")
    with PsoupClient(url, token=token) as service:
        if stream is not None:
            drop_stream(service, stream, yes=yes)
        else:
            drop_queries(service, label or (), yes=yes)


@exits
def register(
    sql: Sql,
    *,
    param: Params = None,
    name: Name = None,
    label: Label = None,
    materialize: Kept = None,
    ttl: Ttl = None,
    output: HandleFormat = None,
    url: Url = URL_DEFAULT,
    token: Token = None,
) -> None:
    """Register a standing query and print its handle."""
    from psoup.app.cli.actions.define import register_query
    from psoup.app.cli.actions.pairs import labels_of, parameters_of
    from psoup.client.calls import PsoupClient

    params, labels = parameters_of(param or ()), labels_of(label or ())
    with PsoupClient(url, token=token) as service:
        kept = None if materialize is None else materialize.value
        register_query(
            service,
            sql,
            output,
            params=params,
            name=name,
            labels=labels,
            materialize=kept,
            ttl=ttl,
        )
