"""The harness measures what it says, and the benchmarks still run: at smoke size, without numbers."""

import functools

import pytest

from benchmarks import __main__ as command_line, bench, report
from benchmarks.bench import Contender, Contest, Size


def contest(*answers):
    """Return a contest whose contenders give `answers`."""
    contenders = [
        Contender(f"way {number}", list, functools.partial(_first, answer), str.encode)
        for number, answer in enumerate(answers)
    ]
    return Contest("a test", "things", 10, contenders)


def test_measure_of_equal_answers_gives_every_contender_its_rounds():
    """Each contender has as many timings as rounds, and all share the hash of the answer."""
    results = bench.measure(contest("x", "x"), rounds=6)
    assert [6, 6] == [len(result.seconds) for result in results]
    assert 1 == len({result.digest for result in results})
    assert all(0 < result.best_s <= result.median_s for result in results)


def test_measure_of_differing_answers_fails():
    """A contender that computes something else cannot take part."""
    with pytest.raises(AssertionError, match="a test: answers differ"):
        bench.measure(contest("x", "y"))


def test_measure_of_too_few_rounds_is_refused():
    """A median wants five rounds."""
    with pytest.raises(ValueError, match="4 rounds"):
        bench.measure(contest("x"), rounds=4)


def test_main_of_an_unknown_name_says_which_there_are():
    """A wrong name is answered with the right ones."""
    with pytest.raises(SystemExit, match="no benchmark is called nothing"):
        command_line.main(["nothing"])


def test_report_of_results_writes_text_and_plot(tmp_path):
    """The text names machine, commit and command; the plot is a picture."""
    pytest.importorskip("matplotlib")
    results = bench.measure(contest("x", "x"))
    text = report.as_text(results, command="a command")
    report.write(tmp_path, "some", text, results)
    assert ["some.png", "some.txt"] == sorted(path.name for path in tmp_path.iterdir())
    assert {"machine", "python", "commit", "command"} <= {
        line[:9].strip() for line in text.splitlines()
    }
    assert b"\x89PNG" == (tmp_path / "some.png").read_bytes()[:4]


def test_benchmarks_at_smoke_size_agree_on_every_answer(capsys):
    """Every benchmark runs through, ours and its peers giving one answer."""
    command_line.main(["--size", Size.SMOKE])
    assert "answer" in capsys.readouterr().out


def _first(answer, _state):
    return answer
