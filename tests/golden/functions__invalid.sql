-- functions
SELECT sym FROM trades WHERE ROUND(sym) = 5
--> type-mismatch 1:36:3 sym
--> Expected a number, found VARCHAR.
--> write ROUND(x [, digits])

SELECT sym FROM trades WHERE ABS(px, 2) = 5
--> sql-syntax 1:30:10 ABS(px, 2)
--> A call has not as many arguments as its function takes: 2.
--> write ABS(x)

SELECT ABS() FROM trades
--> sql-syntax 1:8:5 ABS()
--> A call has not as many arguments as its function takes: 0.
--> write ABS(x)

SELECT sym FROM trades WHERE IFNULL(px, 1, 2) = 5
--> sql-syntax 1:30:16 IFNULL(px, 1, 2)
--> A call has not as many arguments as its function takes: 3.
--> write IFNULL(a, b)

SELECT sym FROM trades WHERE FOO(px) = 5
--> unsupported-sql 1:30:3 FOO
--> The function FOO() is not offered.
--> the functions are listed under Functions on the SQL page; the operators are + - * / % ||

SELECT sym FROM trades WHERE REGEXP_MATCHES(sym, 'a')
--> unsupported-sql 1:30:14 REGEXP_MATCHES
--> The function REGEXP_MATCHES() is not offered.
--> use LIKE with % and _

SELECT sym FROM trades WHERE IF(open, 1, 2) = 1
--> unsupported-sql 1:30:2 IF
--> The function IF() is not offered.
--> write CASE WHEN a > 5 THEN b ELSE c END

SELECT LOG2(px) FROM trades
--> unsupported-sql 1:8:4 LOG2
--> The function LOG2() is not offered.
--> write LN(x) / LN(2)

SELECT STRFTIME(ts, '%Y') FROM trades
--> unsupported-sql 1:8:8 STRFTIME
--> The function STRFTIME() is not offered.
--> CAST(ts AS VARCHAR) gives '2014-01-05 12:00:00'; cut it by LEFT and SUBSTRING

SELECT sym FROM trades WHERE LOWER(5) = 'a'
--> type-mismatch 1:36:1 5
--> Expected a text, found BIGINT constant 5.
--> write LOWER(s)

SELECT sym FROM trades WHERE GREATEST(px, sym) > 5
--> type-mismatch 1:43:3 sym
--> Expected DOUBLE as beside it, found VARCHAR.
--> write CAST(... AS DOUBLE), or cast what stands beside it

SELECT sym FROM trades WHERE COALESCE(sym, 5) = 'a'
--> type-mismatch 1:44:1 5
--> Expected VARCHAR as beside it, found BIGINT constant 5.
--> write CAST(... AS VARCHAR), or cast what stands beside it

SELECT sym FROM trades WHERE NULLIF(px, sym) = 5
--> type-mismatch 1:37:7 px, sym
--> DOUBLE does not compare with VARCHAR.
--> compare values of one type; numbers compare with numbers

SELECT sym FROM trades WHERE CONCAT() = 'a'
--> sql-syntax 1:30:8 CONCAT()
--> A call has not as many arguments as its function takes: 0.
--> write CONCAT(a, b, ...)

SELECT sym FROM trades WHERE LEFT(sym, 1.5) = 'a'
--> type-mismatch 1:40:3 1.5
--> Expected a BIGINT, found DOUBLE constant 1.5.
--> write LEFT(s, count)

SELECT sym FROM trades WHERE SQRT(9007199254740993) > 1
--> type-mismatch 1:35:16 9007199254740993
--> The integer 9007199254740993 is beyond what a DOUBLE holds exactly.
--> write it as a DOUBLE: 9007199254740992.0

SELECT POSITION('a', sym) FROM trades
--> unsupported-sql 1:20:1 ,
--> Expected IN and a text: POSITION('a' IN s), found ','. This is SQL outside the dialect of standing queries.
--> write IN and a text: POSITION('a' IN s)

SELECT SUBSTRING(sym FOR 2) FROM trades
--> sql-syntax 1:22:3 FOR
--> FOR stands behind FROM.
--> write SUBSTRING(s FROM 1 FOR 3)

SELECT TRIM(BOTH sym) FROM trades WHERE TRIM(LEADING 'x', sym) = 'a' AND TRIM('a' FROM 5) = 'b'
--> unsupported-sql 1:57:1 ,
--> Expected a comma or a closing bracket, found ','. This is SQL outside the dialect of standing queries.
--> write a comma or a closing bracket

SELECT sym FROM trades WHERE ABS(px
--> sql-syntax 1:36:0
--> Expected a comma or a closing bracket, found the end of the text.
--> write a comma or a closing bracket

SELECT sym FROM trades WHERE "abs"(px) = 5
--> unsupported-sql 1:30:5 "abs"
--> The function ABS() is not offered.
--> the functions are listed under Functions on the SQL page; the operators are + - * / % ||

-- CASE
SELECT CASE WHEN px > 5 THEN 1 FROM trades
--> sql-syntax 1:32:4 FROM
--> Expected WHEN, ELSE or END of CASE, found 'FROM'.
--> write WHEN, ELSE or END of CASE

SELECT CASE px END FROM trades
--> sql-syntax 1:16:3 END
--> Expected WHEN and a condition, found 'END'.
--> write WHEN and a condition

SELECT CASE WHEN px THEN 1 END FROM trades
--> type-mismatch 1:18:2 px
--> Expected a condition, found DOUBLE.
--> compare it with something: a > 5

SELECT CASE WHEN open 1 END FROM trades
--> unsupported-sql 1:23:1 1
--> Expected THEN and a value, found '1'. This is SQL outside the dialect of standing queries.
--> write THEN and a value

SELECT CASE WHEN open THEN 1 ELSE 'a' END FROM trades
--> type-mismatch 1:35:3 'a'
--> Expected BIGINT as beside it, found VARCHAR constant 'a'.
--> write CAST(... AS BIGINT), or cast what stands beside it

SELECT CASE sym WHEN 1 THEN 2 END FROM trades
--> type-mismatch 1:22:1 1
--> VARCHAR does not compare with BIGINT constant 1.
--> write it as a text, in quotes: '1'

-- casts
SELECT sym FROM trades WHERE CAST(ts AS BIGINT) = 5
--> type-mismatch 1:35:2 ts
--> TIMESTAMP is not cast to BIGINT.
--> EPOCH(ts) gives its seconds since 1970

SELECT sym FROM trades WHERE CAST(qty AS TIMESTAMP) = ts
--> type-mismatch 1:35:3 qty
--> BIGINT is not cast to TIMESTAMP.
--> declare the column as a timestamp, which may be sent in seconds

SELECT sym FROM trades WHERE CAST(open AS TIMESTAMP) = ts
--> type-mismatch 1:35:4 open
--> BOOLEAN is not cast to TIMESTAMP.
--> cast to VARCHAR and from there

SELECT sym FROM trades WHERE CAST(px AS FLOAT) = 5
--> unsupported-sql 1:41:5 FLOAT
--> The type FLOAT is not offered.
--> numbers with a fraction are DOUBLE

SELECT sym FROM trades WHERE CAST(px AS VARCHAR(10)) = '5'
--> unsupported-sql 1:48:1 (
--> Types take no length.
--> write VARCHAR alone; LEFT(s, 10) shortens a text

SELECT sym FROM trades WHERE CAST(px AS foo) = 5
--> sql-syntax 1:41:3 foo
--> Expected a type, found 'foo'.
--> the types are BIGINT, DOUBLE, BOOLEAN, VARCHAR, TIMESTAMP and DATE

SELECT sym FROM trades WHERE CAST(px, BIGINT) = 5
--> sql-syntax 1:37:1 ,
--> Expected AS and a type, found ','.
--> write AS and a type

SELECT sym FROM trades WHERE px:: = 5
--> sql-syntax 1:35:1 =
--> Expected a type, found '='.
--> the types are BIGINT, DOUBLE, BOOLEAN, VARCHAR, TIMESTAMP and DATE

SELECT sym FROM trades WHERE -qty::VARCHAR = 'a'
--> type-mismatch 1:31:12 qty::VARCHAR
--> Expected a number, found VARCHAR.
--> - takes BIGINT and DOUBLE

SELECT sym FROM trades WHERE qty::smallint = 1
--> unsupported-sql 1:35:8 smallint
--> The type SMALLINT is not offered.
--> whole numbers are BIGINT, of 64 bits

-- times
SELECT sym FROM trades WHERE DATE_TRUNC('fortnight', ts) = ts
--> unsupported-sql 1:41:11 'fortnight'
--> Expected a unit of time as a constant text, found VARCHAR constant 'fortnight'.
--> write one of 'microsecond', 'millisecond', 'second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'

SELECT sym FROM trades WHERE DATE_TRUNC(sym, ts) = ts
--> unsupported-sql 1:41:3 sym
--> Expected a unit of time as a constant text, found VARCHAR.
--> write one of 'microsecond', 'millisecond', 'second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'

SELECT sym FROM trades WHERE EXTRACT(fortnight FROM ts) = 1
--> unsupported-sql 1:38:9 fortnight
--> Expected a part of an instant as a constant text, found VARCHAR constant 'fortnight'.
--> write one of 'microsecond', 'millisecond', 'second', 'minute', 'hour', 'day', 'dow', 'isodow', 'doy', 'week', 'month', 'quarter', 'year', 'isoyear', 'epoch'

SELECT sym FROM trades WHERE EXTRACT(5 FROM ts) = 1
--> sql-syntax 1:38:1 5
--> Expected a part of an instant, found '5'.
--> write EXTRACT(hour FROM ts)

SELECT sym FROM trades WHERE EXTRACT(hour, ts) = 1
--> unsupported-sql 1:42:1 ,
--> Expected FROM and an instant, found ','. This is SQL outside the dialect of standing queries.
--> write FROM and an instant

SELECT sym FROM trades WHERE TIME_BUCKET(300, px) = ts
--> type-mismatch 1:42:3 300
--> Expected an INTERVAL above 0, of a century at most.
--> write TIME_BUCKET(INTERVAL '5' MINUTE, ts)

SELECT sym FROM trades WHERE TIME_BUCKET(INTERVAL '-5' MINUTE, ts) = ts
--> type-mismatch 1:42:20 INTERVAL '-5' MINUTE
--> Expected an INTERVAL above 0, of a century at most.
--> write TIME_BUCKET(INTERVAL '5' MINUTE, ts)

SELECT sym FROM trades WHERE TIME_BUCKET(INTERVAL '0' MINUTE, ts) = ts
--> type-mismatch 1:42:19 INTERVAL '0' MINUTE
--> Expected an INTERVAL above 0, of a century at most.
--> write TIME_BUCKET(INTERVAL '5' MINUTE, ts)

SELECT sym FROM trades WHERE TIME_BUCKET(qty, ts) = ts
--> type-mismatch 1:42:3 qty
--> Expected an INTERVAL above 0, of a century at most.
--> write TIME_BUCKET(INTERVAL '5' MINUTE, ts)

SELECT DATE '2014-1-5' FROM trades
--> unsupported-sql 1:13:10 '2014-1-5'
--> A DATE is a day alone.
--> write DATE '2014-01-05', or TIMESTAMP '2014-01-05 12:00:00'

SELECT DATE '2014-02-30' FROM trades
--> type-mismatch 1:13:12 '2014-02-30'
--> '2014-02-30' is no time.
--> write '2014-01-05', '2014-01-05 12:00:00' (UTC) or '2014-01-05T12:00:00.5+02:00', years 0001 to 9999

SELECT DATE '2014-01-05 12:00' FROM trades
--> unsupported-sql 1:13:18 '2014-01-05 12:00'
--> A DATE is a day alone.
--> write DATE '2014-01-05', or TIMESTAMP '2014-01-05 12:00:00'

SELECT sym FROM trades WHERE ts + ts > ts
--> type-mismatch 1:30:2 ts
--> Expected a number, found TIMESTAMP.
--> a TIMESTAMP moves by an INTERVAL: ts - INTERVAL '5' MINUTE

SELECT sym FROM trades WHERE px - ts > 5
--> type-mismatch 1:35:2 ts
--> Expected a number, found TIMESTAMP.
--> a TIMESTAMP moves by an INTERVAL: ts - INTERVAL '5' MINUTE

SELECT sym FROM trades WHERE ABS(INTERVAL '1' HOUR) > 5
--> type-mismatch 1:34:17 INTERVAL '1' HOUR
--> An INTERVAL stands only beside a TIMESTAMP.
--> write ts + INTERVAL '1' HOUR or ts - INTERVAL '1' HOUR; ts - ts is a number of microseconds

-- conditions
SELECT sym FROM trades WHERE (px, qty) = (1, 2)
--> unsupported-sql 1:30:9 (px, qty)
--> A row in brackets stands on both sides of IN alone.
--> write (a, b) IN ((1, 2), (3, 4)), or a = 1 AND b = 2; elsewhere leave the brackets out

SELECT sym FROM trades WHERE (qty, sym) IN ((1, 'a', 3))
--> type-mismatch 1:45:11 (1, 'a', 3)
--> Expected a row of 2 constants.
--> write (a, b) IN ((1, 2), (3, 4))

SELECT sym FROM trades WHERE (qty, sym) IN (1, 2)
--> type-mismatch 1:45:1 1
--> Expected a row of 2 constants.
--> write (a, b) IN ((1, 2), (3, 4))

SELECT sym FROM trades WHERE (qty, sym) IN ((1, Name))
--> unsupported-sql 1:49:4 Name
--> An IN list holds constants.
--> write a = b OR a = c

SELECT sym FROM trades WHERE qty IN ((1, 2))
--> unsupported-sql 1:38:6 (1, 2)
--> A row in brackets stands on both sides of IN alone.
--> write (a, b) IN ((1, 2), (3, 4)), or a = 1 AND b = 2; elsewhere leave the brackets out

SELECT sym FROM trades WHERE px IS DISTINCT FROM sym
--> type-mismatch 1:33:16 IS DISTINCT FROM
--> DOUBLE does not compare with VARCHAR.
--> compare values of one type; numbers compare with numbers

SELECT sym FROM trades WHERE px IS DISTINCT 5
--> sql-syntax 1:45:1 5
--> Expected FROM and a value, found '5'.
--> write FROM and a value

SELECT sym FROM trades WHERE px IS DISTINCT FROM
--> sql-syntax 1:49:0
--> Expected a value, found the end of the text.
--> write a column, a constant or an expression here

SELECT sym FROM trades WHERE qty ILIKE 'a'
--> type-mismatch 1:30:3 qty
--> LIKE takes strings, found BIGINT.
--> compare it with =, < or >, or write CAST(... AS VARCHAR)

SELECT sym FROM trades WHERE sym ILIKE Name
--> unsupported-sql 1:40:4 Name
--> Expected a pattern in single quotes, found 'Name'. This is SQL outside the dialect of standing queries.
--> write one constant: a LIKE 'A%'; several patterns are joined by OR, and another column is sought by STARTS_WITH(s, t), ENDS_WITH(s, t) or CONTAINS(s, t)

SELECT sym FROM trades WHERE sym ILIKE 'aX' ESCAPE 'x'
--> type-mismatch 1:40:4 'aX'
--> The pattern ends with its escape character.
--> write the escape character twice to mean itself

SELECT sym FROM trades WHERE sym || 'a' > 5
--> type-mismatch 1:43:1 5
--> VARCHAR does not compare with BIGINT constant 5.
--> write it as a text, in quotes: '5'

-- functions of other dialects
SELECT STARTSWITH(sym, 'A') FROM trades
--> unsupported-sql 1:8:10 STARTSWITH
--> The function STARTSWITH() is not offered.
--> write STARTS_WITH(s, 'a')

SELECT LENGHT(sym) FROM trades
--> unsupported-sql 1:8:6 LENGHT
--> The function LENGHT() is not offered.
--> did you mean LENGTH()? The functions are listed under Functions on the SQL page; the operators are + - * / % ||

SELECT COUNTIF(px > 5) FROM trades
--> unsupported-sql 1:8:7 COUNTIF
--> The aggregate COUNTIF is not offered.
--> write COUNT(*) FILTER (WHERE condition)

SELECT FIRST_VALUE(px) FROM trades
--> unsupported-sql 1:8:11 FIRST_VALUE
--> The aggregate FIRST_VALUE is not offered.
--> write FIRST(x): the one of the earliest row of a group

SELECT TRUNC(ts, 'hour') FROM trades
--> unsupported-sql 1:8:5 TRUNC
--> The function TRUNC() is not offered.
--> write FLOOR(x), CEIL(x), or CAST(x AS BIGINT), which rounds; of an instant DATE_TRUNC('hour', ts)

SELECT WINDOW(ts, '5 minutes') FROM trades
--> unsupported-sql 1:8:6 WINDOW
--> WINDOW() is not offered.
--> TIME_BUCKET(INTERVAL '5' MINUTE, ts) gives the bucket of a row

SELECT px // 2 FROM trades
--> sql-syntax 1:12:1 /
--> Expected a value, found '/'.
--> a comment begins with --; / gives a DOUBLE: a whole number is CAST((a - a % b) / b AS BIGINT), and its rest a % b

SELECT sym FROM trades WHERE sym <=> 'ACME'
--> sql-syntax 1:36:1 >
--> Expected a value, found '>'.
--> greater or equal is written >=, and <=> is written IS NOT DISTINCT FROM

SELECT sym FROM trades WHERE px =! 40
--> unsupported-sql 1:34:1 !
--> ! is not offered.
--> write NOT before a condition, <> between values

SELECT sym FROM trades WHERE sym IN ['ACME', 'IBM']
--> unsupported-sql 1:37:1 [
--> A subscript is not offered.
--> LEFT and SUBSTRING cut a text; the list of IN stands in round brackets: IN (1, 2)

SELECT sym FROM trades WHERE sym LIKE 'A' || '%'
--> unsupported-sql 1:43:2 ||
--> A pattern is one constant text.
--> write one constant: a LIKE 'A%'; several patterns are joined by OR, and another column is sought by STARTS_WITH(s, t), ENDS_WITH(s, t) or CONTAINS(s, t)

SELECT sym FROM trades WHERE sym LIKE ANY ('A%', 'I%')
--> unsupported-sql 1:39:3 ANY
--> Expected a pattern in single quotes, found 'ANY'. This is SQL outside the dialect of standing queries.
--> write one constant: a LIKE 'A%'; several patterns are joined by OR, and another column is sought by STARTS_WITH(s, t), ENDS_WITH(s, t) or CONTAINS(s, t)

SELECT COUNT(ALL px) FROM trades
--> unsupported-sql 1:14:3 ALL
--> ALL is not offered.
--> write NOT IN (...) for <> ALL; elsewhere leave ALL out: it goes without saying

SELECT sym, qty FROM trades GROUP BY (sym, qty)
--> unsupported-sql 1:38:10 (sym, qty)
--> A row in brackets stands on both sides of IN alone.
--> write (a, b) IN ((1, 2), (3, 4)), or a = 1 AND b = 2; elsewhere leave the brackets out

SELECT sym FROM trades ORDER BY px OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY
--> unsupported-sql 1:45:4 ROWS
--> Expected the end of the query, found 'ROWS'. This is SQL outside the dialect of standing queries.
--> write LIMIT 10 OFFSET 20

SELECT sym FROM trades LIMIT 1 + 1
--> unsupported-sql 1:32:1 +
--> LIMIT takes a number alone.
--> LIMIT and OFFSET take whole numbers: LIMIT 10 OFFSET 20

SELECT t.px FROM trades t JOIN Quotes q ON t.sym = q.sym AND t.ts - q.ts < INTERVAL '1' MINUTE
--> type-mismatch 1:76:19 INTERVAL '1' MINUTE
--> An INTERVAL stands only beside a TIMESTAMP.
--> write ts + INTERVAL '1' HOUR or ts - INTERVAL '1' HOUR; ts - ts is a number of microseconds
