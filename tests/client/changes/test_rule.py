"""The client's rule: worlds of the conformance kit, what they cannot show, and mutants that both find."""

import copy
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance import by_the_clock, playing, run
from conformance.client import Mirror
from psoup.client.changes import rule
from tests.app.serving import served
from tests.app.support import SETTINGS

NOW, LATER = "2026-01-01T00:00:10.000000Z", "2026-01-01T00:00:20.000000Z"


def answer(ids="", **members):
    """Return an envelope with rows that never leave."""
    rows = [{"_id": one, "_x": None} for one in ids.split()]
    envelope = {"gen": 1, "seq": 1, "now": NOW, "reset": False, "rows": rows, "removed": []}
    envelope |= {"keep": None, "count": len(rows), "changes_at": None, "complete": False}
    return {**envelope, "window": {}, "cursor": "c1", "next": None, **members}


FIRST = (answer("a b", reset=True), None)
LEAVES = [{"_id": "c", "_x": LATER}]
CASES: dict[str, tuple[list[tuple[dict[str, Any], str | None]], str, str | None]] = {
    "a first load": ([FIRST], "a b", "c1"),
    "a late answer is ignored": (
        [
            FIRST,
            (answer("d", seq=3, count=3, cursor="c3"), "c1"),
            (answer("e", seq=2, count=3, cursor="c2"), "c1"),
        ],
        "a b d",
        "c3",
    ),
    "a reset that was asked for with a cursor that has come back since, and is late": (
        [
            FIRST,
            (answer(seq=3, count=2), "c1"),
            (answer("c", seq=2, reset=True, cursor="c2"), "c1"),
        ],
        "a b",
        "c1",
    ),
    "a late reset that answers another request is ignored": (
        [(answer(reset=True, seq=5, cursor="c5"), None), (answer("a", reset=True), "c0")],
        "",
        "c5",
    ),
    "a service that was restored from a copy": (
        [(answer(reset=True, seq=5, cursor="c5"), None), (answer("a", reset=True), "c5")],
        "a",
        "c1",
    ),
    "a reset": ([FIRST, (answer("c", seq=2, reset=True, cursor="c2"), "c1")], "c", "c2"),
    "removed by name": (
        [FIRST, (answer(seq=2, removed=["a"], count=1, cursor="c2"), "c1")],
        "b",
        "c2",
    ),
    "kept by name": (
        [FIRST, (answer("c", seq=2, keep=["b"], count=2, cursor="c2"), "c1")],
        "b c",
        "c2",
    ),
    "removed, and there": (
        [FIRST, (answer("a", seq=2, removed=["a"], count=2, cursor="c2"), "c1")],
        "a b",
        "c2",
    ),
    "time takes a row, at its very instant": (
        [
            (answer(reset=True, rows=LEAVES, count=1), None),
            (answer(seq=2, now=LATER, cursor="c2"), "c1"),
        ],
        "",
        "c2",
    ),
    "a row that comes too late": ([(answer(reset=True, now=LATER, rows=LEAVES), None)], "", "c1"),
    "rows that do not add up": (
        [FIRST, (answer("c", seq=2, count=9, cursor="c2"), "c1")],
        "a b c",
        None,
    ),
    "a page of a change keeps the cursor": (
        [FIRST, (answer("c", seq=2, count=9, cursor=None, next="/p"), "c1")],
        "a b c",
        "c1",
    ),
    "a page of a reset has none": (
        [FIRST, (answer("c", seq=2, reset=True, count=9, cursor=None, next="/p"), "c1")],
        "c",
        None,
    ),
}


def wrong(module, case):
    """Return what a rule does wrong in a case; None: nothing."""
    given, ids, cursor = case
    held = module.Held()
    for envelope, asked in given:
        held.apply(copy.deepcopy(envelope), asked, local_us=0)
    told = " ".join(sorted(held.rows)), held.cursor
    return None if told == (ids, cursor) else told


@pytest.mark.parametrize("name", CASES)
def test_rule_in_cases_that_no_world_has(name):
    """Rows and cursor are what docs/coming_back.md says."""
    assert wrong(rule, CASES[name]) is None


# --- Worlds ----------------------------------------------------------------------------------------


@dataclass
class Move:
    """One answer that a client of the kit has applied: what it held before beside its rows, and what afterwards."""

    answer: dict[str, Any]
    asked: str | None
    cursor: str | None
    position: tuple[int, int, str] | None
    rows: dict[str, dict[str, Any]]
    cursor_after: str | None


class Recorder:
    """What the kit asks of a client, by psoup's rule; its moves are written down."""

    clients: "list[list[Move]]" = []  # noqa: RUF012 (one list for the module's fixture)

    def __init__(self, _address):
        self._held = rule.Held()
        self._moves: list[Move] = []
        self.clients.append(self._moves)

    @property
    def rows(self):
        return self._held.rows

    @property
    def cursor(self):
        return self._held.cursor

    @cursor.setter
    def cursor(self, cursor):
        self._held.cursor = cursor

    @property
    def position(self):
        return self._held.at

    @position.setter
    def position(self, position):
        self._held.at = position

    def apply(self, envelope, asked):
        held = self._held
        before = held.cursor, held.at
        change = held.apply(copy.deepcopy(envelope), asked, local_us=0)
        self._moves.append(Move(envelope, asked, *before, dict(held.rows), held.cursor))
        return change is None or envelope["next"] is not None or held.cursor is not None


@pytest.fixture(scope="module")
def clients():
    """Play every world of the kit with clients that have this rule, and return their moves; nothing differs."""
    Recorder.clients.clear()
    with served(SETTINGS) as (host, port), pytest.MonkeyPatch.context() as patch:
        patch.setattr(playing, "Mirror", Recorder)
        patch.setattr(by_the_clock, "Mirror", Recorder)
        assert 0 == run.main(["--url", f"http://{host}:{port}"])
    return list(Recorder.clients)


def test_kit_finds_nothing_wrong_with_the_client(clients):
    """Its runner has ended well, with clients of this rule, in all worlds; the kit's own client would hold the same."""
    assert sum(map(len, clients)) > 1_000
    for moves in clients:
        mirror = Mirror("")
        for move in moves:
            mirror.cursor, mirror.position = move.cursor, move.position
            mirror.apply(copy.deepcopy(move.answer), move.asked)
            assert (mirror.rows, mirror.cursor) == (move.rows, move.cursor_after)


def fault(module, clients):
    """Return the first move after which a rule holds something else than it has to; None: there is none."""
    for moves in clients:
        held = module.Held()
        for move in moves:
            held.cursor, held.at = move.cursor, move.position
            held.apply(copy.deepcopy(move.answer), move.asked, local_us=0)
            if (held.rows, held.cursor) != (move.rows, move.cursor_after):
                return move
    return None


def test_changes_tell_what_the_rows_have_become(clients):
    """Whoever holds rows and makes the changes, page by page or gathered, has the same rows."""
    for moves in clients:
        held, gathered = rule.Held(), rule.Gathered()
        page_by_page: dict[str, Any] = {}
        at_last: dict[str, Any] = {}
        for move in moves:
            held.cursor, held.at = move.cursor, move.position
            change = held.apply(copy.deepcopy(move.answer), move.asked, local_us=0)
            if change is None:
                continue
            make(change, page_by_page)
            assert held.rows == page_by_page
            gathered.add(change)
            if change.cursor is not None:
                whole = gathered.whole()
                assert whole is not None
                make(whole, at_last)
                assert held.rows == at_last
                gathered = rule.Gathered()


def make(change, rows):
    """Make a change; what it names as there is there, and what as new is new."""
    if change.reset:
        rows.clear()
    gone = [row["_id"] for row in (*change.removed, *change.expired)]
    entered = {row["_id"]: row for row in change.entered}
    changed = {row["_id"]: row for row in change.changed}
    assert entered.keys().isdisjoint(rows)
    assert set(gone) | changed.keys() <= rows.keys()
    for name in gone:
        del rows[name]
    rows.update(entered | changed)


MUTANTS = {
    "late answers are applied": ("if is_late and not went_back", "if False"),
    "a service never goes back": ('answer["reset"] and asked == self.cursor', "False"),
    "any reset may go back": ('answer["reset"] and asked == self.cursor', 'answer["reset"]'),
    "whatever resets late goes back": ("(given is None or at < given)", "True"),
    "a reset adds rows": (
        "self.rows, self.cursor, self.given = {}, None, at",
        "self.cursor, self.given = None, at",
    ),
    "a reset keeps its cursor": (
        "self.rows, self.cursor, self.given = {}, None, at",
        "self.rows, self.given = {}, at",
    ),
    "keep is forgotten": ("gone |= self.rows.keys() - set(keep)", "pass"),
    "removed is forgotten": ('set(answer.get("removed") or ())', "set()"),
    "rows never leave": ('row["_x"] is not None and row["_x"] <= now', "False"),
    "rows leave a microsecond late": ('row["_x"] <= now', 'row["_x"] < now'),
    "expired rows stay": ("if now < self._least:", "if True:"),
    "the first to leave is forgotten": (
        'min([self._least, *(row["_x"] or _NEVER',
        'max([self._least, *(row["_x"] or _NEVER',
    ),
    "the count is not compared": (
        'answer["cursor"] if len(self.rows) == answer["count"] else None',
        'answer["cursor"]',
    ),
    "a page ends the cursor": (
        'if answer["next"] is None:\n            cursor',
        "if True:\n            cursor",
    ),
    "rows are not put": ("self.rows |= fresh", "pass"),
    "the position stays": ("self.at = at\n", "pass\n"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_of_the_rule_is_found(name, clients):
    """A case or a world finds each."""
    text, by = MUTANTS[name]
    source = Path(rule.__file__).read_text(encoding="utf-8")
    assert 1 == source.count(text), "the rule has the text once"
    mutant = types.ModuleType("mutant_of_the_rule")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, mutant.__name__, mutant)
        exec(compile(source.replace(text, by), name, "exec"), vars(mutant))
    in_cases = [one for one, case in CASES.items() if wrong(mutant, case) is not None]
    assert in_cases or fault(mutant, clients) is not None


def test_change_names_a_row_that_was_sent_again_with_other_values():
    """It is neither new nor gone, whatever else the answer says of it; one with the same values is no change."""
    held = rule.Held()
    held.apply(answer("a b", reset=True), None, local_us=0)
    again = [{"_id": "a", "_x": LATER}, {"_id": "b", "_x": None}]
    told = answer(seq=2, rows=again, removed=["a"], keep=["b"], count=2, cursor="c2")
    change = held.apply(told, "c1", local_us=0)
    assert change is not None
    assert (again[:1], [], [], []) == (
        change.changed,
        change.entered,
        change.removed,
        change.expired,
    )
    assert not held.apply(answer(seq=3, count=2, cursor="c3"), "c2", local_us=0)


# --- Instants --------------------------------------------------------------------------------------


def test_rows_leave_by_the_local_clock_where_the_clock_moves_now():
    """The distance of the clocks was measured, so a wrong one does no harm; the rows are hidden, not dropped."""
    held = rule.Held()
    ahead_us = 3_600_000_000
    local_us = rule.microseconds(NOW) + ahead_us
    held.apply(answer(reset=True, rows=LEAVES, count=1, changes_at=LATER), None, local_us=local_us)
    assert 1 == len(held.shown(local_us + 9_999_999))
    assert [] == held.shown(local_us + 10_000_000)
    assert 1 == len(held.rows)


def test_rows_stay_where_rows_alone_move_now():
    """Without a further answer nothing leaves."""
    held = rule.Held()
    held.apply(answer(reset=True, rows=LEAVES, count=1), None, local_us=0)
    assert 1 == len(held.shown(1 << 60))


@pytest.mark.parametrize("us", [0, 1, 1_767_225_610_000_000, -1, 2**53])
def test_instants_are_written_and_read_to_the_microsecond(us):
    """Whatever is written is read as the same."""
    assert us == rule.microseconds(rule.instant_text(us))


def test_typed_rows_have_instants_where_the_columns_do():
    """`_x` too; NULL stays None."""
    typing = rule.Typing([{"name": "ts", "type": "timestamp"}, {"name": "n", "type": "int64"}])
    (row,) = typing.rows([{"_id": "1", "_x": None, "ts": NOW, "n": 1}])
    assert (None, 10, 1) == (row["_x"], row["ts"].second, row["n"])
