"""The pages for newcomers run: each block is pasted as it stands, and shows what the page says it shows."""

import pytest

from tests.clients import nodes
from tests.docs.blocks import blocks
from tests.docs.session import Session, difference

JAVASCRIPT = "docs/javascript.md"
FIRST = (
    *("README.md", "docs/tutorial.md", "docs/coming_back.md", "docs/python.md", JAVASCRIPT),
    *("docs/agents.md", "docs/recipes.md"),
)
LATER = ("docs/deployment.md", "docs/troubleshooting.md", "docs/spark_job.md")
"""Pages for operators, and one that starts Spark: `make torture` runs them."""
PAGES = (*FIRST, *LATER)
STARTS = ("README.md", *LATER)
"""Pages whose service is started by its command, which takes two seconds of a core more than to fork it."""

# A page is some twenty commands, each a process that loads psoup: two minutes are short where others work as well.
pytestmark = [pytest.mark.service, pytest.mark.timeout(600)]


RUN = frozenset({"sh", "python", "js", "cron"})
READ_BY_OTHERS = frozenset({"ini", "nginx", "caddy", "yaml"})
"""Configuration: tests/docs/test_deployment_page.py."""


@pytest.mark.parametrize("page", PAGES)
def test_page_has_no_block_that_nobody_reads(page):
    """Each block is run, or saved under its name for one that is, or is the output of one."""
    unread = [
        block.place
        for block in blocks(page)
        if block.language not in RUN | READ_BY_OTHERS
        and not any("." in name for name in block.words)
    ]
    assert [] == unread


@pytest.mark.parametrize(
    "page", [*FIRST, *(pytest.param(one, marks=pytest.mark.slow) for one in LATER)]
)
def test_page_pasted_block_by_block_shows_what_it_says(page, tmp_path):
    """From the first block to the last, with one service; an exit code other than 0 is announced."""
    folder = tmp_path / "clone"
    folder.mkdir()
    if page == JAVASCRIPT:
        nodes.build(folder / "clients" / "js" / "dist")
    compared = 0
    with Session(folder, forked=page not in STARTS) as session:
        for block in blocks(page):
            shown = session.run(block)
            if block.output is not None:
                assert shown is not None, f"{block.place}: output below a block that is not run"
                mismatch = difference(block.output, shown)
                assert mismatch is None, f"{block.place}: {mismatch}"
                compared += 1
    assert compared > 2
