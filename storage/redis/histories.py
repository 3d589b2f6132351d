"""The histories in Redis: for each a record, bodies and places of its parts, and one index. A call is one Function."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from psoup.engine import limits
from psoup.engine.errors import EngineError, IntegrityError
from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import QueryId
from psoup.engine.store.archive_answers import (
    AskedHistory,
    HistoriesStatistics,
    History,
    HistoryId,
    HistoryPart,
    HistoryState,
    Place,
)
from psoup.storage import keys, refusals
from psoup.storage.encoding.checksums import check_body
from psoup.storage.encoding.histories import (
    decode_history,
    encode_asked,
    encode_overflowed,
    pairs,
    part_facts,
    part_sum,
    part_text,
)
from psoup.storage.history_parts import check_parts
from psoup.storage.redis.calls.client import Argument, Command, RedisClient
from psoup.storage.redis.fsck.check import check_histories

REFUSALS: Final[Mapping[bytes, Callable[[], EngineError]]] = {
    b"UNKNOWN": refusals.history_not_found,
    b"TAKEN": refusals.history_taken,
    b"LONG": refusals.history_too_long,
    b"LARGE": refusals.history_too_large,
    b"FULL": refusals.histories_large,
}
"""What Functions that change a history answer when they refuse, and what is raised for it."""


class RedisHistories:
    """The histories in Redis. Any number of threads and processes may use them."""

    def __init__(self, client: RedisClient, *, admit: Callable[[], object] = lambda: None) -> None:
        """Use a store; `admit` is asked before each call, and raises where this process is not to use it."""
        self._client = client
        self._admit = admit

    def find(self, query_id: QueryId, asked_now_us: int | None) -> History | None:
        """Return the history of a query and an instant (`Histories.find`)."""
        return self._looked_up(keys.history_field(query_id, asked_now_us), "")

    def get(self, history_id: HistoryId) -> History | None:
        """Return a history by its handle (`Histories.get`)."""
        return self._looked_up("", history_id)

    def body(self, history_id: HistoryId, number: int) -> bytes | None:
        """Return the body of a part (`Histories.body`).

        Raises:
            IntegrityError: the body is lost, or is not what was put.
        """
        self._admit()
        body: bytes | None
        known: Command = ("HGET", keys.history_parts(history_id), number)
        while True:  # not in one transaction, which a server without memory refuses
            before, body, record = self._client.fetch(
                [known, ("HGET", keys.history_bodies(history_id), number), known]
            )
            if before == record:
                break
        place = f"Part {number} of history {history_id}"
        if body is not None:
            check_body(place, body, part_sum(record or b""))
        elif record is not None:
            raise IntegrityError(
                f"{place} is damaged: its checksum is there, and its body is not. Restore the store from a copy;"
                " psoup fsck lists all that is damaged."
            )
        return body

    def begin(self, asked: AskedHistory, *, replaces: HistoryId | None = None) -> History:
        """Begin a history, or return the one that there is (`Histories.begin`).

        Raises:
            RecoveringError: another generation has begun, or the store is not verified.
        """
        self._admit()
        what, *facts = self._client.call(
            "psoup_history_begin",
            [keys.HISTORIES, keys.LOG_QUERIES, keys.history(asked.history_id)],
            [
                keys.META,
                asked.history_id,
                keys.history_field(asked.query_id, asked.asked_now_us),
                encode_asked(asked),
                asked.query_id,
                asked.gen,
                replaces or "",
                limits.HISTORY_LIFE_S * SECOND_US,
                limits.HISTORIES_MAX,
            ],
        )
        if what == b"NOQUERY":
            raise refusals.query_not_found()
        if what == b"FULL":
            raise refusals.histories_full()
        return decode_history(*facts)

    def all(self) -> Sequence[History]:
        """Return all histories (`Histories.all`)."""
        self._admit()
        answer = self._client.call(
            "psoup_history_all", [keys.HISTORIES, keys.LOG_QUERIES], [keys.META]
        )
        found = [decode_history(answer[1], flat) for flat in answer[2:]]
        return sorted(found, key=lambda one: (one.asked_us, one.asked.history_id))

    def claim(self, history_id: HistoryId, worker: str, *, done: int, of: int | None) -> History:
        """Claim a history, or renew the claim (`Histories.claim`)."""
        told: list[Argument] = [
            worker,
            done,
            "" if of is None else of,
            limits.HISTORY_CLAIM_S * SECOND_US,
            limits.HISTORY_LIFE_S * SECOND_US,
        ]
        return decode_history(*self._changed("psoup_history_claim", history_id, told))

    def put(self, history_id: HistoryId, worker: str, part: HistoryPart) -> None:
        """Keep a part (`Histories.put`)."""
        assert len(part.body) <= limits.HISTORY_PART_BYTES_MAX, "the app refuses larger parts"
        told: list[Argument] = [
            worker,
            part.number,
            part.rows,
            part_text(part),
            part.body,
            limits.HISTORY_CLAIM_S * SECOND_US,
            limits.HISTORY_LIFE_S * SECOND_US,
            limits.HISTORY_ROWS_MAX,
            limits.HISTORY_BYTES_MAX,
            limits.HISTORIES_BYTES_MAX,
        ]
        self._changed("psoup_history_put", history_id, told)

    def finish(
        self,
        history_id: HistoryId,
        worker: str,
        *,
        parts: int,
        rows: int,
        complete_from_us: int | None,
        overflowed: Sequence[str] = (),
    ) -> History:
        """Say that the parts are all there (`Histories.finish`).

        Cost: two calls, and two more each time that the same worker changes parts in between.
        """
        complete_from = "" if complete_from_us is None else complete_from_us
        while True:
            changes, known = self._parts(history_id, worker)
            rows_of: list[str] = []
            if known is not None:
                check_parts(known, parts, rows)
                rows_of = [str(known[number][0]) for number in range(parts)]
            told: list[Argument] = [
                worker,
                HistoryState.DONE.value,
                changes,
                ",".join(rows_of),
                complete_from,
                encode_overflowed(overflowed),
                limits.HISTORY_LIFE_S * SECOND_US,
            ]
            answer = self._changed("psoup_history_end", history_id, told)
            if answer:
                return decode_history(*answer)

    def fail(self, history_id: HistoryId, worker: str, detail: str) -> History:
        """Give a history up (`Histories.fail`)."""
        told: list[Argument] = [
            worker,
            HistoryState.FAILED.value,
            "",
            "",
            "",
            detail,
            limits.HISTORY_LIFE_S * SECOND_US,
        ]
        return decode_history(*self._changed("psoup_history_end", history_id, told))

    def drop(self, history_id: HistoryId) -> None:
        """Forget a history (`Histories.drop`)."""
        self._admit()
        touched = [keys.HISTORIES, keys.LOG_QUERIES]
        self._client.call("psoup_history_drop", touched, [keys.META, history_id])

    def statistics(self) -> HistoriesStatistics:
        """Return what there is."""
        ids = self._client.fetch_one("HVALS", keys.HISTORIES)
        sizes = self._client.fetch(
            [("HGET", keys.history(HistoryId(one.decode())), "z") for one in ids]
        )
        return HistoriesStatistics(len(ids), sum(int(size or 0) for size in sizes))

    def check(self) -> None:
        """Assert that an inspection finds nothing in histories."""
        check_histories(self._client)

    def _looked_up(self, field: str, history_id: str) -> History | None:
        self._admit()
        answer = self._client.view(
            "psoup_history",
            [keys.META, keys.HISTORIES, keys.LOG_QUERIES],
            [field, history_id, "0"],
        )
        return decode_history(*answer[1:]) if len(answer) > 2 else None

    def _parts(
        self, history_id: HistoryId, worker: str
    ) -> tuple[int, Mapping[int, tuple[int, Place, Place]] | None]:
        """Return how often the parts have changed, and what is known of them; None where it is done by this worker.

        Raises what `Histories.finish` does but for HistoryPartsMissingError.
        """
        self._admit()
        answer = self._client.view(
            "psoup_history",
            [keys.META, keys.HISTORIES, keys.LOG_QUERIES],
            ["", history_id, "1"],
        )
        if len(answer) < 3:
            raise refusals.history_not_found()
        record = pairs(answer[2])
        own, changes = record[b"w"] == worker.encode(), int(record[b"v"])
        if own and record[b"s"] == HistoryState.DONE.value.encode():
            return changes, None
        if not own or record[b"s"] != HistoryState.RUNNING.value.encode():
            raise refusals.history_taken()
        parts = pairs(answer[3]).items()
        return changes, {int(number): part_facts(text) for number, text in parts}

    def _changed(self, function: str, history_id: HistoryId, told: Sequence[Argument]) -> list[Any]:
        """Return what a Function that changes a history answers behind OK; [] where its parts changed meanwhile."""
        self._admit()
        touched = [
            keys.HISTORIES,
            keys.LOG_QUERIES,
            keys.history(history_id),
            keys.history_bodies(history_id),
            keys.history_parts(history_id),
        ]
        what, *facts = self._client.call(function, touched, [keys.META, *told])
        if what in REFUSALS:
            raise REFUSALS[what]()  # noqa: RSE102 (it makes the error)
        return [] if what == b"CHANGED" else facts
