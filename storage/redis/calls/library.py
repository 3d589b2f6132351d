"""The Function library: one text of Lua, which lies in files and is joined before a server loads it."""

from pathlib import Path
from typing import Final

FILES: Final = (
    "common",
    "seals",
    "histories",
    "catalogue",
    "append",
    "commit",
    "hold",
    "history_jobs",
    "writer",
    "publish",
    "open",
    "read",
    "library",
)
"""Files of `functions/`, without `.lua`, in their order in the text: each calls local functions of those before it."""


def library_text() -> bytes:
    """Return the text of the library. Workers go on only beside an engine with the same text, byte for byte."""
    folder = Path(__file__).with_name("functions")
    return b"\n".join((folder / f"{name}.lua").read_bytes() for name in FILES)
