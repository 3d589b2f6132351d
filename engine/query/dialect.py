"""The edges of the dialect: reserved words, and what to say about SQL that is not offered.

What is offered is written down in `text/expression_grammar.py`, `text/parser.py` and `functions/table.py`: nothing
else is ever accepted. But for the names of types, the tables here only make refusals helpful; `other_functions.py` has
those of functions.
"""

from psoup.engine.tuples.schema import ColumnType


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


RESERVED = _words(
    "ALL AND ANY AS BEGIN BETWEEN CASE CAST COLLATE CROSS DISTINCT ELSE END ESCAPE EXCEPT EXISTS FALSE FETCH "
    "FOR FROM FULL GROUP HAVING ILIKE IN INNER INTERSECT INTO IS JOIN LATERAL LEFT LIKE LIMIT NATURAL NOT "
    "NULL OFFSET ON OR ORDER OUTER OVER QUALIFY REGEXP RIGHT RLIKE SELECT SIMILAR SOME TABLESAMPLE THEN TRUE "
    "UNION USING VALUES WHEN WHERE WINDOW WITH"
)
"""Words that are names only in quotes."""

STATEMENTS = _words(
    "ALTER ANALYZE ATTACH BEGIN CALL CHECKPOINT COMMENT COMMIT COPY CREATE DEALLOCATE DECLARE DELETE DESCRIBE "
    "DETACH DROP EXECUTE EXPLAIN EXPORT FROM GRANT IMPORT INSERT INSTALL LOAD LOCK MERGE PIVOT PRAGMA PREPARE "
    "REFRESH REINDEX REPLACE REVOKE ROLLBACK SAVEPOINT SET SHOW START SUMMARIZE TABLE TRUNCATE UPDATE UPSERT "
    "USE VACUUM VALUES WITH"
)
"""Words that begin other statements of SQL."""

OVER_HINT = (
    "aggregate by groups: SELECT a, SUM(b) FROM s GROUP BY a; the greatest of each by ARG_MAX(x, y); "
    "the latest row of each: FROM s [PARTITION BY a ROWS 1]"
)
_SUBQUERY = (
    "join the streams in FROM (LEFT JOIN b ON a.x = b.y WHERE b.y IS NULL for rows without partners), "
    "write constants, or register the inner query on its own"
)
JOIN_HINT = "the joins are FROM a JOIN b ON a.x = b.y, FROM a LEFT JOIN b ON a.x = b.y, and FROM a, b WHERE a.x = b.y"
_CONDITION = "write the condition out: JOIN b ON a.x = b.x"
_SETS = "register each SELECT on its own"
PATTERN_HINT = "use LIKE with % and _"
BUCKET_HINT = "TIME_BUCKET(INTERVAL '5' MINUTE, ts) gives the bucket of a row"
_SINGLE = "LEFT and SUBSTRING cut a text; the list of IN stands in round brackets: IN (1, 2)"
_NOT = "write NOT before a condition, <> between values"
_WHOLE = "/ gives a DOUBLE: a whole number is CAST((a - a % b) / b AS BIGINT), and its rest a % b"
_NAMED = "write :name or $name, and give its value in params"

CLAUSES = {
    "FETCH": ("FETCH", "write LIMIT 10"),
    "UNION": ("UNION", _SETS),
    "INTERSECT": ("INTERSECT", _SETS),
    "EXCEPT": ("EXCEPT", _SETS),
    "JOIN": ("JOIN there", JOIN_HINT),
    "INNER": ("JOIN there", JOIN_HINT),
    "LEFT": ("LEFT JOIN there", JOIN_HINT),
    "RIGHT": ("RIGHT JOIN", "let the streams change places: FROM b LEFT JOIN a ON a.x = b.y"),
    "FULL": (
        "FULL JOIN",
        "register two queries: a LEFT JOIN b, and b LEFT JOIN a where a.x IS NULL",
    ),
    "OUTER": ("OUTER JOIN", JOIN_HINT),
    "CROSS": ("CROSS JOIN there", JOIN_HINT),
    "NATURAL": ("NATURAL JOIN", _CONDITION),
    "LATERAL": ("LATERAL", JOIN_HINT),
    "ON": ("ON there", JOIN_HINT),
    "USING": ("USING", _CONDITION),
    "WINDOW": ("WINDOW", "the window of a query is BEGIN (...) END (...)"),
    "OVER": ("A window function", OVER_HINT),
    "QUALIFY": ("QUALIFY", OVER_HINT),
    "TABLESAMPLE": ("TABLESAMPLE", "leave it out"),
    "INTO": ("INTO", "invoke the query to read its answer"),
    "FOR": ("FOR", "leave it out"),
    "COLLATE": ("COLLATE", "strings compare by code point"),
    "SIMILAR": ("SIMILAR TO", PATTERN_HINT),
    "REGEXP": ("A regular expression", PATTERN_HINT),
    "RLIKE": ("A regular expression", PATTERN_HINT),
    "GLOB": ("GLOB", PATTERN_HINT),
    "AT": ("AT TIME ZONE", "timestamps are UTC; write the offset into the literal"),
    "ISNULL": ("ISNULL", "write IS NULL"),
    "NOTNULL": ("NOTNULL", "write IS NOT NULL"),
    "DIV": ("DIV", _WHOLE),
    "XOR": ("XOR", "write a <> b"),
    "==": ("==", "write ="),
    "&&": ("&&", "write AND"),
    "~": ("~", PATTERN_HINT),
    "!": ("!", _NOT),
    "[": ("A subscript", _SINGLE),
    "->": ("->", "columns hold single values"),
    "->>": ("->>", "columns hold single values"),
    "^": ("^", "write POWER(x, y)"),
    "MOD": ("MOD there", "write a % b or MOD(a, b)"),
    "&": ("&", "write AND; the operators are + - * / %"),
    "|": ("|", "write OR; the operators are + - * / %"),
    "<<": ("<<", "the operators are + - * / %"),
    ">>": (">>", "the operators are + - * / %"),
}
"""What may stand behind a finished part in SQL: its name, and the nearest supported form."""

CLAUSE_WORDS = (
    "AND",
    "BEGIN",
    "BETWEEN",
    "END",
    "FROM",
    "GROUP",
    "HAVING",
    "JOIN",
    "LIKE",
    "LIMIT",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "SELECT",
    "WHERE",
)
"""Keywords that a word before the refused one may be, misspelt."""

_WINDOW_LAST = "the window stands last: SELECT ... FROM ... WHERE ... BEGIN (...) END (...)"
_PARTS_ORDER = "the order is SELECT, FROM, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT, OFFSET, and the window BEGIN (...) END (...)"
_ENDS = "a window has two ends: BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)"
RESTS = {
    "WHERE": _PARTS_ORDER,
    "FROM": _WINDOW_LAST,
    "GROUP": _PARTS_ORDER,
    "HAVING": _PARTS_ORDER,
    "ORDER": _PARTS_ORDER,
    "LIMIT": _PARTS_ORDER,
    "OFFSET": _PARTS_ORDER,
    "BEGIN": _ENDS,
    "END": _ENDS,
    "(": "what stands before the bracket is no function here",
    ")": "this bracket closes nothing: leave it out",
    ".": "a stream is named without a schema or database before it",
    "/": "a comment begins with -- or stands between /* and */",
    "AND": "conditions stand behind WHERE, or behind the ON of a join",
    "OR": "conditions stand behind WHERE",
    "NOT": "write IS NOT NULL, NOT IN (...), NOT LIKE or NOT BETWEEN",
    "=": "comparisons stand in WHERE; an output is named by AS",
    "CONTAINS": "write CONTAINS(s, 'text') or s LIKE '%text%'",
    "CHANGES": "leave EMIT CHANGES out: a standing query answers what it holds when it is invoked",
    "SELECT": "register each SELECT on its own",
    "UNKNOWN": "write IS NULL",
    "ROW": "write LIMIT 10 OFFSET 20",
    "ROWS": "write LIMIT 10 OFFSET 20",
    "DISTINCT": "compare with =, ask for NULL by IS NULL, or write IS DISTINCT FROM",
}
"""What to do where one of these stands behind a finished part."""

CLAUSES_LATER = _words("BEGIN END FROM WHERE")
"""Of these, those of which it is said only where an expression could end: inside a bracket or CASE something lacks."""

BEHIND_A_NAME = _words(
    "AND AS BEGIN BETWEEN END FROM IN IS LIKE OR , ) ] . = <> != < > <= >= + - * / %"
)
"""What may follow a column: a reserved word before one of these was meant as a name."""

STAR_CHANGES = _words("EXCEPT EXCLUDE RENAME REPLACE")
"""What other dialects let `*` be followed by, with brackets behind it."""

STATEMENT_HINTS = {
    "EXPLAIN": "POST /v1/validate tells what a query means, GET /v1/queries/{id}/explain how it is answered",
    "CREATE": "streams are declared by PUT /v1/streams/{name}",
    "DROP": "streams are dropped by DELETE /v1/streams/{name}",
    "ALTER": "a stream is dropped and declared anew to change it",
    "INSERT": "rows are sent by POST /v1/streams/{name}/rows",
    "COPY": "rows are sent by POST /v1/streams/{name}/rows",
    "LOAD": "rows are sent by POST /v1/streams/{name}/rows",
    "UPDATE": "rows are never changed: send newer ones",
    "DELETE": "rows leave by themselves: the declaration's retention says when",
    "TRUNCATE": "rows leave by themselves: the declaration's retention says when",
    "SHOW": "streams are listed by GET /v1/streams, queries by GET /v1/queries",
    "DESCRIBE": "a stream is described by GET /v1/streams/{name}",
    "FROM": "SELECT stands first: SELECT * FROM stream",
}
"""What does here what a statement of SQL does elsewhere."""

CLOCKS = _words(
    "CURDATE CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURTIME GETDATE LOCALTIME LOCALTIMESTAMP NOW SYSDATE "
    "SYSTIMESTAMP TODAY UTC_TIMESTAMP"
)
"""Names of the present in dialects of SQL."""
CLOCK_DETAIL = "The present is known to the window alone, not to SELECT, WHERE or ON."
CLOCK_HINT = "move with NOW by a window behind WHERE: BEGIN (NOW - INTERVAL '1' HOUR) END (NOW)"

JOIN_KINDS = {
    "ANTI": "write FROM a LEFT JOIN b ON a.x = b.y WHERE b.y IS NULL",
    "ASOF": "join the latest row of each: FROM a JOIN b [PARTITION BY y ROWS 1] ON a.x = b.y",
    "OUTER": JOIN_HINT,
    "POSITIONAL": JOIN_HINT,
    "SEMI": "write SELECT DISTINCT a.x, ... FROM a JOIN b ON a.x = b.y",
}
"""Kinds of joins whose names are no reserved words, and what to write: without this they would be read as aliases."""

OPERANDS = {
    "SELECT": ("A subquery", _SUBQUERY),
    "WITH": ("A common table expression", _SUBQUERY),
    "VALUES": ("VALUES", _SUBQUERY),
    "EXISTS": ("EXISTS", _SUBQUERY),
    "ANY": ("ANY", "write IN (...)"),
    "SOME": ("SOME", "write IN (...)"),
    "ALL": (
        "ALL",
        "write NOT IN (...) for <> ALL; elsewhere leave ALL out: it goes without saying",
    ),
    "DISTINCT": (
        "DISTINCT inside an expression",
        "SELECT DISTINCT takes whole rows, COUNT(DISTINCT x) the values of one column",
    ),
    "?": ("A parameter without a name", _NAMED),
    ":": ("A parameter without a name", _NAMED),
    "$": ("A parameter without a name", _NAMED),
    "@": ("A parameter with @", _NAMED),
    "[": ("A list", "write IN (1, 2, 3); a name stands in double quotes"),
    "{": ("A parameter in braces", _NAMED),
    "+": ("Unary plus", "leave it out"),
    "~": ("~", "the operators are + - * / %"),
    "!": ("!", _NOT),
    "WINDOW": ("WINDOW()", BUCKET_HINT),
}
"""What may stand in place of an operand in SQL: its name, and the nearest supported form."""

MISPLACED = {
    "FROM": "name the columns to select, or * for all of them, without a comma behind the last",
    "%": f"a placeholder like %s is not filled in: {_NAMED}",
    "*": "* alone is the whole select list; between two numbers it multiplies, and a power is POWER(x, y)",
    "/": f"a comment begins with --; {_WHOLE}",
    ">": "greater or equal is written >=, and <=> is written IS NOT DISTINCT FROM",
    "<": "less or equal is written <=",
    "=": "equality is written with one =",
}
"""What to do where one of these stands in place of an operand, and no SQL has it there."""

TYPED_LITERALS = {
    "TIME": ("A TIME literal", "write a whole TIMESTAMP '2014-01-05 12:00:00'"),
    "TIMESTAMPTZ": ("A TIMESTAMPTZ literal", "write TIMESTAMP '2014-01-05T12:00:00+02:00'"),
    "DATETIME": ("A DATETIME literal", "write TIMESTAMP '2014-01-05 12:00:00'"),
}

RESERVED_FUNCTIONS = _words("CAST LEFT RIGHT")
"""Reserved words that are functions before a bracket."""

TRIM_SIDES = {"BOTH": "TRIM", "LEADING": "LTRIM", "TRAILING": "RTRIM"}
"""The function that each side of TRIM(side characters FROM text) means."""

TYPES = {
    **dict.fromkeys(_words("BIGINT INT8 INT64 LONG INT INTEGER"), ColumnType.INT64),
    **dict.fromkeys(_words("DOUBLE FLOAT8"), ColumnType.FLOAT64),
    **dict.fromkeys(_words("BOOLEAN BOOL"), ColumnType.BOOL),
    **dict.fromkeys(_words("VARCHAR TEXT STRING"), ColumnType.STRING),
    **dict.fromkeys(_words("TIMESTAMP DATETIME DATE"), ColumnType.TIMESTAMP),
}
"""What CAST casts to, by name. A DATE is the midnight with which the day begins."""
TYPES_HINT = "the types are BIGINT, DOUBLE, BOOLEAN, VARCHAR, TIMESTAMP and DATE"
OTHER_TYPES = {
    **dict.fromkeys(
        _words("TINYINT SMALLINT INT2 INT4 HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT"),
        "whole numbers are BIGINT, of 64 bits",
    ),
    **dict.fromkeys(
        _words("FLOAT FLOAT4 REAL DECIMAL NUMERIC"), "numbers with a fraction are DOUBLE"
    ),
    **dict.fromkeys(_words("CHAR BPCHAR"), "texts are VARCHAR"),
    **dict.fromkeys(
        _words("TIMESTAMPTZ TIMESTAMP_NS TIMESTAMP_MS TIMESTAMP_S"),
        "instants are TIMESTAMP, in UTC",
    ),
    "TIME": "write the part: EXTRACT(hour FROM ts)",
    "INTERVAL": "write the INTERVAL itself: ts + INTERVAL '1' HOUR",
    "BLOB": TYPES_HINT,
    "JSON": TYPES_HINT,
    "UUID": "texts are VARCHAR",
}
"""What to write in place of other types of SQL."""
