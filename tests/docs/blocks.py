"""The fenced blocks of a Markdown page, in order: what a reader pastes, and what the page says comes then."""

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(
    r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$(?:\n+```text\n(?P<output>.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)
_TEXT = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block. `words` stand behind its language; `output` is the `text` block directly below it."""

    page: str
    line: int
    language: str
    words: tuple[str, ...]
    text: str = field(repr=False)
    output: str | None = field(repr=False)

    @property
    def place(self) -> str:
        """Return page and line, as editors write it."""
        return f"{self.page}:{self.line}"

    @property
    def exit_code(self) -> int:
        """Return the exit code that the page expects, written as `exit=2` behind the language."""
        return next((int(word[5:]) for word in self.words if word.startswith("exit=")), 0)


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page, named from the project's root."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        Block(
            page,
            text.count("\n", 0, found.start()) + 1,
            *_language(found["info"]),
            found["text"],
            found["output"],
        )
        for found in _FENCE.finditer(text)
    ]


def _language(info: str) -> tuple[str, tuple[str, ...]]:
    language, *words = info.split() or [""]
    return language, tuple(words)


def first_cells(page: str, heading: str) -> list[str]:
    """Return what stands in code in the first cells of the table below a heading of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    section = re.split(r"^#+ ", text.partition(f"# {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)
    rows = [line for line in section[0].splitlines() if line.startswith("| `")]
    return [name for row in rows for name in _TEXT.findall(row.split("|")[1])]
