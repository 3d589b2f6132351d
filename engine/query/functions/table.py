"""All scalar functions by name, and the other names that they have in DuckDB.

`docs/sql.md` explains each by an example; what they mean at their edges stands in decision record 0005.
"""

import math
import operator
from collections.abc import Mapping
from typing import Final

from psoup.engine.limits import QUERY_ARGUMENTS_MAX
from psoup.engine.query.functions import casts, choices, numbers, texts, times
from psoup.engine.query.functions.function import Function, Takes
from psoup.engine.tuples.schema import ColumnType

_INT64, _FLOAT64, _BOOL = ColumnType.INT64, ColumnType.FLOAT64, ColumnType.BOOL
_STRING, _TIMESTAMP = ColumnType.STRING, ColumnType.TIMESTAMP
_NUMBER, _DOUBLE, _BIGINT, _TEXT = Takes.NUMBER, Takes.DOUBLE, Takes.BIGINT, Takes.TEXT
_MOST = QUERY_ARGUMENTS_MAX

CASE: Final = "CASE"
CAST: Final = "CAST"
JOINED: Final = "||"
"""What has a syntax of its own: `CASE WHEN`, `CAST(x AS type)` and `a || b`."""

FUNCTIONS: Final[Mapping[str, Function]] = {
    # Numbers.
    "ABS": Function("ABS(x)", (_NUMBER,), 1, 1, None, numbers.absolute),
    "SIGN": Function("SIGN(x)", (_NUMBER,), 1, 1, _INT64, numbers.sign),
    "ROUND": Function("ROUND(x [, digits])", (_NUMBER, _BIGINT), 1, 2, None, numbers.rounded),
    "FLOOR": Function("FLOOR(x)", (_NUMBER,), 1, 1, None, numbers.floor),
    "CEIL": Function("CEIL(x)", (_NUMBER,), 1, 1, None, numbers.ceil),
    "SQRT": Function("SQRT(x)", (_DOUBLE,), 1, 1, _FLOAT64, numbers.root),
    "POWER": Function("POWER(x, y)", (_DOUBLE,), 2, 2, _FLOAT64, numbers.by_value(math.pow)),
    "EXP": Function("EXP(x)", (_DOUBLE,), 1, 1, _FLOAT64, numbers.by_value(math.exp)),
    "LN": Function("LN(x)", (_DOUBLE,), 1, 1, _FLOAT64, numbers.by_value(math.log)),
    "LOG10": Function("LOG10(x)", (_DOUBLE,), 1, 1, _FLOAT64, numbers.by_value(math.log10)),
    "MOD": Function("MOD(x, y)", (_NUMBER,), 2, 2, None, None),
    # Texts.
    "LOWER": Function("LOWER(s)", (_TEXT,), 1, 1, _STRING, texts.each(texts.lower)),
    "UPPER": Function("UPPER(s)", (_TEXT,), 1, 1, _STRING, texts.each(texts.upper)),
    "LENGTH": Function("LENGTH(s)", (_TEXT,), 1, 1, _INT64, texts.each(len)),
    "TRIM": Function("TRIM(s [, characters])", (_TEXT,), 1, 2, _STRING, texts.each(texts.trim)),
    "LTRIM": Function("LTRIM(s [, characters])", (_TEXT,), 1, 2, _STRING, texts.each(texts.ltrim)),
    "RTRIM": Function("RTRIM(s [, characters])", (_TEXT,), 1, 2, _STRING, texts.each(texts.rtrim)),
    "SUBSTRING": Function(
        "SUBSTRING(s, start [, count])",
        (_TEXT, _BIGINT, _BIGINT),
        2,
        3,
        _STRING,
        texts.each(texts.substring),
    ),
    "REPLACE": Function("REPLACE(s, old, new)", (_TEXT,), 3, 3, _STRING, texts.each(texts.replace)),
    "CONCAT": Function("CONCAT(a, b, ...)", (Takes.PRINTED,), 1, _MOST, _STRING, texts.concat),
    JOINED: Function("a || b", (Takes.PRINTED,), 2, _MOST, _STRING, texts.each(texts.joined)),
    "LEFT": Function("LEFT(s, count)", (_TEXT, _BIGINT), 2, 2, _STRING, texts.each(texts.left)),
    "RIGHT": Function("RIGHT(s, count)", (_TEXT, _BIGINT), 2, 2, _STRING, texts.each(texts.right)),
    "STARTS_WITH": Function(
        "STARTS_WITH(s, beginning)", (_TEXT,), 2, 2, _BOOL, texts.each(str.startswith)
    ),
    "ENDS_WITH": Function("ENDS_WITH(s, end)", (_TEXT,), 2, 2, _BOOL, texts.each(str.endswith)),
    "CONTAINS": Function("CONTAINS(s, part)", (_TEXT,), 2, 2, _BOOL, texts.each(str.__contains__)),
    "STRPOS": Function("STRPOS(s, part)", (_TEXT,), 2, 2, _INT64, texts.each(texts.position)),
    # Choices and casts.
    "COALESCE": Function("COALESCE(a, b, ...)", (Takes.ALIKE,), 1, _MOST, None, choices.coalesce),
    "NULLIF": Function("NULLIF(a, b)", (Takes.ANY,), 2, 2, None, None),
    "GREATEST": Function(
        "GREATEST(a, b, ...)", (Takes.ALIKE,), 1, _MOST, None, choices.extreme(operator.gt)
    ),
    "LEAST": Function(
        "LEAST(a, b, ...)", (Takes.ALIKE,), 1, _MOST, None, choices.extreme(operator.lt)
    ),
    CASE: Function("CASE WHEN a THEN b ELSE c END", (), 0, 0, None, choices.case),
    CAST: Function("CAST(x AS type)", (), 0, 0, None, casts.cast),
    # Times.
    "DATE_TRUNC": Function(
        "DATE_TRUNC('hour', ts)",
        (Takes.UNIT, Takes.TIMESTAMP),
        2,
        2,
        _TIMESTAMP,
        times.truncated,
    ),
    "DATE_PART": Function(
        "EXTRACT(hour FROM ts)", (Takes.PART, Takes.TIMESTAMP), 2, 2, _INT64, times.part_of
    ),
    "TIME_BUCKET": Function(
        "TIME_BUCKET(INTERVAL '5' MINUTE, ts)",
        (Takes.INTERVAL, Takes.TIMESTAMP),
        2,
        2,
        _TIMESTAMP,
        times.bucketed,
    ),
    "EPOCH": Function("EPOCH(ts)", (Takes.TIMESTAMP,), 1, 1, _FLOAT64, times.epoch),
}

ALIASES: Final[Mapping[str, str]] = {
    "CEILING": "CEIL",
    "POW": "POWER",
    "LOG": "LOG10",
    "LCASE": "LOWER",
    "UCASE": "UPPER",
    "LEN": "LENGTH",
    "CHAR_LENGTH": "LENGTH",
    "CHARACTER_LENGTH": "LENGTH",
    "SUBSTR": "SUBSTRING",
    "PREFIX": "STARTS_WITH",
    "SUFFIX": "ENDS_WITH",
    "INSTR": "STRPOS",
    "IFNULL": "COALESCE",
    "DATETRUNC": "DATE_TRUNC",
    "DATEPART": "DATE_PART",
}
"""Other names of functions."""

PARTS_AS_FUNCTIONS: Final[Mapping[str, str]] = {
    "YEAR": "year",
    "QUARTER": "quarter",
    "MONTH": "month",
    "WEEK": "week",
    "DAY": "day",
    "DAYOFMONTH": "day",
    "DAYOFWEEK": "dow",
    "DAYOFYEAR": "doy",
    "HOUR": "hour",
    "MINUTE": "minute",
    "SECOND": "second",
}
"""Functions of one argument that are a part of DATE_PART."""
