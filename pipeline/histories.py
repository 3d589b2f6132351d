"""Histories: answers that reach past memory, as the service asks for them and as whoever computes them gives them."""

from urllib.parse import quote

from psoup.pipeline.calling import ARROW_STREAM, Caller, JsonObject, json_object

WORKER_HEADER = "Psoup-Worker"
"""Says whose part it is."""


class HistoryCalls(Caller):
    """Claiming a history, sending its rows in parts, and ending it. Each of these calls may be made twice.

    `worker` is a text of its own for each claim: 8 to 64 letters, digits, `-` or `_`. Where another worker has the
    claim, or the history has ended, each raises ServiceProblem `history-taken`; where it is gone, `not-found`.
    """

    def histories(self, *, state: str | None = None) -> list[JsonObject]:
        """Return the records of the histories in this state, the oldest first.

        Those in the state `queued` are the ones that may be claimed: a claim that was not renewed has lapsed.
        """
        params = {} if state is None else {"state": state}
        found = json_object(self.request("GET", "/v1/histories", params=params))
        return list(found["histories"])

    def claim_history(
        self, history_id: str, worker: str, *, done: int = 0, of: int | None = None
    ) -> JsonObject:
        """Claim a history, or renew the claim and tell how far it is; return its record."""
        body = {"worker": worker, "state": "running", "done": done, "of": of}
        return self._told(history_id, body)

    def finish_history(
        self, history_id: str, worker: str, *, parts: int, rows: int, complete_from: str | None
    ) -> JsonObject:
        """Say that parts 0 to `parts` - 1 are all, and from when on they are complete; return the record."""
        body = {
            "worker": worker,
            "state": "done",
            "parts": parts,
            "rows": rows,
            "complete_from": complete_from,
        }
        return self._told(history_id, body)

    def fail_history(self, history_id: str, worker: str, detail: str) -> JsonObject:
        """Say why it cannot be computed, to whoever has asked for it; return the record."""
        return self._told(history_id, {"worker": worker, "state": "failed", "detail": detail})

    def put_part(
        self, history_id: str, worker: str, number: int, body: bytes, *, encoding: str | None = None
    ) -> None:
        """Send one part of the rows, an Arrow IPC stream; it takes the place of one of that number."""
        headers = {"Content-Type": ARROW_STREAM, WORKER_HEADER: worker}
        if encoding is not None:
            headers["Content-Encoding"] = encoding
        path = f"{_history(history_id)}/parts/{number}"
        self.request("PUT", path, content=body, headers=headers)

    def _told(self, history_id: str, body: JsonObject) -> JsonObject:
        return json_object(self.request("POST", _history(history_id), json=body))


def _history(history_id: str) -> str:
    return f"/v1/histories/{quote(history_id, safe='')}"
