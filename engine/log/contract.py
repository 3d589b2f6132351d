"""The Log: one total order of accepted operations. The paper's New Tuple Pool, made durable.

Many may append; one reads in order and folds. An operation that `append` returned for is committed at
the store's durability level and valid at its position: nothing committed is refused later.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from psoup.engine.errors import EngineError
from psoup.engine.log.operation import Commit, Content, Operation, QueryId, Staged, StageId
from psoup.engine.tuples.batch import Seq, TupleId
from psoup.engine.tuples.schema import StreamId
from psoup.engine.tuples.value_type import value_type

NO_TUPLE: Final = TupleId(0)
"""Ids begin at 1."""


@dataclass(frozen=True, slots=True)
class Appended:
    """What became of an append.

    `duplicate` = nothing was stored, because the same thing had been: the same producer's version, an
    identical declaration, a named query with the same definition, the same `RequestKey` (`replayed`).
    `seq` is then that of the original (0 where it is no longer known), `query_id` for a query the
    original's handle. Of a commit `seq` is that of its last entry, and `rows` how many tuples it stored.
    `first_tuple_id` is that of the operation which was stored; 0 of a duplicate and of a commit, or if it is not told.
    """

    seq: Seq
    arrival_us: int
    duplicate: bool = False
    query_id: QueryId | None = None
    rows: int = 0
    replayed: bool = False
    first_tuple_id: TupleId = NO_TUPLE


@value_type
class LoggedBatch:
    """A batch in the log: its entry, and the bytes of its body."""

    seq: Seq
    nbytes: int


@dataclass(frozen=True, slots=True)
class LogStatistics:
    """Counters of a log. Bytes are those of bodies.

    `staged_bytes` is what staged parts and the marks of committed ones count (STAGED_BYTES_MAX), with those that
    have expired and are not swept yet.
    """

    head: Seq
    entries: int
    bytes: int
    appended: int
    duplicates: int
    staged_bytes: int = 0


class Log(Protocol):
    """Append, stage and commit, read, hold, trim. Thread-safe."""

    def append(self, content: Content) -> Appended:
        """Append one operation, or refuse it and change nothing. Checks and append are one atomic step.

        Checks by kind:
            every kind: the backlog (committed and not yet applied) is below its limits.
            Rows and Register with a `key`, before all else: the key was stored within REQUEST_KEY_LIFE_S, and is among
                the last REQUEST_KEYS_MAX -> duplicate, with the original's `seq` and, of a registration, its handle,
                whatever has become of it; with another digest -> RequestKeyReusedError (extra `seq`).
            Declare: an identical declaration in force -> duplicate; another one of that name ->
                StreamDiffersError (extra `stream_id`); beside as many streams as the setting `streams`
                allows -> QuotaExceededError.
            Alter: `stream_id` is in force under the name of `schema`, else NotFoundError; it is declared so already ->
                duplicate; `declared` is given and no longer so -> StaleDeclarationError.
            every kind that names a stream: it is in force as far as the name has that id, and, where `declared`
                is given, is declared so.
            Drop: `stream_id` is in force, else NotFoundError; `queries` are exactly the standing
                queries that read it: if it is empty and there are some -> HasQueriesError (extra
                `queries`: their number); if it lists others than there are -> StaleDeclarationError.
            Rows: `stream_id` is in force for `name`, else StaleDeclarationError. A producer's version
                at or below the last one committed for (stream, app) -> duplicate, unless its digest
                is among the APP_DIGESTS_KEPT known ones and differs -> TxnContentDiffersError (extra
                `seq`). Duplicates are answered even at the backlog limit. Past APPS_COUNT_MAX producers
                of the stream one that has never sent a row is forgotten, that whose last batch is the
                earliest; where each has sent rows -> QuotaExceededError.
            Register: every stream is in force under the id given, else StaleDeclarationError; a taken
                name with the same `sql` -> duplicate, with another -> NameTakenError (extra `id`);
                QUERIES_COUNT_MAX -> QuotaExceededError. A handle that stands already, with the same
                `sql`, is the same call sent again -> duplicate.
            Replace: streams as with Register; the query stands under the handle and the name given, and, where
                `changed_seq` is given, that is the last operation that changed it, else StaleDeclarationError. Where it
                is not given, with the same `sql` -> duplicate.
            Renew: a query with a time to live is standing, else NotFoundError; of that less than a part in
                QUERY_RENEWALS_PER_TTL has passed since it was renewed last -> duplicate.
            Remove: the query is standing, else NotFoundError.
            Expire: the query is standing, and its time to live is over, else NotFoundError.

        Raises:
            OverloadedError: the backlog is full.
            EngineError: as above; and what a store adds (engine/store/errors.py).
        """
        ...

    def append_many(self, contents: Sequence[Content]) -> Sequence[Appended | EngineError]:
        """Append operations in their order, each as `append` would; return what became of each.

        One that is refused changes nothing and holds up none of the others: its error stands in its
        place. They follow each other in the log, but for what others append in between. All of them
        are committed, as far as they are not refused, when this returns.

        Raises:
            EngineError: what a store adds (engine/store/errors.py), where it hits the first of them. Where
                it hits a later one, it stands in the place of each from there on.

        Cost: one wait for the disk in all, instead of one each.
        """
        ...

    def append_at_once(self, content: Content) -> Appended | EngineError | None:
        """Append one operation as `append_many` does if that waits for nobody, else change nothing and return None."""
        ...

    def stage(self, part: Staged) -> int:
        """Keep a part beside the log for a commit to come; return when it expires (µs, the store's clock).

        It lives for STAGE_LIFE_S. Sent again under its id it changes nothing.

        Raises:
            StaleDeclarationError: `stream_id` is not in force for `name`, as with `append`.
            OverloadedError: all that is staged would be more than STAGED_BYTES_MAX; reason `staged-bytes`.
            EngineError: what a store adds (engine/store/errors.py). Whatever it is, nothing counts.
        """
        ...

    def commit(self, commit: Commit) -> Appended:
        """Append the parts as consecutive entries, or refuse them and change nothing. One atomic step.

        The parts become `Rows`, in their order, of one arrival time, all but the last with `more`. What is left of
        each until it expires is a mark, so that the same commit sent again is known. Checks, in this order:
            Each part is there, has not expired, is of a stream in force, or bears the mark of this very commit; else
                StageMissingError (extra `stages`: the ids of those for which that is not so).
            They are not more than COMMIT_BYTES_MAX together, else CommitTooLargeError.
            The version counts for (stream, app) as with `append` of Rows, for each stream of the parts, with the digest
                of all rows of it. Known for all of them -> duplicate, and the parts become marks; known for some,
                or with another digest -> TxnContentDiffersError. A stream that gets no row, of an app that is no
                producer of it, counts for neither. APPS_COUNT_MAX as with `append`, for each stream.
            The backlog is below its limits, as for `append`.

        Raises:
            EngineError: as above; and what a store adds (engine/store/errors.py). After CommitUnknownError the same
                commit may be sent again: it is stored once.
        """
        ...

    def discard(self, stage_id: StageId) -> None:
        """Forget a part. One that is not there is passed over, and so is a committed one: its mark stays."""
        ...

    def head(self) -> Seq:
        """Return the largest seq in the log, 0 if there was never an operation. Never inside a commit."""
        ...

    def read(self, after: Seq, *, operations_max: int, bytes_max: int) -> Sequence[Operation]:
        """Return the operations after `after` in order, without gaps; empty if there are none.

        At least one where there is one, even if it alone is over `bytes_max`; so they may end inside a commit.
        IntegrityError if the first of them has been trimmed.
        """
        ...

    def read_at(self, seqs: Sequence[Seq]) -> Iterator[Operation]:
        """Yield the operations at `seqs`, in that order.

        KeyError where one has been trimmed, IntegrityError where one is damaged or lost.

        Read as they are asked for, FOLD_BYTES_MAX of bodies at a time or a single larger one: so
        all that a log holds can be gone through.
        """
        ...

    def controls(self, after: Seq, up_to: Seq) -> Sequence[Operation]:
        """Return the operations past `after`, up to `up_to`, that are no batches, ascending.

        Those that were trimmed are left out: none, where `after` lies at most LOG_ENTRIES_KEPT behind the applied
        position when this returns. Cost: O(operations between the two), no bodies.
        """
        ...

    def held_batches(self, up_to: Seq) -> Sequence[Seq]:
        """Return the seqs of the batches up to `up_to` that are not forgotten, ascending. O(batches).

        Appends and reads may go on meanwhile; trims may not.
        """
        ...

    def batches_of(
        self, stream_id: StreamId, *, after: Seq, up_to: Seq, limit: int | None = None
    ) -> Sequence[LoggedBatch]:
        """Return a stream's batches past `after`, up to `up_to`, that are in the log, ascending; the first `limit`.

        Also those of which retention holds no tuple any more, as long as they are not trimmed. One may be trimmed
        as soon as this returns, unless the stream has a hold and it lies past that. O(batches in the log).
        """
        ...

    def trimmed_through(self, stream_id: StreamId) -> Seq:
        """Return the largest seq of a batch of the stream that had rows and was trimmed; 0 = none was.

        A reader that calls it after `batches_of`, and has all batches up to it, has missed none.
        """
        ...

    def hold(self, stream_id: StreamId, through: Seq) -> Seq:
        """Keep a stream's batches past `through` from being trimmed; return through where it is held now.

        A hold never goes back: a smaller `through` than the one there is changes nothing. It ends with its stream.

        Raises:
            NotFoundError: the stream is not in force.
            IntegrityError: `through` is past the head.
        """
        ...

    def unhold(self, stream_id: StreamId) -> None:
        """Let a stream's batches go, as if it had never been held."""
        ...

    def holds(self) -> Mapping[StreamId, Seq]:
        """Return the streams that are held, and through where."""
        ...

    def trim(self, *, batches: Sequence[Seq], below: Seq) -> Mapping[StreamId, Sequence[Seq]]:
        """Forget the entries of `batches`, and control entries (every kind but Rows) below `below`.

        Entries that are not there are passed over. Producers' versions are not forgotten. Nothing is
        forgotten and IntegrityError raised if one of them is above the applied seq. Some expired parts go as well.

        Returns:
            By stream, ascending: those of `batches` that are still there because their stream is held.
        """
        ...

    def statistics(self) -> LogStatistics:
        """Return counters."""
        ...

    def check(self) -> None:
        """Assert the log's invariants: seqs rise by one from entry to entry but for trimmed ones,
        arrival times never decrease, the head is the last entry. O(entries), for tests.
        """  # noqa: D205
        ...
