"""`psoup query --watch` on a terminal: the newest rows fit it, whatever its size; elsewhere tables just follow."""

import sys

import pytest
from rich.console import Console
from rich.text import Text

from psoup.app.cli.actions.newest_rows import newest_rows
from psoup.app.cli.terminal.answer_screen import AnswerScreen
from psoup.app.cli.terminal.output import cell
from tests.terminals import terminal

ROWS = 3_000
SQL = "SELECT n, name FROM s"
WATCH = (sys.executable, "-P", "-m", "psoup", "query", SQL, "--watch")
COLUMNS = [{"name": "n", "type": "int64"}, {"name": "name", "type": "string"}]


@pytest.fixture
def loaded(psoup, tmp_path):
    path = tmp_path / "a.csv"
    lines = (
        f"2024-01-01T{i // 3_600:02}:{i // 60 % 60:02}:{i % 60:02}Z,{i},row {i}"
        for i in range(ROWS)
    )
    path.write_text("\n".join(["ts,n,name", *lines]) + "\n")
    psoup("load", path, "--stream", "s", "--time", "ts")
    return psoup


def drawn(screen, width, height):
    console = Console(width=width, height=height, force_terminal=True, color_system=None)
    with console.capture() as captured:
        console.print(screen)
    return captured.get().splitlines()


def answer(rows, columns=COLUMNS, count=None):
    made = [{"n": i, "name": f"row {i}"} for i in range(rows)]
    return AnswerScreen(
        columns, made, count=count or rows, caption=Text("a caption of some length")
    )


@pytest.mark.parametrize("height", [3, 4, 10, 24])
@pytest.mark.parametrize("width", [5, 20, 80])
@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9, 500])
def test_screen_of_any_size_shows_the_newest_rows_that_fit(rows, width, height):
    """No line is longer than the terminal, there are not more of them, and the last row is there."""
    lines = drawn(answer(rows), width, height)
    assert len(lines) <= max(height, 4)
    assert all(len(line) <= width for line in lines)
    if rows and width >= 20:
        assert f"row {rows - 1}" in lines[-2]
    shown = sum(line.lstrip()[:1].isdigit() and "above" not in line for line in lines)
    if width == 80:
        assert rows == shown + int(
            lines[0].split()[0].replace(",", "") if "above" in lines[0] else 0
        )


def test_screen_leaves_out_columns_that_do_not_fit_and_says_so():
    """A table of many columns keeps those on the left: numbers whole, texts as long as there is room."""
    columns = [*COLUMNS, *({"name": f"column {i}", "type": "string"} for i in range(20))]
    row = {"n": 1_234_567, "name": "a long text, far too long", "column 0": "short"}
    lines = drawn(AnswerScreen(columns, [row], count=1, caption=Text("caption")), 40, 10)
    assert "1234567  a long text, far too…  short" == lines[1].rstrip()
    assert "column 0" in lines[0]
    assert "column 1" not in lines[0]
    assert lines[-1].startswith("19 more columns in a wider window")


def test_cell_of_characters_that_cannot_be_seen_is_one_harmless_line():
    """A value can neither tear the table nor give orders to the terminal."""
    assert r"a\nb\x1b[2Jc é 中" == str(cell("a\nb\x1b[2Jc é 中"))


@pytest.mark.parametrize("count", [1, 10, ROWS - 1, ROWS, ROWS + 1])
def test_newest_rows_are_the_last_of_the_answer(loaded, count):
    """However many there are, they are the last ones in order, of one answer."""
    with loaded.service() as service:
        query = str(service.register(SQL)["id"])
        found = newest_rows(service, query, count, {"meta": 0})
    assert list(range(max(ROWS - count, 0), ROWS)) == [row["n"] for row in found.rows]
    assert ROWS == found.envelope["count"]


def test_newest_rows_of_a_huge_answer_come_by_large_pages(loaded, monkeypatch):
    """Where the addresses of small pages would be too many, larger ones are asked for; the rows are the same."""
    monkeypatch.setattr("psoup.app.cli.actions.newest_rows.PAGES_ASKED_MAX", 7)
    with loaded.service() as service:
        query = str(service.register(SQL)["id"])
        found = newest_rows(service, query, 5, {"meta": 0})
        assert len(found.envelope["pages"]) <= 7
    assert list(range(ROWS - 5, ROWS)) == [row["n"] for row in found.rows]


@pytest.mark.service
def test_watching_on_a_terminal_follows_rows_and_size(loaded, tmp_path):
    """The newest row is on the screen, also after more have come and the window has changed; Ctrl-C leaves it there."""
    with terminal([*WATCH, "--url", loaded.url], width=60, height=12) as watched:
        watched.wait_for(
            lambda screen: screen.is_alternate and f"row {ROWS - 1}" in screen.text,
            "the newest row is shown",
        )
        assert f"{ROWS - 9:,} rows above" == watched.screen.shown[0]
        path = tmp_path / "more.csv"
        path.write_text(f"ts,n,name\n2024-01-02,{ROWS},row {ROWS}\n")
        loaded("load", path, "--stream", "s", "--time", "ts", "--yes")
        watched.wait_for(lambda screen: f"row {ROWS}" in screen.text, "the row that came is shown")
        watched.resize(40, 6)
        watched.wait_for(
            lambda screen: f"{ROWS - 2:,} rows above" in screen.text,
            "it is drawn for the smaller window",
        )
        watched.type(b"\x03")
        assert 0 == watched.end()
        assert not watched.screen.is_alternate
        assert f"row {ROWS}" in watched.screen.text
    with loaded.service() as service:
        assert [] == list(service.queries())


def test_watching_as_a_table_in_a_pipe_is_plain_and_shows_the_newest(loaded):
    """Whole tables follow each other, without an escape sequence; each says which rows it has."""
    text = loaded(
        *WATCH[4:], "--every", "0.1", "--times", 2, "--format", "table", "--limit", 3
    ).stdout
    assert "\x1b" not in text
    assert 2 == text.count(f"newest 3 of {ROWS:,} rows (--limit)")
    assert 2 == text.count(f"row {ROWS - 1}")
    assert "row 0" not in text
