"""What `changes` asks and says, by a script of answers: pages, ids of rows that stay, answers too large to follow."""

from collections.abc import Sequence
from typing import Any, TypeVar

import orjson
import pytest

from psoup.agents.arguments import TOKENS_MIN, ChangesArguments
from psoup.agents.fitting import fit
from psoup.agents.following import FOLLOWED_ROWS_MAX, changes
from psoup.client.connections.messages import Answer, Operation, Request
from psoup.client.errors import DefinitionError

T = TypeVar("T")
HANDLE = "q_7HcT0u9XbK2mPq4sVw1zRd"


def told(operation: Operation[T], *envelopes: dict[str, Any]) -> tuple[T, Sequence[Request]]:
    """Return what an operation makes of these answers, and the requests that it made."""
    requests = [next(operation)]
    for envelope in envelopes:
        answer = Answer(
            status=200,
            url="http://psoup",
            headers={"content-type": "application/json"},
            content=orjson.dumps(envelope),
        )
        try:
            requests.append(operation.send(answer))
        except StopIteration as ended:
            return ended.value, requests
    raise AssertionError("it asks for more")


def envelope(**members: Any) -> dict[str, Any]:
    return {
        "query": HANDLE,
        "gen": 1,
        "seq": 7,
        "now": None,
        "window": {"begin": None, "end": None},
        "reset": False,
        "columns": ["_id", "_x", "n"],
        "rows": [],
        "removed": [],
        "keep": None,
        "count": 0,
        "complete_from": None,
        "changes_at": None,
        "complete": False,
        "cursor": None,
        "next": None,
        "poll_after_ms": 5_000,
        **members,
    }


def test_pages_of_an_answer_are_one_answer():
    """The first says what goes, the last has the cursor; the rows are those of all."""
    first = envelope(reset=True, rows=[["1", None, 5]], removed=["9"], next="/v1/more", count=2)
    last = envelope(rows=[["2", None, 6]], cursor="after", count=2)
    arguments = ChangesArguments(query=HANDLE, cursor="before", wait=5)
    found, (asked, more) = told(changes(arguments), first, last)
    assert (f"/v1/queries/{HANDLE}/results", "/v1/more") == (asked.path, more.path)
    assert {"cursor": "before", "wait": "5", "shape": "columns", "limit": 10_000} == asked.params
    assert asked.silence_s is not None
    assert asked.silence_s > 5
    answer = found.answer
    assert ("after", True, ["9"]) == (answer["cursor"], answer["reset"], answer["removed"])
    assert [["1", None, 5], ["2", None, 6]] == answer["rows"]


def test_first_look_does_not_wait():
    """There is always something to be told."""
    _, (asked,) = told(changes(ChangesArguments(query=HANDLE, wait=5)), envelope())
    assert asked.params is not None
    assert ("", False) == (asked.params["cursor"], "wait" in asked.params)


def test_ids_of_rows_that_stay_are_told_whole_or_not_at_all():
    """No part of them, and not an empty list, which would say that all other rows have gone."""
    ids = [str(n) for n in range(2_000)]
    arguments = ChangesArguments(query=HANDLE, cursor="before")
    found, _ = told(changes(arguments), envelope(keep=ids, cursor="after", count=2_000))
    assert ids == fit(found.answer, found.parts, 20_000)["keep"]
    small = fit(found.answer, found.parts, TOKENS_MIN)
    assert "keep" not in small
    assert {"keep": 2_000} == small["left_out"]
    assert "Forget the rows you hold" in small["notes"][0]
    nothing, _ = told(changes(arguments), envelope(keep=[], cursor="after"))
    assert [] == nothing.answer["keep"]


def test_an_answer_too_large_to_follow_is_refused():
    """Before its pages are read, with what to do instead."""
    count = FOLLOWED_ROWS_MAX + 1
    with pytest.raises(DefinitionError, match="counts or groups"):
        told(changes(ChangesArguments(query=HANDLE)), envelope(count=count, next="/v1/more"))
