"""The Results Structure in Redis: deltas through Functions of the engine's; reading as `RedisReader` does."""

from collections.abc import Sequence

from psoup.engine.limits import SEGMENT_ROWS
from psoup.engine.results.delta import Delta
from psoup.engine.results.hits import ClauseId
from psoup.engine.store.errors import RecoveringError, StoreFullError, StoreUnavailableError
from psoup.engine.tuples.batch import Seq
from psoup.storage import keys, refusals
from psoup.storage.encoding.record_cache import open_clause
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.calls.composites import composite_fields
from psoup.storage.redis.calls.tidy import Untidy, stage, tidy
from psoup.storage.redis.calls.write_token import WriteToken
from psoup.storage.redis.calls.writes import (
    Fields,
    Garbage,
    Write,
    delta_writes,
    fit_one_call,
    flattened,
)
from psoup.storage.redis.cluster import ClusterMemory
from psoup.storage.redis.reader import RedisReader


class RedisResults(RedisReader):
    """The Results Structure in Redis. One thread publishes, any number read."""

    def __init__(
        self, client: RedisClient, known: ClusterMemory, token: WriteToken, *, now_us: int
    ) -> None:
        """Use a store whose clock has just said `now_us`.

        Args:
            client: connections to it.
            known: is told of every applied seq.
            token: the right to publish.
            now_us: the store's clock.
        """
        super().__init__(client, now_us=now_us)
        self._known = known
        self._token = token
        self._unanswered: tuple[Seq, Seq] | None = None

    def publish(self, delta: Delta) -> None:
        """Apply the delta atomically (`ResultsStructure.publish`).

        After StoreUnavailableError, RecoveringError or StoreFullError publish the same delta again: whether it had
        been applied is then found out.
        """
        try:
            self._publish(delta)
        except (StoreUnavailableError, RecoveringError, StoreFullError):
            self._unanswered = delta.expect, delta.seq
            raise
        self._unanswered = None
        self._known.saw_head(delta.seq)
        self._known.saw_applied(delta.seq)
        with self._lock:
            self._publishes += 1
            self._pages_written += sum(map(len, delta.pages.values()))
            self._pages_written += sum(map(len, delta.blocks.values()))
            self._page_bytes_written += sum(page.nbytes for page in delta.pages.values())
            self._page_bytes_written += sum(block.nbytes for block in delta.blocks.values())
            self._pages_written += len(delta.composites)
            self._page_bytes_written += sum(page.nbytes for page in delta.composites.values())

    def _publish(self, delta: Delta) -> None:
        garbage = self._garbage(delta)
        writes = delta_writes(delta)
        after = [*writes.after, *garbage.removed()]
        if fit_one_call(writes.before, writes.moving, after):
            # In the order of a reader's questions: nothing refers to what is not there yet.
            self._judge(delta, self._move(delta, [*writes.before, *writes.moving, *after]))
            return
        untidy = Untidy.of(delta).text
        in_the_way = stage(self._token, writes.before, applied=delta.expect, untidy=untidy)
        if in_the_way is None:
            moving = [*writes.moving, *garbage.noted()]
            in_the_way = self._move(delta, moving, untidy=untidy)
        if not self._judge(delta, in_the_way):
            return
        after += garbage.forgotten()
        in_the_way = stage(self._token, after, applied=delta.seq, untidy=untidy, done=True)
        self._judge(delta, in_the_way)

    def _move(self, delta: Delta, writes: Sequence[Write], *, untidy: str = "") -> int | None:
        """Move the applied seq together with `writes`. Return the applied seq if another one is."""
        written, arguments = flattened(writes, key_count=3)
        answer = self._token.call(
            "psoup_publish",
            [keys.META, keys.HEAD, keys.SIZES, *written],
            [
                delta.expect,
                delta.seq,
                delta.arrival_us,
                untidy,
                keys.NOTICES_CHANNEL,
                *arguments,
            ],
        )
        if answer[0] == b"AHEAD":
            raise refusals.publish_past_head(head=int(answer[1]), seq=delta.seq)
        return int(answer[1]) if answer[0] == b"BADSEQ" else None

    def _judge(self, delta: Delta, in_the_way: int | None) -> bool:
        """Return whether the delta is still to be applied; raise if it cannot be.

        A delta whose answer was lost may turn out to be published: then only what it left is tidied.
        """
        if in_the_way is None:
            return True
        lost = self._unanswered == (delta.expect, delta.seq)
        if not lost or in_the_way != delta.seq:
            raise refusals.publish_out_of_order(applied=in_the_way, expect=delta.expect)
        tidy(self._client, self._token)
        return False

    def _garbage(self, delta: Delta) -> Garbage:
        """Return where there may be hits of the clauses and streams that `delta` drops, and its composites."""
        if not (delta.dropped_clauses or delta.dropped_streams or delta.dropped_composites):
            return Garbage()
        clause_ids = sorted(delta.dropped_clauses)
        values = self._client.fetch_one("HMGET", keys.CLAUSES, *clause_ids) if clause_ids else []
        found = zip(clause_ids, values, strict=True)
        clauses = [open_clause(*row) for row in found if row[1] is not None]
        composites: dict[ClauseId, list[Fields]] = {}
        groups = {key[0] for key in delta.dropped_composites}
        for key, names in composite_fields(self._client, groups).items():
            if key in delta.dropped_composites:
                composites.setdefault(key[0], []).append(names)
        return Garbage(
            {c.clause_id: c.paged_segments for c in clauses if c.paged_segments},
            {
                stream.stream_id: range(
                    stream.dropped_row // SEGMENT_ROWS, -(-stream.rows // SEGMENT_ROWS)
                )
                for stream in self.streams()
                if stream.stream_id in delta.dropped_streams
            },
            composites,
        )
