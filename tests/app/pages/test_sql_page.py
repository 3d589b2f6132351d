"""docs/sql.md runs: each query is registered and answers what stands below it, each refusal and warning is met."""

import json
import re
from pathlib import Path

import pytest

from psoup.engine.query.functions.table import ALIASES, FUNCTIONS, PARTS_AS_FUNCTIONS
from psoup.engine.query.values.expression import AggregateFunction
from tests.app.pages.sql_pages import send_table, shown_answer
from tests.app.support import MOVES_THE_CLOCK, Api, assert_problem

pytestmark = [pytest.mark.anyio, MOVES_THE_CLOCK]

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "sql.md").read_text(encoding="utf-8")
STREAMS = dict(re.findall(r"^```csv (\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
ANSWERED = re.findall(r"^```sql\n(.*?)\n```\n\n```csv\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
PARAMETERISED = re.findall(
    r'^```json\n(\{"sql".*?)\n```\n\n```csv\n(.*?)^```$', PAGE, re.DOTALL | re.MULTILINE
)
REFUSED, WARNED = (
    [
        (sql.strip("` "), code)
        for sql, code in re.findall(r"^\| (`+SELECT.*?`+) \| `([a-z-]+)` \|", part, re.MULTILINE)
    ]
    for part in PAGE.partition("## What is not offered")[2].split("## Warnings")
)
FUNCTION_PART, AGGREGATE_PART = (
    PAGE.partition(heading)[2].partition("\n## ")[0]
    for heading in ("## Functions", "## Aggregates and groups")
)
EXAMPLES, AGGREGATE_EXAMPLES = (
    re.findall(r"^\|[^|]*(?:\\\|[^|]*)*\| `(.+?)` \| `(.+?)` \|", part, re.MULTILINE)
    for part in (FUNCTION_PART, AGGREGATE_PART)
)
"""Examples of functions over the row of IBM, of aggregates over all rows, and what they give, as literals."""


@pytest.fixture
async def page(api: Api) -> Api:
    """Yield a service that holds the page's streams."""
    for name, rows in STREAMS.items():
        await send_table(api, name, rows)
    return api


def test_the_page_has_what_is_run():
    """Every block of SQL has an answer below it, and the tables were found."""
    assert ["trades", "quotes"] == list(STREAMS)
    assert PAGE.count("```sql\n") == len(ANSWERED) > 10
    assert PAGE.count('```json\n{"sql"') == len(PARAMETERISED) > 1
    assert len(REFUSED) > 10
    assert len(WARNED) > 2


@pytest.mark.parametrize(("sql", "expected"), ANSWERED, ids=lambda text: text[:60])
async def test_query_of_the_page_answers_what_it_shows(page: Api, sql, expected):
    """The rows, in their order, as CSV without `_id` and `_x`."""
    query_id = await page.register(sql)
    assert expected == await shown_answer(page, query_id)


@pytest.mark.parametrize(("body", "expected"), PARAMETERISED, ids=lambda text: text[:60])
async def test_query_of_the_page_with_parameters_answers_what_it_shows(page: Api, body, expected):
    """A registration as it travels, and its rows."""
    query_id = await page.register(**json.loads(body))
    assert expected == await shown_answer(page, query_id)


@pytest.mark.parametrize(
    ("examples", "least", "rows"),
    [(EXAMPLES, 30, " WHERE sym = 'IBM'"), (AGGREGATE_EXAMPLES, 12, "")],
    ids=["functions", "aggregates"],
)
async def test_example_of_every_function_gives_what_the_page_says(page: Api, examples, least, rows):
    """One query computes all examples, another what they give."""
    shown = [f"{text} AS o{i}" for i, (text, _) in enumerate(examples)]
    given = [f"{gives} AS o{i}" for i, (_, gives) in enumerate(examples)]
    found, expected = [
        (await page.results(await page.register(text)))["rows"][0]
        for text in (
            f"SELECT {', '.join(shown)} FROM trades{rows}",
            f"SELECT {', '.join(given)} FROM trades WHERE sym = 'IBM'",
        )
    ]
    names = [f"o{i}" for i in range(len(examples))]
    assert len(examples) >= least
    assert [] == [
        (text, found[name])
        for name, (text, _) in zip(names, examples, strict=True)
        if (type(found[name]), found[name]) != (type(expected[name]), expected[name])
    ]


def test_page_names_every_function():
    """Under the name of the table, and under all others."""
    words = set(re.findall(r"[A-Z][A-Z_0-9]+", FUNCTION_PART))
    assert set() == {*FUNCTIONS, *ALIASES, *PARTS_AS_FUNCTIONS} - words - {"||"}
    assert set(AggregateFunction) <= set(re.findall(r"[A-Z][A-Z_0-9]+", AGGREGATE_PART))


@pytest.mark.parametrize(("sql", "code"), REFUSED, ids=lambda text: text[:60])
async def test_refused_query_of_the_page_is_refused_with_its_code(page: Api, sql, code):
    """The table of what is not offered says how it is refused."""
    assert_problem(await page.send("POST", "/v1/queries", json={"sql": sql}), code)


@pytest.mark.parametrize(("sql", "code"), WARNED, ids=lambda text: text[:60])
async def test_query_of_the_page_is_warned_of(page: Api, sql, code):
    """Accepted, with the warning of the table."""
    answer = await page.send("POST", "/v1/queries", json={"sql": sql})
    assert 201 == answer.status_code
    assert code in [one["code"] for one in answer.json()["warnings"]]
