"""Functions of other dialects of SQL that are not offered: what to write in place of each.

Nothing here is ever accepted: the tables only make refusals helpful.
"""

import difflib

from psoup.engine.query.dialect import BUCKET_HINT, OVER_HINT, PATTERN_HINT
from psoup.engine.query.functions.table import ALIASES, FUNCTIONS, PARTS_AS_FUNCTIONS
from psoup.engine.query.values.expression import AggregateFunction

_CLOSE_ENOUGH = 0.8
"""The similarity, of 1, from which on a name is taken as misspelt."""

_QUANTILES = "write QUANTILE_CONT(x, 0.9), or MEDIAN(x)"
_LISTED = "select the rows: SELECT a FROM s WHERE ..., and gather them where they arrive"


def _each(*entries: tuple[str, str]) -> dict[str, str]:
    """Return what to write, by name, of entries of names and advice."""
    return {name: advice for names, advice in entries for name in names.split()}


OTHER_AGGREGATES = _each(
    ("ANY_VALUE ARBITRARY", "write FIRST(x) or MIN(x)"),
    ("APPROX_COUNT_DISTINCT", "write COUNT(DISTINCT x), which is exact"),
    ("ARGMAX MAX_BY", "write ARG_MAX(x, y)"),
    ("ARGMIN MIN_BY", "write ARG_MIN(x, y)"),
    ("COUNT_IF COUNTIF", "write COUNT(*) FILTER (WHERE condition)"),
    ("EVERY", "write BOOL_AND(condition)"),
    ("FIRST_VALUE", "write FIRST(x): the one of the earliest row of a group"),
    ("LAST_VALUE", "write LAST(x): the one of the latest row of a group"),
    ("MEAN", "write AVG(x)"),
    ("MODE", "count by groups: SELECT x, COUNT(*) FROM s GROUP BY x ORDER BY 2 DESC LIMIT 1"),
    (
        "APPROX_PERCENTILE APPROX_QUANTILE PERCENTILE PERCENTILE_APPROX PERCENTILE_CONT PERCENTILE_DISC",
        _QUANTILES,
    ),
    ("QUANTILE QUANTILE_DISC", _QUANTILES),
    ("STD STDDEV STDEV", "write STDDEV_SAMP(x) or STDDEV_POP(x)"),
    ("VAR VARIANCE", "write VAR_SAMP(x) or VAR_POP(x)"),
    ("ARRAY_AGG COLLECT_LIST COLLECT_SET GROUP_CONCAT LIST LISTAGG STRING_AGG", _LISTED),
)
"""Aggregates of other dialects, and the nearest supported form."""

_AS_TEXT = "CAST(ts AS VARCHAR) gives '2014-01-05 12:00:00'; cut it by LEFT and SUBSTRING"
_CHOICE = "write CASE WHEN a > 5 THEN b ELSE c END"
_CUT = "cut by place: SUBSTRING(s, STRPOS(s, ':') + 1)"
_DIFFERENCE = "two instants differ by microseconds: (b - a) / 3600000000"
_JOINED_PARTS = "join the parts: a || ', ' || b"
_LATER = "write ts + INTERVAL '1' DAY"
_TO_INSTANT = "declare the column as a timestamp that is sent in seconds; a text is cast: CAST(s AS TIMESTAMP)"
_TRUNCATED = "write FLOOR(x), CEIL(x), or CAST(x AS BIGINT), which rounds; of an instant DATE_TRUNC('hour', ts)"
_HINTS = _each(
    ("REGEXP_LIKE REGEXP_MATCHES REGEXP_FULL_MATCH", PATTERN_HINT),
    ("REGEXP_REPLACE", "replace plain texts: REPLACE(s, 'old', 'new')"),
    ("REGEXP_EXTRACT SPLIT SPLIT_PART", _CUT),
    ("CONCAT_WS FORMAT PRINTF", _JOINED_PARTS),
    ("IF IFF IIF", _CHOICE),
    ("NVL2", "write CASE WHEN a IS NOT NULL THEN b ELSE c END"),
    ("DECODE", "write CASE a WHEN 1 THEN b ELSE c END"),
    ("NVL", "write COALESCE(a, b)"),
    ("ZEROIFNULL", "write COALESCE(a, 0)"),
    ("ISNULL", "write a IS NULL, or COALESCE(a, b)"),
    ("ISNAN ISINF ISFINITE", "there are no NaN and no infinities: what has no value is NULL"),
    ("TRUNC TRUNCATE", _TRUNCATED),
    ("LOG2", "write LN(x) / LN(2)"),
    ("CBRT", "write POWER(x, 1.0 / 3)"),
    ("PI", "write 3.141592653589793"),
    ("RANDOM RAND UUID", "an answer is the same whenever it is asked for: there is no chance"),
    ("SAFE_CAST", "write TRY_CAST(x AS BIGINT)"),
    ("BIGINT INT INTEGER", "write CAST(x AS BIGINT)"),
    ("DOUBLE FLOAT", "write CAST(x AS DOUBLE)"),
    ("STRING TEXT VARCHAR", "write CAST(x AS VARCHAR)"),
    ("STARTSWITH", "write STARTS_WITH(s, 'a')"),
    ("ENDSWITH", "write ENDS_WITH(s, 'a')"),
    ("CHARINDEX INDEXOF LOCATE", "write STRPOS(s, 'a'): the text to search comes first"),
    ("BTRIM", "write TRIM(s), or TRIM(s, characters)"),
    ("STRLEN OCTET_LENGTH", "write LENGTH(s), which counts characters"),
    ("DATE TO_DATE", "write DATE '2014-01-05', or CAST(ts AS DATE), which is midnight"),
    ("AGE DATEDIFF DATE_DIFF TIMESTAMPDIFF TIMESTAMP_DIFF", _DIFFERENCE),
    ("ADDDATE DATEADD DATE_ADD TIMESTAMPADD", _LATER),
    ("DATE_SUB SUBDATE", "write ts - INTERVAL '1' DAY"),
    ("DATE_BIN", "write TIME_BUCKET(INTERVAL '5' MINUTE, ts)"),
    ("DATE_FORMAT FORMAT_DATE FORMAT_TIMESTAMP STRFTIME TO_CHAR", _AS_TEXT),
    ("STRPTIME", "write CAST(s AS TIMESTAMP)"),
    ("DAYNAME ISODOW WEEKDAY", "write EXTRACT(isodow FROM ts): Monday is 1"),
    ("MONTHNAME", "write MONTH(ts)"),
    ("WEEKOFYEAR", "write WEEK(ts)"),
    ("MICROSECOND", "write EXTRACT(microsecond FROM ts)"),
    ("MILLISECOND", "write EXTRACT(millisecond FROM ts)"),
    ("EPOCH_MS UNIX_MILLIS", "write EPOCH(ts) * 1000"),
    ("EPOCH_US UNIX_MICROS", "write ts - TIMESTAMP '1970-01-01', which are microseconds"),
    ("UNIX_SECONDS UNIX_TIMESTAMP", "write EPOCH(ts)"),
    ("FROM_UNIXTIME TO_TIMESTAMP", _TO_INSTANT),
    ("MAKE_DATE MAKE_TIMESTAMP", "write TIMESTAMP '2014-01-05 12:00:00'"),
    ("TIMESTAMP", "write TIMESTAMP '2014-01-05 12:00:00', or CAST(s AS TIMESTAMP)"),
    ("INTERVAL", "write INTERVAL '5' MINUTE: its length is a constant, without brackets"),
    ("TUMBLE", BUCKET_HINT),
    (
        "HOP",
        "a window hops by BEGIN (NOW - INTERVAL '1' HOUR) END (NOW) EVERY INTERVAL '5' MINUTE",
    ),
    ("CUME_DIST DENSE_RANK LAG LEAD NTH_VALUE NTILE PERCENT_RANK RANK ROW_NUMBER", OVER_HINT),
)
_HINT = "the functions are listed under Functions on the SQL page; the operators are + - * / % ||"
_HINTS |= _each(("CORR COS COSH COT COVAR_POP COVAR_SAMP SIN SINH TAN TANH", _HINT))

_OFFERED = sorted(
    {*FUNCTIONS, *ALIASES, *PARTS_AS_FUNCTIONS, *AggregateFunction, "CAST", "EXTRACT", "POSITION"}
)


def function_hint(keyword: str) -> str:
    """Return what to write in place of a function that is not offered, `keyword` being its name in capitals.

    Of a name that no dialect is known to have, the function that may be meant by it.
    """
    known = _HINTS.get(keyword)
    if known is not None:
        return known
    near = difflib.get_close_matches(keyword[:64], _OFFERED, n=1, cutoff=_CLOSE_ENOUGH)
    return f"did you mean {near[0]}()? {_HINT[0].upper()}{_HINT[1:]}" if near else _HINT
