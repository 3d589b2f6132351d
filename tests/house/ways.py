"""The ways of docs/architecture.md: the steps of each, and the modules that a step links to."""

import re
from pathlib import Path

from tests.house import tree

PAGE = tree.ROOT / "docs" / "architecture.md"
_WAY = re.compile(r"^### (.+)$", re.MULTILINE)
_STEP = re.compile(r"^\d+\. (.+(?:\n {3,4}(?! *- ).+)*)", re.MULTILINE)
_LINK = re.compile(r"\]\((\.\./[^)\s]+)\)")


def steps() -> dict[str, list[list[str]]]:
    """Return, for each way by its heading, the places of the files that each step links to itself."""
    page = PAGE.read_text(encoding="utf-8").partition("\n## The ways through\n")[2]
    parts = _WAY.split(page.partition("\n## ")[0])
    return {
        name: [[_place(target) for target in _LINK.findall(step)] for step in _STEP.findall(text)]
        for name, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def _place(target: str) -> str:
    return tree.place((Path(PAGE.parent) / target).resolve())
