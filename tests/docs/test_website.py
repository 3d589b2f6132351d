"""The site: every page is on it, each link leads somewhere, nothing comes from another host, and it fits a phone."""

import contextlib
import functools
import http.server
import re
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from tests.docs import website
from tests.house import tree
from tests.serving import served

pytest.importorskip("zensical", reason="needs zensical: the extra `docs`")
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
LOADED = re.compile(r'<(?:script|img|iframe)\b[^>]*\bsrc="([^"]*)"|<link\b[^>]*\bhref="([^"]*)"')
LOOKED_AT = ("index", "tutorial", "windows", "sql", "http_api", "comparison")
WIDTHS = (360, 1_400)
"""Of a phone and of a desk."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which the site was made."""
    folder = tmp_path_factory.mktemp("site")
    website.prepare(folder)
    assert website.render(folder) is None
    return folder


def test_every_page_of_the_docs_is_in_the_contents():
    """A new page gets its place in the order of reading."""
    pages = {tree.place(path) for path in tree.project_files() if path.suffix == ".md"}
    listed = [name for names in website.CONTENTS.values() for name in names]
    assert len(listed) == len(set(listed))
    elsewhere = {
        name for name in pages if name.startswith("changelog.d/") or name.endswith(website.TEMPLATE)
    }
    assert pages - elsewhere == set(listed), "tests/docs/website.py: CONTENTS"


def test_site_has_every_page(site: Path):
    """Each is an HTML file with the title of its page."""
    pages = website.Pages(site / "pages")
    for name in pages.listed:
        html = (site / "html" / pages.place_of(name).with_suffix(".html")).read_text()
        title = re.search(r"^# (.*)$", (tree.ROOT / name).read_text(), re.MULTILINE)
        assert title is not None
        assert "<h1" in html, name


def test_link_that_leads_nowhere_fails_the_build(site: Path, tmp_path: Path):
    """To a page that does not exist, and to a heading."""
    broken = tmp_path / "broken"
    shutil.copytree(site, broken, ignore=shutil.ignore_patterns("html", ".cache"))
    with (broken / "pages" / "faq.md").open("a") as page:
        page.write("\n[one](nowhere.md) and [another](tutorial.md#nowhere)\n")
    wrong = website.render(broken)
    assert wrong is not None
    assert "2 issues found" in wrong


def test_link_to_a_file_that_is_not_there_is_refused(tmp_path: Path):
    """Files beside the pages are copied, so they have to exist."""
    pages = website.Pages(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"engine/nowhere\.py"):
        pages.converted(PurePosixPath("docs/faq.md"), "[one](../engine/nowhere.py)")
    assert "[one](files/engine/clock.py.txt)" == pages.converted(
        PurePosixPath("docs/faq.md"), "[one](../engine/clock.py)"
    )
    assert (tree.ROOT / "engine/clock.py").read_bytes() == (
        tmp_path / "files" / "engine" / "clock.py.txt"
    ).read_bytes()


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("```sh exit=1\nfalse [a](b.md)\n```", "```sh\nfalse [a](b.md)\n```"),
        (r"| `a \|\| b` | or |", "| `a || b` | or |"),
        ("1. one\n   - two", "1. one\n    - two"),
        ("```sql\n   SELECT\n```", "```sql\n   SELECT\n```"),
        ("[same](#here) [far](https://example.com/)", "[same](#here) [far](https://example.com/)"),
        ("[page](sql.md#joins)", "[page](sql.md#joins)"),
        ("[home](../README.md)", "[home](index.md)"),
    ],
)
def test_pages_are_converted_to_what_python_markdown_reads(tmp_path: Path, written, read):
    """What GitHub shows is what the site shows."""
    assert read == website.Pages(tmp_path).converted(PurePosixPath("docs/faq.md"), written)


def test_nothing_of_the_site_comes_from_another_host(site: Path):
    """Scripts, styles, fonts and pictures are files of the site."""
    found = set()
    for page in (site / "html").rglob("*.html"):
        found |= {one or other for one, other in LOADED.findall(page.read_text())}
    assert len(found) > 5
    assert [] == [one for one in found if one.startswith(("http:", "https:", "//"))]
    for style in (site / "html").rglob("*.css"):
        assert not re.search(r"url\(['\"]?(?:https?:)?//", style.read_text()), style


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: none is on PATH")
def test_pages_fit_a_phone_and_ask_nobody_else(site: Path):
    """No page is wider than its window, every picture is there, the search finds, and no request leaves the site."""
    asked: list[str] = []
    with browsing(site) as (browser, address):
        for width in WIDTHS:
            tab = browser.new_page(viewport={"width": width, "height": 900})
            tab.on("request", lambda request: asked.append(request.url))
            for name in LOOKED_AT:
                tab.goto(f"{address}/{name}.html")
                assert tab.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
                assert [] == tab.evaluate(
                    "[...document.images].filter((one) => one.complete && !one.naturalWidth).map((one) => one.src)"
                )
            tab.close()
        tab = browser.new_page()
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(f"{address}/index.html")
        tab.locator("button.md-search__button").first.click()
        tab.keyboard.type("hop")
        tab.get_by_text("Windows that hop").first.wait_for()
    assert len(asked) > len(LOOKED_AT)
    assert [] == [url for url in asked if not url.startswith((address, "data:"))]


@contextlib.contextmanager
def browsing(site: Path) -> Iterator[tuple[Any, str]]:
    """Yield a browser, and the address at which the site is served meanwhile."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright: the extra `dev`"
    )
    handler = functools.partial(Quiet, directory=str(site / "html"))
    with served(handler) as address, playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser, address
        browser.close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files, and logs nothing."""

    def log_message(self, *_: object) -> None:
        pass
