"""Expressions of Spark SQL with their types: what translations are made of."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from psoup.engine.limits import DAY_US, SECOND_US
from psoup.engine.query.text.syntax import ColumnSyntax
from psoup.engine.query.values.expression import ColumnRef
from psoup.engine.tuples.schema import ColumnType

_BOOL, _INT64, _FLOAT64 = ColumnType.BOOL, ColumnType.INT64, ColumnType.FLOAT64
_STRING, _TIMESTAMP = ColumnType.STRING, ColumnType.TIMESTAMP
TYPE_NAMES = {
    _BOOL: "BOOLEAN",
    _INT64: "BIGINT",
    _FLOAT64: "DOUBLE",
    _STRING: "STRING",
    _TIMESTAMP: "TIMESTAMP",
}
"""Names of the types in Spark SQL."""

_INSTANT = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2})(:\d{2})?(\.\d+)?(?:[Zz]|([+-])(\d{2}:\d{2}))?)?"
)

Lookup = Callable[[ColumnSyntax], tuple[str, ColumnRef]]
"""Returns the SQL of a column's source, and the column, given the column's name."""


@dataclass(frozen=True, slots=True)
class Term:
    """An expression in Spark SQL. A `type` of None is a bare NULL; `text` is the value of a string literal."""

    sql: str
    type: ColumnType | None
    text: str | None = None

    def beside(self, kind: ColumnType | None) -> str:
        """Return the SQL of the term beside a value of this type, which a literal takes on.

        A NULL beside another NULL is a BOOLEAN.
        """
        if self.type is None:
            return f"CAST(NULL AS {TYPE_NAMES[kind or _BOOL]})"
        if self.text is not None and kind is _TIMESTAMP:
            return instant_sql(self.text)
        return self.sql


def name_sql(name: str) -> str:
    """Return a name, quoted."""
    return "`" + name.replace("`", "``") + "`"


def text_sql(text: str) -> str:
    r"""Return a string literal; `\` escapes in Spark SQL, as it does not in psoup."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def instant_sql(text: str) -> str:
    """Return the instant of a psoup literal; Spark reads date and clock, and applies the offset.

    Spark's own literals need seconds, and offsets of at most 18 hours: so seconds are added, and the offset becomes an
    interval.
    """
    parts = _INSTANT.match(text)
    date, clock, seconds, fraction, sign, offset = parts.groups() if parts else (text, *[None] * 5)
    literal = f"TIMESTAMP '{date} {clock or '00:00'}{seconds or ':00'}{fraction or ''}'"
    if offset is None:
        return literal
    back = "-" if sign == "+" else "+"
    return f"({literal} {back} INTERVAL '{offset}' HOUR TO MINUTE)"


def interval_sql(us: int) -> str:
    """Return an interval of 0 or more microseconds."""
    days, rest = divmod(us, DAY_US)
    seconds, fraction = divmod(rest, SECOND_US)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"INTERVAL '{days} {hour:02}:{minute:02}:{second:02}.{fraction:06}' DAY TO SECOND"


def finite(sql: str) -> str:
    """Return a DOUBLE, NULL where it is an infinity or no number."""
    known = f"nanvl({sql}, CAST(NULL AS DOUBLE))"
    return f"nullif(nullif({known}, DOUBLE('Infinity')), DOUBLE('-Infinity'))"
