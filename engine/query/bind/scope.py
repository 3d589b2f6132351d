"""The names that FROM brings: its sources, and which column of which source a name means.

Names are taken exactly; an unquoted name that is none but agrees with exactly one but for capitals is that
one. A column's name without a stream's before it means the one column that has it among all sources.
"""

import difflib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from psoup.engine import limits
from psoup.engine.errors import UnknownColumnError, UnknownStreamError, UnsupportedSqlError
from psoup.engine.query import dialect
from psoup.engine.query.canonical import sql_name, sql_text
from psoup.engine.query.clause import Source
from psoup.engine.query.shape import Output
from psoup.engine.query.text.refusal import Refused
from psoup.engine.query.text.syntax import ColumnSyntax, Name, SourceSyntax
from psoup.engine.query.values.expression import ColumnRef
from psoup.engine.tuples.schema import RESERVED_COLUMNS, ColumnSchema, StreamId, StreamSchema

Streams = Mapping[str, tuple[StreamId, StreamSchema]]
"""The declared streams by name."""

_NAMES_SHOWN_MAX = 10
_NAME_SHOWN_LENGTH_MAX = limits.COLUMN_NAME_LENGTH_MAX


class _Columns:
    """The columns of one source as expressions, and as what `*` stands for where it is alone."""

    __slots__ = ("outputs", "refs")

    def __init__(self, columns: tuple[ColumnSchema, ...], source: int, alias: str) -> None:
        self.refs = {
            column.name: ColumnRef(source, column.name, column.type, alias) for column in columns
        }
        self.outputs = tuple(Output(ref.name, ref) for ref in self.refs.values())


@lru_cache(maxsize=limits.STREAMS_COUNT_CEILING)
def _columns_of(columns: tuple[ColumnSchema, ...], source: int, alias: str) -> _Columns:
    """Return the columns; shared by the queries over one declaration, which are many."""
    return _Columns(columns, source, alias)


class _Entry(NamedTuple):
    """One source under the name that the text gives it."""

    name: str
    source: Source
    schema: StreamSchema
    columns: _Columns


class Scope:
    """What the names of a text mean that stand behind this FROM."""

    __slots__ = ("_entries", "schemas", "sources")

    def __init__(
        self, syntax: Sequence[SourceSyntax], streams: Streams, *, written: bool = False
    ) -> None:
        """Look the streams up; their aliases are canonical ones, or where `written` those of the text.

        Raises:
            Refused: `unknown-stream`; `unsupported-sql` for two sources of one name, or of unlike clocks.
        """
        found = [_declared(source.stream, streams) for source in syntax]
        joins = len(found) > 1
        names = [
            stream if source.alias is None else source.alias.text
            for stream, source in zip(found, syntax, strict=True)
        ]
        aliases = names if written else _canonical_aliases(found) if joins else found
        entries: list[_Entry] = []
        for i, stream in enumerate(found):
            stream_id, schema = streams[stream]
            columns = _columns_of(schema.columns, i, aliases[i] if joins else "")
            entries.append(_Entry(names[i], Source(aliases[i], stream, stream_id), schema, columns))
        self._entries = tuple(entries)
        self.sources = tuple([entry.source for entry in entries])
        self.schemas = tuple([entry.schema for entry in entries])
        if joins:
            _check_names(syntax, entries)
            _check_clocks(syntax, entries)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the sources as the text has them."""
        return tuple(entry.name for entry in self._entries)

    def all_columns(self, qualifier: Name | None) -> tuple[Output, ...]:
        """Return what `*` stands for: each column under its name, or where several have it `alias.name`."""
        starred = self._entries if qualifier is None else (self._meant(qualifier, self._entries),)
        if len(self._entries) == 1:
            return starred[0].columns.outputs
        counts = Counter(name for entry in self._entries for name in entry.columns.refs)
        return tuple(
            Output(name if counts[name] == 1 else f"{entry.name}.{name}", ref)
            for entry in starred
            for name, ref in entry.columns.refs.items()
        )

    def column(self, syntax: ColumnSyntax) -> ColumnRef:
        """Return the column that is meant; refuse one that no source has, or several have."""
        return self._column(syntax, self._entries)

    def has_column(self, name: str) -> bool:
        """Return whether a source has a column of exactly this name."""
        return any(name in entry.columns.refs for entry in self._entries)

    def columns_up_to(self, past: int) -> Callable[[ColumnSyntax], ColumnRef]:
        """Return `column` for the first `past` sources alone: what the ON of the last of them may read."""
        entries = self._entries[:past]
        return lambda syntax: self._column(syntax, entries)

    def columns_of(self, place: int) -> Callable[[ColumnSyntax], ColumnRef]:
        """Return `column` for one source alone: what the keys of its row window may read."""
        entries = self._entries[place : place + 1]
        return lambda syntax: self._column(syntax, entries)

    def _column(self, syntax: ColumnSyntax, entries: tuple[_Entry, ...]) -> ColumnRef:
        if syntax.qualifier is not None:
            _check_pointed_name(syntax.qualifier, syntax.name, entries)
            entries = (self._meant(syntax.qualifier, entries),)
        name = syntax.name
        if len(entries) > 1:
            return _among(name, entries)
        refs = entries[0].columns.refs
        found = resolve(name, refs)
        if found is None:
            stream = entries[0].source.stream
            nearest = _nearest(name.text, refs, f"columns of {stream}")
            raise _no_column("The stream has no", f"{stream} has no", name, nearest)
        return refs[found]

    def _meant(self, qualifier: Name, entries: tuple[_Entry, ...]) -> _Entry:
        """Return the source of this name."""
        names = [entry.name for entry in entries]
        found = resolve(qualifier, names)
        if found is not None:
            return entries[names.index(found)]
        up_to = "." if len(entries) == len(self._entries) else " up to there."
        remedy = "write a stream's alias before the column, or its name where it has no alias"
        hint = f"write {' or '.join(f'{sql_name(name)}.column' for name in names)}"
        hint += ", or the column alone"
        if resolve(qualifier, [entry.name for entry in self._entries]) is not None:
            remedy = hint = "ON reads the streams up to its own: write the condition in WHERE"
        raise Refused(
            UnknownColumnError,
            f"FROM has no stream of the name before the point{up_to}",
            qualifier.span,
            remedy,
            quoting=f"FROM brings no {qualifier.text[:_NAME_SHOWN_LENGTH_MAX]!r}{up_to}",
            hint=hint,
        )


def _check_pointed_name(qualifier: Name, name: Name, entries: tuple[_Entry, ...]) -> None:
    """Refuse a name with a point in it that stands without quotes, unless a source has the name before the point."""
    if resolve(qualifier, [entry.name for entry in entries]) is not None:
        return
    written = Name(f"{qualifier.text}.{name.text}", quoted=False, span=qualifier.span)
    for entry in entries:
        meant = resolve(written, entry.columns.refs)
        if meant is not None:
            raise Refused(
                UnknownColumnError,
                "The point is part of the column's name.",
                qualifier.span.to(name.span),
                "write the whole name in double quotes",
                hint=f"write {sql_name(meant)[:_NAME_SHOWN_LENGTH_MAX]}",
            )


def _declared(stream: Name, streams: Streams) -> str:
    """Return the name of the stream that is meant."""
    found = resolve(stream, streams)
    if found is None:
        raise Refused(
            UnknownStreamError,
            "No stream of this name is declared.",
            stream.span,
            "declare it first by PUT /v1/streams/{name}; GET /v1/streams lists those that are declared",
            quoting=f"There is no stream {stream.text[:_NAME_SHOWN_LENGTH_MAX]!r}.",
            hint=_nearest(stream.text, streams, "declared streams"),
        )
    return found


def _canonical_aliases(streams: Sequence[str]) -> list[str]:
    """Return one alias for each source: the stream's name, or where it stands twice `<stream>_1`, `<stream>_2`.

    They follow from the streams alone, so that queries that differ in their aliases are one.
    """
    taken = set(streams)
    if len(taken) == len(streams):
        return list(streams)
    counts = Counter(streams)
    aliases: list[str] = []
    for stream in streams:
        alias, number = stream, 0
        while counts[stream] > 1 and alias in taken:
            number += 1
            alias = f"{stream}_{number}"
        taken.add(alias)
        aliases.append(alias)
    return aliases


def _check_names(syntax: Sequence[SourceSyntax], entries: Sequence[_Entry]) -> None:
    """Refuse a second source of a name."""
    seen: set[str] = set()
    for source, entry in zip(syntax, entries, strict=True):
        if entry.name in seen:
            stream = entry.source.stream
            raise Refused(
                UnsupportedSqlError,
                "Two sources of FROM have one name.",
                (source.alias or source.stream).span,
                "tell them apart by an alias",
                quoting=f"Two sources of FROM are named {entry.name[:_NAME_SHOWN_LENGTH_MAX]!r}.",
                hint=f"tell them apart by an alias: {sql_name(stream)} AS {sql_name(stream + '_2')}",
            )
        seen.add(entry.name)


def _check_clocks(syntax: Sequence[SourceSyntax], entries: Sequence[_Entry]) -> None:
    """Refuse streams of unlike clocks: one NOW has to hold for all parts of a row."""
    first = entries[0].schema
    for source, entry in zip(syntax, entries, strict=True):
        if entry.schema.clock is not first.clock:
            untimed = [one.schema.name for one in entries if one.schema.time is None]
            timed = len(untimed) < len(entries)
            raise Refused(
                UnsupportedSqlError,
                f"Streams of unlike clocks do not join: this one has {entry.schema.clock}, the first {first.clock}.",
                source.stream.span,
                _TABLE if untimed and timed else "declare both streams with the same clock",
                quoting=f"Streams of unlike clocks do not join: {first.name} has the clock {first.clock}, "
                f"{entry.schema.name} {entry.schema.clock}.",
                hint=_table_hint(untimed[0]) if untimed and timed else None,
            )


_TABLE: Final = (
    "a table to look things up in needs a time column as well: give each of its rows one old date, declare it anew with"
    " that column as its time, and write [RANGE INTERVAL '36500' DAY] behind it in FROM"
)


def _table_hint(stream: str) -> str:
    return (
        f"give each row of {stream[:_NAME_SHOWN_LENGTH_MAX]} one old date such as 2000-01-01, declare the stream anew with"
        f" that column as its time, and write {sql_name(stream)} [RANGE INTERVAL '36500' DAY]"
    )


def _among(name: Name, entries: tuple[_Entry, ...]) -> ColumnRef:
    """Return the one column of this name among several sources."""
    found = [entry.columns.refs[name.text] for entry in entries if name.text in entry.columns.refs]
    if not found and not name.quoted:
        folded = name.text.casefold()
        found = [
            ref
            for entry in entries
            for column, ref in entry.columns.refs.items()
            if column.casefold() == folded
        ]
    if len(found) == 1:
        return found[0]
    if found:
        written = [f"{sql_name(entries[ref.source].name)}.{sql_name(ref.name)}" for ref in found]
        raise Refused(
            UnknownColumnError,
            "Several sources of FROM have a column of this name.",
            name.span,
            "write the stream's alias and a point before it",
            quoting=f"Several sources of FROM have a column {name.text[:_NAME_SHOWN_LENGTH_MAX]!r}.",
            hint=f"write {' or '.join(written)}",
        )
    columns = {column for entry in entries for column in entry.columns.refs}
    listed = ", ".join(sql_name(entry.name) for entry in entries)
    nearest = _nearest(name.text, columns, f"columns of {listed}")
    raise _no_column("No stream of FROM has a", "No source of FROM has a", name, nearest)


def _no_column(lacks: str, quoting: str, name: Name, nearest: str) -> Refused:
    """Return the refusal of a name that is no column; `nearest` names the closest one, or those that are."""
    detail, remedy = f"{lacks} column of this name.", "name a declared column"
    hint: str | None = nearest
    if name.quoted:
        detail = f"A word in double quotes names a column; {lacks[:1].lower()}{lacks[1:]} column of this name."
        remedy = "a text stands in single quotes"
        hint = f"as a text it stands in single quotes: {sql_text(name.text[:_NAME_SHOWN_LENGTH_MAX])}; {nearest}"
    elif name.text.upper() in dialect.CLOCKS:
        detail, remedy, hint = dialect.CLOCK_DETAIL, dialect.CLOCK_HINT, None
    elif name.text in RESERVED_COLUMNS:
        remedy, hint = "leave it out: every row of an answer has _id and _x", None
    elif name.text.upper() in ("INF", "INFINITY", "NAN"):
        remedy, hint = "columns hold finite numbers: leave the condition out", None
    return Refused(
        UnknownColumnError,
        detail,
        name.span,
        remedy,
        quoting=f"{quoting} column {name.text[:_NAME_SHOWN_LENGTH_MAX]!r}.",
        hint=hint,
    )


def resolve(name: Name, declared: Collection[str]) -> str | None:
    """Return the declared name that is meant: exactly, else the one that differs in capitals alone; or None."""
    if name.text in declared:
        return name.text
    if name.quoted:
        return None
    folded = name.text.casefold()
    alike = [one for one in declared if one.casefold() == folded]
    return alike[0] if len(alike) == 1 else None


def _nearest(given: str, declared: Iterable[str], what: str) -> str:
    names = sorted(declared)
    folded = {name.casefold(): name for name in names}
    given = given[:_NAME_SHOWN_LENGTH_MAX]
    near = difflib.get_close_matches(given.casefold(), folded, n=1)
    listed = ", ".join(sql_name(name) for name in names[:_NAMES_SHOWN_MAX]) or "none"
    if len(names) > _NAMES_SHOWN_MAX:
        listed += ", ..."
    return f"did you mean {sql_name(folded[near[0]])}?" if near else f"{what}: {listed}"
