"""A time column joined from several columns: year, month, day and hour; or a date and a clock.

Its text is the texts of the parts, joined by blanks, and is read like that of any other column.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from psoup.pipeline.files.columns.markers import is_marker, without_markers
from psoup.pipeline.files.options import ReadOptions


@dataclass(frozen=True, slots=True)
class JoinedTime:
    """The column `name`, which is NULL in rows in which a part is NULL."""

    name: str
    parts: tuple[str, ...]

    @classmethod
    def of(cls, options: ReadOptions) -> "JoinedTime | None":
        """Return the column that the options ask for, or None."""
        if not options.time_parts or options.time is None:
            return None
        return cls(options.time, options.time_parts)

    def of_columns(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        """Return the joined text of whole columns of text."""
        parts = [without_markers(pc.utf8_trim_whitespace(columns[name])) for name in self.parts]
        return pc.binary_join_element_wise(*parts, " ")

    def of_row(self, row: Mapping[str, Any]) -> str | None:
        """Return the joined text of one row of JSON."""
        parts = [row.get(name) for name in self.parts]
        if any(part is None or is_marker(part) for part in parts):
            return None
        return " ".join(str(part).strip() for part in parts)
