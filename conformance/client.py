"""The client's rule, whole: a copy of an answer that survives everything but the loss of its own file."""

import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any


class Mirror:
    """Rows by `_id`, and one cursor. Save both in one file, or the rows before the cursor: each is right."""

    def __init__(self, address: str, key: str | None = None) -> None:
        self.address = address  # .../v1/queries/q_.../results
        self.headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.rows: dict[str, dict[str, Any]] = {}
        self.cursor: str | None = None
        self.position: tuple[int, int, str] | None = None
        self.given: tuple[int, int, str] | None = None  # where the cursor came from

    def apply(self, answer: dict[str, Any], asked: str | None) -> bool:
        """Apply the answer to a request that carried the cursor `asked`; return False where it has to be asked anew."""
        position = (answer["gen"], answer["seq"], answer["now"] or "")
        is_late = self.position is not None and position < self.position
        went_back = self.given is None or position < self.given  # from a copy, say
        if is_late and not (answer["reset"] and asked == self.cursor and went_back):
            return True
        if answer["reset"]:  # pages may follow, and be lost
            self.rows, self.cursor, self.given = {}, None, position
        if answer.get("keep") is not None:
            self.rows = {key: self.rows[key] for key in answer["keep"] if key in self.rows}
        for key in answer.get("removed") or ():
            self.rows.pop(key, None)
        self.rows.update((row["_id"], row) for row in answer["rows"])
        now = answer["now"] or ""
        self.rows = {key: r for key, r in self.rows.items() if r["_x"] is None or r["_x"] > now}
        self.position = position
        if answer["next"] is not None:
            return True
        is_whole: bool = len(self.rows) == answer["count"]
        if (cursor := answer["cursor"] if is_whole else None) != self.cursor:
            self.cursor, self.given = cursor, position
        return is_whole

    def refresh(self, **parameters: str) -> None:
        """Ask what has changed, and apply it. OSError: ask later; HTTPError 404 and 410: the query is no more."""
        asked = self.cursor
        given = {**parameters, **({"cursor": asked} if asked else {})}
        address: str | None = f"{self.address}?{urllib.parse.urlencode(given)}"
        while address is not None:
            request = urllib.request.Request(address, headers=self.headers)
            try:
                with urllib.request.urlopen(request, timeout=30) as reply:
                    answer = json.load(reply)
            except urllib.error.HTTPError as error:
                if error.code == 410 and b"page-expired" in error.read():
                    return  # the next refresh begins with the cursor again
                raise
            self.apply(answer, asked)
            address = answer["next"] and urllib.parse.urljoin(self.address, answer["next"])
