"""Parts of the console that need no browser, by node's own test runner; and what its build weighs."""

import re
from pathlib import Path

import pytest

from psoup.app.console.serving import BUILT
from tests.clients import nodes
from tests.clients.desk import CONSOLE

GZIP_BYTES_MAX = 200_000


def test_parts_of_the_console():
    """Its tests pass: reading files, inferring columns, what is offered while one types, what is copied."""
    tests = [str(path) for path in sorted((CONSOLE / "test").glob("*.test.ts"))]
    told = nodes.run(["--test", "--test-reporter=tap", *tests])
    counts = dict(re.findall(r"^# (\w+) (\d+)$", told, re.MULTILINE))
    assert int(counts["pass"]) == int(counts["tests"]) >= 20, told


@pytest.fixture
def built() -> list[Path]:
    """Return the built files, each without its compressed form."""
    if not (BUILT / "page.html").exists():
        pytest.skip("needs the console: make console")
    return [path for path in BUILT.iterdir() if path.suffix != ".gz"]


def test_the_whole_console_is_small(built):
    """All files together, as they travel: editor and chart as well."""
    assert {"page.html", "main.js", "main.css", "licences.txt"} <= {path.name for path in built}
    sizes = {path.name: path.with_name(f"{path.name}.gz").stat().st_size for path in built}
    assert sum(sizes.values()) <= GZIP_BYTES_MAX, sizes


def test_the_page_has_nothing_inline(built):
    """The content policy forbids it: scripts and styles are files, and none of another host."""
    (page,) = (path.read_text(encoding="utf-8") for path in built if path.name == "page.html")
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=", page)
    assert all(url.startswith("/console/") for url in re.findall(r'(?:src|href)="([^"]+)"', page))


def test_licences_of_all_that_is_built_in_are_told(built):
    """Each package's own text."""
    (told,) = (path.read_text(encoding="utf-8") for path in built if path.name == "licences.txt")
    for package in ("@codemirror/view", "@preact/signals", "preact", "uplot"):
        assert re.search(rf"^{re.escape(package)} \d", told, re.MULTILINE), package
    assert told.count("Permission is hereby granted") >= 10


def test_what_the_console_is_built_of_is_locked():
    """Exact versions, with the hash of every package and the address of none."""
    package = (CONSOLE / "package.json").read_text(encoding="utf-8")
    assert not re.search(r'": "[\^~><*]', package)
    lock = (CONSOLE / "package-lock.json").read_text(encoding="utf-8")
    assert "://" not in re.sub(r'"funding": \{[^}]*\}|"url": "[^"]*"', "", lock)
    entries = re.findall(
        r'^    "node_modules/[^"]+": \{(.*?)^    \}', lock, re.MULTILINE | re.DOTALL
    )
    assert len(entries) >= 20
    assert all('"integrity": "sha512-' in entry for entry in entries)
