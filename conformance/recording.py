"""A world while it is written down: what clients ask of one query, and what the model says has to come."""

from dataclasses import dataclass, field
from typing import Any

from conformance.model import BEFORE_ALL, Change, Query, Service, Shown, Stand
from conformance.streams import Row, Stream
from conformance.windows import EVER, Bound, instant

COLUMNS = [
    {"name": "ts", "type": "timestamp"},
    {"name": "n", "type": "int64"},
    {"name": "k", "type": "int64"},
    {"name": "v", "type": "int64"},
]
Step = dict[str, Any]


@dataclass
class Pages:
    """A pinned answer of which some pages are still to come."""

    asked: str
    stand: Stand
    rows: list[Shown]
    limit: int
    given: int
    count: int


@dataclass
class World:
    """One query over one or two streams, and the steps so far.

    Answers are called `a1`, `a2` and so on: a step that asks with the cursor of another answer names that answer.
    """

    name: str
    says: str
    query: Query
    service: Service
    steps: list[Step] = field(default_factory=list)
    stands: dict[str, Stand] = field(default_factory=dict)
    """Where each answer stands."""
    cursors: dict[str, Stand] = field(default_factory=dict)
    """Where its cursor stands at the earliest: one that may be the same as before stands where that one does."""
    pages: Pages | None = None
    ttl: str | None = None
    """The query's time to live."""
    gone: Step = field(default_factory=dict)
    """What is answered once the query has gone; empty = it stands."""

    def __post_init__(self) -> None:
        """Keep the text that is registered: the query may be replaced."""
        self.sql = self.query.sql()

    def append(self, stream: str, rows: list[tuple[int, int, int]]) -> list[Row]:
        """Append tuples of (time, k, v) as one batch."""
        added = self.service.append(stream, rows)
        given = [{"ts": instant(r.time), "n": r.number, "k": r.k, "v": r.v} for r in added]
        self.steps.append({"do": "append", "stream": stream, "rows": given})
        return added

    def stand(self) -> Stand:
        """Return where an answer of this moment stands."""
        now = self.service.now(self.query)
        return Stand(self.service.position, BEFORE_ALL if now is None else now)

    def count(self) -> int:
        """Return how many rows the query shows now."""
        return len(self.service.visible(self.query, self.stand()))

    def ask(
        self,
        since: str | None = None,
        *,
        limit: int | None = None,
        text: str | None = None,
        text_of: str | None = None,
    ) -> str:
        """Ask with the cursor of an answer, or for everything; return the name of what comes.

        Args:
            since: the answer whose cursor is sent.
            limit: rows of a page.
            text: sent as a cursor instead.
            text_of: another query, whose cursor is sent instead.
        """
        at = self.stand()
        if self.gone:
            self.steps.append({"do": "ask", "cursor": since, "expect": self.gone})
            return ""
        before = self.stands[since] if since in self.cursors else None
        name = self._named(at)
        shown = self.service.visible(self.query, at)
        expected = self._envelope(at, len(shown))
        if since and before:
            expected |= self._since(since, before, at)
            if "other_cursor_than" not in expected:
                self.cursors[name] = self.cursors[since]
        else:
            expected |= {"reset": True, "rows": shown}
        self._cut(name, at, expected, limit)
        expected["rows"] = [self._row(row) for row in expected["rows"]]
        step: Step = {"do": "ask", "answer": name, "cursor": since}
        more = {"limit": limit, "cursor_text": text, "cursor_of": text_of}
        step |= {name: value for name, value in more.items() if value is not None}
        self.steps.append(step | {"expect": expected})
        return name

    def _since(self, since: str, before: Stand, at: Stand) -> Step:
        """Return what is expected of an answer to a cursor, beside what every answer has."""
        change = self.service.change(self.query, before, at)
        dropped = self.service.retained_less(self.query, before, at)
        if self.query.form.replaces:
            return self._replaced(since, change, at, dropped=dropped)
        expected: Step = {"reset": False, "rows": change.rows}
        if dropped and self.query.form.kind == "groups":
            expected["rows"] = self.service.visible(self.query, at)
        if before.now == BEFORE_ALL:
            del expected["reset"]  # its cursor may be null, and then the client asks for everything
        elif change.is_quiet and not dropped:
            expected["same_cursor_as"] = since
        elif change.shows_other_rows:
            expected["other_cursor_than"] = since
        if self.service.retained_less(self.query, self.cursors[since], at):
            expected["dropped"] = [list(values) for values in change.dropped]
            expected["if_reset"] = [self._row(row) for row in self.service.visible(self.query, at)]
        return expected

    def _replaced(self, since: str, change: Change, at: Stand, *, dropped: bool) -> Step:
        """Return what is expected where answers are replaced: all rows anew, or that nothing has changed."""
        shown = self.service.visible(self.query, at)
        if change.shows_other_rows and not dropped:
            return {"reset": True, "rows": shown, "other_cursor_than": since}
        if change.shows_other_rows:
            return {"reset": True, "rows": shown}
        if change.is_quiet and not dropped and self.stands[since].now != BEFORE_ALL:
            return {"reset": False, "rows": [], "same_cursor_as": since}
        return {"rows": [], "if_reset": [self._row(row) for row in shown]}

    def _cut(self, name: str, at: Stand, expected: Step, limit: int | None) -> None:
        """Leave the first page alone in an answer of more rows than `limit`; remember the others."""
        rows = expected["rows"]
        self.pages = None
        if limit is not None and len(rows) > limit:
            self.pages = Pages(name, at, rows, limit, limit, expected["count"])
            expected |= {"rows": rows[:limit], "more": True}
            expected.pop("other_cursor_than", None)  # the last page has the cursor

    def page(self) -> str:
        """Ask for the next page of the answer that has more; return the name of what comes."""
        pages = self.pages
        assert pages is not None, "an answer with more pages"  # noqa: S101 (the kit's own use)
        rows = pages.rows[pages.given : pages.given + pages.limit]
        pages.given += pages.limit
        name = self._named(pages.stand)
        more = pages.given < len(pages.rows)
        expected = self._envelope(pages.stand, pages.count)
        expected |= {"reset": False, "rows": [self._row(row) for row in rows]}
        if more:
            expected["more"] = True
        self.steps.append({"do": "page", "answer": name, "of": pages.asked, "expect": expected})
        pages.asked = name
        self.pages = pages if more else None
        return name

    def apply(self, client: str, answer: str, *, saves: bool = True, holds: str = "") -> None:
        """Let a client apply an answer; then it holds what the query showed where `holds`, or the answer, stands.

        Without `saves` it ends before it has saved the cursor, and begins again with the rows and the cursor of before.
        """
        at = self.stands[holds or answer]
        held = self.service.visible(self.query, at)
        step: Step = {"do": "apply", "client": client, "answer": answer}
        if not saves:
            step["saves_cursor"] = False
        if self.pages is None or self.pages.asked != answer:
            step["holds"] = sorted((row.values for row in held), key=repr)
        self.steps.append(step)

    def compare(self, client: str) -> None:
        """Compare what a client holds with a full answer of this moment, `_x` and all."""
        self.steps.append({"do": "compare", "client": client})

    def add_columns(self, stream: str, *names: str) -> None:
        """Add columns to a stream: no answer changes by that."""
        columns = [{"name": name, "type": "int64"} for name in names]
        self.steps.append({"do": "add_columns", "stream": stream, "columns": columns})

    def replace(self, query: Query) -> None:
        """Let the query be another one of the same columns, under its handle: no cursor of before is one of it."""
        self.query = query
        self.cursors.clear()
        self.steps.append({"do": "replace", "sql": query.sql()})

    def end(self, how: str) -> None:
        """Let the query go: `remove` it, or let it `expire`."""
        answers = {"remove": (404, "not-found"), "expire": (410, "query-expired")}
        status, code = answers[how]
        self.gone = {"status": status, "code": code}
        self.steps.append({"do": how})

    def written(self) -> Step:
        """Return the world as its file holds it."""
        streams: dict[str, Step] = {}
        for name, stream in self.service.streams.items():
            streams[name] = {"columns": COLUMNS, "time": "ts"}
            retention = _retention(stream)
            if retention:
                streams[name]["retention"] = retention
        return {
            "world": self.name,
            "says": self.says,
            "streams": streams,
            "sql": self.sql,
            **({"ttl": self.ttl, "slow": True} if self.ttl else {}),
            "columns": list(self.query.columns),
            "known_by": list(self.query.form.key),
            "kind": self.query.form.kind,
            "retains_all": not any(_retention(s) for s in self.service.streams.values()),
            "steps": self.steps,
        }

    def _named(self, at: Stand) -> str:
        name = f"a{len(self.stands) + 1}"
        self.stands[name] = self.cursors[name] = at
        return name

    def _row(self, row: Shown) -> Step:
        leaves = None if row.leaves >= EVER else instant(row.leaves)
        return {"_x": leaves, **dict(zip(self.query.columns, row.values, strict=True))}

    def _envelope(self, at: Stand, count: int) -> Step:
        """Return what is expected of every page of an answer."""
        if at.now == BEFORE_ALL:
            return {"now": None, "count": count}

        def shown(bound: Bound | None) -> str | None:
            return None if bound is None else instant(bound.at(at.now))

        window = {"begin": shown(self.query.window.begin), "end": shown(self.query.window.end)}
        return {"now": instant(at.now), "window": window, "count": count}


def _retention(stream: Stream) -> Step:
    """Return a stream's retention as its declaration says it."""
    retention: Step = {}
    if stream.keep_rows is not None:
        retention["rows"] = stream.keep_rows
    if stream.keep_us is not None:
        retention["time"] = f"{stream.keep_us // 1_000_000}s"
    return retention
