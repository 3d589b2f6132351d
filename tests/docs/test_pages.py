"""The pages for newcomers run: each block is pasted as it stands, and shows what the page says it shows."""

import pytest

from tests.docs.blocks import blocks
from tests.docs.session import Session, difference

PAGES = (
    "README.md",
    "docs/tutorial.md",
    "docs/recipes.md",
    "docs/deployment.md",
    "docs/troubleshooting.md",
)


pytestmark = pytest.mark.service


@pytest.mark.parametrize("page", PAGES)
def test_page_pasted_block_by_block_shows_what_it_says(page, tmp_path):
    """From the first block to the last, with one service; an exit code other than 0 is announced."""
    folder = tmp_path / "clone"
    folder.mkdir()
    compared = 0
    with Session(folder) as session:
        for block in blocks(page):
            shown = session.run(block)
            if block.output is not None:
                assert shown is not None, f"{block.place}: output below a block that is not run"
                found = difference(block.output, shown)
                assert found is None, f"{block.place}: {found}"
                compared += 1
    assert compared > 2
