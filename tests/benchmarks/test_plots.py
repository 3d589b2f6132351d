"""What is read back from the texts of measurements, and the pictures that are drawn of it."""

import pytest

from benchmarks import (
    __main__ as command_line,
    bench_append,
    bench_front,
    goals,
    plots,
    report,
    summary,
    texts,
)
from benchmarks.bench import Figure, Findings, Result
from benchmarks.goals import Goal, Kind

TITLE = "ingest 300 integers past {:,} interval queries"
QUERIES = (1, 10, 1_000, 100_000)


def result(title, contender, seconds, *, key="k"):
    """Return what a contender took for three things."""
    return Result(key, title, "tuples", contender, 3, (3 * seconds,), (seconds,), "0" * 16)


def findings():
    """Return contests of a series, of a peer that does less, and of one beside PostgreSQL."""
    found = Findings()
    for number in QUERIES:
        title = TITLE.format(number)
        for name, seconds in (
            ("psoup, partial", 2e-6),
            ("DuckDB, range join", 4e-6 * number),
            ("DuckDB, a bit string of queries per value", 3e-6),
        ):
            found.results.append(result(title, name, seconds, key=title))
    for title, contenders in {
        "a chunk past 10 keys": {
            "psoup, 100 queries, kept": 9e-6,
            "psoup, a bare join": 1e-6,
            "DuckDB, a bare join, kept": 5e-6,
        },
        "an equality each, 1 worker": {
            "psoup api, 1 worker": 1e-3,
            "PostgreSQL, prepared": 5e-4,
            "the API layer alone": 1e-4,
        },
        "rows by one df.write": {"psoup, Arrow sink": 1e-6, "Spark, no-op sink": 1e-7},
    }.items():
        found.results += [result(title, name, s, key=title) for name, s in contenders.items()]
    return found


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with the texts of a measurement and of the goals."""
    measured = findings()
    measured.absent.append(f"{TITLE.format(10**6)}: DuckDB, range join is left out, 3 s a chunk")
    report.write(tmp_path, "some", report.as_text(measured, command="a command", load_before=0.5))
    only = [
        result("rows of a window", "psoup, auto", 1e-6, key="rows"),
        result("rows of a window", "SQLite, indexed", 2_058e-6, key="rows"),
    ]
    known = Findings(results=[*measured.results, *only])
    again = TITLE.format(10)
    monkeypatch.setattr(
        goals,
        "GOALS",
        (
            Goal("1", "x", Kind.RATIO, again, 2, "DuckDB, range join"),
            Goal("2", "x", Kind.RATIO, "rows", 50, "SQLite, indexed"),
            Goal("3", "x", Kind.TIME, "rows", 1.0),
        ),
    )
    text = report.goals_text(goals.outcomes(known), command="a command", load_before=0.5)
    report.write(tmp_path, texts.GOALS, text)
    return tmp_path


def test_contenders_are_read_as_they_were_written():
    """Titles, names, medians and ratios of every contest, whatever their unit of time."""
    measured = findings()
    read = list(texts.rows_of(report.as_text(measured, command="a command", load_before=0.5)))
    assert [(one.title, one.contender) for one in measured.results] == [
        (row.contest, row.contender) for row in read
    ]
    for one, row in zip(measured.results, read, strict=True):
        assert one.median_s == pytest.approx(row.median_s, rel=1e-2)


@pytest.mark.parametrize("seconds", [2.5e-9, 1e-7, 3.21e-5, 0.0456, 1.0, 789.0])
def test_durations_are_read_as_they_were_written(seconds):
    """To three digits."""
    assert seconds == pytest.approx(texts.seconds_of(texts.duration(seconds)), rel=5e-3)


def test_ratios_are_those_to_the_strongest_form_of_each_peer(folder):
    """A contest counts by its own text, else by the table of goals; who does less is left out, or beside its like."""
    found = {(one.peer, one.contest): one.times for one in texts.ratios(folder)}
    expected = {("DuckDB", TITLE.format(number)): 1.5 for number in QUERIES}
    expected |= {
        ("DuckDB", "a chunk past 10 keys"): 5.0,
        ("PostgreSQL", "an equality each, 1 worker"): 0.5,
        ("SQLite", "rows of a window"): 2_058.0,
    }
    assert expected == pytest.approx(found)


def test_titles_that_differ_in_numbers_are_one_series():
    """Under a name that says from where to where; others stay alone."""
    titles = ["windows of 4,096 by 2, a", "windows of 128 by 2, a", "windows of 128 by 2, b"]
    assert {
        "windows of 128 to 4,096 by 2, a": titles[:2],
        "windows of 128 by 2, b": titles[2:],
    } == texts.series_of(titles)


def test_curves_are_of_contests_that_differ_in_their_queries(folder):
    """Each contender has a point for each number; contests of one number alone are no curve."""
    ((title, curve),) = plots.curves(texts.measured(folder)).items()
    assert "ingest 300 integers past N interval queries" == title
    assert 3 == len(curve)
    numbers, seconds = zip(*curve["DuckDB, range join"], strict=True)
    assert QUERIES == numbers
    assert pytest.approx([4e-6 * number for number in QUERIES]) == list(seconds)


def test_curves_of_windows_are_by_the_rows_between_two_answers(tmp_path):
    """Drawn by themselves: the number of queries is another one."""
    pytest.importorskip("matplotlib")
    title = "count of a sliding window of 10, asked every {:,} rows"
    found = Findings()
    for every in (1, 16, 256, 4_096):
        for name in ("psoup: merged", "kernel, DABA Lite"):
            found.results.append(result(title.format(every), name, 1e-6 / every, key=str(every)))
    report.write(tmp_path, "some", report.as_text(found, command="a command", load_before=0.5))
    shown = {path.stem: path.read_text() for path in plots.draw_all(tmp_path)}
    assert {"ratios", "sliding"} == set(shown)
    assert "count of a sliding window of 10, asked every N rows" in shown["sliding"]
    assert "kernel, DABA Lite" in shown["sliding"]


def test_pictures_show_the_ratios_the_curves_and_the_invocations(folder):
    """Drawn from texts alone, by the command as well; the words of the texts are in them."""
    pytest.importorskip("matplotlib")
    command_line.main(["plots", "--out", str(folder)])
    shown = {path.stem: path.read_text() for path in folder.glob("*.svg")}
    assert {"ratios", "queries", "processes"} == set(shown)
    assert "ingest 300 integers past 1 to 100,000 interval queries" in shown["ratios"]
    assert "2,058" in shown["ratios"]
    assert "DuckDB, range join" in shown["queries"]
    assert "ends: 3 s a chunk" in shown["queries"]
    assert "PostgreSQL, prepared, 0.50" in shown["processes"]


def test_page_counts_the_ratios_of_each_peer_and_names_those_below_one(folder):
    """It is written beside the texts, is no measurement itself, and says the same when it is made again."""
    page = summary.page(folder)
    report.write(folder, texts.SUMMARY, page)
    assert page == summary.page(folder)
    assert "7 contests, 7 ratios: psoup is as fast or faster in 6, slower in 1." in page
    (duckdb,) = [line.split() for line in page.splitlines() if line.startswith("DuckDB ")]
    assert ["DuckDB", "5", "5", "1.5x", "1.5x", "5x"] == duckdb
    (slower,) = page.partition("Where psoup is slower:\n")[2].splitlines()
    assert "0.5x  PostgreSQL  an equality each, 1 worker" == slower.strip()


def test_page_says_where_psoup_is_slower_nowhere(tmp_path):
    """In words, so that an empty list is no doubt."""
    found = Findings()
    found.results += [result("a", "psoup, auto", 1e-6), result("a", "SQLite, indexed", 2e-6)]
    report.write(tmp_path, "some", report.as_text(found, command="a command", load_before=0.5))
    assert summary.page(tmp_path).endswith("psoup is slower nowhere.")


def test_folder_without_texts_has_no_pictures_and_no_page(tmp_path):
    """Nothing is drawn of nothing."""
    assert [] == plots.draw_all(tmp_path)
    assert not summary.page(tmp_path)


def test_costs_of_requests_are_read_and_drawn(tmp_path):
    """By kind of service and request, as they were written; what else is told of them is left out."""
    pytest.importorskip("matplotlib")
    costs = {
        "psoup serve": {"10 rows": 4.25, "a row posted": 1_230.0},
        "psoup api": {"10 rows": 7.0},
    }
    found = Findings()
    for group, known in costs.items():
        for request, times in known.items():
            found.figures += [
                Figure("k", f"CPU of an answer: {request}", 90.0, "us", group),
                Figure("k", f"{bench_front.TIMES} {request}", times, "x", group),
            ]
    text = report.as_text(found, command="a command", load_before=0.5)
    assert {group: list(known.items()) for group, known in costs.items()} == texts.costs_of(text)
    report.write(tmp_path, "front", text)
    (drawn,) = plots.draw_all(tmp_path)
    assert "a row posted" in drawn.read_text()


def test_rates_of_crowds_are_read_and_drawn(tmp_path):
    """By store and number of connections, as they were written, whatever their size."""
    pytest.importorskip("matplotlib")
    rates = {"one row a request, a": {1: 99.5, 64: 12_300.0}, "one row a request, b": {1: 2e6}}
    found = Findings()
    for group, known in rates.items():
        for connections, rate in known.items():
            title = f"{bench_append.RATE} {connections}"
            found.figures.append(Figure(f"{group}-{connections}", title, rate, "/s", group))
        found.figures.append(Figure(f"{group}-p99", "of these 99 %", 7.0, "ms", group))
    text = report.as_text(found, command="a command", load_before=0.5)
    assert {group: list(known.items()) for group, known in rates.items()} == texts.rates_of(text)
    report.write(tmp_path, "append", text)
    (drawn,) = plots.draw_all(tmp_path)
    assert "one row a request, b" in drawn.read_text()


def test_committed_pictures_have_committed_texts():
    """Every ratio that is shown has been measured: the texts in results/ are read, the bad rows among them."""
    found = texts.ratios(command_line.RESULTS)
    assert {"DuckDB", "Polars", "PostgreSQL"} <= {one.peer for one in found}
    assert min(found, key=lambda one: one.times).times < 1
