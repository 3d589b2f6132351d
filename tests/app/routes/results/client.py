"""A client of the delta protocol, as docs/http_api.md describes one: it knows the protocol and nothing of psoup."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pyarrow as pa

Row = dict[str, Any]
Position = tuple[int, int, str]
HEADERS: Mapping[str, Callable[[str], Any]] = {
    "gen": int,
    "seq": int,
    "now": str,
    "reset": "true".__eq__,
    "count": int,
    "cursor": str,
    "next": str,
}
NUMBERS = frozenset({"n", "val"})


@dataclass(slots=True)
class Client:
    """Rows, and one cursor. `position` is that of the last answer taken."""

    rows: dict[str, Row] = field(default_factory=dict)
    cursor: str | None = None
    position: Position | None = None
    given: Position | None = None
    """Where the cursor came from."""

    def take(
        self, answer: Mapping[str, Any], *, asked: str | None, saves_cursor: bool = True
    ) -> bool:
        """Apply an answer to a request that carried the cursor `asked`; return whether it was not a late one."""
        position = (answer["gen"], answer["seq"], answer["now"] or "")
        went_back = self.given is None or position < self.given
        renewed = answer["reset"] and asked == self.cursor and went_back
        if self.position is not None and position < self.position and not renewed:
            return False
        if answer[
            "reset"
        ]:  # who dies between its pages has neither the old rows nor all of the new ones
            self.rows.clear()
            self.cursor, self.given = None, position
        if answer["keep"] is not None:
            kept = set(answer["keep"])
            self.rows = {name: row for name, row in self.rows.items() if name in kept}
        for name in answer["removed"]:
            self.rows.pop(name, None)
        for row in answer["rows"]:
            self.rows[row["_id"]] = row
        now = answer["now"] or ""
        self.rows = {
            name: row for name, row in self.rows.items() if row["_x"] is None or row["_x"] > now
        }
        self.position = position
        if answer["cursor"] not in (None, self.cursor) and saves_cursor:
            self.cursor, self.given = answer["cursor"], position
        return True


def read(answer: httpx2.Response) -> dict[str, Any]:
    """Return the envelope of an answer in any format, to a request with a cursor."""
    media_type = answer.headers["content-type"].partition(";")[0]
    if media_type == "application/json":
        envelope: dict[str, Any] = answer.json()
        return envelope
    envelope = {
        name: kind(answer.headers[f"psoup-{name}"]) if f"psoup-{name}" in answer.headers else None
        for name, kind in HEADERS.items()
    }
    operations = {"application/x-ndjson": _of_ndjson, "text/csv": _of_csv}.get(
        media_type, _of_arrow
    )
    envelope |= {"rows": [], "removed": [], "keep": None}
    ended = resets = False
    for op, row in operations(answer.content):
        assert not ended, "nothing follows the end"
        match op:
            case "reset":
                resets = True
            case "keep":
                envelope["keep"] = [*(envelope["keep"] or []), *row["_ids"]]
            case "remove":
                envelope["removed"].append(row["_id"])
            case "row":
                envelope["rows"].append(row)
            case _:
                ended = op == "end"
    assert ended, "the body is whole"
    assert resets == envelope["reset"], "header and body agree"
    return envelope


def _of_ndjson(body: bytes) -> Iterator[tuple[str, Row]]:
    for line in body.splitlines():
        row = json.loads(line)
        yield row.pop("op"), row


def _of_csv(body: bytes) -> Iterator[tuple[str, Row]]:
    for cells in csv.DictReader(io.StringIO(body.decode())):
        row: Row = {name: cell or None for name, cell in cells.items()}
        row |= {name: int(row[name]) for name in NUMBERS & row.keys() if row[name] is not None}
        yield _of_columns(row)


def _of_arrow(body: bytes) -> Iterator[tuple[str, Row]]:
    for row in pa.ipc.open_stream(body).read_all().to_pylist():
        for name, value in row.items():
            if hasattr(value, "isoformat"):
                row[name] = value.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        yield _of_columns(row)


def _of_columns(row: Row) -> tuple[str, Row]:
    op = row.pop("_op")
    return op, {"_ids": [row["_id"]]} if op == "keep" else row
