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
    RowsSyntax,
    SourceSyntax,
)
from psoup.engine.query.time_literals import format_instant
from psoup.engine.query.values.expression import ColumnRef
from psoup.engine.query.window import Window, windows_of
from psoup.engine.tuples.schema import StreamId, StreamSchema
from psoup.pipeline.spark.sql.buckets import TimeBuckets, free_prefix, time_buckets
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
class NewestRows:
    """A row window.

    Attributes:
        count: how many tuples it shows of each partition.
        keys: of partitions, as SQL.
        now_us: the instant to answer for.
        until: name of the column that tells when newer tuples take a tuple's place, NULL: they never do.
    """

    count: int
    keys: Sequence[str]
    now_us: int
    until: str


@dataclass(frozen=True, slots=True)
class JoinedSource:
    """One entry of FROM: its name, table and time column, as SQL; and its windows.

    Attributes:
        name, table, time: as SQL.
        window: of times, as SQL.
        instants: the same, which tells when tuples enter and leave.
        added: columns besides those of its table.
        newest: its row window; None: it has none.
    """

    name: str
    table: str
    time: str
    window: SourceWindow
    instants: Window
    added: Sequence[str]
    newest: NewestRows | None = None

    @property
    def sql(self) -> str:
        """Return the tuples that the windows show, with the name of the source."""
        window, time = self.window, self.time
        conditions = [f"{time} <= {end}" for end in dict.fromkeys(window.ends)]
        conditions += [] if window.begin is None else [f"{time} >= {window.begin}"]
        table = self.table
        if self.newest is not None:
            table = _newest(self, self.newest, _selected("*", table, conditions))
            conditions = []
        columns = ", ".join(["*", *self.added])
        return f"({_selected(columns, table, conditions)}) AS {self.name}"

    @property
    def enters(self) -> str:
        """Return the instant at which the window of times begins to show a tuple, in microseconds."""
        return _enters(self.instants, f"unix_micros({self.name}.{self.time})")

    @property
    def leaves(self) -> list[str]:
        """Return the instants of which the first one ends the time in which a tuple is shown; none: it never ends."""
        begin, us = self.instants.begin, f"unix_micros({self.name}.{self.time})"
        found = [] if self.newest is None else [f"{self.name}.{self.newest.until}"]
        if begin is not None and begin.moving:
            found.append(_at_hop(self.instants, f"({us} + {begin.us + 1}L)"))
        return found


def _selected(columns: str, table: str, conditions: Sequence[str]) -> str:
    where = ["WHERE", " AND ".join(conditions)] if conditions else []
    return " ".join(["SELECT", columns, "FROM", table, *where])


def _newest(source: JoinedSource, newest: NewestRows, dated: str) -> str:
    """Return the tuples that a row window shows, now or later, out of those that the window of times does.

    The tuple that stands `count` places behind another one, by time and id, takes its place when it enters.
    Without partitions only the newest tuples are ordered, so that no task has to order all.
    """
    enters = _enters(source.instants, f"unix_micros({source.time})")
    if not newest.keys:
        last = f"ORDER BY {source.time} DESC, {name_sql(ID)} DESC LIMIT {newest.count}"
        shown = _selected("*", f"({dated})", [f"{enters} <= {newest.now_us}L"])
        coming = _selected("*", f"({dated})", [f"{enters} > {newest.now_us}L"])
        dated = f"({shown} {last}) UNION ALL ({coming})"
    partition = f"PARTITION BY {', '.join(newest.keys)} " if newest.keys else ""
    over = f"({partition}ORDER BY {source.time}, {name_sql(ID)})"
    until = f"LEAD({enters}, {newest.count}) OVER {over} AS {newest.until}"
    numbered = _selected(f"*, {until}", f"({dated}) AS {source.name}", [])
    kept = f"{newest.until} > {newest.now_us}L AND {newest.until} > {enters}"
    return f"({_selected('*', f'({numbered})', [f'({newest.until} IS NULL OR {kept})'])})"


def _enters(window: Window, us: str) -> str:
    offset_us = window.end.us if window.end is not None and window.end.moving else 0
    return _at_hop(window, f"({us} + {offset_us}L)" if offset_us else us)


def _at_hop(window: Window, us: str) -> str:
    """Return the first hop at or after an instant; without hops the instant."""
    hops = window.hops
    return us if hops is None else f"({us} + pmod({hops.align_us}L - {us}, {hops.every_us}L))"


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


def greatest_sql(terms: Sequence[str]) -> str:
    """Return the greatest of one term or several; NULL counts for nothing."""
    return terms[0] if len(terms) == 1 else f"greatest({', '.join(terms)})"


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
        """Return `FROM ...`, and `WHERE ...` where there are conditions; LEFT JOIN as an inner one."""
        where = self.syntax.where
        return self.where([] if where is None else [f"({self.expression(where)})"])

    def where(self, conditions: Sequence[str]) -> str:
        """Return the same with these conditions in place of the query's."""
        names = [source.name for source in self.sources]
        wanted = [*(bucket.condition(names) for bucket in self.buckets), *conditions]
        where = f" WHERE {' AND '.join(wanted)}" if wanted else ""
        return f"FROM {self.joined(len(self.sources))}{where}"

    @property
    def enters(self) -> str:
        """Return the instant at which the last source of a row enters."""
        return greatest_sql([source.enters for source in self.sources])

    @property
    def leaves(self) -> str:
        """Return the instant at which the first source of a row leaves; NULL: none ever does."""
        found = [instant for source in self.sources for instant in source.leaves]
        return least_sql(found) if found else "CAST(NULL AS BIGINT)"

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

    def joined(self, past: int) -> str:
        """Return the first `past` entries of FROM."""
        text = self.sources[0].sql
        for place, source in enumerate(self.sources[1:past], start=1):
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
    windows = windows_of(bound.window, bound.ranges, len(syntax.sources))
    until = name_sql(free_prefix("_until", schemas))

    def newest(place: int, rows: RowsSyntax | None) -> NewestRows | None:
        if rows is None:
            return None
        find = scope.columns_of(place)
        keys = [
            expression_sql(key, lambda column: (name_sql(scope.names[place]), find(column)))
            for key in rows.keys
        ]
        now_us_rounded = bound.window.rounded(now_us)
        return NewestRows(rows.count, [key.beside(None) for key in keys], now_us_rounded, until)

    sources = [
        JoinedSource(
            name_sql(name),
            given.get(schema.name, name_sql(schema.name)),
            name_sql(schema.time or ARRIVAL),
            _window(one, syntax, now, is_ahead=is_ahead),
            windows[place],
            [column for bucket in buckets for column in bucket.columns_of(place)],
            newest(place, one.rows),
        )
        for place, (name, one, schema) in enumerate(
            zip(scope.names, syntax.sources, scope.schemas, strict=True)
        )
    ]
    return JoinedSources(syntax, scope, sources, buckets)
