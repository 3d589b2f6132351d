"""Every function and every cast gives what DuckDB gives, over drawn values and those at the edges of their types.

Where DuckDB raises, or gives an infinity, psoup gives NULL. What else differs stands in `DIFFERENT`, and in decision
record 0005.
"""

import math

import duckdb
from hypothesis import strategies as st

from psoup.engine.limits import TIMESTAMP_US_MAX, TIMESTAMP_US_MIN
from psoup.engine.query.functions.table import PARTS_AS_FUNCTIONS
from psoup.engine.query.functions.times import PARTS, UNITS_US_MAX
from psoup.engine.query.values.evaluate import evaluate
from psoup.engine.query.values.expression import Value
from psoup.engine.query.values.value_set import INT64_MAX, INT64_MIN
from tests.engine.query.expression_strategies import SCHEMA, bound, columns_of
from tests.oracle_duckdb import DuckDbOracle
from tests.reference_values import Row

YEAR_2000_US = 946_684_800_000_000
INTS = [
    0,
    1,
    -1,
    2,
    -2,
    5,
    -7,
    15,
    25,
    149,
    150,
    -150,
    2**31,
    2**53 + 1,
    INT64_MAX,
    INT64_MIN,
    INT64_MIN + 1,
]
FLOATS = [
    *(
        0.0,
        -0.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        0.49999999999999994,
        1.005,
        2.675,
        123.456,
        1e15,
        1e16,
        1e-5,
    ),
    *(5e-324, -5e-324, 2.2250738585072014e-308, 1e308, -1e308, 1.7976931348623157e308),
    *(
        2.0**53,
        2.0**53 + 2,
        9.223372036854775e18,
        2.0**63,
        -(2.0**63),
        1e300,
        100.0,
        0.1,
        -8.0,
        1 / 3,
    ),
]
TEXTS = [
    *(
        "",
        "a",
        "A",
        "ACME",
        "hello",
        "Hello World",
        "  padded  ",
        "\ttab\n",
        "\u2003em\u00a0",
        "xxaxx",
    ),
    *("ß", "İ", "ΑΣ", "ǅ", "é", "e\u0301", "🤦🏼‍♂️", "日本", "ﬀ", "a%b_c\\", "it's", "\u1e9e"),
    *(
        "1",
        " 12 ",
        "-5",
        "+7",
        "1.5",
        "2.5",
        "-2.5",
        "1e3",
        "1e-3",
        "15e-1",
        ".5",
        "1.",
        "1_000",
        "0.49999999999",
    ),
    *(
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "1e400",
        "1e-400",
        "1e19",
        "-",
    ),
    *(
        "true",
        "T",
        "yes",
        "N",
        "0",
        "False",
        "on",
        " true ",
        "12a",
        "2014-01-05",
        "2014-01-05 12:30:15.5",
    ),
]
TIMES = [
    *(0, -1, 1, YEAR_2000_US, YEAR_2000_US - 1, TIMESTAMP_US_MIN, TIMESTAMP_US_MAX),
    *(TIMESTAMP_US_MIN + 1, TIMESTAMP_US_MAX - 1, -12_345_678_901_234, 1_388_923_200_500_000),
]
COUNTS = [0, 1, 2, 3, -1, -2, -3, 4, 7, -9, 400, -400]

ints = st.sampled_from(INTS) | st.integers(INT64_MIN, INT64_MAX) | st.integers(-30, 30)
floats = st.sampled_from(FLOATS) | st.floats(allow_nan=False, allow_infinity=False)
texts = (
    st.sampled_from(TEXTS)
    | st.text(st.sampled_from("aAbBxX éÉßσΣ日\u0301 %_1.5-+e"), max_size=8)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
)
times = st.sampled_from(TIMES) | st.integers(TIMESTAMP_US_MIN, TIMESTAMP_US_MAX)


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    """Draw tuples: i, f, t and te are anything, j counts characters or digits."""
    maybe = st.none

    def row() -> Row:
        return {
            "i": draw(ints | maybe()),
            "j": draw(st.sampled_from(COUNTS) | maybe()),
            "f": draw(floats | maybe()),
            "g": draw(floats | maybe()),
            "b": draw(st.sampled_from([None, False, True])),
            "c": draw(st.sampled_from([None, False, True])),
            "t": draw(texts | maybe()),
            "u": draw(texts | maybe()),
            "ts": draw(times),
            "te": draw(times | maybe()),
        }

    return [row() for _ in range(draw(st.integers(1, 8)))]


SAME = (
    *("ABS(i)", "ABS(f)", "SIGN(i)", "SIGN(f)", "FLOOR(f)", "CEIL(f)", "ROUND(f)", "ROUND(i)"),
    *("ROUND(f, 2)", "ROUND(i, -2)", "SQRT(f)", "SQRT(i)"),
    *(
        "POWER(f, g)",
        "POWER(f, j)",
        "POWER(j, j)",
        "EXP(f)",
        "EXP(j)",
        "LN(f)",
        "LN(i)",
        "LOG10(f)",
        "LOG10(i)",
    ),
    *("MOD(f, g)", "MOD(j, 3)", "CEILING(f)", "POW(f, 2)", "LOG(f)"),
    *("LOWER(t)", "UPPER(t)", "LCASE(t)", "UCASE(t)", "LENGTH(t)", "LEN(t)", "CHAR_LENGTH(t)"),
    *(
        "CHARACTER_LENGTH(t)",
        "TRIM(t)",
        "LTRIM(t)",
        "RTRIM(t)",
        "TRIM(t, u)",
        "LTRIM(t, u)",
        "RTRIM(t, u)",
    ),
    *(
        "TRIM(t, 'xX a')",
        "TRIM(BOTH 'x' FROM t)",
        "TRIM(LEADING 'x' FROM t)",
        "TRIM(TRAILING u FROM t)",
    ),
    *(
        "SUBSTRING(t, j)",
        "SUBSTRING(t, 2)",
        "SUBSTRING(t, j, 2)",
        "SUBSTRING(t, j, j)",
        "SUBSTRING(t, 2, j)",
    ),
    *(
        "SUBSTR(t, 1, 3)",
        "SUBSTRING(t FROM 2 FOR 3)",
        "SUBSTRING(t FROM j)",
        "LEFT(t, j)",
        "RIGHT(t, j)",
    ),
    *("REPLACE(t, 'a', u)", "REPLACE(t, u, 'Z')", "REPLACE(t, '', 'Z')", "REPLACE(t, 'x', '')"),
    *(
        "CONCAT(t, u)",
        "CONCAT(t, NULL, 'x', i)",
        "CONCAT(b, f)",
        "t || u",
        "t || '-' || u || i",
        "b || t",
    ),
    *(
        "STARTS_WITH(t, 'a')",
        "STARTS_WITH(t, u)",
        "PREFIX(t, 'A')",
        "ENDS_WITH(t, 'x')",
        "SUFFIX(t, u)",
    ),
    *(
        "CONTAINS(t, 'a')",
        "CONTAINS(t, u)",
        "CONTAINS(t, '%')",
        "CONTAINS(t, '')",
        "STRPOS(t, 'a')",
    ),
    *("INSTR(t, u)", "POSITION('x' IN t)", "POSITION(u || '' IN t)"),
    *(
        "COALESCE(i, j)",
        "COALESCE(f, i, 0.5)",
        "COALESCE(t, u, 'x')",
        "COALESCE(b, c)",
        "IFNULL(j, 5)",
    ),
    *(
        "NULLIF(j, 2)",
        "NULLIF(f, g)",
        "NULLIF(t, u)",
        "NULLIF(t, 'a')",
        "NULLIF(i, f)",
        "NULLIF(b, c)",
    ),
    *(
        "GREATEST(i, j)",
        "GREATEST(f, g)",
        "LEAST(i, j, 5)",
        "LEAST(f, i)",
        "GREATEST(t, u)",
        "LEAST(t, u, 'b')",
    ),
    *("GREATEST(b, c)", "LEAST(b, c)"),
    *("CASE WHEN i > 5 THEN t WHEN b THEN u ELSE 'none' END", "CASE WHEN b THEN i END"),
    *(
        "CASE j WHEN 1 THEN 'one' WHEN 2 THEN 'two' END",
        "CASE t WHEN u THEN 1 WHEN 'a' THEN 2 ELSE 3 END",
    ),
    *("CASE WHEN b THEN i ELSE f END", "CASE b WHEN c THEN TRUE ELSE NULL END"),
    *(
        "CAST(i AS DOUBLE)",
        "CAST(i AS BOOLEAN)",
        "CAST(i AS VARCHAR)",
        "CAST(f AS BIGINT)",
        "CAST(f AS BOOLEAN)",
    ),
    *(
        "CAST(f AS VARCHAR)",
        "CAST(b AS BIGINT)",
        "CAST(b AS DOUBLE)",
        "CAST(b AS VARCHAR)",
        "i::VARCHAR",
    ),
    *(
        "TRY_CAST(t AS BIGINT)",
        "TRY_CAST(t AS DOUBLE)",
        "TRY_CAST(t AS BOOLEAN)",
        "f::BIGINT::VARCHAR",
    ),
    *(
        "t ILIKE 'a%'",
        "t ILIKE '_É%'",
        "t NOT ILIKE '%X'",
        "t ILIKE 'ß'",
        "t ILIKE 'aB!%' ESCAPE '!'",
    ),
    *(
        "i IS DISTINCT FROM j",
        "f IS NOT DISTINCT FROM g",
        "t IS DISTINCT FROM u",
        "b IS NOT DISTINCT FROM c",
    ),
    *(
        "i IS NOT DISTINCT FROM NULL",
        "j IS DISTINCT FROM 2",
        "t IS NOT DISTINCT FROM 'a'",
        "i IS DISTINCT FROM f",
    ),
    *("i NOT BETWEEN j AND 5", "t NOT BETWEEN 'a' AND u", "i BETWEEN 5 AND 1"),
    *("EPOCH(te)", "YEAR(te)", "CAST(CAST(LEFT(t, 2) AS BIGINT) AS VARCHAR) || UPPER(TRIM(u))"),
)
"""Expressions that mean the same in both, as they are written."""

TIMED = (
    *(f"DATE_TRUNC('{unit}', te)" for unit in UNITS_US_MAX),
    *(
        "te + INTERVAL '1' HOUR",
        "INTERVAL '90' MINUTE + te",
        "COALESCE(te, ts)",
        "GREATEST(ts, te)",
        "LEAST(ts, te)",
    ),
    *("TIME_BUCKET(INTERVAL '5' MINUTE, te)", "TIME_BUCKET(INTERVAL '1' WEEK, te)"),
    *("TIME_BUCKET(INTERVAL '7' DAY, te)", "TIME_BUCKET(INTERVAL '1000' SECOND, te)"),
    *(
        "DATE_TRUNC('hours', te)",
        "DATETRUNC('DAY', te)",
        "CASE WHEN b THEN te END",
        "NULLIF(te, ts)",
    ),
    "DATE '2014-01-05'",
)
"""Expressions whose value is an instant."""

PARTED = (
    *(f"EXTRACT({part} FROM te)" for part in PARTS),
    *(f"{name}(te)" for name in PARTS_AS_FUNCTIONS),
)
FIRST, LAST = "TIMESTAMP '0001-01-01'", "TIMESTAMP '9999-12-31 23:59:59.999999'"
WRITTEN = {
    **{text: text for text in (*SAME, *PARTED)},
    **{
        text: f"epoch_us(CASE WHEN {text} BETWEEN {FIRST} AND {LAST} THEN {text} END)"
        for text in TIMED
    },
    "ROUND(f, j)": "ROUND(f, CAST(j AS INTEGER))",
    "ROUND(i, j)": "ROUND(i, CAST(j AS INTEGER))",
    "CAST(te AS VARCHAR)": "CAST(te AS VARCHAR)",
    "CAST(te AS DATE)": "epoch_us(CAST(CAST(te AS DATE) AS TIMESTAMP))",
    "ts - te": "epoch_us(ts) - epoch_us(te)",
    "FLOOR(i)": "i",
    "CEIL(i)": "i",
    "DATE_PART('epoch', te)": "date_part('epoch', te)",
    "TRY_CAST(LEFT(t, 10) AS TIMESTAMP)": """CASE WHEN regexp_full_match(LEFT(t, 10), '\\d{4}-\\d{2}-\\d{2}')
        THEN epoch_us(TRY_CAST(LEFT(t, 10) AS TIMESTAMP)) END""",
    "(i, t) IN ((1, 'a'), (2, 'b'))": "(i = 1 AND t = 'a') OR (i = 2 AND t = 'b')",
    "(j, u) NOT IN ((1, 'a'), (2, ''))": "NOT ((j = 1 AND u = 'a') OR (j = 2 AND u = ''))",
}
"""Expressions of psoup, each beside its meaning in DuckDB's words."""


def shown(text: str, found: list[Row]) -> list[Value | None]:
    """Return psoup's values of an expression."""
    (output,) = bound(f"SELECT {text} AS value FROM s").clause.outputs
    column = evaluate(output.expression, columns_of(SCHEMA, found), len(found))
    assert output.type is column.type
    return column.to_list()


def duckdb_values(oracle: DuckDbOracle, text: str) -> list[object]:
    """Return DuckDB's values of an expression; NULL where it raises or is no finite number."""
    listed = oracle.scalar(f"SELECT list(TRY({text}) ORDER BY _tuple_id) FROM s")
    assert isinstance(listed, list)
    return [
        None if isinstance(value, float) and not math.isfinite(value) else value for value in listed
    ]


def alike(one: object, other: object) -> bool:
    """Return whether two values are the same, -0.0 and 0.0 told apart; numbers of any type."""
    return one == other and (one != 0 or str(one)[:1] == str(other)[:1] or isinstance(one, bool))


def differences(found: list[Row], written: dict[str, str]) -> list[str]:
    """Return the expressions of which psoup and DuckDB have different values over these tuples."""
    numbers = range(1, len(found) + 1)
    different = []
    with DuckDbOracle() as oracle:
        oracle.load(SCHEMA, found, tuple_ids=numbers, times_us=numbers)
        for text, meant in written.items():
            try:
                theirs = duckdb_values(oracle, meant)
            except duckdb.Error as error:
                different.append(f"{text}: DuckDB says {error}")
                continue
            for row, ours, other in zip(found, shown(text, found), theirs, strict=True):
                if not (ours is None and other is None) and not alike(ours, other):
                    different.append(f"{text} of {row}: {ours!r}, DuckDB {other!r}")
    return different
