"""What a service has to answer, by the definition: append-only streams, windows, joins, DISTINCT, groups, retention.

Every answer is computed anew from all tuples ever appended. A match is visible at (position, now) where
`entered <= position < dropped` and `enters <= now < leaves`. Times are whole microseconds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from conformance.streams import Newest, Row, Stream, Stretch, stretches, uncovered
from conformance.windows import EVER, SECOND, Bound, Hops, Window

BEFORE_ALL = -1
"""NOW of a query whose streams have no tuple yet."""
Values = tuple[int | None, ...]


class Match(NamedTuple):
    """A row of a result, and the four numbers that decide when it is visible.

    Attributes:
        values: of a row of the answer all of them, of a row of a group those of its key.
        adds: what it brings into the sums of its group.
        order: its place.
    """

    values: Values
    adds: int
    order: tuple[int, ...]
    entered: int
    dropped: int
    enters: int
    leaves: int


@dataclass(frozen=True)
class Query:
    """A standing query of some shape, over stream a, or over a and b, which may have a `[RANGE]`; NOW may hop."""

    shape: str
    window: Window
    range_us: int | None = None
    hops: Hops | None = None

    @property
    def form(self) -> "Form":
        """Return what its shape is."""
        return FORMS[self.shape]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the outputs."""
        return self.form.columns

    @property
    def streams(self) -> tuple[str, ...]:
        """Return the streams of FROM."""
        return ("a", "b") if self.form.joins else ("a",)

    @property
    def windows(self) -> tuple[Window, ...]:
        """Return the window of each stream of FROM."""
        if not self.form.joins or self.range_us is None:
            return (self.window,) * len(self.streams)
        return (self.window, Window(Bound(True, self.range_us), Bound(True, 0)))

    def sql(self) -> str:
        """Return the query's text, with `{a}` and `{b}` where the names of the streams belong."""
        own = "" if self.range_us is None else f" [RANGE {self.range_us // SECOND}]"
        newest = "" if self.form.newest is None else self.form.newest.sql()
        source = f"{{a}} AS x, {{b}} AS y{own} WHERE x.k = y.k AND x.v % 3 <> 0"
        if self.form.left:
            source = f"{{a}} AS x LEFT JOIN {{b}} AS y{newest}{own} ON x.k = y.k WHERE x.v % 3 <> 0"
        elif not self.form.joins:
            source = f"{{a}}{newest} WHERE v % 3 <> 0"
        hops = "" if self.hops is None else self.hops.sql()
        return f"SELECT {self.form.listed} FROM {source}{self.form.then}{self.window.sql()}{hops}"

    def matches(self, streams: dict[str, Stream]) -> Iterator[Match]:
        """Yield every match there ever was, in no particular order. What is shown must not depend on other rows."""
        windows = zip(self.streams, self.windows, strict=True)
        shown = [stretches(streams[name].rows, window, self.hops, None) for name, window in windows]
        yield from self._combined(shown)

    def matches_at(self, streams: dict[str, Stream], position: int) -> Iterator[Match]:
        """Yield the matches of what the streams hold at a position, in no particular order."""
        shown = []
        for name, window in zip(self.streams, self.windows, strict=True):
            newest = self.form.newest if name == self.streams[-1] else None
            shown.append(stretches(streams[name].at(position), window, self.hops, newest))
        yield from self._combined(shown)
        if not self.form.left:
            return
        for one in shown[0]:
            if one.row.v % 3 != 0:
                others = [(y.enters, y.leaves) for y in shown[1] if y.row.k == one.row.k]
                for enters, leaves in uncovered(one, others):
                    order = (one.row.time, one.row.number, -1)
                    yield Match((one.row.number, None, None), 0, order, 0, EVER, enters, leaves)

    def _combined(self, shown: Sequence[list[Stretch]]) -> Iterator[Match]:
        for x in shown[0]:
            if x.row.v % 3 == 0:
                continue
            if not self.form.joins:
                yield from self._match((x,))
                continue
            for y in shown[1]:
                if x.row.k == y.row.k:
                    yield from self._match((x, y))

    def _match(self, parts: tuple[Stretch, ...]) -> Iterator[Match]:
        entered = max(p.row.entered for p in parts)
        dropped = min(p.row.dropped for p in parts)
        enters, leaves = max(p.enters for p in parts), min(p.leaves for p in parts)
        if entered < dropped and enters < leaves:
            order = (min(p.row.time for p in parts), *(p.row.number for p in parts))
            x, last = parts[0].row, parts[-1].row
            values: dict[str, int] = {"n": x.number, "k": x.k, "v": last.v, "w": x.v % 3}
            values |= {"xn": x.number, "yn": last.number}
            shown = tuple(values[name] for name in self.form.key)
            yield Match(shown, last.v, order, entered, dropped, enters, leaves)


class Form(NamedTuple):
    """What a query does with its matches.

    Attributes:
        columns: the names of the outputs; those of a group's key come first.
        listed: the select list.
        then: what stands behind WHERE.
        key: the columns that a row is known by: all of a match, the key of a group.
        kind: how rows are made of matches: "rows", "distinct" or "groups".
        fewer: of groups those of fewer matches are shown; None = all.
        order: which values rows are in order of, and whether the greatest comes first; then by what they are known by.
        limit: rows of the answer at most.
        joins: it is over two streams.
        left: they are joined by LEFT JOIN.
        newest: a row window of its last stream.
    """

    columns: tuple[str, ...]
    listed: str
    then: str = ""
    key: tuple[str, ...] = ()
    kind: str = "rows"
    fewer: int | None = None
    order: tuple[int, bool] | None = None
    limit: int | None = None
    joins: bool = False
    left: bool = False
    newest: Newest | None = None

    @property
    def depends(self) -> bool:
        """Return whether rows are shown or not by what other rows there are."""
        return self.left or self.newest is not None

    @property
    def replaces(self) -> bool:
        """Return whether an answer that has changed comes whole."""
        return self.depends or self.limit is not None


_ROW = ("n", "k", "v")
_PAIR = ("xn", "yn", "v")
_PAIRED = "x.n AS xn, y.n AS yn, y.v AS v"
_GROUP = ("k", "c", "s", "lo")
_LISTED = "k, COUNT(*) AS c, SUM(v) AS s, MIN(v) AS lo"
FORMS: dict[str, Form] = {
    "select": Form(_ROW, "n, k, v", key=_ROW),
    "distinct": Form(("k", "w"), "DISTINCT k, v % 3 AS w", key=("k", "w"), kind="distinct"),
    "join": Form(_PAIR, _PAIRED, key=_PAIR, joins=True),
    "ordered": Form(_ROW, "n, k, v", " ORDER BY v DESC", _ROW, order=(2, True)),
    "first": Form(_ROW, "n, k, v", " ORDER BY v DESC LIMIT 3", _ROW, order=(2, True), limit=3),
    "groups": Form(_GROUP, _LISTED, " GROUP BY k", ("k",), "groups"),
    "having": Form(_GROUP, _LISTED, " GROUP BY k HAVING COUNT(*) < 3", ("k",), "groups", fewer=3),
    "total": Form(_GROUP[1:], _LISTED[3:], kind="groups"),
    "top": Form(
        _GROUP,
        _LISTED,
        " GROUP BY k ORDER BY s DESC LIMIT 2",
        ("k",),
        "groups",
        order=(2, True),
        limit=2,
    ),
    "joined-groups": Form(
        _GROUP,
        "x.k AS k, COUNT(*) AS c, SUM(y.v) AS s, MIN(y.v) AS lo",
        " GROUP BY x.k",
        ("k",),
        "groups",
        joins=True,
    ),
    "rows": Form(_ROW, "n, k, v", key=_ROW, newest=Newest(4)),
    "latest": Form(_ROW, "n, k, v", key=_ROW, newest=Newest(1, by_key=True)),
    "latest-groups": Form(
        _GROUP, _LISTED, " GROUP BY k", ("k",), "groups", newest=Newest(2, by_key=True)
    ),
    "left": Form(_PAIR, _PAIRED, key=_PAIR, joins=True, left=True),
    "left-latest": Form(
        _PAIR, _PAIRED, key=_PAIR, joins=True, left=True, newest=Newest(1, by_key=True)
    ),
}
"""By the name of a shape."""


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
        rows: in order; of DISTINCT and of groups those that may be sent, of other queries exactly those that are.
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

    def newest(self, query: Query) -> int | None:
        """Return the largest time that the streams of a query have seen."""
        newest = [self.streams[name].newest for name in query.streams]
        return max((time for time in newest if time is not None), default=None)

    def now(self, query: Query) -> int | None:
        """Return NOW of a query: the largest time its streams have seen, or the last hop before it."""
        newest = self.newest(query)
        return newest if newest is None or query.hops is None else query.hops.last(newest)

    def visible(self, query: Query, at: Stand) -> list[Shown]:
        """Return what a query shows at a stand, in order."""
        form = query.form
        found = query.matches(self.streams)
        if form.depends:
            found = query.matches_at(self.streams, at.position)
        matches = sorted(found, key=lambda match: match.order)
        if form.kind == "groups":
            shown = _groups(form, [m for m in matches if m.entered <= at.position < m.dropped], at)
        else:
            shown = _rows([m for m in matches if _is_visible(m, at)], form)
        if form.order is not None:
            place, descends = form.order
            shown.sort(key=lambda row: row.values[place] or 0, reverse=descends)
        return shown[: form.limit]

    def change(self, query: Query, since: Stand, at: Stand) -> Change:
        """Return what has changed between two stands."""
        shown = self.visible(query, at)
        if query.form.depends:
            differ = _differ(query.form, shown, self.visible(query, since))
            return Change([], [], shows_other_rows=differ, is_quiet=since == at)
        matches = list(query.matches(self.streams))
        known = len(query.form.key)
        values = {row.values[:known] for row in shown}
        fresh = {m.values for m in matches if m.entered > since.position or m.enters > since.now}
        if query.shape == "distinct":
            fresh |= {m.values for m in matches if since.now < m.leaves <= at.now}
            fresh |= {m.values for m in matches if since.position < m.dropped <= at.position}
        dropped = {
            m.values
            for m in matches
            if since.position < m.dropped <= at.position and m.enters <= at.now < m.leaves
        }
        is_quiet = all(
            m.entered <= since.position
            and not since.now < m.enters <= at.now
            and not since.now < m.leaves <= at.now
            for m in matches
        )
        rows = [row for row in shown if row.values in fresh]
        if query.form.kind == "groups":  # which are touched is not said: all may be
            rows = [] if is_quiet and not dropped else shown
        return Change(
            rows=rows,
            dropped=sorted(dropped - values),
            shows_other_rows=_differ(query.form, shown, self.visible(query, since)),
            is_quiet=is_quiet,
        )

    def retained_less(self, query: Query, since: Stand, at: Stand) -> bool:
        """Return whether retention has dropped any tuple between two stands."""
        return any(
            since.position < row.dropped <= at.position
            for name in query.streams
            for row in self.streams[name].rows
        )


def _differ(form: Form, some: list[Shown], others: list[Shown]) -> bool:
    """Return whether rows are others; in another order where the query has one of its own."""
    return set(some) != set(others) if form.order is None else some != others


def _rows(matches: list[Match], form: Form) -> list[Shown]:
    """Return visible matches as rows. Of DISTINCT duplicates the last decides when they leave."""
    found: dict[object, Shown] = {}
    for match in matches:
        key = match.values if form.kind == "distinct" else match.order
        before = found.get(key)
        leaves = max(match.leaves, before.leaves if before else 0)
        found[key] = Shown(match.values, leaves)
    return list(found.values())


def _groups(form: Form, matches: list[Match], at: Stand) -> list[Shown]:
    """Return matches as groups, in order of their keys: each until the clock alone changes it."""
    groups: dict[Values, list[int]] = {} if form.key else {(): []}
    until: dict[Values, int] = {}
    for match in matches:
        if match.enters <= at.now < match.leaves:
            groups.setdefault(match.values, []).append(match.adds)
        for instant_us in (match.enters, match.leaves):
            if instant_us > at.now:
                until[match.values] = min(until.get(match.values, EVER), instant_us)
    shown = []
    for key in sorted(groups, key=repr):  # a key is one digit, or none
        added = groups[key]
        if form.fewer is None or len(added) < form.fewer:
            values = (*key, len(added), sum(added) if added else None, min(added, default=None))
            shown.append(Shown(values, until.get(key, EVER)))
    return shown


def _is_visible(match: Match, at: Stand) -> bool:
    return match.entered <= at.position < match.dropped and match.enters <= at.now < match.leaves
