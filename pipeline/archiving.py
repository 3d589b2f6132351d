"""Batches as the log has them, and the hold under which they wait to be archived."""

from collections.abc import Iterator
from urllib.parse import quote

from psoup.engine import limits
from psoup.pipeline.calling import Caller, JsonObject, json_object
from psoup.pipeline.errors import HistoryChangedError, ServiceProblem


class ArchiveCalls(Caller):
    """Reading a stream's batches, and holding them until they are written elsewhere."""

    def hold(self, stream: str, through: int, *, gen: int | None = None) -> JsonObject:
        """Hold a stream's batches past position `through`, which never goes back; return what is held.

        Raises:
            HistoryChangedError: the service's history is not `gen`, where that is given; nothing has changed.
        """
        position = {"through": through} if gen is None else {"through": through, "gen": gen}
        try:
            return json_object(self.request("PUT", _archive(stream), json=position))
        except ServiceProblem as problem:
            if problem.problem == "gen-differs":
                raise HistoryChangedError(problem.detail) from problem
            raise

    def held(self, stream: str) -> JsonObject | None:
        """Return what is held of a stream: `through`, `held_batches`, `held_bytes`; None = it has no hold."""
        try:
            return json_object(self.request("GET", _archive(stream)))
        except ServiceProblem as problem:
            if problem.problem == "not-found":
                return None
            raise

    def unhold(self, stream: str) -> None:
        """Hold a stream's batches no longer."""
        self.request("DELETE", _archive(stream))

    def batch_list(
        self, stream: str, *, after: int = 0, limit: int = limits.LIST_ROWS_MAX
    ) -> JsonObject:
        """Return the first page of a stream's batches past `after`: `gen`, `seq` up to which it is, `batches`."""
        params = {"after": after, "limit": limit}
        return json_object(self.request("GET", _batches(stream), params=params))

    def batches(self, stream: str, *, after: int = 0) -> Iterator[JsonObject]:
        """Yield a stream's batches past `after`, ascending: `seq` and `bytes` of each."""
        path = f"{_batches(stream)}?after={after}&limit={limits.LIST_ROWS_MAX}"
        return self._listed(path, "batches")

    def batch(self, stream: str, seq: int, *, gen: int | None = None) -> bytes | None:
        """Return one batch as an Arrow IPC stream, with `_id`, `_seq` and `_arrival`; None = it is not there.

        Raises:
            HistoryChangedError: the service's history is not `gen`, where that is given.
        """
        try:
            answer = self.request("GET", f"{_batches(stream)}/{seq}")
        except ServiceProblem as problem:
            if problem.problem == "not-found":
                return None
            raise
        check_history(gen, int(answer.headers["Psoup-Gen"]))
        return answer.content


def check_history(expected: int | None, gen: int) -> None:
    """Raise HistoryChangedError if positions of the history `expected` mean nothing in the history `gen`."""
    if expected is not None and expected != gen:
        raise HistoryChangedError(
            f"The service's history is {gen}, and what was read before is of {expected}: the service has lost its"
            " history since or is another one, so positions of before name nothing in it. Begin anew, with a new"
            " checkpoint, and compare with what was stored before."
        )


def _archive(stream: str) -> str:
    return f"/v1/streams/{quote(stream, safe='')}/archive"


def _batches(stream: str) -> str:
    return f"/v1/streams/{quote(stream, safe='')}/batches"
