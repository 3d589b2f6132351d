"""`/llms.txt`: in the form of llmstxt.org, and every link of it leads somewhere."""

import dataclasses
import re

import pytest

from tests.app.support import SETTINGS, Api, running

pytestmark = pytest.mark.anyio

LINK = re.compile(r"^- \[([^\]]+)\]\(([^)]+)\)(?:: .+)?$")


async def test_page_has_the_form_of_llms_txt(api: Api):
    """One H1, a blockquote behind it, text without headings, then sections that are lists of links."""
    answer = await api.get("/llms.txt")
    assert 200 == answer.status_code
    assert "text/plain; charset=utf-8" == answer.headers["content-type"]
    assert "public, max-age=3600" == answer.headers["cache-control"]
    before, *sections = re.split(r"^## ", answer.text, flags=re.MULTILINE)
    title, blank, quote, *_ = before.splitlines()
    assert ("# psoup", "") == (title, blank)
    assert quote.startswith("> ")
    assert 1 == len(
        re.findall(r"^#", re.sub(r"```.*?```", "", before, flags=re.DOTALL), re.MULTILINE)
    )
    assert ["API", "Optional"] == [section.splitlines()[0] for section in sections]
    for section in sections:
        assert all(LINK.match(line) for line in section.splitlines()[1:] if line), section


@pytest.mark.parametrize("has_docs", [True, False])
async def test_every_link_answers(has_docs):
    """Where the API pages are off, nothing leads to them."""
    async with running(dataclasses.replace(SETTINGS, docs=has_docs)) as api:
        text = (await api.get("/llms.txt")).text
        links = [match[2] for line in text.splitlines() if (match := LINK.match(line))]
        assert has_docs is ("/docs" in links)
        assert has_docs is ("/openapi.json" in links)
        for link in links:
            assert 200 == (await api.get(link)).status_code, link


async def test_page_needs_no_key(api: Api):
    """It tells of the contract and of nothing that is stored: no stream's name is in it but its own example's."""
    await api.declare("secrets")
    assert "secrets" not in (await api.get("/llms.txt")).text
