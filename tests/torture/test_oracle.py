"""The oracle of the torture runs finds what it is there for: true histories, each spoiled in one way."""

import asyncio
import copy
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from psoup.engine.log.operation import Operation, Rows
from psoup.engine.tuples.batch import Seq
from tests.torture.deployment import Shape
from tests.torture.history import History, Sent
from tests.torture.oracle import Verdict, judge
from tests.torture.row_ids import RowIds
from tests.torture.run import Plan, Report, torture

Events = list[dict[str, Any]]
Spoil = Callable[[Events, list[Operation], History], object]

CALM = Plan(
    name="calm",
    shape=Shape(engines=0, workers=0),
    pace_s=0.1,
    rows_max=100,
    phones=4,
    readers=1,
)
"""Some hundred answers: the twin makes each of them once for each way to spoil the history."""

LONGEST_S = 16
ENOUGH = {"rows": 20, "answer": 60, "held": 10, "remove": 2}
"""Of each as many events as there have to be, that each way to spoil a history finds what it spoils."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A few seconds of a service that nobody breaks, and their history; more where a busy machine has done little."""
    seconds = 2
    while True:
        folder = tmp_path_factory.mktemp("calm")
        report = asyncio.run(torture(CALM, folder, seed=3, seconds=seconds))
        assert [] == report.violations
        seconds *= 2
        if seconds > LONGEST_S or all(report.counts[kind] >= n for kind, n in ENOUGH.items()):
            return report


def first(events: Events, kind: str, **what: object) -> dict[str, Any]:
    """Return the first such event, of answers one with rows."""
    return next(
        one
        for one in events
        if one["kind"] == kind
        and all(one[name] == value for name, value in what.items())
        and (kind != "answer" or has_rows(one))
    )


def has_rows(answer: dict[str, Any]) -> bool:
    """Return whether rows were answered: of a removed query there are none, and a count has none."""
    return answer["status"] == 200 and bool(answer["body"].get("rows"))


def answers(events: Events) -> Events:
    return [one for one in events if one["kind"] == "answer" and has_rows(one)]


def lose_the_end(events: Events, operations: list[Operation], _: History) -> None:
    latest = max(one["seq"] for one in events if one["kind"] == "rows")
    del operations[latest - 1 :]


def acknowledge_another(events: Events, *_: object) -> None:
    first(events, "rows")["version"] += 1


def forget_a_batch(_: Events, operations: list[Operation], history: History) -> None:
    content = next(one.content for one in operations if isinstance(one.content, Rows))
    assert content.txn is not None
    del history.batches[content.name, content.txn.app, content.txn.version]


def change_a_batch(_: Events, __: object, history: History) -> None:
    key, sent = next(iter(history.batches.items()))
    history.batches[key] = Sent(sent.rows, "0" * 64)


def store_twice(_: Events, operations: list[Operation], __: History) -> None:
    batch = next(one for one in operations if isinstance(one.content, Rows))
    last = operations[-1]
    again = dataclasses.replace(batch, seq=Seq(last.seq + 1), arrival_us=last.arrival_us)
    operations.append(again)


def swap_two(events: Events, operations: list[Operation], _: History) -> None:
    batches = [one for one in events if one["kind"] == "rows"]
    early, late = batches[0]["seq"], batches[-1]["seq"]
    one, other = operations[early - 1], operations[late - 1]
    operations[early - 1] = dataclasses.replace(other, seq=early, arrival_us=one.arrival_us)
    operations[late - 1] = dataclasses.replace(one, seq=late, arrival_us=other.arrival_us)
    batches[0]["seq"], batches[-1]["seq"] = late, early


def lose_a_row(events: Events, *_: object) -> None:
    answers(events)[-1]["body"]["rows"].pop()


def lose_a_held_row(events: Events, *_: object) -> None:
    held = [one for one in answers(events) if one["given"].get("held")]
    held[-1]["body"]["rows"].pop()


def add_a_row(events: Events, *_: object) -> None:
    rows = answers(events)[-1]["body"]["rows"]
    rows.append({**rows[-1], "_id": "1"})


def change_a_cell(events: Events, *_: object) -> None:
    answers(events)[-1]["body"]["rows"][0]["_x"] = "2001-01-01T00:00:00.000000Z"


def miscount(events: Events, *_: object) -> None:
    answers(events)[-1]["body"]["count"] += 1


def answer_for_another(events: Events, *_: object) -> None:
    found = answers(events)
    other = next(one for one in found if one["query"] != found[0]["query"])
    other["body"] = copy.deepcopy(found[0]["body"])


def answer_from_before(events: Events, *_: object) -> None:
    found = [one for one in answers(events) if not one["offset"]]
    later = next(one for one in reversed(found) if one["body"]["seq"] > found[0]["body"]["seq"])
    later["given"]["min_seq"] = later["body"]["seq"] + 1


def go_back(events: Events, *_: object) -> None:
    found = [one for one in answers(events) if not one["offset"]]
    found[0]["body"] = copy.deepcopy(found[-1]["body"])


def deny_a_query(events: Events, *_: object) -> None:
    standing = {one["query"] for one in events if one["kind"] == "register"}
    standing -= {one["query"] for one in events if one["kind"] == "remove"}
    found = next(one for one in answers(events) if one["query"] in standing)
    found.update(status=404, body=None)


def answer_a_removed_one(events: Events, *_: object) -> None:
    removal = first(events, "remove", status=204)
    found = copy.deepcopy(answers(events)[-1])
    found.update(query=removal["query"], sent_s=removal["done_s"] + 1, offset=0)
    events.append(found)


def nothing(*_: object) -> None:
    """Leave it true."""


@pytest.mark.service
def test_oracle_true_history_passes(told: Report, tmp_path: Path) -> None:
    """Read back and judged once more, a true history is still true."""
    assert judged(told, tmp_path / "true", nothing) == []


@pytest.mark.service
@pytest.mark.parametrize(
    "spoil",
    [
        lose_the_end,
        acknowledge_another,
        forget_a_batch,
        change_a_batch,
        store_twice,
        swap_two,
        lose_a_row,
        lose_a_held_row,
        add_a_row,
        change_a_cell,
        miscount,
        answer_for_another,
        answer_from_before,
        go_back,
        deny_a_query,
        answer_a_removed_one,
    ],
)
def test_oracle_spoiled_history_is_found(told: Report, tmp_path: Path, spoil: Spoil) -> None:
    """A history that psoup may not have is found, whatever is wrong with it."""
    assert judged(told, tmp_path / "false", spoil)


def judged(told: Report, path: Path, spoil: Spoil) -> list[str]:
    """Return what the oracle says of the history once it is spoiled."""
    true = History(told.folder / "again.jsonl")
    true.path = told.folder / "history.jsonl"
    events, operations = list(true.events()), list(told.operations)
    true.close()
    history = History(path)
    history.batches = dict(told.batches)
    spoil(events, operations, history)
    for event in events:
        history.write(event)
    verdict = judge(history, operations)
    history.close()
    assert isinstance(verdict, Verdict)
    return history.violations


def test_rows_of_distinct_have_one_id_for_equal_values():
    """Neither another id for the same values nor one id for two, nor what is no digest."""
    ids, one, other = RowIds(), "0" * 24, "1" * 24
    assert one == ids.expected((1, None), one) == ids.expected((1, None), other)
    assert one != ids.expected((2, None), one)
    assert one != ids.expected((1.0, None), one)
    assert "17" != ids.expected((3,), "17")
