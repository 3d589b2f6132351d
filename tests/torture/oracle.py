"""Is a history one that psoup may have? Its log is folded by the naive twin, its events are held against that.

Nothing is known here of how psoup works: only the log as a witness has read it, what clients were told and
when, and `tests.reference`. The answers of one stream's queries are computed tuple by tuple, each tuple once for
each clause; one in TWIN_EVERY is computed anew by the twin itself, so that this is checked too.
"""

import bisect
import datetime as dt
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from psoup.engine.log.operation import Declare, Operation, QueryId, Register, Remove, Rows
from psoup.engine.query.clause import BoundQuery
from psoup.engine.query.shape import Shape
from psoup.engine.query.values.expression import Value
from psoup.engine.query.window import windows_of
from psoup.engine.tuples.schema import ColumnType, StreamId
from tests.reference import Answer, OutOfRangeError, Reference
from tests.reference_streams import ReferenceStream, decoded
from tests.reference_values import holds, value_of
from tests.reference_windows import bounds
from tests.torture.history import History, digest
from tests.torture.row_ids import RowIds, ShownRow, in_one_order
from tests.torture.workload import names

TWIN_EVERY: Final = 50
CLOCK_US: Final = 50_000
"""NOW is carried from the store's clock to the next look at it: some milliseconds pass on a busy machine."""


@dataclass(slots=True)
class Matched:
    """The tuples of a stream that satisfy one query, by time and id, as far as they were looked at."""

    bound: BoundQuery
    looked: int = 0
    found: list[tuple[int, int, int, tuple[Value | None, ...]]] = field(default_factory=list)
    """Time, tuple id, row, values of the select list."""

    def look(self, stream: ReferenceStream) -> None:
        """Look at the tuples that are new; forget those that retention has passed."""
        for one in stream.tuples[max(self.looked, stream.floor_row) :]:
            if holds(self.bound.clause, [one.values]):
                values = tuple(
                    value_of(o.expression, [one.values]) for o in self.bound.shape.outputs
                )
                bisect.insort(self.found, (one.time_us, one.tuple_id, one.row, values))
        self.looked = len(stream.tuples)
        if len(self.found) > 1_000 and self.found[0][2] < stream.floor_row:
            self.found = [one for one in self.found if one[2] >= stream.floor_row]


class Twin(Reference):
    """The twin, which remembers what it has found out about each tuple."""

    def __init__(self) -> None:
        """Begin before the first operation."""
        super().__init__()
        self._matched: dict[tuple[str, Shape, StreamId], Matched] = {}
        self._forgotten: dict[StreamId, tuple[int, int | None]] = {}
        self._asked = 0
        self.twice = 0
        """Answers that were computed by the twin itself as well."""
        self.row_ids = RowIds()

    def answer(self, query_id: QueryId, *, server_now_us: int, at_us: int | None) -> Answer:
        """Return what `invoke` does, and raise what it does."""
        if len(self.queries[query_id].streams) > 1:
            return self.invoke(query_id, server_now_us=server_now_us, at_us=at_us)
        answer = self._quick(query_id, server_now_us, at_us)
        self._asked += 1
        if self._asked % TWIN_EVERY == 0:
            slow = self.invoke(query_id, server_now_us=server_now_us, at_us=at_us)
            assert slow == answer, "the quick twin and the slow one"
            self.twice += 1
        return answer

    def _quick(self, query_id: QueryId, server_now_us: int, at_us: int | None) -> Answer:
        query = self.queries[query_id]
        stream_id = query.streams[0]
        stream = self.streams[stream_id]
        complete_us = self._complete_from(stream_id, stream)
        now_us = newest_us = self.now_us(query_id, server_now_us)
        if at_us is not None:
            reach_us = complete_us
            if reach_us is not None and newest_us is not None:
                reach_us = min(reach_us, newest_us)
            if (newest_us is not None and at_us > newest_us) or (
                reach_us is not None and at_us < reach_us
            ):
                raise OutOfRangeError(reach_us, newest_us)
            now_us = at_us
        if now_us is None:
            return Answer(self.seq, None, None, None, None, ())
        (window,) = windows_of(query.bound.window, query.bound.ranges, 1)
        begin_us, end_us = bounds(window, now_us)
        key = (query.bound.clause.text, query.bound.shape, stream_id)
        matched = self._matched.setdefault(key, Matched(query.bound))
        matched.look(stream)
        last_us = now_us if end_us is None else min(now_us, end_us)
        first = 0 if begin_us is None else bisect.bisect_left(matched.found, (begin_us,))
        past = bisect.bisect_left(matched.found, (last_us + 1,))
        moving = window.begin is not None and window.begin.moving
        leaves_us = window.begin.us + 1 if moving and window.begin is not None else None
        rows = [
            (str(one_id), None if leaves_us is None else time_us + leaves_us, values)
            for time_us, one_id, row, values in matched.found[first:past]
            if row >= stream.floor_row and (stream.floor_us is None or time_us >= stream.floor_us)
        ]
        if query.bound.shape.distinct:
            rows = _distinct(rows)
        missed = complete_us if begin_us is None or (complete_us or begin_us) > begin_us else None
        return Answer(self.seq, now_us, begin_us, end_us, missed, tuple(rows))

    def _complete_from(self, stream_id: StreamId, stream: ReferenceStream) -> int | None:
        """Return `stream.complete_from_us()`, looking at each tuple once."""
        looked, latest_us = self._forgotten.get(stream_id, (0, None))
        for one in stream.tuples[looked : stream.floor_row]:
            latest_us = max(one.time_us + 1, latest_us or one.time_us + 1)
        self._forgotten[stream_id] = (stream.floor_row, latest_us)
        found = [us for us in (latest_us, stream.floor_us) if us is not None]
        return max(found, default=None)


@dataclass(slots=True)
class Verdict:
    """What was checked."""

    operations: int = 0
    acknowledged: int = 0
    answers: int = 0
    rows: int = 0
    twice: int = 0


def judge(history: History, operations: Sequence[Operation]) -> Verdict:
    """Check everything that clients were told against the log; what is wrong is noted in the history."""
    events = list(history.events())
    verdict = Verdict(len(operations))
    _check_log(history, operations)
    changes = [one for one in events if one["kind"] in {"rows", "register", "remove"}]
    verdict.acknowledged = len(changes)
    for change in changes:
        _check_acknowledged(history, operations, change)
    _check_order(history, changes)
    answers = [one for one in events if one["kind"] == "answer"]
    _check_never_older(history, changes, answers)
    _check_absent(history, changes, answers)
    _check_answers(history, operations, answers, verdict)
    return verdict


def _check_log(history: History, operations: Sequence[Operation]) -> None:
    """Every batch was sent by somebody, as it is, and is there once; arrival times never decrease."""
    stored: set[tuple[str, str, int]] = set()
    latest_us = 0
    schemas = {
        StreamId(operation.seq): operation.content.schema
        for operation in operations
        if isinstance(operation.content, Declare)
    }
    for operation in operations:
        if operation.arrival_us < latest_us:
            history.violation(f"operation {operation.seq} arrived before the one before it")
        latest_us = operation.arrival_us
        content = operation.content
        if not isinstance(content, Rows) or content.txn is None:
            continue
        key = (content.name, content.txn.app, content.txn.version)
        rows = decoded(schemas[content.stream_id], content.body)
        sent = history.batches.get(key)
        if sent is None or (sent.rows, sent.digest) != (
            content.rows,
            digest(rows, names(content.name)),
        ):
            history.violation(f"operation {operation.seq} holds {key} otherwise than it was sent")
        if key in stored:
            history.violation(f"operation {operation.seq} holds {key} once more")
        stored.add(key)


def _check_acknowledged(
    history: History, operations: Sequence[Operation], change: dict[str, Any]
) -> None:
    """What was acknowledged is at its place in the log."""
    if change["kind"] == "remove" and change["seq"] is None:  # told that it is gone already
        found = [
            one
            for one in operations
            if isinstance(one.content, Remove) and one.content.query_id == change["query"]
        ]
        if len(found) != 1:
            history.violation(f"{len(found)} removals in the log for {change}")
        return
    if not 0 < change["seq"] <= len(operations):
        history.violation(f"acknowledged and not in a log of {len(operations)}: {change}")
        return
    content = operations[change["seq"] - 1].content
    match content:
        case Rows(name=name, txn=txn) if txn is not None:
            there = (name, txn.app, txn.version)
            same = there == tuple(change.get(key) for key in ("stream", "app", "version"))
        case Register(query_id=query_id, name=name):
            same = (query_id, name) == (change.get("query"), change.get("name"))
        case Remove(query_id=query_id):
            same = (query_id, "remove") == (change.get("query"), change["kind"])
        case _:
            same = False
    if not same:
        history.violation(f"at its seq is {content!r} instead of what was acknowledged: {change}")


def _check_order(history: History, changes: Sequence[dict[str, Any]]) -> None:
    """What was acknowledged before another thing was first sent has the smaller seq."""
    placed = [one for one in changes if one["seq"] is not None]
    begun = sorted(placed, key=lambda one: float(one["begun_s"]))
    done = sorted(placed, key=lambda one: float(one["done_s"]))
    latest, at = 0, 0
    for one in begun:
        while at < len(done) and done[at]["done_s"] < one["begun_s"]:
            latest = max(latest, done[at]["seq"])
            at += 1
        if one["seq"] <= latest:
            history.violation(f"sent after operation {latest} was acknowledged: {one}")


def _check_never_older(
    history: History, changes: Sequence[dict[str, Any]], answers: Sequence[dict[str, Any]]
) -> None:
    """An answer is not older than what was applied, or answered, before it was asked for."""
    told = [one for one in changes if one["status"] in {200, 201, 204} and one["seq"] is not None]
    shown = [(one["done_s"], one["seq"]) for one in told]
    full = [one for one in answers if one["status"] == 200 and not one["offset"]]
    shown += [(one["done_s"], one["body"]["seq"]) for one in full]
    shown.sort()
    latest, at = 0, 0
    for one in sorted(full, key=lambda one: float(one["sent_s"])):
        while at < len(shown) and shown[at][0] < one["sent_s"]:
            latest = max(latest, shown[at][1])
            at += 1
        least = max(latest, one["given"].get("min_seq") or 0)
        if one["body"]["seq"] < least:
            history.violation(f"from {one['body']['seq']}, after {least} was shown: {_short(one)}")


def _check_absent(
    history: History, changes: Sequence[dict[str, Any]], answers: Sequence[dict[str, Any]]
) -> None:
    """A query is there from its acknowledgement until its removal is sent, and never after that is told."""
    there = {one["query"]: one["done_s"] for one in changes if one["kind"] == "register"}
    leaving = {one["query"]: one for one in changes if one["kind"] == "remove"}
    for one in answers:
        removal = leaving.get(one["query"])
        begins_s = there.get(one["query"], float("inf"))
        if one["status"] == 404 and one["sent_s"] > begins_s:
            if removal is None or one["done_s"] < removal["begun_s"]:
                history.violation(f"404 for a query that stands: {one}")
        elif (
            one["status"] == 200
            and removal is not None
            and removal["status"] == 204
            and not one["offset"]
            and one["sent_s"] > removal["done_s"]
        ):
            history.violation(f"answered after its removal was told: {_short(one)}")


def _check_answers(
    history: History,
    operations: Sequence[Operation],
    answers: Sequence[dict[str, Any]],
    verdict: Verdict,
) -> None:
    """Each answer is that of its query at its seq and its instant, row for row."""
    at: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for one in answers:
        if one["status"] == 200:
            at[one["body"]["seq"]].append(one)
    twin = Twin()
    for seq in sorted(at):
        for operation in operations[twin.seq : seq]:
            twin.apply(operation)
        if twin.seq != seq:
            history.violation(
                f"answers from {seq}, the log ends at {twin.seq}: {_short(at[seq][0])}"
            )
            continue
        for one in at[seq]:
            wrong = "; ".join(_differences(twin, one))
            if wrong:
                history.violation(f"{wrong}: {_short(one)}")
            verdict.answers += 1
            verdict.rows += len(one["body"].get("rows") or ())
    verdict.twice = twin.twice


def _differences(twin: Twin, one: dict[str, Any]) -> Iterator[str]:
    """Yield in what an answer differs from the twin's."""
    body, given = one["body"], one["given"]
    query_id = QueryId(one["query"])
    if query_id not in twin.queries:
        yield "answers a query that does not stand there"
        return
    told_us = None if body["now"] is None else _micros(body["now"])
    query = twin.queries[query_id]
    if twin.streams[query.streams[0]].schema.time is None and given.get("now") is None:
        earliest_us = max(one["sent_us"] - CLOCK_US, twin.arrival_us)
        if not one["offset"] and not earliest_us <= (told_us or 0) <= one["done_us"] + CLOCK_US:
            yield f"NOW is not between {earliest_us} and {one['done_us']}"
    pinned_us = told_us if one["offset"] else given.get("now")
    try:
        expected = twin.answer(query_id, server_now_us=told_us or 0, at_us=pinned_us)
    except OutOfRangeError as error:
        yield f"answered, and {error}"
        return
    until = one["offset"] + (given.get("limit") or len(expected.rows))
    shown: Sequence[ShownRow] = expected.rows[one["offset"] : until]
    if given.get("held"):  # a client holds rows in no order
        shown, body["rows"] = in_one_order(query.bound.shape, shown, body["rows"])
    rows = _written(twin, query.bound.shape, shown, one)
    wanted = {
        "query": one["query"],
        "now": _text(expected.now_us),
        "window": {"begin": _text(expected.begin_us), "end": _text(expected.end_us)},
        "count": len(expected.rows),
        "complete_from": _text(expected.complete_from_us),
    }
    if given.get("count") is None:
        wanted["rows"] = rows
        if (body["next"] is None) != (until >= len(expected.rows)):
            yield f"next is {body['next']!r} after {until} of {len(expected.rows)} rows"
    for name, value in wanted.items():
        if body.get(name) != value:
            yield f"{name} is {_short(body.get(name))}, not {_short(value)}"


def _written(
    twin: Twin,
    shape: Shape,
    rows: Sequence[ShownRow],
    one: dict[str, Any],
) -> list[dict[str, Any]]:
    """Return rows as answers show them; those of DISTINCT with the ids that `one` shows, where they may be theirs."""
    names_of = [output.name for output in shape.outputs]
    times = [output.type is ColumnType.TIMESTAMP for output in shape.outputs]
    shown_ids = iter([str(row.get("_id", "")) for row in one["body"].get("rows") or ()])
    written = []
    for ids, leaves_us, values in rows:
        row_id = ids
        if shape.distinct:
            row_id = twin.row_ids.expected(values, next(shown_ids, ""))
        cells = [
            _text(v) if at and v is not None else v for v, at in zip(values, times, strict=True)
        ]
        shown = dict(zip(names_of, cells, strict=True))
        written.append({"_id": row_id, "_x": _text(leaves_us), **shown})
    return written


def _micros(text: str) -> int:
    since = dt.datetime.fromisoformat(text) - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return since // dt.timedelta(microseconds=1)


def _text(us: Value | None) -> str | None:
    """Return an instant as psoup writes it."""
    if us is None:
        return None
    since = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=int(us))
    return since.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _distinct(rows: Sequence[ShownRow]) -> list[Any]:
    """Return one row for equal ones: where the earliest stands, leaving when the last one does."""
    kept: dict[tuple[Value | None, ...], list[Any]] = {}
    for ids, leaves_us, values in rows:
        first = kept.setdefault(values, [ids, leaves_us, values])
        if first[1] is not None and leaves_us is not None:
            first[1] = max(first[1], leaves_us)
    return [tuple(one) for one in kept.values()]


def _short(what: object) -> str:
    text = repr(what)
    return text if len(text) < 600 else f"{text[:300]} ... {text[-300:]}"
