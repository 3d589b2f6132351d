"""`psoup follow`: what enters an answer and what leaves it, by lines and on a terminal."""

import io
import json
import re
import sys
import threading
from functools import partial

import httpx2
import pytest
from rich.console import Console, ConsoleDimensions
from rich.text import Text

from psoup.app.cli.actions import query as asking
from psoup.app.cli.actions.beside import beside
from psoup.app.cli.actions.following import LiveAnswer, Pace, looks
from psoup.app.cli.actions.watched_rows import WatchedRows
from psoup.app.cli.terminal.answer_screen import AnswerScreen
from psoup.app.cli.terminal.row_changes import NEW_S, RECENT_S, RowChanges, RowMark
from psoup.client.calls import PsoupClient, RetryPolicy
from psoup.client.errors import ServiceProblem, ServiceUnreachableError
from tests.patience import WAIT_S, wait_until
from tests.terminals import terminal

COLUMNS = [{"name": "ts", "type": "timestamp"}, {"name": "n", "type": "int64"}]
SLIDING = "SELECT n FROM s BEGIN (NOW - INTERVAL '10' SECOND) END (NOW)"


def soon(times=None):
    return Pace(every_s=1, times=times, sleep=lambda _: None)


def row(second: int) -> dict[str, object]:
    return {"ts": f"2026-01-05T10:00:{second:02}Z", "n": second}


@pytest.fixture
def stream(psoup):
    with psoup.service() as service:
        service.declare("s", {"columns": COLUMNS, "time": "ts"})
        yield service


def send(service, *seconds):
    body = json.dumps([row(second) for second in seconds]).encode()
    service.append("s", body, content_type="application/json")


def changes(look):
    return [row["n"] for row in look.entered], [row["n"] for row in look.left]


@pytest.mark.parametrize("most", [None, 3, 500])
def test_looks_at_a_moving_window_say_what_entered_and_left(stream, most):
    """However many rows are held, each look tells of the rows that came and went since the last."""
    rows = WatchedRows(stream, stream.register(SLIDING)["id"], most=most)
    send(stream, 1, 2)
    assert ([1, 2], []) == changes(rows.look())
    assert ([], []) == changes(rows.look())
    send(stream, 12)
    assert ([12], [1]) == changes(rows.look())
    send(stream, 5, 40)
    assert ([40], [2, 12]) == changes(rows.look())
    assert [40] == [row["n"] for row in rows.rows.values()]


def test_looks_at_groups_say_which_have_other_values(stream):
    """A group that was there before has changed; a new one has entered."""
    sql = "SELECT n % 2 AS odd, COUNT(*) AS rows FROM s GROUP BY n % 2"
    rows = WatchedRows(stream, stream.register(sql)["id"], most=None)
    send(stream, 1, 3)
    assert [2] == [group["rows"] for group in rows.look().entered]
    send(stream, 5, 6)
    look = rows.look()
    assert ([(1, 3)], [(0, 1)], []) == (
        [(group["odd"], group["rows"]) for group in look.changed],
        [(group["odd"], group["rows"]) for group in look.entered],
        look.left,
    )


def test_looks_at_more_rows_than_are_held_keep_the_newest(stream):
    """The rows held are the last that entered, and no look tells of those that were let go."""
    rows = WatchedRows(stream, stream.register("SELECT n FROM s")["id"], most=2)
    send(stream, 1, 2, 3)
    assert ([2, 3], []) == changes(rows.look())
    send(stream, 4)
    assert ([4], []) == changes(rows.look())
    assert [3, 4] == [row["n"] for row in rows.rows.values()]


def test_looks_at_rows_that_retention_drops_say_that_they_left(psoup):
    """However the service tells of them, they are not held any more."""
    with psoup.service() as service:
        service.declare("s", {"columns": COLUMNS, "time": "ts", "retention": {"rows": 2}})
        rows = WatchedRows(service, service.register("SELECT n FROM s")["id"], most=None)
        send(service, 1, 2)
        rows.look()
        send(service, 3)
        assert ([3], [1]) == changes(rows.look())


def answers_by(*replies):
    """Return a client whose requests meet these replies, and then the last one for ever."""
    left = list(replies)

    def handle(_request):
        reply = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(reply, Exception):
            raise reply
        return reply

    transport = httpx2.MockTransport(handle)
    return PsoupClient("http://x", transport=transport, retry=RetryPolicy(budget_s=0))


def envelope(*numbers, **members):
    rows = [{"_id": str(one), "_x": None, "n": one} for one in numbers]
    whole = {"reset": True, "rows": rows, "count": len(rows), "gen": 1, "seq": 1, "now": "2026"}
    whole |= {"window": {}, "changes_at": None, "complete": False}
    return httpx2.Response(200, json={**whole, "next": None, "cursor": "c", **members})


def test_looks_over_a_service_that_goes_away_go_on():
    """No answer and a refusal that may pass are told, and asked again; the cursor is still good then."""
    gone = httpx2.ConnectError("gone")
    later = httpx2.Response(503, json={"code": "recovering", "retryable": True})
    delta = envelope(2, reset=False, count=2)
    with answers_by(envelope(1), gone, later, delta) as service:
        rows = WatchedRows(service, "q_1", most=None)
        told: list[str] = []
        seen = [changes(look) for look in looks(rows.look, soon(2), told.append)]
    assert [([1], []), ([2], [])] == seen
    assert 2 == len(told)


def test_look_waits_until_something_changes(stream):
    """By one request, which the row that comes answers; nobody has to ask again meanwhile."""
    rows = WatchedRows(stream, stream.register(SLIDING)["id"], most=None)
    send(stream, 1)
    rows.look()
    seen = []
    with PsoupClient(str(stream.url)) as other:
        waiting = threading.Thread(target=lambda: seen.append(changes(rows.look(wait_s=60))))
        waiting.start()
        send(other, 12)
        waiting.join(WAIT_S)
    assert [([12], [1])] == seen


def test_looks_that_wait_ask_at_once_where_something_was_new():
    """Where it let nobody wait they ask when it says, where it was away a second later."""
    asked: list[dict[str, str]] = []
    slept: list[float] = []
    told: list[str] = []
    time_s = [0.0]

    def handle(request):
        asked.append(
            {
                name: request.url.params[name]
                for name in ("wait", "on")
                if name in request.url.params
            }
        )
        reply = replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        time_s[0] += 25.0 if len(replies) == 1 else 0.0
        return reply

    nothing = {"reset": False, "count": 1, "poll_after_ms": 5_000}
    replies = [
        envelope(1),
        envelope(**nothing),
        httpx2.ConnectError("gone"),
        envelope(**nothing),
        envelope(2, reset=False, count=2, cursor="d"),
    ]
    pace = Pace(times=4, sleep=slept.append, clock=lambda: time_s[0])
    transport = httpx2.MockTransport(handle)
    with PsoupClient("http://x", transport=transport, retry=RetryPolicy(budget_s=0)) as service:
        rows = WatchedRows(service, "q_1", most=None)
        seen = [changes(look) for look in looks(rows.look, pace, told.append)]
    assert [([1], []), ([], []), ([], []), ([2], [])] == seen
    assert [{}, *[{"wait": "25", "on": "any"}] * 4] == asked
    assert [5.0, 1.0] == slept
    assert 1 == len(told)


def test_screen_waits_for_changes_and_fits_its_size_meanwhile():
    """By one request for each change, whatever the terminal does while nothing has changed."""
    asked: list[str | None] = []
    changed = threading.Event()

    def handle(request):
        asked.append(request.url.params.get("wait"))
        if len(asked) == 1:
            return envelope(*range(9))
        assert changed.wait(WAIT_S)
        return envelope(9, reset=False, count=10, cursor="d")

    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=60, height=12)
    transport = httpx2.MockTransport(handle)
    with PsoupClient("http://x", transport=transport) as service:
        rows = WatchedRows(service, "q_1", most=None)
        answer = LiveAnswer(console, [{"name": "n", "type": "int64"}], lambda _: Text("as of"))
        showing = threading.Thread(target=answer.run, args=(rows, Pace(times=2)))
        showing.start()
        wait_until(lambda: len(asked) == 2, "it waits for a change")
        assert "above" not in out.getvalue()
        console.size = ConsoleDimensions(60, 6)
        wait_until(lambda: "6 rows above" in out.getvalue(), "it is drawn for the smaller window")
        assert [None, "25"] == asked
        changed.set()
        showing.join(WAIT_S)
    assert "7 rows above" in out.getvalue()
    assert [None, "25"] == asked


def test_call_beside_something_else_is_returned_or_raised():
    """What it raises is raised where it is waited for, a TimeoutError of its own among it."""
    done = threading.Event()
    meant: list[int] = []

    def meanwhile():
        meant.append(1)
        done.set()

    assert beside(lambda: done.wait(WAIT_S), meanwhile, every_s=0.001)
    assert meant
    for error in (ValueError, TimeoutError):

        def fail(error=error):
            raise error("as asked")

        with pytest.raises(error, match="as asked"):
            beside(fail, lambda: None, every_s=0.001)


@pytest.mark.parametrize(
    ("replies", "error"),
    [
        ([httpx2.ConnectError("gone")], ServiceUnreachableError),
        ([envelope(1), httpx2.Response(404, json={"code": "not-found"})], ServiceProblem),
    ],
)
def test_looks_end_where_there_never_was_a_service_and_where_the_query_was_removed(replies, error):
    """What asking again cannot mend is an error."""
    with answers_by(*replies) as service:
        rows = WatchedRows(service, "q_1", most=None)
        with pytest.raises(error):
            list(looks(rows.look, soon(), lambda _: None))


def test_looks_whose_count_differs_read_the_answer_anew():
    """A delta that does not fit what is held is not believed."""
    delta = envelope(3, reset=False, count=7)
    with answers_by(envelope(1), delta, envelope(1, 2, 3)) as service:
        rows = WatchedRows(service, "q_1", most=None)
        rows.look()
        assert ([2, 3], []) == changes(rows.look())


def test_looks_ignore_an_answer_of_a_worker_that_is_behind():
    """Its rows and its cursor: the next look asks from where the one before was."""
    late = envelope(seq=1, reset=False, count=0, cursor="b")
    with answers_by(envelope(1, seq=2), late, envelope(2, seq=3, reset=False, count=2)) as service:
        rows = WatchedRows(service, "q_1", most=None)
        seen = [rows.look() for _ in range(3)]
    assert [([1], []), ([], []), ([2], [])] == [changes(look) for look in seen]
    assert "c" == seen[1].envelope["cursor"]


def test_changes_age_and_go():
    """A row that entered is marked with its age for a minute, one that left is still there for three seconds."""
    seen = RowChanges()
    rows = {key: {"_id": key} for key in "abc"}
    seen.note({key: rows[key] for key in "ab"}, [], [], 0.0)
    seen.note({key: rows[key] for key in "bc"}, [rows["c"]], [rows["a"]], 10.0)
    shown = {row["_id"]: mark for row, mark in seen.shown(11.0)}
    assert {"a": "-1s", "b": "", "c": "+1s"} == {key: mark.text for key, mark in shown.items()}
    assert shown["a"].has_left
    assert "green" in shown["c"].style
    seen.note({key: rows[key] for key in "bc"}, [], [], 10.0 + NEW_S)
    assert ["b", "c"] == [row["_id"] for row, _ in seen.shown(10.0 + NEW_S)]
    seen.note({key: rows[key] for key in "bc"}, [], [], 10.0 + RECENT_S)
    assert ["", ""] == [mark.text for _, mark in seen.shown(10.0 + RECENT_S)]


def test_follow_in_a_pipe_writes_a_line_for_each_change(psoup, stream):
    """Lines for people by default, NDJSON where it is asked for; `--new` leaves out what is there."""
    query = stream.register(SLIDING)["id"]
    send(stream, 1, 2)
    once = ("--times", 1)
    text = psoup("follow", query, *once).stdout
    assert "+ 2026-01-05 10:00:02  n=1\n+ 2026-01-05 10:00:02  n=2\n" == text
    assert "" == psoup("follow", query, "--new", *once).stdout
    first, _ = psoup("follow", query, "--format", "ndjson", *once).stdout.splitlines()
    line = json.loads(first)
    assert ("entered", {"n": 1}) == (line["change"], line["row"])
    assert ("2026-01-05T10:00:02.000000Z", "2026-01-05T10:00:11.000001Z") == (
        line["now"],
        line["_x"],
    )


def test_watching_on_a_dumb_terminal_marks_what_enters_and_what_leaves(stream, monkeypatch):
    """It can neither draw nor colour: tables follow each other, and signs stand beside rows."""
    described = stream.register(SLIDING)
    send(stream, 1, 2)
    written = io.StringIO()
    screen = Console(file=written, force_terminal=True, _environ={"TERM": "dumb"})
    assert screen.is_dumb_terminal
    monkeypatch.setattr(asking, "standard_output", lambda: screen)
    monkeypatch.setattr(asking, "Pace", partial(Pace, sleep=lambda _: send(stream, 12)))
    asking.show(stream, described, asking.View(watch=True, times=2))
    rows = re.findall(r"^([-+~]?) *([0-9]+) *$", written.getvalue(), re.MULTILINE)
    assert [("", "1"), ("", "2"), ("-", "1"), ("", "2"), ("+", "12")] == rows


def test_changes_are_seen_on_a_screen_without_colours():
    """`NO_COLOR`: the age of what has entered has a plus before it, of what has left a minus."""
    written = io.StringIO()
    screen = Console(
        file=written, force_terminal=True, width=40, height=9, _environ={"NO_COLOR": "1"}
    )
    marks = [RowMark(), *(mark for _, mark in aged({"1": "left", "2": "entered"}))]
    rows = [{"n": number} for number in range(3)]
    screen.print(AnswerScreen(COLUMNS[1:], rows, count=2, caption=Text(""), marks=marks))
    drawn = written.getvalue()
    assert not re.search(r"\x1b\[[0-9;]*[34][0-9]", drawn), "no colour"
    plain = re.sub(r"\x1b\[[0-9;]*m", "", drawn)
    assert ["n", "0", "-1s", "1", "+1s", "2"] == plain.split()


def aged(changes):
    """Return rows by what has become of each a second ago, with their marks."""
    rows = {key: {"_id": key} for key in changes}
    seen = RowChanges()
    seen.note(rows, (), (), 0.0)
    left = [row for key, row in rows.items() if changes[key] == "left"]
    entered = [row for key, row in rows.items() if changes[key] == "entered"]
    kept = {key: row for key, row in rows.items() if row not in left}
    seen.note(kept, entered, left, 1.0)
    return seen.shown(2.0)


def test_follow_of_no_query_is_refused(psoup):
    """A handle that names nothing ends it with 1, a name with 2."""
    assert "not-found" in psoup("follow", "q_0000000000000000000000", code=1).stderr
    assert "is not a handle" in psoup("follow", "alarm", code=2).stderr


@pytest.mark.service
def test_follow_on_a_terminal_marks_what_enters_and_what_leaves(psoup, stream):
    """The row that came is last, with its age; the one that has left goes after a moment."""
    query = stream.register(SLIDING)["id"]
    send(stream, 1, 2)
    command = [sys.executable, "-P", "-m", "psoup", "follow", query]
    with terminal([*command, "--url", psoup.url], width=60, height=12) as followed:
        followed.wait_for(lambda screen: "2 rows" in screen.text, "the rows are shown")
        send(stream, 12)
        followed.wait_for(lambda screen: "+0s  12" in screen.text, "the row that came is marked")
        assert "-0s   1" in followed.screen.text
        followed.wait_for(lambda screen: "-" not in screen.shown[1][:1], "the other one goes")
        followed.type(b"\x03")
        assert 0 == followed.end()
        assert "12" in followed.screen.text
