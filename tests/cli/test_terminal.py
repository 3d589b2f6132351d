"""What people see: problems with their place, progress with and without a terminal, no markup read."""

import itertools
from io import StringIO

import pytest
from rich.console import Console

from psoup.app.cli.terminal import load as terminal_load
from psoup.app.cli.terminal.load import LINE_EVERY_S, looking, progress_of, show_plan
from psoup.app.cli.terminal.output import instant, plain_table, rows_table
from psoup.app.cli.terminal.problems import problem
from psoup.client.errors import ServiceProblem
from psoup.engine.tuples.schema import ColumnSchema, ColumnType
from psoup.pipeline.files.data_file import DataFile
from psoup.pipeline.files.options import ReadOptions
from psoup.pipeline.load.plan import LoadFile, LoadPlan, LoadRequest, SurveyProgress
from psoup.pipeline.load.sources import Source
from psoup.pipeline.load.transfer import LoadProgress


def shown(renderable, *, terminal=False, width=100):
    out = StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, color_system=None)
    console.print(renderable)
    return out.getvalue()


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "[red]a.csv"
    path.write_text("ts,PM2.5,zip\n2024-01-01,1,94103\n2024-01-02,xx,94103-2585\n")
    file = DataFile(path, ReadOptions(time="ts"))
    inferred = file.survey()
    return LoadPlan(
        request=LoadRequest(stream="s"),
        files=(LoadFile(Source(path, str(path)), file, "load-1", "load-2", path.stat()),),
        columns=tuple(ColumnSchema(c.name, c.type, c.name != "ts") for c in inferred),
        time="ts",
        body=None,
        inferred=inferred,
        notes=(),
        existing=None,
        replaces=False,
        copies=(),
    )


def test_problem_of_a_query_shows_excerpt_caret_hint_and_details():
    """Everything the service says about a refusal is on the screen, the caret under its column."""
    body = {
        "code": "unknown-column",
        "detail": "No such column.",
        "position": {"line": 1, "column": 8},
        "excerpt": "SELECT pric FROM t\n       ^^^^",
        "hint": "Did you mean price?",
        "errors": [{"pointer": "/a", "reason": "b"}],
        "diff": [{"member": "time", "declared": None, "given": "ts"}],
        "retryable": False,
    }
    lines = shown(problem(ServiceProblem(422, body))).splitlines()
    assert "refused unknown-column  Line 1, column 8: Did you mean price?" == lines[0].rstrip()
    caret = next(line for line in lines if "^" in line)
    above = lines[lines.index(caret) - 1]
    assert "pric" == above[caret.index("^") : caret.rindex("^") + 1]
    text = "\n".join(lines)
    assert "/a: b" in text
    assert "time: declared None, given ts" in text


def test_problem_of_a_suspended_query_shows_since_when_and_why():
    """What the join ran over is told in the refusal."""
    body = {
        "code": "query-suspended",
        "detail": "Suspended.",
        "since_seq": 17,
        "reason": "too many",
    }
    told = shown(problem(ServiceProblem(409, body))).rstrip()
    assert "refused query-suspended  Suspended. Since operation 17: too many." == told


def test_problem_without_a_body_shows_its_status():
    """An answer of a proxy, say, has no problem body: the status still speaks."""
    assert "Bad Gateway" in shown(problem(ServiceProblem(502, {})))
    assert "may succeed later" in shown(problem(ServiceProblem(503, {})))


def test_problem_of_a_missing_key_says_how_a_command_is_given_one():
    """The service speaks of its header; who types commands has an option and a variable for it."""
    body = {"code": "unauthenticated", "detail": "Send a key.", "retryable": False}
    assert "PSOUP_TOKEN" in shown(problem(ServiceProblem(401, body)))
    assert "PSOUP_TOKEN" not in shown(problem(ServiceProblem(403, body)))


def test_tables_never_read_values_as_markup():
    """Names and values with brackets are printed as they are."""
    columns = [{"name": "[bold]n", "type": "string"}]
    assert "[/red]x" in shown(rows_table(columns, [{"[bold]n": "[/red]x"}]))
    assert "[red]" in shown(plain_table(("a",), [("[red]",)]))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2024-01-01T10:00:00.000000Z", "2024-01-01 10:00:00"),
        ("2024-01-01T10:00:00.250000Z", "2024-01-01 10:00:00.25"),
        (None, "-"),
        ("now", "now"),
    ],
)
def test_instant_for_reading_drops_what_nobody_needs(given, expected):
    """Six decimals and the zone are for programs."""
    assert expected == instant(given)


def test_show_plan_tells_what_became_text_and_what_to_pass(plan):
    """The table names each column's type and why; only words are offered as NULL."""
    out = StringIO()
    console = Console(file=out, width=120)
    show_plan(console, plan)
    text = out.getvalue()
    assert "[red]a.csv -> s" in text
    assert "'xx' in line 3 is not int64" in text
    assert "--null xx reads xx as NULL and keeps the type of PM2.5" in text
    assert "--null 94103" not in text
    assert ColumnType.STRING == plan.columns[2].type


def test_progress_without_a_terminal_is_a_line_now_and_then(plan):
    """Batches in quick succession say nothing; every two seconds there is one line."""
    out = StringIO()
    console = Console(file=out, width=100)
    seconds = [0.0]
    with progress_of(console, plan, lambda: seconds[0]) as report:
        for batch in range(1, 7):
            seconds[0] += LINE_EVERY_S / 2
            report(LoadProgress(rows=batch * 1_000, skipped_rows=500, fraction=batch / 10))
    lines = out.getvalue().splitlines()
    assert [f" {20 * i}% loaded, {2 * i},000 rows sent" for i in (1, 2, 3)] == [
        line[: line.index(" sent") + 5] for line in lines
    ]
    assert all("1,000 rows/s, 500 there already" in line for line in lines)


def test_progress_on_a_terminal_is_a_bar_with_rate_and_time_left(plan):
    """Rows, rows/s and share of the file are drawn."""
    out = StringIO()
    console = Console(file=out, width=140, force_terminal=True, color_system=None)
    seconds = [0.0]
    with progress_of(console, plan, lambda: seconds[0]) as report:
        seconds[0] = 2.0
        report(LoadProgress(rows=1_000, fraction=0.5))
    text = out.getvalue()
    assert "1,000 rows" in text
    assert "500 rows/s" in text
    assert "28/57 bytes" in text


@pytest.mark.parametrize("terminal", [True, False])
def test_looking_shows_how_far_the_files_are_read(plan, terminal, monkeypatch):
    """A bar on a terminal, a line now and then elsewhere; the bytes are those of all passes."""
    monkeypatch.setattr(terminal_load, "LINE_EVERY_S", 0.001)
    out = StringIO()
    console = Console(file=out, width=140, force_terminal=terminal, color_system=None)
    look = SurveyProgress()
    look.total_bytes = 2 * plan.size_bytes
    with looking(console, look, itertools.count().__next__):
        with look.over(plan.files[0].data):
            plan.files[0].data.digest()
        while not terminal and "looked at" not in out.getvalue():
            pass  # another thread prints it
    assert "50% looked at" in out.getvalue()
    assert plan.size_bytes == look.done_bytes
