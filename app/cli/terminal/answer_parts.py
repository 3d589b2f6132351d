"""The columns of an answer, and one line about it."""

from collections.abc import Mapping
from typing import Any, Final

from rich.text import Text

from psoup.app.cli.terminal.output import QUIET, instant
from psoup.pipeline.wording import counted

_IDS: Final = ({"name": "_id", "type": "string"}, {"name": "_x", "type": "timestamp"})


def columns_of(described: Mapping[str, Any], *, ids: bool) -> list[Mapping[str, Any]]:
    """Return name and type of each column that a table of the query has."""
    return [*(_IDS if ids else ()), *described["columns"]]


def caption_of(envelope: Mapping[str, Any], *, shown: str | None = None) -> Text:
    """Return one line about an answer: how many rows, or which of them are shown; of which window, as of when."""
    count = envelope["count"]
    window = envelope["window"]
    parts = [shown or counted(count, "row")]
    if window["begin"] or window["end"]:
        parts.append(f"window {instant(window['begin'])} to {instant(window['end'])}")
    parts.append(f"now {instant(envelope['now'])}")
    parts.append(f"seq {envelope['seq']}")
    if envelope.get("complete_from"):
        parts.append(f"complete from {instant(envelope['complete_from'])}")
    return Text("  ".join(parts), style=QUIET)
