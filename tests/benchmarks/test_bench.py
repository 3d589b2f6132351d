"""The harness measures what it says, and the benchmarks still run: at smoke size, without numbers."""

import dataclasses
import functools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks import (
    __main__ as command_line,
    bench,
    bench_append,
    bench_console,
    bench_front,
    bench_http,
    bench_pubsub,
    bench_routing,
    bench_start,
    goals,
    process,
    report,
    texts,
    ways,
    workloads,
)
from benchmarks.bench import Contender, Contest, Figure, Findings, Result, Size, Survey
from benchmarks.goals import Goal, Kind
from benchmarks.node import BareNode, Node
from psoup.engine.query.bind.binder import bind
from psoup.engine.tuples.schema import StreamId


def contest(*answers, needs=""):
    """Return a contest whose contenders give `answers`."""
    contenders = [
        Contender(f"way {number}", list, functools.partial(_first, answer), str.encode, needs=needs)
        for number, answer in enumerate(answers)
    ]
    return Contest("test", "a test", "things", 10, contenders)


def result(contender, *seconds, key="test", count=1):
    """Return what a contender took."""
    return Result(key, "a test", "things", contender, count, seconds, seconds, "0" * 16)


def test_measure_of_equal_answers_gives_every_contender_its_rounds():
    """Each contender has as many timings as rounds, and all share the hash of the answer."""
    results = bench.measure(contest("x", "x"), rounds=6)
    assert [6, 6] == [len(one.seconds) for one in results]
    assert 1 == len({one.digest for one in results})
    assert all(0 < one.best_s <= one.median_s for one in results)
    assert [6, 6] == [len(one.cpu_seconds) for one in results]


def test_measure_of_differing_answers_fails():
    """A contender that computes something else cannot take part."""
    with pytest.raises(AssertionError, match="a test: answers differ"):
        bench.measure(contest("x", "y"))


def test_measure_without_a_package_leaves_its_contender_out_and_says_so():
    """A peer that is not installed is named, and the others are measured."""
    alone = contest("x", needs="no_such_package")
    mixed = dataclasses.replace(alone, contenders=[*contest("x").contenders, *alone.contenders])
    assert ["way 0"] == [one.contender for one in bench.measure(mixed, rounds=1)]
    assert ["a test: way 0 is left out, no_such_package is not installed"] == bench.absences(mixed)


def test_measure_of_a_contender_that_takes_no_part_at_this_size_says_why():
    """It is neither made nor run, and read back from the text with its reason; a package is another reason."""
    mixed = dataclasses.replace(
        contest("x"), contenders=[*contest("x").contenders, ways.left_out("way 9", "4 GiB")]
    )
    assert ["way 0"] == [one.contender for one in bench.measure(mixed, rounds=1)]
    missing = [f"a: b is left out, {what} is not installed" for what in ("c", "a user for d")]
    findings = Findings(absent=[*bench.absences(mixed), *missing])
    text = report.as_text(findings, command="a command", load_before=0.5)
    assert [("a test", "way 9", "4 GiB")] == list(texts.left_out_of(text))


def test_measure_without_a_program_leaves_its_contender_out_and_says_so():
    """What is no package is named by the contender itself."""
    first, *others = contest("x", "x").contenders
    alone = dataclasses.replace(first, lacking=lambda: "a server")
    mixed = dataclasses.replace(contest("x"), contenders=[alone, *others])
    assert ["way 1"] == [one.contender for one in bench.measure(mixed, rounds=1)]
    assert ["a test: way 0 is left out, a server is not installed"] == bench.absences(mixed)


def test_times_of_paired_rounds_is_the_median_of_their_ratios_per_unit():
    """A round that was slow for both does not count: 2, 4 and 3 times, per unit twice as much."""
    ours, theirs = result("ours", 1.0, 10.0, 2.0), result("theirs", 2.0, 40.0, 6.0)
    assert 3.0 == theirs.times(ours)
    assert 6.0 == theirs.times(dataclasses.replace(ours, count=2))


@pytest.mark.parametrize(
    ("goal", "margin", "line"),
    [
        (Goal("1", "x", Kind.RATIO, "test", 2, "theirs"), 2.0, ">= 2x 4x yes, 2 times theirs;"),
        (Goal("1", "x", Kind.RATIO, "test", 8, "theirs"), 0.5, ">= 8x 4x no, 0.5 of it"),
        (Goal("1", "x", Kind.RATIO, "test", 8, "nobody"), None, "- peer not installed nobody;"),
        (Goal("1", "x", Kind.RATE, "test", 0.5), 2.0, ">= 0.5/s 1/s yes, 2 times"),
        (Goal("1", "x", Kind.TIME, "test", 0.5), 0.5, "<= 500 ms 1 s no, 0.5 of it"),
        (Goal("1", "x", Kind.LEAST, "size", 2), 2.0, ">= 2 4 yes, 2 times a survey: a size"),
        (Goal("1", "x", Kind.MOST, "size", 2), 0.5, "<= 2 4 no, 0.5 of it"),
        (Goal("1", "x", Kind.MOST, "nothing", 2), None, "- not measured x"),
        (Goal("1", "x", Kind.LATER), None, "1 later x"),
    ],
    ids=lambda value: f"{value.kind.name}-{value.bound:g}" if isinstance(value, Goal) else "",
)
def test_outcome_of_a_goal_says_how_far_it_is_reached(monkeypatch, goal, margin, line):
    """Every kind of goal: what is measured beside its bound, and by how much it is reached or missed."""
    monkeypatch.setattr(goals, "GOALS", (goal,))
    findings = Findings(
        results=[result("ours", 1.0), result("theirs", 4.0)],
        figures=[Figure("size", "a size", 4.0, "bytes").of("a survey")],
    )
    (outcome,) = goals.outcomes(findings)
    assert margin == outcome.margin
    text = report.goals_text([outcome], command="a command", load_before=0.5)
    assert line in " ".join(text.split())


def test_table_of_goals_counts_ratios_below_one(monkeypatch):
    """A peer that was faster is counted where no lower ratio is the goal, whatever else is missed."""
    bounds = {"half": 0.5, "whole": 1, "twice": 2}
    ratios = [Goal("R", "x", Kind.RATIO, "test", bound, "theirs") for bound in bounds.values()]
    monkeypatch.setattr(goals, "GOALS", (*ratios, Goal("1", "x", Kind.TIME, "test", 0.1)))
    told = {}
    for theirs_s in (0.4, 0.8, 1.5):
        findings = Findings(results=[result("ours", 1.0), result("theirs", theirs_s)])
        outcomes = goals.outcomes(findings)
        told[theirs_s] = report.goals_text(outcomes, command="a command", load_before=0.5)
    assert "3 ratios are below" in told[0.4]
    assert "2 ratios are below" in told[0.8]
    assert "0 ratios are below" in told[1.5]


def test_goals_name_contests_and_peers_that_exist(monkeypatch):
    """No goal is lost to a typing error: each key and each peer stands in some benchmark at full size."""
    monkeypatch.setattr(process, "machine_bytes", lambda: 1 << 40)
    contests: dict[str, set[str]] = {}
    surveys = []
    for name in command_line.found():
        for one in command_line.benchmark(name, Size.FULL):
            assert goals.wanted(one) == any(
                goal.key == one.key or _is_of(goal, one) for goal in goals.GOALS
            )
            if isinstance(one, Contest):
                contests[one.key] = {contender.name for contender in one.contenders}
            else:
                surveys.append(one.key)
    for goal in goals.GOALS:
        if goal.kind in (Kind.LEAST, Kind.MOST):
            assert any(goal.key.startswith(key) for key in (*surveys, "memory"))
        elif goal.kind is not Kind.LATER and goal.key != "wire-columns":
            assert goal.peer in {"", *contests[goal.key]}


def test_take_of_a_survey_that_fails_says_so_and_goes_on():
    """A service that cannot be measured is named; what else was found stays."""

    def fails():
        message = "the service is not ready"
        raise RuntimeError(message)

    findings = Findings()
    command_line.take(Survey("key", "a survey", fails), findings, rounds=1, seconds=0.0)
    assert ["a survey: the service is not ready"] == findings.absent


def test_main_of_an_unknown_name_says_which_there_are():
    """A wrong name is answered with the right ones."""
    with pytest.raises(SystemExit, match="no benchmark is called nothing"):
        command_line.main(["nothing"])


def test_main_of_too_few_rounds_is_refused():
    """A median wants five rounds."""
    with pytest.raises(SystemExit, match="4 rounds"):
        command_line.main(["--size", "full", "--rounds", "4", "rules"])


def test_report_of_findings_writes_texts(tmp_path):
    """The texts name machine, commit and command, who is absent, and what was surveyed."""
    findings = Findings(
        results=bench.measure(contest("x", "x")),
        figures=[Figure("rate", "a rate", 5e6, "tuples/s").of("a survey")],
        absent=["somebody is left out"],
    )
    report.write(tmp_path, "some", report.as_text(findings, command="a command", load_before=0.5))
    written = (tmp_path / "some.txt").read_text()
    assert {"machine", "python", "commit", "command", "load"} <= {
        line[:9].strip() for line in written.splitlines()
    }
    assert "absent: somebody is left out" in written
    assert "a survey" in written


@pytest.mark.parametrize(
    ("value", "text"), [(2.5e9, "2.5 G"), (1_000_000, "1 M"), (4_096, "4.1 k"), (0.125, "0.125")]
)
def test_quantity_is_read_in_thousands(value, text):
    """Three digits and a letter."""
    assert text == texts.quantity(value)


@pytest.mark.parametrize("domain", workloads.DOMAINS, ids=lambda domain: domain.name)
def test_bound_queries_are_those_that_their_texts_bind_to(domain):
    """The short cut around the parser gives the very queries, so nothing easier is measured."""
    node = Node(domain.stream)
    streams = {domain.stream.name: (StreamId(1), domain.stream)}
    near = workloads.tuples(domain, 20)
    queries = [
        *workloads.interval_queries(domain, 20),
        *workloads.interval_queries(domain, 5, factors=2, width=0.4),
        *workloads.equality_queries(domain, 20, near=near),
        *workloads.inequality_queries(domain, 20),
    ]
    for query in queries:
        for window_s in (None, 99):
            bound = node.bound(query, window_s=window_s)
            assert bind(bound.canonical, streams) == bound


def test_bare_node_answers_as_one_with_a_log_does():
    """What is left out keeps nothing that an answer needs."""
    domain, queries = workloads.INTEGER, workloads.interval_queries(workloads.INTEGER, 20)
    columns = workloads.tuples(domain, 5_000)
    counts = []
    for kind in (Node, BareNode):
        node = kind(domain.stream)
        query_ids = [node.register(query) for query in queries[:10]]
        for batch in node.batches(columns, rows=700):
            node.ingest(batch)
        query_ids += [node.register(query, window_s=99) for query in queries[10:]]
        counts.append(node.counts(query_ids).tolist())
    assert counts[0] == counts[1]
    assert sum(counts[0]) > 0


def test_million_queries_are_left_out_where_memory_is_small(monkeypatch):
    """The contests of the million come on a machine that has room for them, behind those of 100,000."""
    keys = []
    for most in (bench_pubsub.MILLION_BYTES - 1, bench_pubsub.MILLION_BYTES):
        monkeypatch.setattr(process, "machine_bytes", lambda most=most: most)
        keys.append([one.key for one in bench_pubsub.contests(Size.FULL)])
    few, all_of_them = keys
    assert ["pubsub-single", "pubsub-small", "pubsub-large"] == few
    assert [*few, *(key.replace("-", "-million-") for key in few)] == all_of_them


def test_routing_evaluates_what_figure_8_says():
    """In the worst order every factor meets every tuple; in the best, and soon by policy, few do."""
    surveys = [one for one in bench_routing.contests(Size.SMOKE) if isinstance(one, Survey)]
    steady, changing = ({f.key.rpartition("-")[2]: f.value for f in one.run()} for one in surveys)
    assert 5.0 == steady["worst"] == changing["worst"]
    assert 1.16 == pytest.approx(steady["best"], abs=0.05)
    assert steady["best"] < steady["policy"] < 3.0
    assert changing["best"] > steady["best"]


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in command_line.found()
        if name not in ("append", "console", "front", "http", "processes", "spark", "start")
    ],
)
@pytest.mark.usefixtures("forked_services")
def test_benchmark_at_smoke_size_agrees_on_every_answer(name, capsys):
    """Every benchmark runs through, ours and its peers giving one answer, whoever is installed."""
    command_line.main(["--size", Size.SMOKE, name])
    assert "command" in capsys.readouterr().out


@pytest.mark.service
@pytest.mark.usefixtures("forked_services")
def test_http_benchmark_at_smoke_size_measures_the_service():
    """It starts a service, registers, posts, and finds rates; the process is gone afterwards."""
    (survey,) = bench_http.contests(Size.SMOKE)
    found = {figure.key.removeprefix(survey.key): figure.value for figure in survey.run()}
    assert found["-cpu"] > 0
    assert found["-wall"] > 0
    assert np.isfinite(list(found.values())).all()


@pytest.mark.service
@pytest.mark.usefixtures("forked_services")
def test_front_benchmark_at_smoke_size_measures_requests():
    """It asks a service and a bare function in turn, and finds what each kind of request takes of both."""
    (survey,) = bench_front.contests(Size.SMOKE)
    found = {figure.key: figure for figure in survey.run()}
    told = [one for one in found.values() if one.title.startswith(bench_front.TIMES)]
    assert 7 == len(told)
    assert all(0 < one.value < np.inf for one in told)
    assert found["front-memory-bare"].value > 0


@pytest.mark.usefixtures("forked_services")
def test_append_benchmark_at_smoke_size_measures_the_service():
    """It posts rows over one and over several connections, and finds rates; a row that is refused ends it."""
    (survey,) = bench_append.contests(Size.SMOKE)
    found = {figure.key.removeprefix(survey.key): figure.value for figure in survey.run()}
    assert {"-1-rate", "-8-rate", "-8-p99", "-8-cpu", "-ratio"} <= found.keys()
    assert found["-ratio"] == pytest.approx(found["-8-rate"] / found["-1-rate"])
    refused: Any = SimpleNamespace(run=lambda _: SimpleNamespace(unanswered=1), port=1)
    with pytest.raises(RuntimeError, match="1 of 4 batches"):
        bench_append.post(refused, refused, connections=1, count=4)


@pytest.mark.service
def test_start_benchmark_at_smoke_size_measures_a_start():
    """It starts a service twice and finds seconds of the second start, wall and CPU; the process is gone afterwards."""
    (survey,) = bench_start.contests(Size.SMOKE)
    found = {figure.key: figure.value for figure in survey.run()}
    assert 0 < found["start-cpu-least"] <= found["start-cpu"]
    assert 0 < found["start-ready-least"] <= found["start-ready"]


@pytest.mark.service
@pytest.mark.usefixtures("forked_services")
def test_console_benchmark_at_smoke_size_measures_a_first_visit():
    """It paints before one can write, and has not loaded all there is; left out where there is nothing to look at."""
    surveys = {one.key: one for one in bench_console.contests(Size.SMOKE)}
    if "console" not in surveys:
        pytest.skip("needs the console (make console), Chromium and playwright")
    found = {figure.key: figure.value for one in surveys.values() for figure in one.run()}
    assert 0 < found["console-paint"] <= found["console-editor"]
    assert 0 < found["console-bytes-first"] < found["console-bytes-all"]


def _is_of(goal, one):
    return isinstance(one, Survey) and goal.key.startswith(
        "memory" if one.key.startswith("memory") else one.key
    )


def _first(answer, _state):
    return answer
