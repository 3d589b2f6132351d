"""FROM of a standing query in Spark SQL: streams with their windows, their names, and what joins them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from psoup.engine.query.bind.scope import Scope
from psoup.engine.query.clause import BoundQuery
from psoup.engine.query.text.syntax import (
    BoundSyntax,
    ColumnSyntax,
    ExpressionSyntax,
    QuerySyntax,
    SourceSyntax,
)
from psoup.engine.query.time_literals import format_instant
from psoup.engine.query.values.expression import ColumnRef
from psoup.engine.tuples.schema import StreamId, StreamSchema
from psoup.pipeline.spark.sql.buckets import TimeBuckets, time_buckets
from psoup.pipeline.spark.sql.expressions import expression_sql
from psoup.pipeline.spark.sql.terms import instant_sql, interval_sql, name_sql

ID: Final = "_id"
ARRIVAL: Final = "_arrival"


@dataclass(frozen=True, slots=True)
class SourceWindow:
    """A window as SQL: its begin, the ends that no tuple lies behind, and how far a BEGIN that moves lies back."""

    begin: str | None
    ends: tuple[str, ...]
    reach_us: int | None = None


@dataclass(frozen=True, slots=True)
class JoinedSource:
    """One entry of FROM: its name, table and time column, as SQL; and its window.

    `added` are columns besides those of its table.
    """

    name: str
    table: str
    time: str
    window: SourceWindow
    added: Sequence[str]

    @property
    def sql(self) -> str:
        """Return the tuples inside the window, with the name of the source."""
        window, time = self.window, self.time
        conditions = [f"{time} <= {end}" for end in dict.fromkeys(window.ends)]
        conditions += [] if window.begin is None else [f"{time} >= {window.begin}"]
        columns = ", ".join(["*", *self.added])
        kept = ["SELECT", columns, "FROM", self.table]
        if conditions:
            kept += ["WHERE", " AND ".join(conditions)]
        return f"({' '.join(kept)}) AS {self.name}"


def _window(source: SourceSyntax, syntax: QuerySyntax, now: str, *, is_ahead: bool) -> SourceWindow:
    """Return the window of one source, its own, else that of the query.

    It ends at NOW at the latest; `is_ahead`: at a constant END alone, as any other end comes later by itself.
    """
    until_now = () if is_ahead else (now,)
    if source.range is not None:
        return SourceWindow(f"{now} - {interval_sql(source.range.us)}", until_now, source.range.us)
    if syntax.window is None:
        return SourceWindow(None, until_now)
    begin, end = syntax.window.begin, syntax.window.end
    reach_us = begin.offset_us if begin.constant is None else None
    ends = (*until_now, _bound(end, now))
    if is_ahead and end.constant is None:
        ends = ()
    return SourceWindow(_bound(begin, now), ends, reach_us)


def _bound(syntax: BoundSyntax, now: str) -> str:
    if syntax.constant is not None:
        return instant_sql(syntax.constant.value)
    return f"{now} - {interval_sql(syntax.offset_us)}" if syntax.offset_us else now


def least_sql(terms: Sequence[str]) -> str:
    """Return the least of one term or several; NULL counts for nothing."""
    return terms[0] if len(terms) == 1 else f"least({', '.join(terms)})"


@dataclass(frozen=True, slots=True)
class JoinedSources:
    """FROM and WHERE of a query at one NOW.

    Attributes:
        syntax: of the query.
        scope: what its names mean.
        sources: of FROM.
        buckets: equalities that are added to time bands.
    """

    syntax: QuerySyntax
    scope: Scope
    sources: Sequence[JoinedSource]
    buckets: Sequence[TimeBuckets]

    @property
    def sql(self) -> str:
        """Return `FROM ...`, and `WHERE ...` where there are conditions."""
        conditions = [
            bucket.condition([source.name for source in self.sources]) for bucket in self.buckets
        ]
        if self.syntax.where is not None:
            conditions.append(f"({self.expression(self.syntax.where)})")
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"FROM {self._joined()}{where}"

    @property
    def times(self) -> list[str]:
        """Return the tuple time of each source, as SQL."""
        return [f"{source.name}.{source.time}" for source in self.sources]

    @property
    def ids(self) -> list[str]:
        """Return the tuple id of each source, as SQL."""
        return [f"{source.name}.{name_sql(ID)}" for source in self.sources]

    def column(self, ref: ColumnRef) -> str:
        """Return a column, as SQL."""
        return f"{self.sources[ref.source].name}.{name_sql(ref.name)}"

    def expression(self, syntax: ExpressionSyntax, *, past: int | None = None) -> str:
        """Return an expression over all sources, or over the first `past`; a bare NULL is a BOOLEAN."""
        find = self.scope.column if past is None else self.scope.columns_up_to(past)

        def lookup(column: ColumnSyntax) -> tuple[str, ColumnRef]:
            ref = find(column)
            return self.sources[ref.source].name, ref

        return expression_sql(syntax, lookup).beside(None)

    def _joined(self) -> str:
        text = self.sources[0].sql
        for place, source in enumerate(self.sources[1:], start=1):
            on = self.syntax.sources[place].on
            if on is None:
                text += f" CROSS JOIN {source.sql}"
            else:
                text += f" JOIN {source.sql} ON {self.expression(on, past=place + 1)}"
        return text


def joined_sources(
    syntax: QuerySyntax,
    bound: BoundQuery,
    schemas: Sequence[StreamSchema],
    *,
    now_us: int,
    tables: Mapping[str, str] | None = None,
    in_buckets: bool = False,
    is_ahead: bool = False,
) -> JoinedSources:
    """Return FROM and WHERE of a query, for a session that is `agreeing`.

    Args:
        syntax: of the query.
        bound: the same, bound to its streams.
        schemas: of its streams; others are ignored.
        now_us: NOW, in microseconds.
        tables: by stream, the table in FROM: a view, a table, or a query in brackets. Default: the table with the
            stream's name.
        in_buckets: whether time-band joins get additional equalities (`time_buckets`).
        is_ahead: whether tuples belong to it as well that the clock will bring into their windows.
    """
    streams = {schema.name: (StreamId(i), schema) for i, schema in enumerate(schemas, start=1)}
    scope = Scope(syntax.sources, streams)
    given = tables or {}
    now = f"TIMESTAMP '{format_instant(bound.window.rounded(now_us))}'"
    buckets = time_buckets(bound.clause, schemas) if in_buckets else ()
    sources = [
        JoinedSource(
            name_sql(name),
            given.get(schema.name, name_sql(schema.name)),
            name_sql(schema.time or ARRIVAL),
            _window(one, syntax, now, is_ahead=is_ahead),
            [column for bucket in buckets for column in bucket.columns_of(place)],
        )
        for place, (name, one, schema) in enumerate(
            zip(scope.names, syntax.sources, scope.schemas, strict=True)
        )
    ]
    return JoinedSources(syntax, scope, sources, buckets)
