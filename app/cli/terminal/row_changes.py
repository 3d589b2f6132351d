"""Which rows of a watched answer have entered or left a short while ago, and how that is shown."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

Row = Mapping[str, Any]
NEW_S: Final = 3.0
"""A row that has entered stands out for so long, and one that has left is still shown for so long."""
RECENT_S: Final = 60.0
"""A row that has entered has its age beside it for so long."""
_NEW, _RECENT, _LEFT = "bold green", "green", "red strike"


@dataclass(frozen=True, slots=True)
class RowMark:
    """What stands beside a row, and in which style both are drawn."""

    text: str = ""
    style: str = ""
    has_left: bool = False


class RowChanges:
    """Rows by their `_id` as a screen shows them: those of the answer, and those that have just left it."""

    def __init__(self) -> None:
        """Begin with no rows."""
        self._rows: dict[str, Row] = {}
        self._entered_s: dict[str, float] = {}
        self._left_s: dict[str, float] = {}

    @property
    def are_marked(self) -> bool:
        """Return whether some row has a mark, which grows older."""
        return bool(self._entered_s or self._left_s)

    def note(
        self, rows: Mapping[str, Row], entered: Iterable[Row], left: Iterable[Row], now_s: float
    ) -> None:
        """Note a look: the rows that are there now, and which of them have entered, and which others have left."""
        for row in left:
            self._left_s.setdefault(row["_id"], now_s)
        for row in entered:
            self._left_s.pop(row["_id"], None)
            self._rows.pop(row["_id"], None)  # one that is back comes last, as all that enter
            self._entered_s[row["_id"]] = now_s
        self._left_s = {key: at for key, at in self._left_s.items() if now_s - at < NEW_S}
        self._rows = {k: r for k, r in self._rows.items() if k in rows or k in self._left_s}
        self._rows.update(rows)
        self._entered_s = {
            key: at
            for key, at in self._entered_s.items()
            if key in self._rows and now_s - at < RECENT_S
        }

    def shown(self, now_s: float) -> list[tuple[Row, RowMark]]:
        """Return the rows in the order in which they entered, each with its mark."""
        return [(row, self._mark(key, now_s)) for key, row in self._rows.items()]

    def _mark(self, key: str, now_s: float) -> RowMark:
        if key in self._left_s:
            return RowMark(f"-{now_s - self._left_s[key]:.0f}s", _LEFT, has_left=True)
        if key not in self._entered_s:
            return RowMark()
        age_s = now_s - self._entered_s[key]
        return RowMark(f"+{age_s:.0f}s", _NEW if age_s < NEW_S else _RECENT)
