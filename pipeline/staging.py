"""Parts that are staged, and the commit that makes all of them visible at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from psoup.pipeline.calling import Caller, JsonObject, json_object


@dataclass(frozen=True, slots=True)
class Txn:
    """A producer's batch: sending it again under the same pair stores nothing twice."""

    app: str
    version: int


class StagingCalls(Caller):
    """Staging and committing. Each of these calls may be made twice: it is repeated until its fate is known."""

    def stage(
        self, stream: str, body: bytes, *, content_type: str, encoding: str | None = None
    ) -> JsonObject:
        """Stage a batch of rows; return the service's receipt, with `stage`: the part's handle.

        Where the answer is lost the rows are staged once more: what no commit names is forgotten in time.
        """
        headers = {"Content-Type": content_type}
        if encoding is not None:
            headers["Content-Encoding"] = encoding
        path = f"/v1/streams/{quote(stream, safe='')}/stages"
        return json_object(self.request("POST", path, content=body, headers=headers))

    def commit(self, txn: Txn, stages: Sequence[str]) -> JsonObject:
        """Make staged parts visible, all at one position; return the service's receipt.

        Parts of one version may be cut otherwise each time: the rows of each stream count. With `duplicate`
        nothing was stored now, because it had been.
        """
        body = {"app": txn.app, "version": txn.version, "stages": list(stages)}
        return json_object(self.request("POST", "/v1/commits", json=body))

    def discard(self, stage: str) -> None:
        """Let a staged part be forgotten; what was committed stays."""
        self.request("DELETE", f"/v1/stages/{quote(stage, safe='')}")
