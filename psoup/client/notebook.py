"""What a notebook shows of a query: its first rows, its window, and how old the answer is. Every text is escaped."""

from collections.abc import Mapping
from html import escape
from typing import Any, Final

from psoup.client.changes.rule import IDS, microseconds

ROWS_SHOWN: Final = 20
_SECOND_US: Final = 1_000_000
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def answer_html(
    description: Mapping[str, Any], envelope: Mapping[str, Any], *, local_us: int
) -> str:
    """Return an answer as a table, of the rows that `envelope` has."""
    # The rows' own names: the query may have been replaced since it was described.
    names = [name for row in envelope["rows"][:1] for name in row if name not in IDS]
    names = names or [column["name"] for column in description["columns"]]
    heads = "".join(f"<th>{_cell(name)}</th>" for name in names)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_cell(row[name])}</td>" for name in names) + "</tr>"
        for row in envelope["rows"]
    )
    title = _cell(description.get("name") or description["canonical"])
    return (
        f"<div><p><code>{title}</code><br><small>{_cell(caption(envelope, local_us=local_us))}</small></p>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def problem_html(description: Mapping[str, Any], error: Exception) -> str:
    """Return why there is no answer to show."""
    title = _cell(description.get("name") or description["canonical"])
    return f"<div><p><code>{title}</code><br><small>{_cell(error)}</small></p></div>"


def caption(envelope: Mapping[str, Any], *, local_us: int) -> str:
    """Return how many rows there are, in which window, at which instant, and how long ago that was."""
    shown, count, now = len(envelope["rows"]), envelope["count"], envelope["now"]
    parts = [f"{count:,} row{'' if count == 1 else 's'}"]
    if shown < count:
        parts[0] += f", the first {shown}"
    window = envelope["window"]
    if window.get("begin") or window.get("end"):
        parts.append(f"window {window.get('begin') or '...'} to {window.get('end') or '...'}")
    if now is not None:
        parts.append(f"now {now} ({age((local_us - microseconds(now)) / _SECOND_US)})")
    return "; ".join(parts)


def age(seconds: float) -> str:
    """Return how long ago an instant was, in one unit."""
    for unit_s, unit in _UNITS:
        if abs(seconds) >= unit_s:
            number = f"{abs(seconds) / unit_s:.0f} {unit}"
            return f"{number} ago" if seconds > 0 else f"in {number}"
    return "this second"


def _cell(value: object) -> str:
    return "<i>NULL</i>" if value is None else escape(str(value))
