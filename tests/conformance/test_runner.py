"""The kit itself: its files are what its generator makes, it passes a service that keeps the contract, and no other."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from conformance import run
from conformance.generate import FOLDER, files
from conformance.model import Query, Service, Shown, Stand
from conformance.service import Service as Caller
from conformance.windows import EVER, Bound, Window
from tests.conformance.kept_worlds import OF_EACH_SHAPE, OVER_ROWS, WORLDS
from tests.conformance.reference_server import Json, Reference, Token, reference_server
from tests.house import tree


def test_files_are_those_of_the_generator():
    """`worlds/` holds nothing that was changed by hand, and nothing old."""
    assert files() == {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}


def test_kit_needs_the_standard_library_alone():
    """It runs where there is a Python and nothing else: no psoup either."""
    imported = {
        name.partition(".")[0]
        for path in tree.python_files("conformance")
        for name, _ in tree.imported_modules(tree.syntax_tree(path))
    }
    assert set() == imported - sys.stdlib_module_names - {"conformance"}


def test_client_is_sixty_lines_that_import_nothing_of_the_project():
    """The whole rule fits a page."""
    path = tree.ROOT / "conformance" / "client.py"
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 60
    imported = {name.partition(".")[0] for name, _ in tree.imported_modules(tree.syntax_tree(path))}
    assert imported <= sys.stdlib_module_names


@pytest.mark.parametrize(
    "names",
    [{path.stem for path in OF_EACH_SHAPE}, pytest.param(None, marks=pytest.mark.slow)],
    ids=["each-shape", "all"],
)
def test_worlds_pass_a_service_that_keeps_the_contract(names):
    """Nothing differs in one of each shape, nor in any of them."""
    worlds = [world for world in OVER_ROWS if names is None or world["world"] in names]
    assert worlds
    assert [] == failures_of(Reference(), worlds)


@pytest.mark.parametrize("way", ["removed", "reset"])
@pytest.mark.parametrize("part", [2, pytest.param(1, marks=pytest.mark.slow)])
def test_worlds_pass_a_service_that_tells_of_drops_in_another_way(way, part):
    """Each way to tell of rows that retention has dropped is right: where it drops any, the only place to tell it."""

    class Honest(Reference):
        tells_of_drops = way

    kept = [world for world in OVER_ROWS if "-keeps-" in world["world"]][::part]
    assert {"rows", "time"} == {world["world"].split("-")[-2] for world in kept}
    assert kept
    assert [] == failures_of(Honest(), kept)


class OnlyByPosition(Reference):
    """`m > S0` alone: rows that the clock lets in are forgotten."""

    def fresh(self, service, query, since, at):
        rows = super().fresh(service, query, since, at)
        new = {m.values for m in query.matches(service.streams) if m.entered > since.position}
        return [row for row in rows if row.values in new]


class OnlyByTime(Reference):
    """A cursor that is an instant: late rows are forgotten."""

    def fresh(self, service, query, since, at):
        rows = super().fresh(service, query, since, at)
        new = {m.values for m in query.matches(service.streams) if m.enters > since.now}
        return [row for row in rows if row.values in new]


class SaysNothingOfDrops(Reference):
    """What retention drops stays with the client."""

    tells_of_drops = "nothing"


class OpenBegin(Reference):
    """A moving BEGIN that does not belong to the window."""

    def shown(self, service: Service, query: Query, at: Stand) -> list[Shown]:
        shown = super().shown(service, query, at)
        rows = [row if row.leaves == EVER else Shown(row.values, row.leaves - 1) for row in shown]
        return [row for row in rows if row.leaves > at.now]


class TagOfTheLastMatch(Reference):
    """What the clock changes, no cache is told of."""

    def tag(self, service: Service, query: Query, at: Stand) -> str:
        return super().tag(service, query, at).partition(".")[0]


class TagOfNothing(Reference):
    """A tag that is new for each answer: no cache is ever right."""

    asked = 0

    def tag(self, service: Service, query: Query, at: Stand) -> str:
        self.asked += 1
        return str(self.asked)


class UnpinnedPages(Reference):
    """Each page is of the moment it is asked for."""

    def stand_of_page(self, service: Service, query: Query, pinned: Stand) -> Stand:
        return Stand(service.position, service.now(query) or 0)


class TakesAnyCursor(Reference):
    """A cursor of another query is taken for its own."""

    def is_ours(self, query_id: str, token: Token, at: Stand) -> bool:
        return True


class GoesOnWithAnotherQuery(Reference):
    """A cursor of what the query was is gone on from."""

    def is_ours(self, query_id: str, token: Token, at: Stand) -> bool:
        return bool(token[0] == query_id and token[2] <= at.position and token[3] <= at.now)


class KeepsWhatWasRemoved(Reference):
    """A query that was removed is answered."""

    def remove(self, query_id: str) -> Json:
        return {}


class SendsAll(Reference):
    """Every delta holds all rows: right for the client, and not what a delta is for."""

    def fresh(self, service, query, since, at):
        return self.shown(service, query, at)


class NewCursors(Reference):
    """A cursor is another one each time."""

    def new_cursor(self, token: Token | None, cursor: Token) -> Token:
        return cursor


class OldCursors(Reference):
    """A cursor is kept for ever."""

    def new_cursor(self, token: Token | None, cursor: Token) -> Token:
        return token or cursor


class RemovesWhatTimeTakes(Reference):
    """Rows that leave by the clock are told of, byte by byte."""

    def _delta(self, service, query, since, at):
        rows, more = super()._delta(service, query, since, at)
        before = {row.values for row in self.shown(service, query, since)}
        gone = before - {row.values for row in self.shown(service, query, at)}
        ids = [self.row_id(service, query, Shown(values, 0)) for values in sorted(gone)]
        return rows, {**more, "removed": [*more.get("removed", []), *ids]}


class NamesRowsByPlace(Reference):
    """A row's `_id` is its place in the answer."""

    def row_id(self, service: Service, query: Query, row: Shown) -> str:
        at = Stand(service.position, service.now(query) or 0)
        places = [one.values for one in service.visible(query, at)]
        return str(places.index(row.values)) if row.values in places else "gone"


def edits(edit: Callable[[Json, bool], Json]) -> type[Reference]:
    """Return a service that changes each envelope."""

    class Edited(Reference):
        def edited(self, envelope: Json, *, is_first: bool) -> Json:
            return {**envelope, **edit(envelope, is_first)}

    return Edited


MUTANTS: dict[str, type[Reference]] = {
    "only by position": OnlyByPosition,
    "only by time": OnlyByTime,
    "says nothing of drops": SaysNothingOfDrops,
    "open BEGIN": OpenBegin,
    "tag of the last match": TagOfTheLastMatch,
    "tag of nothing": TagOfNothing,
    "unpinned pages": UnpinnedPages,
    "takes any cursor": TakesAnyCursor,
    "goes on with another query": GoesOnWithAnotherQuery,
    "keeps what was removed": KeepsWhatWasRemoved,
    "sends all": SendsAll,
    "new cursors": NewCursors,
    "old cursors": OldCursors,
    "removes what time takes": RemovesWhatTimeTakes,
    "names rows by place": NamesRowsByPlace,
    "reset on every page": edits(lambda given, first: {"reset": given["reset"] or not first}),
    "cursor on every page": edits(lambda given, first: {"cursor": given["cursor"] or "early"}),
    "count of the page": edits(lambda given, first: {"count": len(given["rows"])}),
    "always a reset": edits(lambda given, first: {"reset": True}),
    "never a reset": edits(lambda given, first: {"reset": False}),
    "another order": edits(lambda given, first: {"rows": given["rows"][::-1]}),
    "no seq of its own": edits(lambda given, first: {"seq": 1}),
    "a timer for rows alone": edits(lambda given, first: {"changes_at": given["now"]}),
    "complete too early": edits(lambda given, first: {"complete": True}),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_worlds_find_what_breaks_the_contract(mutant):
    """Whatever breaks it, some file tells, at one of its steps."""
    found = failures_of(MUTANTS[mutant](), OVER_ROWS, first=True)
    assert found
    assert found[0].step > 0, "told by a comparison, not by an answer that is none"


def test_runner_as_a_command_prints_what_differs_and_ends_with_one():
    """A table with world and step, a diff of expected and given, and the count; 0 where nothing differs."""
    paths = [str(FOLDER / "select-sliding-1.json"), str(FOLDER / "join-ranges-1.json")]
    command = [sys.executable, "conformance/run.py", "--worlds", *paths, "--url"]
    with reference_server(Reference()) as url:
        right = subprocess.run(
            [*command, url], cwd=tree.ROOT, capture_output=True, text=True, check=False
        )
    with reference_server(OpenBegin()) as url:
        wrong = subprocess.run(
            [*command, url], cwd=tree.ROOT, capture_output=True, text=True, check=False
        )
    nowhere = subprocess.run(
        [*command, url], cwd=tree.ROOT, capture_output=True, text=True, check=False
    )
    assert (0, "") == (right.returncode, right.stderr)
    assert right.stdout.startswith("2 of 2 worlds as expected")
    assert (1, "") == (wrong.returncode, wrong.stderr)
    assert "select-sliding-1" in wrong.stdout
    assert "\n--- expected\n+++ given\n" in wrong.stdout
    assert "0 of 2 worlds as expected" in wrong.stdout
    assert 2 == nowhere.returncode
    assert nowhere.stderr.startswith("after 0 worlds: ")


def test_window_with_both_ends_inclusive_is_what_the_model_shows():
    """The definition itself, at the edges: BEGIN <= time <= END."""
    window = Window(Bound(True, 20), Bound(True, 5))
    assert (105, 121) == window.shown(100)
    assert None is Window(Bound(False, 101), Bound(True, 0)).shown(100)
    assert (100, 1 << 62) == Window(Bound(False, 100), Bound(False, 100)).shown(100)


def test_drawn_worlds_are_other_than_those_of_the_files():
    """`--drawn` plays what no file has, and the same for the same seed."""
    drawn, again = (list(run.drawn_worlds(3, 5)) for _ in range(2))
    assert drawn == again
    assert not {world["world"] for world in drawn} & {world["world"] for world in WORLDS}


def failures_of(reference: Reference, worlds: list[Json], *, first: bool = False) -> list[Any]:
    """Return what differs between worlds and a service: all of it, or the first that is found."""
    found: list[Any] = []
    with reference_server(reference) as url, Caller(url) as service:
        for world in worlds:
            found += run.played(service, world)
            if found and first:
                break
    return found
