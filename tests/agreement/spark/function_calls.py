"""Functions over the columns of `test_forms.py`: `ij` numbers, `fg` DOUBLEs, `su` texts, `bc` flags, `de` instants."""

from psoup.engine.query.functions.times import PARTS, UNITS_US_MAX

CALLS = (
    *(
        "SIGN(i)",
        "SIGN(f)",
        "FLOOR(f)",
        "CEIL(f)",
        "FLOOR(i)",
        "ROUND(f)",
        "ROUND(f, 2)",
        "ROUND(f, -2)",
        "ROUND(i)",
    ),
    *(
        "ROUND(i, -2)",
        "ROUND(i, -19)",
        "ROUND(i, -40)",
        "ROUND(f, 400)",
        "ROUND(f, -400)",
        "SQRT(f)",
        "SQRT(i)",
    ),
    *(
        "MOD(i, j)",
        "MOD(f, 2)",
        "GREATEST(i, j, 5)",
        "LEAST(f, i)",
        "GREATEST(s, u)",
        "LEAST(d, e)",
        "GREATEST(b, c)",
    ),
    *(
        "GREATEST(i)",
        "COALESCE(i, j)",
        "COALESCE(f, i, 0.5)",
        "COALESCE(s, u, 'x')",
        "COALESCE(d, '2014-01-05')",
    ),
    *(
        "NULLIF(i, j)",
        "NULLIF(i, 2.5)",
        "NULLIF(f, i)",
        "NULLIF(s, 'a')",
        "IFNULL(b, c)",
        "NULLIF(d, e)",
    ),
    *(
        "CASE WHEN i > 1 THEN s WHEN b THEN u END",
        "CASE i WHEN j THEN 1 WHEN 2 THEN f END",
        "CASE WHEN b THEN d ELSE e END",
    ),
    *(
        "CAST(i AS DOUBLE)",
        "CAST(f AS BIGINT)",
        "CAST(b AS BIGINT)",
        "CAST(b AS DOUBLE)",
        "CAST(i AS BOOLEAN)",
    ),
    *(
        "CAST(f AS BOOLEAN)",
        "CAST(i AS VARCHAR)",
        "CAST(b AS VARCHAR)",
        "CAST(d AS VARCHAR)",
        "CAST(d AS DATE)",
    ),
    *(
        "LENGTH(s)",
        "TRIM(s)",
        "LTRIM(s, 'a')",
        "RTRIM(s, 'b')",
        "REPLACE(s, 'a', 'xx')",
        "REPLACE(s, '', 'xx')",
    ),
    *(
        "SUBSTRING(s, 2)",
        "SUBSTRING(s, i)",
        "SUBSTRING(s, i, j)",
        "SUBSTRING(s, 0, 2)",
        "SUBSTRING(s, -2, 1)",
    ),
    *(
        "LEFT(s, i)",
        "RIGHT(s, i)",
        "LEFT(s, -1)",
        "RIGHT(s, -1)",
        "s || u",
        "s || i || b",
        "CONCAT(s, NULL, u, i)",
    ),
    *(
        "STARTS_WITH(s, u)",
        "ENDS_WITH(s, u)",
        "CONTAINS(s, u)",
        "CONTAINS(s, '%')",
        "STRPOS(s, u)",
        "POSITION('b' IN s)",
    ),
    *("LOWER(LEFT(s, 3)) = 'a'", "UPPER(s) = 'AB'", "s ILIKE 'A%'", "s NOT ILIKE 'a!%' ESCAPE '!'"),
    *(f"DATE_TRUNC('{unit}', d)" for unit in UNITS_US_MAX),
    *(f"EXTRACT({part} FROM d)" for part in PARTS),
    *(
        "EPOCH(d)",
        "EXTRACT(epoch FROM d)",
        "TIME_BUCKET(INTERVAL '5' MINUTE, d)",
        "TIME_BUCKET(INTERVAL '9' DAY, d)",
    ),
    *("d - e", "'2014-01-05' - d", "DATE '2014-01-05' - d", "d - e > 5000000"),
    *(
        f"{a} IS {no}DISTINCT FROM {b}"
        for no in ("", "NOT ")
        for a, b in ("ij", "fg", "su", "bc", "de", "if")
    ),
    *(
        "i IS DISTINCT FROM NULL",
        "(i, s) IN ((1, 'a'), (2, NULL))",
        "(i, f) NOT IN ((1, 1), (2, 0.1))",
    ),
)
"""Those that Spark can be made to say, to the last bit."""

REALS = (
    *(f"{name}({x})" for name in ("EXP", "LN", "LOG10") for x in ("f", "i", "f / 3", "i / 7")),
    *(
        "POWER(f, g)",
        "POWER(i, j)",
        "POWER(f, 0.5)",
        "POWER(f, -3)",
        "POWER(f / 3, g)",
        "POWER(10, i % 20)",
    ),
)
"""Those of the C library here and of Java there: neither says what the last bit is."""
