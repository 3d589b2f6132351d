"""The smallest service that keeps the contract of coming back: the kit's own model behind HTTP, and ways to break it.

Only worlds of the kit can be played on it: it knows their queries by their text.
"""

import base64
import contextlib
import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from conformance.generate import KINDS, START, query_of
from conformance.model import BEFORE_ALL, Query, Service, Shown, Stand
from conformance.streams import Stream
from conformance.windows import EVER, instant
from tests.serving import served

GEN = 7
NAME = re.compile(r"\b(world_[0-9a-f]+)_([ab])\b")
QUERIES = {query.sql(): query for query in map(query_of, KINDS)}
QUERIES["SELECT n FROM {a} WHERE k = 1"] = QUERIES["SELECT n, k, v FROM {a} WHERE v % 3 <> 0"]
Json = dict[str, Any]
Token = list[Any]


class Reference:
    """A service in memory. Subclasses break it, one thing at a time."""

    tells_of_drops = "keep"
    """What a delta says where retention has dropped rows: `keep`, `removed` or `reset`."""

    def __init__(self) -> None:
        self.worlds: dict[str, Service] = {}
        self.queries: dict[str, tuple[str, Query]] = {}
        self.versions: dict[str, int] = {}
        """How often a query was replaced."""

    # --- What may be broken ---------------------------------------------------------------------

    def shown(self, service: Service, query: Query, at: Stand) -> list[Shown]:
        return service.visible(query, at)

    def fresh(self, service: Service, query: Query, since: Stand, at: Stand) -> list[Shown]:
        """Return the rows of a delta."""
        return service.change(query, since, at).rows

    def tag(self, service: Service, query: Query, at: Stand) -> str:
        """Return what two answers have in common only where their rows are the same."""
        matches = [m for m in query.matches(service.streams) if m.entered <= at.position]
        last = max((m.entered for m in matches), default=0)
        dropped = max((m.dropped for m in matches if m.dropped <= at.position), default=0)
        later_in = min((m.enters for m in matches if m.enters > at.now), default=EVER)
        later_out = min((m.leaves for m in matches if m.enters <= at.now < m.leaves), default=EVER)
        count = len(service.visible(query, at))
        return f"{last}.{dropped}.{later_in}.{later_out}.{count}"

    def row_id(self, service: Service, query: Query, row: Shown) -> str:
        """Return the name of a row, by its values: the numbers of its tuples, or what DISTINCT tells apart."""
        form = query.form
        known = len(query.streams) if form.kind == "rows" else len(form.key)
        return "-".join(map(str, row.values[:known]))

    def hidden(self, service: Service, query: Query, at: Stand) -> list[str]:
        """Return the ids of groups that have rows, and that HAVING does not let through."""
        if query.form.fewer is None:
            return []
        matches = query.matches(service.streams)
        every = {Shown(m.values, 0) for m in matches if m.entered <= at.position}
        ids = {self.row_id(service, query, row) for row in every}
        return sorted(ids - {self.row_id(service, query, r) for r in service.visible(query, at)})

    def stand_of_page(self, service: Service, query: Query, pinned: Stand) -> Stand:
        return pinned

    def new_cursor(self, token: Token | None, cursor: Token) -> Token:
        """Return the cursor of an answer: the same one where nothing has changed."""
        return token if token is not None and token[-1] == cursor[-1] else cursor

    def is_ours(self, query_id: str, token: Token, at: Stand) -> bool:
        version = [query_id, GEN + self.versions[query_id]]
        return bool(token[:2] == version and token[2] <= at.position and token[3] <= at.now)

    def edited(self, envelope: Json, *, is_first: bool) -> Json:
        """Return the envelope as it is sent."""
        return envelope

    # --- The service ----------------------------------------------------------------------------

    def answer(self, query_id: str, given: dict[str, str]) -> tuple[Json, str]:
        """Return an envelope and its tag."""
        mark, query = self.queries[query_id]
        service = self.worlds[mark]
        now = service.now(query)
        at = Stand(service.position, BEFORE_ALL if now is None else now)
        limit = int(given.get("limit", 1_000))
        if "page" in given:
            asked, position, then, offset, size, token = _read(given["page"]) or []
            at = self.stand_of_page(service, query, Stand(position, then))
            return self._page(asked, at, token, offset, size)
        token = _read(given.get("cursor", ""))
        if token is not None and not self.is_ours(query_id, token, at):
            token = None
        return self._page(query_id, at, token, 0, limit)

    def _page(
        self, query_id: str, at: Stand, token: Token | None, offset: int, limit: int
    ) -> tuple[Json, str]:
        mark, query = self.queries[query_id]
        service = self.worlds[mark]
        shown = self.shown(service, query, at)
        rows, more = shown, Json()
        if token is not None and query.form.replaces:
            since = Stand(*token[2:4])
            is_quiet = service.change(query, since, at).is_quiet
            if is_quiet and not service.retained_less(query, since, at):
                rows = []
            else:
                token = None
        elif token is not None:
            rows, more = self._delta(service, query, Stand(*token[2:4]), at)
        page = rows[offset : offset + limit]
        following = None
        if offset + limit < len(rows):
            place = _written([query_id, *at, offset + limit, limit, token])
            following = f"/v1/queries/{query_id}/results?page={place}"
        tag = self.tag(service, query, at)
        cursor = self.new_cursor(token, [query_id, GEN + self.versions[query_id], *at, tag])
        window = query.window
        envelope = {
            "gen": GEN,
            "seq": at.position,
            "now": None if at.now == BEFORE_ALL else instant(at.now),
            "window": {
                "begin": window.begin and instant(window.begin.at(at.now)),
                "end": window.end and instant(window.end.at(at.now)),
            },
            "reset": token is None and not offset,
            "rows": [self._row(service, query, row) for row in page],
            "count": len(shown),
            "next": following,
            "cursor": None if following else _written(cursor),
            **(more if not offset else {}),
        }
        return self.edited(envelope, is_first=not offset), tag

    def _delta(
        self, service: Service, query: Query, since: Stand, at: Stand
    ) -> tuple[list[Shown], Json]:
        """Return the rows of a delta, and what it says of rows that were dropped."""
        change = service.change(query, since, at)
        rows = self.fresh(service, query, since, at)
        hidden = self.hidden(service, query, at)
        if not service.retained_less(query, since, at) or self.tells_of_drops == "nothing":
            return rows, {"removed": hidden}
        if self.tells_of_drops == "reset":
            return self.shown(service, query, at), {"reset": True}
        if self.tells_of_drops == "removed":
            gone = [Shown(values, 0) for values in change.dropped]
            told = [self.row_id(service, query, row) for row in gone]
            return rows, {"removed": [*told, *hidden]}
        sent = {row.values for row in rows}
        kept = [row for row in self.shown(service, query, at) if row.values not in sent]
        return rows, {"keep": [self.row_id(service, query, row) for row in kept]}

    def _row(self, service: Service, query: Query, row: Shown) -> Json:
        leaves = None if row.leaves >= EVER else instant(row.leaves)
        values = dict(zip(query.columns, row.values, strict=True))
        return {"_id": self.row_id(service, query, row), "_x": leaves, **values}

    def declare(self, stream: str, definition: Json) -> Json:
        mark, letter = NAME.fullmatch(stream).groups()  # type: ignore[union-attr]
        kept = definition.get("retention", {})
        seconds = int(kept["time"][:-1]) * 1_000_000 if "time" in kept else None
        world = self.worlds.setdefault(mark, Service({}))
        world.streams[letter] = Stream(kept.get("rows"), seconds)
        return {}

    def append(self, stream: str, rows: list[Json]) -> Json:
        mark, letter = NAME.fullmatch(stream).groups()  # type: ignore[union-attr]
        given = [(_microseconds(row["ts"]), row["k"], row["v"]) for row in rows]
        self.worlds[mark].append(letter, given)
        return {"seq": self.worlds[mark].position}

    def register(self, sql: str) -> Json:
        found = NAME.search(sql)
        assert found is not None
        query_id = f"q_{len(self.queries):022}"
        self.queries[query_id] = (found[1], QUERIES[NAME.sub(r"{\2}", sql)])
        self.versions[query_id] = 0
        return {"id": query_id}

    def replace(self, query_id: str, sql: str) -> Json:
        mark, _ = self.queries[query_id]
        self.queries[query_id] = (mark, QUERIES[NAME.sub(r"{\2}", sql)])
        self.versions[query_id] += 1
        return {"id": query_id}

    def remove(self, query_id: str) -> Json:
        del self.queries[query_id]
        return {}


def _microseconds(text: str) -> int:
    """Return an instant of the worlds: all lie within a day of START, on whole seconds."""
    hours, minutes, seconds = text[11:19].split(":")
    second = int(hours) * 3_600 + int(minutes) * 60 + int(seconds) - 10 * 3_600
    return START + second * 1_000_000


def _written(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


def _read(text: str) -> Token | None:
    try:
        read = json.loads(base64.urlsafe_b64decode(text.encode()))
    except ValueError:
        return None
    return read if isinstance(read, list) else None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer is one packet
    reference: Reference

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        given = dict(parse_qsl(address.query))
        if address.path.split("/")[3] not in self.reference.queries:
            self._send(404, json.dumps({"code": "not-found", "retryable": False}).encode())
            return
        body, tag = self.reference.answer(address.path.split("/")[3], given)
        tag = f'W/"{tag}"'
        if self.headers.get("If-None-Match") == tag:
            self._send(304, b"", tag)
        else:
            self._send(200, json.dumps(body).encode(), tag)

    def do_PUT(self) -> None:
        self._done(self.reference.declare(self.path.rsplit("/", 1)[1], self._body()))

    def do_POST(self) -> None:
        body = self._body()
        if self.path == "/v1/queries":
            self._done(self.reference.register(body["sql"]))
        else:
            self._done(self.reference.append(self.path.split("/")[3], body))

    def do_PATCH(self) -> None:
        body, (_, _, kind, name) = self._body(), self.path.split("/")
        self._done(self.reference.replace(name, body["sql"]) if kind == "queries" else {})

    def do_DELETE(self) -> None:
        _, _, kind, name = self.path.split("/")
        self._done(self.reference.remove(name) if kind == "queries" else {})

    def log_message(self, *_: object) -> None:
        pass

    def _body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def _done(self, body: Json) -> None:
        self._send(200, json.dumps(body).encode())

    def _send(self, status: int, content: bytes, tag: str | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        if tag is not None:
            self.send_header("ETag", tag)
        self.end_headers()
        self.wfile.write(content)


@contextlib.contextmanager
def reference_server(reference: Reference) -> Iterator[str]:
    """Yield the address of a server."""
    handler = type("Handler", (_Handler,), {"reference": reference})
    with served(handler) as url:
        yield url
