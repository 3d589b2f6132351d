"""What really happened in a simulated run, seen from beside the server: the oracle of everything else.

`History` looks into the server after each call that has run. It keeps every operation the log has ever held, by
generation, asserts what must hold at every instant, and says what a query has to answer at a position.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from psoup.engine.log.contract import Appended
from psoup.engine.log.operation import Content, Operation, QueryId, Rows, StageId
from psoup.engine.results.contract import Gen
from psoup.engine.tuples.batch import Seq, TupleId
from psoup.storage import keys
from psoup.storage.encoding.records import decode_content
from tests.reference import Answer, OutOfRangeError, Reference
from tests.simulation.model.data import ModelRedis, Stream
from tests.simulation.model.server import ModelServer

LOG, META, HEAD = keys.LOG.encode(), keys.META.encode(), keys.HEAD.encode()
LOG_STREAMS, TRIMMED = keys.LOG_STREAMS.encode(), keys.TRIMMED.encode()


@dataclass(slots=True)
class Timeline:
    """The operations 1 to n of one course of events, and the twin that follows them."""

    operations: list[Operation] = field(default_factory=list)
    raw: list[tuple[bytes, ...]] = field(default_factory=list)
    """The same, as the log keeps them."""
    kept: int = 0
    """How many of them were not lost, once some were."""
    inside: set[int] = field(default_factory=set)
    """Positions that nobody may be shown: what one call appended goes on behind them."""
    _twin: Reference = field(default_factory=Reference)

    def twin(self, seq: Seq) -> Reference:
        """Return the twin at `seq`. It goes on from where it was last asked about, if it can."""
        if self._twin.seq > seq:
            self._twin = Reference()
        for operation in self.operations[self._twin.seq : seq]:
            self._twin.apply(operation)
        return self._twin

    def cut(self, head: Seq) -> "Timeline":
        """Return another one that goes on from `head`."""
        inside = {seq for seq in self.inside if seq < head}
        return Timeline(self.operations[:head], self.raw[:head], inside=inside)


class History:
    """Everything that was ever committed, acknowledged and shown."""

    def __init__(self, server: ModelServer) -> None:
        self._server = server
        self.now = Timeline()
        """The course of events that the server is in."""
        self.gone: list[tuple[Gen, Timeline]] = []
        """Those that lost their end or came to it, and the generation they were in."""
        self.gen = Gen(0)
        self.gen_told = Gen(0)
        """The latest generation that somebody outside was told of."""
        self.applied = Seq(0)
        self.epoch = 0
        self.writers: dict[int, str] = {}
        """By epoch, who has published in it."""
        self.known = Seq(0)
        """The largest seq that somebody outside has been told of in this generation."""
        self.must_change = False
        """Whether the store may go on only in a new generation: operations that were told of are lost."""
        self.lost_operations = 0

    # --- After each call that has run -------------------------------------------------------------

    def look(self, who: str) -> None:
        """Assert what holds at every instant. `who` made the call that has just run."""
        data = self._server.data
        meta, head = _hash(data, META), _hash(data, HEAD)
        if not meta:
            return
        opened = meta[b"run"].decode() == self._server.run_id
        self._look_at_log(data, int(head[b"seq"]), opened=opened)
        if not opened:
            assert int(meta[b"applied"]) == self.applied, "nobody publishes into what is not opened"
            return
        gen, applied, epoch = (int(meta.get(name, b"0")) for name in (b"gen", b"applied", b"epoch"))
        if gen != self.gen:
            assert gen > self.gen_told, "a generation is later than all that anybody was told of"
            before = self.now.cut(Seq(len(self.now.operations)))
            before.kept = len(before.operations)
            self.gone.append((self.gen, before))
            self.gen, self.known, self.must_change = Gen(gen), Seq(0), False
        assert not self.must_change, "what was told of and lost is announced by a new generation"
        assert applied <= len(self.now.operations), "nothing is applied that is not in the log"
        assert applied >= self.applied, "what is published stays published"
        assert applied not in self.now.inside, "a commit is published whole"
        assert epoch >= self.epoch, "epochs never decrease"
        if applied > self.applied:
            assert self.writers.setdefault(epoch, who) == who, "one engine publishes in an epoch"
        self.applied, self.epoch = Seq(applied), epoch

    def _look_at_log(self, data: ModelRedis, head: int, *, opened: bool) -> None:
        """Take note of what was appended."""
        known = len(self.now.operations)
        assert head >= known, "the head never goes back while the server lives"
        if head == known:
            return
        assert opened, "nothing is appended to what nobody has opened"
        entries = _entries(data)
        for seq in range(known + 1, head + 1):
            operation, raw = _decoded(seq, entries[seq], _body_apart(data, seq))
            before = self.now.operations[-1] if self.now.operations else None
            assert before is None or before.arrival_us <= operation.arrival_us
            self.now.operations.append(operation)
            self.now.raw.append(raw)
        self.now.inside.update(range(known + 1, head))

    def look_at_everything(self) -> None:
        """Assert that the log is what it was, but for what may be forgotten. O(log)."""
        data = self._server.data
        entries = _entries(data)
        for seq, fields in entries.items():
            assert tuple(fields) == self.now.raw[seq - 1], "an entry of the log never changes"
            content = self.now.operations[seq - 1].content
            if isinstance(content, Rows):
                held = _body_apart(data, seq)
                body = _named(fields)[b"b"] if held is None else held
                assert content.body == body, "nor does its body, wherever that is"
        for seq in range(self.applied + 1, len(self.now.raw) + 1):
            assert seq in entries, "what is not applied stays in the log"
        declared = {row.split()[0] for row in _hash(data, LOG_STREAMS).values()}
        gone = {
            b"%d" % content.stream_id: b"%d" % seq
            for seq, content in enumerate((one.content for one in self.now.operations), start=1)
            if isinstance(content, Rows) and content.rows and seq not in entries
        }
        told = {stream_id: seq for stream_id, seq in gone.items() if stream_id in declared}
        assert _hash(data, TRIMMED) == told, "it is told up to where batches of a stream are gone"

    @property
    def is_tidy(self) -> bool:
        """Whether no publish is under way."""
        return b"untidy" not in _hash(self._server.data, META)

    # --- When the server comes back ---------------------------------------------------------------

    def come_back(self) -> bool:
        """Compare what the server came back with; return whether operations are gone.

        At level fsync nothing that was told of may be: that is asserted.
        """
        data = self._server.data
        head = int(_hash(data, HEAD).get(b"seq", b"0"))
        meta = _hash(data, META)
        before = len(self.now.operations)
        if self._server.appendfsync == "always":
            assert head >= self.known, "what was acknowledged is on disk"
        lost = head < before
        if lost:
            self.lost_operations += before - head
            self.now.kept = head
            self.gone.append((self.gen, self.now))
            self.now = self.now.cut(Seq(head))
        if head < self.known:
            self.must_change = True
        self.applied = Seq(int(meta.get(b"applied", b"0")))
        self.epoch = int(meta.get(b"epoch", b"0"))
        self.writers = {epoch: who for epoch, who in self.writers.items() if epoch < self.epoch}
        return lost

    # --- What was told ----------------------------------------------------------------------------

    def told(self, gen: Gen, seq: Seq) -> None:
        """Take note that somebody outside knows that `seq` is committed in `gen`."""
        self.gen_told = max(self.gen_told, gen)
        if gen == self.gen and not self.must_change:
            self.known = max(self.known, seq)

    def acknowledged(self, content: Content, appended: Appended) -> Gen:
        """Take note of an answer to an append; return the generation it belongs to."""
        return self._answered(appended, lambda one: one == content)

    def committed(self, app: str, version: int, appended: Appended) -> Gen:
        """Take note of an answer to a commit; return the generation it belongs to."""
        if appended.duplicate:
            courses = [self.now, *(course for _, course in self.gone)]
            assert any(_of_version(course, app, version) for course in courses), "it repeats one"
        return self._answered(appended, lambda one: _is_of_version(one, app, version))

    def of_version(self, app: str, version: int) -> list[Operation]:
        """Return the batches that the log has had under a producer's version."""
        return _of_version(self.now, app, version)

    def _answered(self, appended: Appended, is_it: Callable[[Content], bool]) -> Gen:
        """Take note of an answer about an operation that `is_it` knows; return the generation it belongs to.

        An operation may be lost between its append and its answer: then a new generation has to say so.
        """
        seq = appended.seq
        if appended.duplicate:
            self.told(self.gen, min(seq, Seq(len(self.now.operations))))
            return self.gen
        held = self.now.operations
        if seq <= len(held) and is_it(held[seq - 1].content):
            self.told(self.gen, seq)
            return self.gen
        for gen, course in reversed(self.gone):
            if seq <= len(course.operations) and is_it(course.operations[seq - 1].content):
                self.must_change |= gen == self.gen
                return gen
        raise AssertionError(f"what is acknowledged has been in the log: {appended}")

    def lasts(self, gen: Gen, seq: Seq) -> bool:
        """Return whether an operation acknowledged in `gen` is one that was not lost."""
        lost = [course.kept for of, course in self.gone if of == gen]
        return all(seq <= kept for kept in lost)

    def courses(self, gen: Gen, seq: Seq) -> list[Timeline]:
        """Return the courses of events in which `gen` had an operation `seq`: one, unless some were lost."""
        found = [course for of, course in self.gone if of == gen]
        if gen == self.gen:
            found.append(self.now)
        return [course for course in found if len(course.operations) >= seq]

    def check_answer(
        self,
        gen: Gen,
        answer: Answer,
        query_id: QueryId,
        server_times: Sequence[int],
        at_us: int | None = None,
    ) -> None:
        """Assert that an answer is the twin's at the position it names, at an instant the server has shown."""
        courses = self.courses(gen, answer.seq)
        assert courses, f"an answer names a position that there was: {gen} {answer.seq}"
        courses = [course for course in courses if answer.seq not in course.inside]
        assert courses, f"a commit is shown whole: {gen} {answer.seq}"
        wanted = []
        for course in courses:
            twin = course.twin(answer.seq)
            if query_id not in twin.queries:
                continue
            for time_us in dict.fromkeys([*reversed(server_times)]):
                with contextlib.suppress(OutOfRangeError):  # at another instant than the answer's
                    wanted.append(twin.invoke(query_id, server_now_us=time_us, at_us=at_us))
                if wanted and wanted[-1] == answer:
                    return
        assert wanted, f"a query that stands is answered: {query_id} at {answer.seq}"
        assert answer == wanted[0]


def _hash(data: ModelRedis, key: bytes) -> dict[bytes, bytes]:
    value = data.value(key)
    return value if isinstance(value, dict) else {}


def _entries(data: ModelRedis) -> dict[int, list[bytes]]:
    value = data.value(LOG)
    return value.entries if isinstance(value, Stream) else {}


def _named(fields: Sequence[bytes]) -> dict[bytes, bytes]:
    return dict(zip(fields[::2], fields[1::2], strict=True))


def _body_apart(data: ModelRedis, seq: int) -> bytes | None:
    """Return the body of a batch that was committed, which lies where it was staged; None = it lies in its entry."""
    part = _hash(data, keys.BODIES.encode()).get(b"%d" % seq)
    return None if part is None else _hash(data, keys.body(StageId(part.decode())).encode())[b"b"]


def _is_of_version(content: Content, app: str, version: int) -> bool:
    txn = content.txn if isinstance(content, Rows) else None
    return txn is not None and (txn.app, txn.version) == (app, version)


def _of_version(course: Timeline, app: str, version: int) -> list[Operation]:
    return [one for one in course.operations if _is_of_version(one.content, app, version)]


def _decoded(
    seq: int, fields: list[bytes], body: bytes | None
) -> tuple[Operation, tuple[bytes, ...]]:
    held = _named(fields)
    content = decode_content(held[b"k"].decode(), held[b"h"], held[b"b"] if body is None else body)
    operation = Operation(Seq(seq), int(held[b"t"]), TupleId(int(held[b"i"])), content)
    return operation, tuple(fields)
