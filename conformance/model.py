"""What a service has to answer, by the definition: append-only streams, windows, joins, DISTINCT, retention.

Every answer is computed anew from all tuples ever appended. A match is visible at (position, now) where
`entered <= position < dropped` and `enters <= now < leaves`. Times are whole microseconds.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

SECOND = 1_000_000
EVER = 1 << 62
"""Later than everything: a row that never leaves, a tuple that was never dropped."""
BEFORE_ALL = -1
"""NOW of a query whose streams have no tuple yet."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Values = tuple[int, ...]


def instant(time_us: int) -> str:
    """Return an instant as answers print it."""
    return (EPOCH + timedelta(microseconds=time_us)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Bound(NamedTuple):
    """One end of a window: a constant, or so far back from NOW. Both ends are inclusive."""

    moves: bool
    us: int

    def at(self, now: int) -> int:
        """Return the instant that this end is at."""
        return now - self.us if self.moves else self.us

    def sql(self) -> str:
        """Return the end as SQL writes it."""
        if not self.moves:
            return f"TIMESTAMP '{instant(self.us)[:19].replace('T', ' ')}'"
        return f"NOW - INTERVAL '{self.us // SECOND}' SECOND" if self.us else "NOW"


class Window(NamedTuple):
    """What of a stream a query shows; an end that is None is open."""

    begin: Bound | None = None
    end: Bound | None = None

    def shown(self, time: int) -> tuple[int, int] | None:
        """Return from when until when a tuple of this time is inside; None where it never is."""
        enters, leaves = time, EVER
        if self.begin is not None and self.begin.moves:
            leaves = time + self.begin.us + 1
        elif self.begin is not None and time < self.begin.us:
            return None
        if self.end is not None and self.end.moves:
            enters = time + self.end.us
        elif self.end is not None and time > self.end.us:
            return None
        return (enters, leaves) if enters < leaves else None

    def sql(self) -> str:
        """Return the window as SQL writes it; the empty text where it is open."""
        if self.begin is None or self.end is None:
            return ""
        return f" BEGIN ({self.begin.sql()}) END ({self.end.sql()})"


@dataclass
class Row:
    """One tuple of a stream. `dropped` is the position at which retention let it go."""

    number: int
    time: int
    k: int
    v: int
    entered: int
    dropped: int = EVER


@dataclass
class Stream:
    """A stream's tuples in their order of arrival, and what retention keeps of them."""

    keep_rows: int | None = None
    keep_us: int | None = None
    rows: list[Row] = field(default_factory=list)
    newest: int | None = None

    def append(self, position: int, rows: list[tuple[int, int, int]]) -> list[Row]:
        """Append tuples of (time, k, v) at a position; drop what retention keeps no more."""
        added = []
        for time, k, v in rows:
            added.append(Row(len(self.rows) + 1, time, k, v, position))
            self.rows.append(added[-1])
            self.newest = time if self.newest is None else max(self.newest, time)
        for row in self.rows:
            too_many = self.keep_rows is not None and row.number <= len(self.rows) - self.keep_rows
            too_old = self.keep_us is not None and row.time < (self.newest or 0) - self.keep_us
            if row.dropped == EVER and (too_many or too_old):
                row.dropped = position
        return added


class Match(NamedTuple):
    """A row of a result: its values, its place in the order, and the four numbers that decide when it is visible."""

    values: Values
    order: tuple[int, ...]
    entered: int
    dropped: int
    enters: int
    leaves: int


@dataclass(frozen=True)
class Query:
    """A standing query: `select` and `distinct` over stream a, `join` over a and b, which may have a `[RANGE]`."""

    shape: str
    window: Window
    range_us: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the outputs."""
        return {"select": ("n", "k", "v"), "distinct": ("k", "w"), "join": ("xn", "yn", "v")}[
            self.shape
        ]

    @property
    def streams(self) -> tuple[str, ...]:
        """Return the streams of FROM."""
        return ("a", "b") if self.shape == "join" else ("a",)

    @property
    def windows(self) -> tuple[Window, ...]:
        """Return the window of each stream of FROM."""
        if self.shape != "join" or self.range_us is None:
            return (self.window,) * len(self.streams)
        return (self.window, Window(Bound(True, self.range_us), Bound(True, 0)))

    def sql(self) -> str:
        """Return the query's text, with `{a}` and `{b}` where the names of the streams belong."""
        if self.shape == "select":
            text = "SELECT n, k, v FROM {a} WHERE v % 3 <> 0"
        elif self.shape == "distinct":
            text = "SELECT DISTINCT k, v % 3 AS w FROM {a} WHERE v % 3 <> 0"
        else:
            own = "" if self.range_us is None else f" [RANGE {self.range_us // SECOND}]"
            text = (
                "SELECT x.n AS xn, y.n AS yn, y.v AS v"
                f" FROM {{a}} AS x, {{b}} AS y{own} WHERE x.k = y.k AND x.v % 3 <> 0"
            )
        return text + self.window.sql()

    def matches(self, streams: dict[str, Stream]) -> Iterator[Match]:
        """Yield every match there ever was, in no particular order."""
        for x in streams["a"].rows:
            if x.v % 3 == 0:
                continue
            if self.shape != "join":
                values = (x.number, x.k, x.v) if self.shape == "select" else (x.k, x.v % 3)
                yield from self._match((x,), values)
                continue
            for y in streams["b"].rows:
                if x.k == y.k:
                    yield from self._match((x, y), (x.number, y.number, y.v))

    def _match(self, parts: tuple[Row, ...], values: Values) -> Iterator[Match]:
        spans = [w.shown(p.time) for w, p in zip(self.windows, parts, strict=True)]
        entered = max(p.entered for p in parts)
        dropped = min(p.dropped for p in parts)
        if entered < dropped and all(spans):
            enters = max(span[0] for span in spans if span)
            leaves = min(span[1] for span in spans if span)
            order = (min(p.time for p in parts), *(p.number for p in parts))
            if enters < leaves:
                yield Match(values, order, entered, dropped, enters, leaves)


class Stand(NamedTuple):
    """Where an answer stands: the position (appends so far) and the query's NOW. What a cursor holds."""

    position: int
    now: int


class Shown(NamedTuple):
    """A visible row: its values, and the instant it leaves."""

    values: Values
    leaves: int


class Change(NamedTuple):
    """What has become of an answer since a cursor.

    Attributes:
        rows: in order; of DISTINCT those that may be sent, of other queries exactly those that are.
        dropped: rows that retention has dropped since, and that the window would still show.
        shows_other_rows: whether the visible rows are others than then, or leave at other instants.
        is_quiet: whether no tuple has matched since, and none has entered or left, not even for a moment.
    """

    rows: list[Shown]
    dropped: list[Values]
    shows_other_rows: bool
    is_quiet: bool


@dataclass
class Service:
    """A service with one or two streams whose NOW is the largest time they have seen."""

    streams: dict[str, Stream]
    position: int = 0

    def append(self, stream: str, rows: list[tuple[int, int, int]]) -> list[Row]:
        """Append one batch; return its tuples."""
        self.position += 1
        return self.streams[stream].append(self.position, rows)

    def now(self, query: Query) -> int | None:
        """Return NOW of a query: the largest time its streams have seen."""
        newest = [self.streams[name].newest for name in query.streams]
        return max((time for time in newest if time is not None), default=None)

    def visible(self, query: Query, at: Stand) -> list[Shown]:
        """Return what a query shows at a stand, in order. Of DISTINCT duplicates the last decides when they leave."""
        found: dict[object, Shown] = {}
        for match in sorted(query.matches(self.streams), key=lambda match: match.order):
            if _is_visible(match, at):
                key = match.values if query.shape == "distinct" else match.order
                before = found.get(key)
                leaves = max(match.leaves, before.leaves if before else 0)
                found[key] = Shown(match.values, leaves)
        return list(found.values())

    def change(self, query: Query, since: Stand, at: Stand) -> Change:
        """Return what has changed between two stands."""
        matches = list(query.matches(self.streams))
        shown = self.visible(query, at)
        values = {row.values for row in shown}
        fresh = {m.values for m in matches if m.entered > since.position or m.enters > since.now}
        if query.shape == "distinct":
            fresh |= {m.values for m in matches if since.now < m.leaves <= at.now}
            fresh |= {m.values for m in matches if since.position < m.dropped <= at.position}
        dropped = {
            m.values
            for m in matches
            if since.position < m.dropped <= at.position and m.enters <= at.now < m.leaves
        }
        return Change(
            rows=[row for row in shown if row.values in fresh],
            dropped=sorted(dropped - values),
            shows_other_rows=set(shown) != set(self.visible(query, since)),
            is_quiet=all(
                m.entered <= since.position
                and not since.now < m.enters <= at.now
                and not since.now < m.leaves <= at.now
                for m in matches
            ),
        )

    def retained_less(self, query: Query, since: Stand, at: Stand) -> bool:
        """Return whether retention has dropped any tuple between two stands."""
        return any(
            since.position < row.dropped <= at.position
            for name in query.streams
            for row in self.streams[name].rows
        )


def _is_visible(match: Match, at: Stand) -> bool:
    return match.entered <= at.position < match.dropped and match.enters <= at.now < match.leaves
