"""Rows as CSV at its edges: carriage returns, quotes, vast cells, and the line of each error."""

import csv
import io
import random

import pytest

from psoup.app.wire.rows.body import CSV
from psoup.app.wire.rows.csv_records import count_cells, lines_of_rows, record_ends
from psoup.app.wire.rows.quotes import BLOCK
from tests.app.support import Api, assert_problem

pytestmark = pytest.mark.anyio

VAST = 200_000
"""More characters than Python's own reader takes in a cell."""
MISPLACED = {
    b"ts,qty\r5,1\r": 6,
    b"ts,qty\r,i\n5,1\n": 6,
    b"ts,qty\n5,1\r5,2\n": 10,
    b"ts,qty\n5,1\r": 10,
    b"ts,qty\r\r\n5,1\n": 6,
    b'ts,sym\n5,a"b"\n': 10,
    b'ts,sym\n5,a""b\n': 10,
    b'ts,sym\n5,""b\n': 10,
    b'ts,sym\n5,"a" \n': 11,
    b'ts,sym\n5,"a\n': 12,
    b'ts,sym\n5,"a""\n': 14,
}


@pytest.mark.parametrize("body", MISPLACED)
async def test_rows_as_csv_with_a_misplaced_character_are_bad_body(api: Api, body):
    """A carriage return alone, or a quote where none may be, is 400 with its place."""
    await api.declare()
    problem = assert_problem(await api.body(body, CSV), "bad-body", reason="quoting")
    assert MISPLACED[body] == problem["offset"]
    assert 0 == await api.count()


async def test_rows_as_csv_with_carriage_returns_in_quotes_are_taken(api: Api):
    """Within quotes any character is one of the cell."""
    await api.declare()
    query_id = await api.register("SELECT sym FROM trades")
    assert 200 == (await api.body(b'ts,"sym"\r\n5,"a\rb\r\n"\r\n', CSV)).status_code
    await api.body(b"ts\n1795255200000000\n", CSV)
    rows = (await api.results(query_id, meta=0))["rows"]
    assert "a\rb\r\n" in [one["sym"] for one in rows]


async def test_rows_as_csv_with_a_vast_cell_are_rejected_for_it(api: Api):
    """A cell longer than any text is an error like another, beside others and with its line."""
    await api.declare()
    text = b"x" * VAST
    body = b'ts,sym,qty\n5,"a\n",1\n5,%s,y\n5,,z\n' % text
    problem = assert_problem(await api.body(body, CSV), "rows-rejected", errors_total=3)
    assert [
        (1, 4, "/sym", "too-long"),
        (1, 4, "/qty", "type-mismatch"),
        (2, 5, "/qty", "type-mismatch"),
    ] == [(e["index"], e["line"], e["pointer"], e["code"]) for e in problem["errors"]]


async def test_rows_as_csv_with_a_vast_header_cell_are_rejected_shortly(api: Api):
    """A column's name beyond all names is an unknown column, and the answer does not repeat it whole."""
    await api.declare()
    answer = await api.body(b"ts," + b"n" * VAST + b"\n5,1\n", CSV)
    problem = assert_problem(answer, "rows-rejected")
    assert [(1, "unknown-column")] == [(e["line"], e["code"]) for e in problem["errors"]]
    assert len(answer.content) < 2_000


async def test_rows_as_csv_of_a_header_with_quoted_commas_count_its_cells(api: Api):
    """A comma within a name separates nothing."""
    name = ",".join("a" * 40)
    await api.declare(columns=[{"name": "a", "type": "int64"}], time=None)
    body = b'a,"' + b",".join(b"m" for _ in range(300)) + b'"\n1,2\n'
    problem = assert_problem(await api.body(body, CSV), "rows-rejected")
    assert ["unknown-column"] == [error["code"] for error in problem["errors"]]
    assert 1 == count_cells(f'"{name}"'.encode())


def drawn_body(draw: random.Random, *, columns: int) -> str:
    cells = ["", "5", '""', '"a""b"', '"x,\n\r\ny"', '"\n"', '"\r"', '"é"']
    end = draw.choice(["\n", "\r\n"])
    lines = [",".join("abc"[:columns])]
    lines += [
        "" if draw.random() < 0.1 else ",".join(draw.choices(cells, k=columns))
        for _ in range(draw.randrange(12))
    ]
    return end.join(lines) + draw.choice([end, ""])


@pytest.mark.parametrize("columns", [1, 3])
def test_differential_csv_lines_of_rows_are_those_of_a_plain_reader(columns):
    """Records begin where a reader that goes cell by cell finds them."""
    for seed in range(300):
        text = drawn_body(random.Random(seed), columns=columns)
        reader = csv.reader(io.StringIO(text, newline=""))
        expected, begins = [], 1
        for record in reader:
            if record or columns == 1:
                expected.append(begins)
            begins = text[: _position(text, reader.line_num)].count("\n") + 1
        body = text.encode()
        ends = record_ends(body)
        rows = range(len(expected) - 1)
        found = lines_of_rows(body, ends, rows, keep_empty=columns == 1)
        assert expected[1:] == found, (seed, text)


def _position(text: str, lines: int) -> int:
    """Return where the plain reader stands after `lines` of its own: it ends them at any line end."""
    return sum(map(len, io.StringIO(text, newline="").readlines()[:lines]))


@pytest.mark.parametrize("shift", range(-3, 4))
def test_csv_records_do_not_depend_on_the_blocks_they_are_found_in(shift):
    """What stands across the end of a block is judged as within one."""
    filler = b"a\n" + b'"' + b"x" * (BLOCK - 8 + shift)
    assert [1, len(filler) + 7] == record_ends(filler + b'"",\r\n"\r\n"b"\n'[:7] + b"\n").tolist()
