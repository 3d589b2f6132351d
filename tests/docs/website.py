"""The pages as a site that anybody can read without a network: `make site` (`python -m tests.docs.website`) builds it.

The pages stay what they are, Markdown that links to files of the project. They are copied with what they link to, each
link is led to its copy, and Zensical makes HTML of the copies. It fails where a link or an anchor leads nowhere.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from tests.docs.blocks import ROOT
from tests.house import tree

TEMPLATE: Final = "0000-template.md"
"""Of decisions: it is no page to read."""
CONTENTS: Final[Mapping[str, Sequence[str]]] = {
    "Begin": (
        "README.md",
        "docs/tutorial.md",
        "docs/console.md",
        "docs/windows.md",
        "docs/coming_back.md",
        "docs/sql.md",
    ),
    "Clients": (
        "docs/http_api.md",
        "docs/command_line.md",
        "docs/python.md",
        "docs/javascript.md",
        "docs/agents.md",
        "docs/loading.md",
        "docs/pipeline.md",
        "docs/recipes.md",
        "docs/spark_job.md",
    ),
    "Operate": (
        "docs/deployment.md",
        "docs/operations.md",
        "docs/scaling.md",
        "docs/settings.md",
        "docs/security.md",
        "docs/troubleshooting.md",
    ),
    "Consider": (
        "docs/faq.md",
        "docs/comparison.md",
        "docs/performance.md",
        "docs/glossary.md",
    ),
    "Inside": (
        "docs/architecture.md",
        "docs/storage_layout.md",
        "tests/README.md",
        "conformance/README.md",
        "benchmarks/README.md",
        "clients/js/README.md",
        "console/README.md",
    ),
    "Decisions": tuple(
        sorted(
            tree.place(path)
            for path in tree.project_files()
            if path.parent == ROOT / "docs" / "decisions" and path.name != TEMPLATE
        )
    ),
}
"""Sections and their pages in the order in which they are read."""
STYLE: Final = """/* Room for tables of many columns; what is wider still scrolls by itself. */
.md-grid { max-width: 76rem; }
.md-typeset table:not([class]) { font-size: 0.7rem; }
.md-typeset table:not([class]) :is(th, td) { min-width: 0; padding: 0.5em 0.7em; }
.md-typeset img { background: #fff; }
.md-typeset code { margin: 0; padding: 0.1em 0.2em; }
"""
_CONFIGURATION: Final = """[project]
site_name = "psoup"
site_description = "Windowed SQL over streams that keep arriving, invoked whenever you come back"
docs_dir = "pages"
site_dir = "html"
use_directory_urls = false
extra_css = ["style.css"]
nav = [
{nav}
]

[project.theme]
font = false
features = ["content.code.copy", "navigation.footer", "navigation.top", "search.highlight", "toc.follow"]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"

[project.extra]
generator = false

[project.markdown_extensions.tables]

[project.markdown_extensions.toc]
permalink = true
toc_depth = 3
slugify = {{ object = "pymdownx.slugs.slugify", kwds = {{ case = "lower" }} }}

[project.markdown_extensions.pymdownx.highlight]

[project.markdown_extensions.pymdownx.superfences]
"""
_PIECE = re.compile(
    r"""
    ^```(?P<language>\S*)[^\n]*\n(?P<block>.*?)^```$   # a fence and its block
    | (?P<code>`[^`\n]*`)
    | \]\((?P<target>[^)\s]+)\)
    | (?P<indent>^[ ]{3}(?=\S))
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
"""What readers of Markdown take differently, each where it is not inside another."""
_SHOWN_AS_IT_IS = frozenset({".svg", ".png"})
Place = PurePosixPath


class Pages:
    """Copies of the project's pages in a folder, and of the files that they link to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = {tree.place(path) for path in tree.project_files()}
        self.listed = [name for names in CONTENTS.values() for name in names]

    def write(self) -> None:
        """Write all pages, and what they link to."""
        for name in self.listed:
            text = (ROOT / name).read_text(encoding="utf-8")
            self._save(self.place_of(name), self.converted(Place(name), text))
        self._save(Place("style.css"), STYLE)

    def place_of(self, name: str) -> Place:
        """Return where a file of the project stands on the site: pages of the contents first, the rest in `files`."""
        path = Place(name)
        if name == "README.md":
            return Place("index.md")
        if name in self.listed:
            return (
                path.relative_to("docs")
                if path.parts[0] == "docs"
                else Place(*path.parts[:-1], "index.md")
            )
        if path.is_relative_to("docs/images"):
            return path.relative_to("docs")
        return Place("files", path if path.suffix in _SHOWN_AS_IT_IS else f"{name}.txt")

    def converted(self, page: Place, text: str) -> str:
        """Return a page as Python-Markdown reads it: a language alone at a fence, lists four blanks deep, links led."""

        def put(found: re.Match[str]) -> str:
            if found["block"] is not None:
                return f"```{found['language']}\n{found['block']}```"
            if found["code"]:
                return found["code"].replace(r"\|", "|")  # in a table GitHub needs the backslash
            return f"]({self._led(page, found['target'])})" if found["target"] else "    "

        return _PIECE.sub(put, text)

    def _led(self, page: Place, target: str) -> str:
        """Return where a link of a page leads on the site."""
        if target.startswith("#") or "://" in target:
            return target
        name, hash_, anchor = target.partition("#")
        place = self._copied(os.path.normpath(page.parent / name))
        return f"{os.path.relpath(place, self.place_of(str(page)).parent)}{hash_}{anchor}"

    def _copied(self, name: str) -> Place:
        """Return the place of what a page links to, and see to it that it is there."""
        if name == "docs/decisions":
            return self.place_of(CONTENTS["Decisions"][0])
        if name not in self._files:
            return self._contents_of(name)
        place = self.place_of(name)
        if name not in self.listed:
            self._save(place, (ROOT / name).read_bytes())
        return place

    def _contents_of(self, folder: str) -> Place:
        """Return the place of a page that lists the files of a folder."""
        names = sorted(name for name in self._files if name.startswith(f"{folder}/"))
        if not names:
            raise FileNotFoundError(
                f"{folder} is neither a file of the project nor a folder with some"
            )
        place = Place("files", folder, "index.md")
        lines = [
            f"- [{Place(name).relative_to(folder)}]({os.path.relpath(self._copied(name), place.parent)})"
            for name in names
        ]
        self._save(place, f"# Files of {folder}\n\n" + "\n".join(lines) + "\n")
        return place

    def _save(self, place: Place, content: str | bytes) -> None:
        path = self._folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def prepare(folder: Path) -> None:
    """Write into a folder, which is emptied first, all that the site is made of."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = Pages(folder / "pages")
    pages.write()
    sections = [
        f"  {{ {json.dumps(title)} = {json.dumps([str(pages.place_of(name)) for name in names])} }},"
        for title, names in CONTENTS.items()
    ]
    configuration = _CONFIGURATION.format(nav="\n".join(sections))
    (folder / "zensical.toml").write_text(configuration, encoding="utf-8")


def render(folder: Path) -> str | None:
    """Make the site in `html` of a prepared folder; return what is wrong with its links, None where nothing is."""
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else None


def main() -> None:
    """Build the site into `site` at the project's top."""
    work, site = ROOT / "build" / "site", ROOT / "site"
    prepare(work)
    if wrong := render(work):
        sys.exit(wrong)
    shutil.rmtree(site, ignore_errors=True)
    (work / "html").rename(site)


if __name__ == "__main__":
    main()
