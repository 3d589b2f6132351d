"""What any file may say: no machine's paths, no registries; docstrings everywhere; links that lead."""

import ast
import re

import pytest

from tests.house import tree

# A character class around one letter keeps these lines from matching themselves.
MACHINE_PATHS = re.compile(r"(?<![\w.-])/(?:wor[k]|roo[t]|hom[e]|User[s])/\w")
REGISTRIES = re.compile(r"pypi\.org/simpl[e]|pythonhosted\.or[g]|index[-_]ur[l]|find-link[s]")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
SOURCE = re.compile(rf"(?<![\w/.])(?:{'|'.join(tree.SOURCES)}|benchmarks|tests)/[\w/]+\.(?:py|lua)")
UNFINISHED = re.compile(r"raise NotImplementedErro[r]")


@pytest.mark.parametrize("pattern", [MACHINE_PATHS, REGISTRIES], ids=["paths", "registries"])
def test_files_name_no_machine_and_no_registry(pattern):
    """The project is at home on any machine and gets its packages from wherever that machine does."""
    found = [
        f"{tree.place(path, number)}: {match[0]}"
        for path in tree.text_files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        for match in pattern.finditer(line)
    ]
    assert [] == found


def test_modules_open_with_a_docstring():
    """Every Python file says what it is before it says how."""
    silent = [
        tree.place(path)
        for path in tree.python_files()
        if ast.get_docstring(tree.syntax_tree(path)) is None
    ]
    assert [] == silent


def test_code_is_finished():
    """Nothing raises in the place of an implementation."""
    found = [
        tree.place(path)
        for path in tree.python_files()
        if UNFINISHED.search(path.read_text(encoding="utf-8"))
    ]
    assert [] == found


def test_documents_link_to_what_exists():
    """Each relative link in a Markdown file leads to a file and, with `#`, to a heading of it."""
    broken = []
    for page in (path for path in tree.project_files() if path.suffix == ".md"):
        for target in LINK.findall(_prose(page.read_text(encoding="utf-8"))):
            if "://" in target or target.startswith("mailto:"):
                continue
            name, _, anchor = target.partition("#")
            aim = (page.parent / name).resolve() if name else page
            leads = aim.is_relative_to(tree.ROOT) and aim.exists()
            if not leads or (anchor and anchor not in _anchors(aim.read_text(encoding="utf-8"))):
                broken.append(f"{tree.place(page)}: {target}")
    assert [] == broken


def test_documents_name_files_that_exist():
    """A source file that a document names by its path is there: the maps fit the territory."""
    lost = [
        f"{tree.place(page)}: {name}"
        for page in (path for path in tree.project_files() if path.suffix == ".md")
        for name in SOURCE.findall(page.read_text(encoding="utf-8"))
        if not (tree.ROOT / name).exists()
    ]
    assert [] == lost


def _prose(page: str) -> str:
    """Return `page` without its code."""
    return re.sub(r"```.*?```|`[^`\n]*`", "", page, flags=re.DOTALL)


def _anchors(page: str) -> set[str]:
    """Return the anchors that Markdown viewers make of the headings of `page`."""
    headings = re.findall(r"^#+ +(.+?) *$", page, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
