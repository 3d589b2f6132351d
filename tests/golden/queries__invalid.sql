-- no query
;
--> unsupported-sql 1:1:1 ;
--> The text holds no query.
--> write SELECT a, b FROM stream WHERE a > 5 BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)

hello
--> sql-syntax 1:1:5 hello
--> Expected SELECT, found 'hello'.
--> write SELECT a, b FROM stream WHERE a > 5 BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)

INSERT INTO trades VALUES (1)
--> unsupported-sql 1:1:6 INSERT
--> A standing query is one SELECT, without brackets around it.
--> rows are sent by POST /v1/streams/{name}/rows

WITH x AS (SELECT 1) SELECT * FROM x
--> unsupported-sql 1:1:4 WITH
--> A standing query is one SELECT, without brackets around it.
--> the form is SELECT a, b FROM stream WHERE a > 5 BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)

(SELECT sym FROM trades)
--> unsupported-sql 1:1:1 (
--> A standing query is one SELECT, without brackets around it.
--> the form is SELECT a, b FROM stream WHERE a > 5 BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)

SELECT sym FROM trades; SELECT px FROM trades
--> unsupported-sql 1:25:6 SELECT
--> The text holds more than one statement.
--> register each query on its own

EXPLAIN SELECT sym FROM trades
--> unsupported-sql 1:1:7 EXPLAIN
--> A standing query is one SELECT, without brackets around it.
--> POST /v1/validate tells what a query means, GET /v1/queries/{id}/explain how it is answered

BEGIN (NOW) END (NOW)
--> unsupported-sql 1:1:5 BEGIN
--> A standing query is one SELECT, without brackets around it.
--> the form is SELECT a, b FROM stream WHERE a > 5 BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)

-- syntax
SELECT
--> sql-syntax 1:7:0
--> Expected a value, found the end of the text.
--> write a column, a constant or an expression here

SELECT FROM trades
--> sql-syntax 1:8:4 FROM
--> Expected a value, found 'FROM'.
--> name the columns to select, or * for all of them, without a comma behind the last

SELECT sym, FROM trades
--> sql-syntax 1:13:4 FROM
--> Expected a value, found 'FROM'.
--> name the columns to select, or * for all of them, without a comma behind the last

SELECT sym FROM
--> sql-syntax 1:16:0
--> Expected the name of a stream, found the end of the text.
--> write the name of a stream here

SELECT sym FROM trades WHERE
--> sql-syntax 1:29:0
--> Expected a value, found the end of the text.
--> write a column, a constant or an expression here

SELECT sym FROM trades WHERE px >
--> sql-syntax 1:34:0
--> Expected a value, found the end of the text.
--> write a column, a constant or an expression here

SELECT sym FROM trades WHERE px > 1 AND
--> sql-syntax 1:40:0
--> Expected a value, found the end of the text.
--> write a column, a constant or an expression here

SELECT sym FROM trades WHERE (px > 1
--> sql-syntax 1:37:0
--> Expected a closing bracket, found the end of the text.
--> write a closing bracket

SELECT sym FROM trades WHERE px > 1)
--> sql-syntax 1:36:1 )
--> Expected the end of the query, found ')'.
--> this bracket closes nothing: leave it out

SELECT sym FROM trades WHERE px BETWEEN 1
--> sql-syntax 1:42:0
--> Expected AND and the upper end of BETWEEN, found the end of the text.
--> write AND and the upper end of BETWEEN

SELECT sym FROM trades WHERE px IN ()
--> sql-syntax 1:37:1 )
--> The list of IN is empty.
--> write at least one constant, or FALSE in place of the condition

SELECT sym FROM trades WHERE px IN 1, 2
--> sql-syntax 1:36:1 1
--> Expected a list of constants in brackets, found '1'.
--> write a list of constants in brackets

SELECT sym FROM trades WHERE px IS 5
--> unsupported-sql 1:36:1 5
--> Expected NULL, TRUE or FALSE after IS, found '5'. This is SQL outside the dialect of standing queries.
--> write IS NULL, IS NOT NULL, IS TRUE or IS FALSE; values compare by = and <>

SELECT sym FROM trades WHERE sym LIKE sym
--> unsupported-sql 1:39:3 sym
--> Expected a pattern in single quotes, found 'sym'. This is SQL outside the dialect of standing queries.
--> write one constant: a LIKE 'A%'; several patterns are joined by OR, and another column is sought by STARTS_WITH(s, t), ENDS_WITH(s, t) or CONTAINS(s, t)

SELECT sym FROM trades WHERE sym LIKE 'a' ESCAPE 5
--> sql-syntax 1:50:1 5
--> Expected one character in single quotes, found '5'.
--> write one character in single quotes

SELECT sym FROM trades WHERE sym = 'ACME
--> sql-syntax 1:36:1 '
--> The string is never closed.
--> close it with '; a quote inside is written twice: 'it''s'

SELECT "sym FROM trades
--> sql-syntax 1:8:1 "
--> The quoted name is never closed.
--> close it with "

SELECT sym /* FROM trades
--> sql-syntax 1:12:2 /*
--> The comment is never closed.
--> close it with */

SELECT 1abc FROM trades
--> sql-syntax 1:8:4 1abc
--> A number runs into 'abc'.
--> separate the two; a name that begins with a digit stands in double quotes

SELECT sym sym2 sym3 FROM trades
--> sql-syntax 1:17:4 sym3
--> Expected a comma or FROM, found 'sym3'.
--> columns are separated by commas; FROM and a stream stand behind the last

SELECT sym FROM trades t u
--> sql-syntax 1:26:1 u
--> Expected the end of the query, found 'u'.
--> leave out what follows, or join conditions by AND

SELECT where FROM trades
--> sql-syntax 1:8:5 where
--> Expected a value, found 'where'.
--> as a name it stands in double quotes: "where"

SELECT sym AS from FROM trades
--> sql-syntax 1:15:4 from
--> Expected an alias, found the keyword FROM.
--> as a name it stands in double quotes: "from"

SELECT "" FROM trades
--> sql-syntax 1:8:2 ""
--> Expected a column, found ''.
--> write a column here

SELECT t. FROM trades t
--> sql-syntax 1:11:4 FROM
--> Expected a column, found the keyword FROM.
--> as a name it stands in double quotes: "FROM"

SELECT `sym` FROM trades
--> sql-syntax 1:8:1 `
--> A backtick quotes nothing here.
--> write 'sym' where a text is meant, "sym" where a name is meant

SELECT sym FROM trades WHERE sym # 1
--> sql-syntax 1:34:1 #
--> SQL does not know the sign #.
--> write -- in front of a comment

SELECT sym
FROM trades
WHERE px >> 1
  AND qty = = 2
--> unsupported-sql 3:10:2 >>
--> >> is not offered.
--> the operators are + - * / %

-- outside the dialect
SELECT sym FROM trades UNION SELECT sym FROM trades
--> unsupported-sql 1:24:5 UNION
--> UNION is not offered.
--> register each SELECT on its own

SELECT sym FROM (SELECT sym FROM trades)
--> unsupported-sql 1:17:1 (
--> A subquery in FROM is not offered.
--> FROM takes the name of a stream

SELECT sym FROM trades WHERE px IN (SELECT px FROM trades)
--> unsupported-sql 1:37:6 SELECT
--> A subquery is not offered.
--> join the streams in FROM (LEFT JOIN b ON a.x = b.y WHERE b.y IS NULL for rows without partners), write constants, or register the inner query on its own

SELECT sym FROM trades WHERE EXISTS (SELECT 1)
--> unsupported-sql 1:30:6 EXISTS
--> EXISTS is not offered.
--> join the streams in FROM (LEFT JOIN b ON a.x = b.y WHERE b.y IS NULL for rows without partners), write constants, or register the inner query on its own

SELECT sym FROM trades WHERE px = ANY (1)
--> unsupported-sql 1:35:3 ANY
--> ANY is not offered.
--> write IN (...)

SELECT sym FROM trades WHERE sym SIMILAR TO 'a'
--> unsupported-sql 1:34:7 SIMILAR
--> SIMILAR TO is not offered.
--> use LIKE with % and _

SELECT sym FROM trades WHERE sym ~ 'a+'
--> unsupported-sql 1:34:1 ~
--> ~ is not offered.
--> use LIKE with % and _

SELECT sym FROM trades WHERE px == 1
--> unsupported-sql 1:33:2 ==
--> == is not offered.
--> write =

SELECT sym FROM trades WHERE 1 < px < 5
--> unsupported-sql 1:37:1 <
--> Comparisons do not chain.
--> write a < b AND b < c, or put brackets; || joins texts, OR joins conditions

SELECT sym FROM trades WHERE px = ?
--> unsupported-sql 1:35:1 ?
--> A parameter without a name is not offered.
--> write :name or $name, and give its value in params

SELECT sym FROM trades WHERE px = :px
--> invalid-field 1:35:3 :px
--> The parameter :px has no value.
--> give one in params, beside sql: "params": {"px": 40}

SELECT sym FROM trades WHERE px = $1
--> unsupported-sql 1:35:1 $
--> A parameter without a name is not offered.
--> write :name or $name, and give its value in params

SELECT ROW_NUMBER() OVER (ORDER BY px) FROM trades
--> unsupported-sql 1:8:10 ROW_NUMBER
--> The function ROW_NUMBER() is not offered.
--> aggregate by groups: SELECT a, SUM(b) FROM s GROUP BY a; the greatest of each by ARG_MAX(x, y); the latest row of each: FROM s [PARTITION BY a ROWS 1]

SELECT sym FROM trades WHERE ts > NOW() - 5
--> unsupported-sql 1:35:3 NOW
--> The function NOW() is not offered.
--> move with NOW by a window behind WHERE: BEGIN (NOW - INTERVAL '1' HOUR) END (NOW)

SELECT +px FROM trades
--> unsupported-sql 1:8:1 +
--> Unary plus is not offered.
--> leave it out

SELECT a.b.c FROM trades a
--> unsupported-sql 1:8:5 a.b.c
--> A name has at most two parts.
--> write stream.column or column

SELECT sym FROM trades WHERE qty IN (1, px)
--> unsupported-sql 1:41:2 px
--> An IN list holds constants.
--> write a = b OR a = c

SELECT sym FROM trades WHERE ts > ts - INTERVAL '1' MONTH
--> unsupported-sql 1:53:5 MONTH
--> INTERVAL has no unit 'MONTH'.
--> months and years are of no fixed length: write days, INTERVAL '30' DAY

SELECT sym FROM trades TABLESAMPLE (10)
--> unsupported-sql 1:24:11 TABLESAMPLE
--> TABLESAMPLE is not offered.
--> leave it out

SELECT sym FROM trades PIVOT (x)
--> sql-syntax 1:30:1 (
--> Expected the end of the query, found '('.
--> what stands before the bracket is no function here

SELECT sym FROM main.trades
--> unsupported-sql 1:21:1 .
--> Expected the end of the query, found '.'. This is SQL outside the dialect of standing queries.
--> a stream is named without a schema or database before it

SELECT * EXCEPT (sym) FROM trades
--> unsupported-sql 1:10:6 EXCEPT
--> * takes no EXCEPT.
--> name the columns to select in place of *

SELECT 1
--> unsupported-sql 1:9:0
--> Expected a comma or FROM, found the end of the text. This is SQL outside the dialect of standing queries.
--> columns are separated by commas; FROM and a stream stand behind the last

-- names
SELECT sym FROM tradez
--> unknown-stream 1:17:6 tradez
--> There is no stream 'tradez'.
--> did you mean trades?

SELECT sym FROM "TRADES"
--> unknown-stream 1:17:8 "TRADES"
--> There is no stream 'TRADES'.
--> did you mean trades?

SELECT symm FROM trades
--> unknown-column 1:8:4 symm
--> trades has no column 'symm'.
--> did you mean sym?

SELECT sym, "SYM" FROM trades
--> unknown-column 1:13:5 "SYM"
--> trades has no column 'SYM'.
--> as a text it stands in single quotes: 'SYM'; did you mean sym?

SELECT trades.sym FROM trades t
--> unknown-column 1:8:6 trades
--> FROM brings no 'trades'.
--> write t.column, or the column alone

SELECT q.* FROM trades t
--> unknown-column 1:8:1 q
--> FROM brings no 'q'.
--> write t.column, or the column alone

SELECT sym FROM trades WHERE ts > NOW - INTERVAL '1' HOUR
--> unknown-column 1:35:3 NOW
--> trades has no column 'NOW'.
--> move with NOW by a window behind WHERE: BEGIN (NOW - INTERVAL '1' HOUR) END (NOW)

SELECT _id FROM trades
--> unknown-column 1:8:3 _id
--> trades has no column '_id'.
--> leave it out: every row of an answer has _id and _x

SELECT px AS _x FROM trades
--> unsupported-sql 1:14:2 _x
--> An output cannot be named '_x'.
--> 1 to 128 printable characters; _id and _x are psoup's own

SELECT px, px FROM trades
--> unsupported-sql 1:12:2 px
--> Two outputs are named 'px'.
--> give one of them an alias: AS px_2

SELECT *, sym FROM trades
--> unsupported-sql 1:11:3 sym
--> Two outputs are named 'sym'.
--> give one of them an alias: AS sym_2

SELECT qty + 1, qty  +  1 FROM trades
--> unsupported-sql 1:17:9 qty  +  1
--> Two outputs are named 'qty + 1'.
--> give one of them an alias: AS "qty + 1_2"

-- types
SELECT sym FROM trades WHERE px
--> type-mismatch 1:30:2 px
--> Expected a condition, found DOUBLE.
--> compare it with something: a > 5

SELECT sym FROM trades WHERE NOT qty
--> type-mismatch 1:34:3 qty
--> Expected a condition, found BIGINT.
--> compare it with something: a > 5

SELECT sym FROM trades WHERE px > 1 AND qty
--> type-mismatch 1:41:3 qty
--> Expected a condition, found BIGINT.
--> compare it with something: a > 5

SELECT sym FROM trades WHERE sym = 5
--> type-mismatch 1:36:1 5
--> VARCHAR does not compare with BIGINT constant 5.
--> write it as a text, in quotes: '5'

SELECT sym FROM trades WHERE 'a' < px
--> type-mismatch 1:30:3 'a'
--> VARCHAR constant 'a' does not compare with DOUBLE.
--> write a number, without quotes

SELECT sym FROM trades WHERE open = 1
--> type-mismatch 1:37:1 1
--> BOOLEAN does not compare with BIGINT constant 1.
--> compare with TRUE or FALSE

SELECT sym FROM trades WHERE open = 'true'
--> type-mismatch 1:37:6 'true'
--> BOOLEAN does not compare with VARCHAR constant 'true'.
--> compare with TRUE or FALSE

SELECT sym FROM trades WHERE px = sym
--> type-mismatch 1:33:1 =
--> DOUBLE does not compare with VARCHAR.
--> compare values of one type; numbers compare with numbers

SELECT sym FROM trades WHERE ts > 5
--> type-mismatch 1:35:1 5
--> TIMESTAMP does not compare with BIGINT constant 5.
--> write a time in quotes, TIMESTAMP '2014-01-05 12:00:00': without them 2014-01-05 is a subtraction

SELECT sym FROM trades WHERE ts > 'yesterday'
--> type-mismatch 1:35:11 'yesterday'
--> 'yesterday' is no time.
--> write '2014-01-05', '2014-01-05 12:00:00' (UTC) or '2014-01-05T12:00:00.5+02:00', years 0001 to 9999

SELECT sym FROM trades WHERE ts > TIMESTAMP '2014-02-30'
--> type-mismatch 1:45:12 '2014-02-30'
--> '2014-02-30' is no time.
--> write '2014-01-05', '2014-01-05 12:00:00' (UTC) or '2014-01-05T12:00:00.5+02:00', years 0001 to 9999

SELECT sym FROM trades WHERE ts > '2014-01-05T25:00:00Z'
--> type-mismatch 1:35:22 '2014-01-05T25:00:00Z'
--> '2014-01-05T25:00:00Z' is no time.
--> write '2014-01-05', '2014-01-05 12:00:00' (UTC) or '2014-01-05T12:00:00.5+02:00', years 0001 to 9999

SELECT sym FROM trades WHERE px LIKE '1%'
--> type-mismatch 1:30:2 px
--> LIKE takes strings, found DOUBLE.
--> compare it with =, < or >, or write CAST(... AS VARCHAR)

SELECT sym FROM trades WHERE sym + 1 > 2
--> type-mismatch 1:30:3 sym
--> Expected a number, found VARCHAR.
--> texts are joined by ||

SELECT sym FROM trades WHERE ts + 5 > ts
--> type-mismatch 1:30:2 ts
--> Expected a number, found TIMESTAMP.
--> a TIMESTAMP moves by an INTERVAL: ts - INTERVAL '5' MINUTE

SELECT sym FROM trades WHERE px + INTERVAL '1' HOUR > 1
--> type-mismatch 1:30:2 px
--> Expected a TIMESTAMP beside an INTERVAL, found DOUBLE.
--> only timestamps move by an INTERVAL

SELECT sym FROM trades WHERE ts * INTERVAL '1' HOUR > ts
--> type-mismatch 1:33:1 *
--> * does not take an INTERVAL there.
--> write ts + INTERVAL '1' HOUR or ts - INTERVAL '1' HOUR

SELECT INTERVAL '1' HOUR FROM trades
--> type-mismatch 1:8:17 INTERVAL '1' HOUR
--> An INTERVAL stands only beside a TIMESTAMP.
--> write ts + INTERVAL '1' HOUR or ts - INTERVAL '1' HOUR; ts - ts is a number of microseconds

SELECT -sym FROM trades
--> type-mismatch 1:9:3 sym
--> Expected a number, found VARCHAR.
--> - takes BIGINT and DOUBLE

SELECT ABS(open) FROM trades
--> type-mismatch 1:12:4 open
--> Expected a number, found BOOLEAN.
--> write ABS(x)

SELECT sym FROM trades WHERE px BETWEEN 1 AND 'b'
--> type-mismatch 1:47:3 'b'
--> DOUBLE does not compare with VARCHAR constant 'b'.
--> write a number, without quotes

SELECT sym FROM trades WHERE px IN (1, 'b')
--> type-mismatch 1:40:3 'b'
--> DOUBLE does not compare with VARCHAR constant 'b'.
--> write a number, without quotes

SELECT sym FROM trades WHERE sym LIKE 'a!' ESCAPE '!'
--> type-mismatch 1:39:4 'a!'
--> The pattern ends with its escape character.
--> write the escape character twice to mean itself

SELECT sym FROM trades WHERE sym LIKE 'a' ESCAPE '!!'
--> type-mismatch 1:50:4 '!!'
--> ESCAPE takes one character.
--> write ESCAPE '!'

SELECT sym FROM trades WHERE qty = 9223372036854775808
--> type-mismatch 1:36:19 9223372036854775808
--> The integer does not fit 64 bits.
--> integers go from -9223372036854775808 to 9223372036854775807; with a decimal point it is a DOUBLE

SELECT sym FROM trades WHERE px > 9007199254740993
--> type-mismatch 1:35:16 9007199254740993
--> The integer 9007199254740993 is beyond what a DOUBLE holds exactly.
--> write it as a DOUBLE: 9007199254740992.0

SELECT sym FROM trades WHERE px < 1e999
--> type-mismatch 1:35:5 1e999
--> The number does not fit a DOUBLE.
--> the largest DOUBLE is 1.7976931348623157e308

SELECT sym FROM trades WHERE (px > 1) + 1 = 2
--> type-mismatch 1:30:8 (px > 1)
--> Expected a number, found BOOLEAN.
--> + - * / % take BIGINT and DOUBLE

SELECT sym FROM trades WHERE px = TIMESTAMP '2014-01-05'
--> type-mismatch 1:35:22 TIMESTAMP '2014-01-05'
--> DOUBLE does not compare with TIMESTAMP constant '2014-01-05 00:00:00'.
--> write a number, without quotes

SELECT sym FROM trades WHERE ts > ts - INTERVAL '1.2.3' HOUR
--> sql-syntax 1:49:7 '1.2.3'
--> '1.2.3' is no number of whole microseconds of at most 64 bits.
--> units are MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY and WEEK: INTERVAL '6' HOUR

-- windows
SELECT sym FROM trades BEGIN (NOW)
--> sql-syntax 1:35:0
--> Expected END (...) after BEGIN (...), found the end of the text.
--> write END (...) after BEGIN (...)

SELECT sym FROM trades END (NOW)
--> sql-syntax 1:24:3 END
--> Expected BEGIN (...) before END (...), found 'END'.
--> a window has two ends: BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)

SELECT sym FROM trades BEGIN (NOW + 5) END (NOW)
--> unsupported-sql 1:31:5 NOW +
--> A bound after NOW is not offered: tuples of the future are not known.
--> a bound is NOW, NOW - 600 (seconds), NOW - INTERVAL '10' MINUTE or TIMESTAMP '2014-01-05 12:00:00'

SELECT sym FROM trades BEGIN (NOW - INTERVAL '-5' MINUTE) END (NOW)
--> unsupported-sql 1:31:26 NOW - INTERVAL '-5' MINUTE
--> A bound after NOW is not offered: tuples of the future are not known.
--> a bound is NOW, NOW - 600 (seconds), NOW - INTERVAL '10' MINUTE or TIMESTAMP '2014-01-05 12:00:00'

SELECT sym FROM trades BEGIN (NOW - 'x') END (NOW)
--> sql-syntax 1:37:3 'x'
--> Expected seconds or an INTERVAL after NOW -, found 'x'.
--> a length of time in quotes follows the word INTERVAL: INTERVAL '10 minutes'

SELECT sym FROM trades BEGIN (NOW - ts) END (NOW)
--> sql-syntax 1:37:2 ts
--> Expected seconds or an INTERVAL after NOW -, found 'ts'.
--> a bound is NOW, NOW - 600 (seconds), NOW - INTERVAL '10' MINUTE or TIMESTAMP '2014-01-05 12:00:00'

SELECT sym FROM trades BEGIN (5) END (NOW)
--> unsupported-sql 1:31:1 5
--> Expected a bound of the window, found '5'.
--> a bound is NOW, NOW - 600 (seconds), NOW - INTERVAL '10' MINUTE or TIMESTAMP '2014-01-05 12:00:00'

SELECT sym FROM trades BEGIN (ts) END (NOW)
--> unsupported-sql 1:31:2 ts
--> Expected a bound of the window, found 'ts'.
--> a bound is NOW, NOW - 600 (seconds), NOW - INTERVAL '10' MINUTE or TIMESTAMP '2014-01-05 12:00:00'

SELECT sym FROM trades BEGIN () END (NOW)
--> sql-syntax 1:31:1 )
--> Expected a bound of the window, found ')'.
--> a bound is NOW, NOW - 600 (seconds), NOW - INTERVAL '10' MINUTE or TIMESTAMP '2014-01-05 12:00:00'

SELECT sym FROM trades BEGIN ('then') END (NOW)
--> type-mismatch 1:31:6 'then'
--> 'then' is no time.
--> write '2014-01-05', '2014-01-05 12:00:00' (UTC) or '2014-01-05T12:00:00.5+02:00', years 0001 to 9999

SELECT sym FROM trades BEGIN (NOW) END (NOW - 5)
--> window-empty 1:24:25 BEGIN (NOW) END (NOW - 5)
--> BEGIN lies after END: no tuple is ever between them.
--> write the earlier bound first; of two offsets the larger is the earlier

SELECT sym FROM trades BEGIN ('2014-01-06') END ('2014-01-05')
--> window-empty 1:24:39 BEGIN ('2014-01-06') END ('2014-01-05')
--> BEGIN lies after END: no tuple is ever between them.
--> write the earlier bound first; of two offsets the larger is the earlier

SELECT sym FROM trades BEGIN (NOW - 5) END ('2014-01-05')
--> unsupported-sql 1:31:7 NOW - 5
--> A moving BEGIN with a constant END is not offered.
--> write a constant BEGIN, or NOW as END

SELECT sym FROM trades BEGIN (NOW - 0.0000001) END (NOW)
--> sql-syntax 1:31:15 NOW - 0.0000001
--> The offset is no whole number of microseconds, or one of more than 64 bits.
--> a plain number counts seconds, at most six decimals; a window reaches at most 3155760000 seconds back

SELECT sym FROM trades BEGIN (NOW - INTERVAL '9' FORTNIGHT) END (NOW)
--> unsupported-sql 1:50:9 FORTNIGHT
--> INTERVAL has no unit 'FORTNIGHT'.
--> units are MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY and WEEK: INTERVAL '6' HOUR

SELECT sym FROM trades BEGIN (NOW - INTERVAL '1 day 2 hours') END (NOW)
--> unsupported-sql 1:46:15 '1 day 2 hours'
--> An INTERVAL is one number and one unit.
--> units are MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY and WEEK: INTERVAL '6' HOUR

SELECT sym FROM trades BEGIN (NOW - INTERVAL '5') END (NOW)
--> sql-syntax 1:49:1 )
--> Expected a unit, found ')'.
--> units are MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY and WEEK: INTERVAL '6' HOUR

SELECT sym FROM trades BEGIN (NOW - INTERVAL '40000' DAY) END (NOW)
--> query-too-complex 1:31:26 NOW - INTERVAL '40000' DAY
--> A window reaches at most 36525 days back.
--> leave BEGIN and END out to see everything that is kept

SELECT sym FROM trades BEGIN (NOW - 5) END (NOW) WHERE px > 1
--> sql-syntax 1:50:5 WHERE
--> Expected the end of the query, found 'WHERE'.
--> the order is SELECT, FROM, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT, OFFSET, and the window BEGIN (...) END (...)

SELECT sym FROM trades BEGIN (NOW - 5 END (NOW)
--> sql-syntax 1:39:3 END
--> Expected a closing bracket behind the bound, found 'END'.
--> a bound is NOW, NOW - 600 (seconds), NOW - INTERVAL '10' MINUTE or TIMESTAMP '2014-01-05 12:00:00'

SELECT sym FROM trades BEGIN (NOW() - 5) END (NOW)
--> unsupported-sql 1:31:4 NOW(
--> NOW is no function.
--> write NOW without brackets behind it

-- joins
SELECT sym FROM trades, Quotes
--> unknown-column 1:8:3 sym
--> Several sources of FROM have a column 'sym'.
--> write trades.sym or Quotes.sym

SELECT sym FROM trades JOIN Quotes ON px = px
--> unknown-column 1:8:3 sym
--> Several sources of FROM have a column 'sym'.
--> write trades.sym or Quotes.sym

SELECT t.px FROM trades t, Quotes q WHERE t.px = q.px AND SYM = 'a'
--> unknown-column 1:59:3 SYM
--> Several sources of FROM have a column 'SYM'.
--> write t.sym or q.sym; a text stands in single quotes: 'SYM'

SELECT t.px FROM trades t, symbols WHERE lots = 5
--> unknown-column 1:42:4 lots
--> No source of FROM has a column 'lots'.
--> did you mean lot?

SELECT t.px FROM trades t, symbols s WHERE t.sym = s.ids
--> unknown-column 1:54:3 ids
--> symbols has no column 'ids'.
--> did you mean id?

SELECT t.px FROM trades t, symbols s WHERE t.sym = trades.sym
--> unknown-column 1:52:6 trades
--> FROM brings no 'trades'.
--> write t.column or s.column, or the column alone

SELECT t.px FROM trades t, symbols s WHERE t.sym = q.sym
--> unknown-column 1:52:1 q
--> FROM brings no 'q'.
--> write t.column or s.column, or the column alone

SELECT px FROM trades, symbols WHERE sym = id AND since > NOW
--> unknown-column 1:59:3 NOW
--> No source of FROM has a column 'NOW'.
--> move with NOW by a window behind WHERE: BEGIN (NOW - INTERVAL '1' HOUR) END (NOW)

SELECT t.sym, q.sym FROM trades t, Quotes q WHERE t.sym = q.sym
--> unsupported-sql 1:15:5 q.sym
--> Two outputs are named 'sym'.
--> give one of them an alias: AS sym_2

SELECT *, q.sym AS "t.sym" FROM trades t, Quotes q WHERE t.sym = q.sym
--> unsupported-sql 1:20:7 "t.sym"
--> Two outputs are named 't.sym'.
--> give one of them an alias: AS "t.sym_2"

SELECT px FROM trades, trades WHERE sym = sym
--> unsupported-sql 1:24:6 trades
--> Two sources of FROM are named 'trades'.
--> tell them apart by an alias: trades AS trades_2

SELECT x.px FROM trades x, Quotes AS x WHERE x.sym = x.sym
--> unsupported-sql 1:38:1 x
--> Two sources of FROM are named 'x'.
--> tell them apart by an alias: Quotes AS Quotes_2

SELECT trades.px FROM trades, Trades WHERE trades.sym = 'a'
--> unsupported-sql 1:31:6 Trades
--> Two sources of FROM are named 'trades'.
--> tell them apart by an alias: trades AS trades_2

SELECT px FROM trades, nowhere WHERE sym = id
--> unknown-stream 1:24:7 nowhere
--> There is no stream 'nowhere'.
--> declared streams: Quotes, arrivals, symbols, trades

SELECT px FROM trades, arrivals WHERE trades.sym = arrivals.sym
--> unsupported-sql 1:24:8 arrivals
--> Streams of unlike clocks do not join: trades has the clock high-water, arrivals server.
--> give each row of arrivals one old date such as 2000-01-01, declare the stream anew with that column as its time, and write arrivals [RANGE INTERVAL '36500' DAY]

SELECT t.px FROM trades t, Quotes q
--> unsupported-sql 1:28:6 Quotes
--> Nothing joins 'q' to 't'.
--> compare columns of both, not within OR: WHERE t.column = q.column; without that every stream needs a condition of its own

SELECT t.px FROM trades t, Quotes q WHERE t.px > 5
--> unsupported-sql 1:28:6 Quotes
--> Nothing joins 'q' to 't'.
--> compare columns of both, not within OR: WHERE t.column = q.column; without that every stream needs a condition of its own

SELECT t.px FROM trades t, Quotes q WHERE t.sym = q.sym OR t.px = 1
--> unsupported-sql 1:28:6 Quotes
--> Nothing joins 'q' to 't'.
--> compare columns of both, not within OR: WHERE t.column = q.column; without that every stream needs a condition of its own

SELECT t.px FROM trades t, Quotes q, symbols s WHERE t.sym = q.sym
--> unsupported-sql 1:38:7 symbols
--> Nothing joins 's' to 't'.
--> compare columns of both, not within OR: WHERE t.column = s.column; without that every stream needs a condition of its own

SELECT t.px FROM trades t, Quotes q, symbols s WHERE q.sym = s.id AND q.px > 1 AND s.lot > 1
--> unsupported-sql 1:28:6 Quotes
--> Nothing joins 'q' to 't'.
--> compare columns of both, not within OR: WHERE t.column = q.column; without that every stream needs a condition of its own

SELECT t.px FROM trades t CROSS JOIN Quotes q
--> unsupported-sql 1:38:6 Quotes
--> Nothing joins 'q' to 't'.
--> compare columns of both, not within OR: WHERE t.column = q.column; without that every stream needs a condition of its own

SELECT px FROM trades RIGHT OUTER JOIN symbols ON sym = id
--> unsupported-sql 1:23:5 RIGHT
--> RIGHT JOIN is not offered.
--> let the streams change places: FROM b LEFT JOIN a ON a.x = b.y

SELECT px FROM trades t FULL JOIN symbols ON sym = id
--> unsupported-sql 1:25:4 FULL
--> FULL JOIN is not offered.
--> register two queries: a LEFT JOIN b, and b LEFT JOIN a where a.x IS NULL

SELECT px FROM trades OUTER JOIN symbols ON sym = id
--> unsupported-sql 1:23:5 OUTER
--> OUTER JOIN is not offered.
--> the joins are FROM a JOIN b ON a.x = b.y, FROM a LEFT JOIN b ON a.x = b.y, and FROM a, b WHERE a.x = b.y

SELECT px FROM trades NATURAL JOIN Quotes
--> unsupported-sql 1:23:7 NATURAL
--> NATURAL JOIN is not offered.
--> write the condition out: JOIN b ON a.x = b.x

SELECT px FROM trades ASOF JOIN symbols ON sym = id
--> unsupported-sql 1:23:4 ASOF
--> ASOF JOIN is not offered.
--> join the latest row of each: FROM a JOIN b [PARTITION BY y ROWS 1] ON a.x = b.y

SELECT px FROM trades t SEMI JOIN symbols ON sym = id
--> unsupported-sql 1:25:4 SEMI
--> SEMI JOIN is not offered.
--> write SELECT DISTINCT a.x, ... FROM a JOIN b ON a.x = b.y

SELECT px FROM trades JOIN LATERAL symbols ON sym = id
--> sql-syntax 1:28:7 LATERAL
--> Expected the name of a stream, found the keyword LATERAL.
--> as a name it stands in double quotes: "LATERAL"

SELECT px FROM trades JOIN symbols
--> sql-syntax 1:35:0
--> Expected ON and a condition after JOIN, found the end of the text.
--> write JOIN b ON a.x = b.y, or FROM a, b WHERE a.x = b.y

SELECT px FROM trades JOIN symbols WHERE sym = id
--> sql-syntax 1:36:5 WHERE
--> Expected ON and a condition after JOIN, found 'WHERE'.
--> write JOIN b ON a.x = b.y, or FROM a, b WHERE a.x = b.y

SELECT px FROM trades JOIN symbols USING (sym)
--> unsupported-sql 1:36:5 USING
--> USING is not offered.
--> write the condition out: JOIN b ON a.x = b.x

SELECT px FROM trades, symbols ON sym = id
--> unsupported-sql 1:32:2 ON
--> A comma takes no ON.
--> write JOIN b ON a.x = b.y, or FROM a, b WHERE a.x = b.y

SELECT px FROM trades CROSS JOIN symbols ON sym = id
--> unsupported-sql 1:42:2 ON
--> CROSS JOIN takes no ON.
--> write JOIN b ON a.x = b.y, or FROM a, b WHERE a.x = b.y

SELECT px FROM trades INNER symbols ON sym = id
--> sql-syntax 1:29:7 symbols
--> Expected JOIN after INNER, found 'symbols'.
--> write JOIN after INNER

SELECT px FROM trades CROSS symbols
--> sql-syntax 1:29:7 symbols
--> Expected JOIN after CROSS, found 'symbols'.
--> write JOIN after CROSS

SELECT px FROM trades JOIN symbols ON
--> sql-syntax 1:38:0
--> Expected a value, found the end of the text.
--> write a column, a constant or an expression here

SELECT px FROM trades JOIN symbols ON sym
--> type-mismatch 1:39:3 sym
--> Expected a condition, found VARCHAR.
--> compare it with something: a > 5

SELECT px FROM (trades JOIN symbols ON sym = id)
--> unsupported-sql 1:16:1 (
--> A bracket in FROM is not offered.
--> FROM takes the name of a stream

SELECT t.px FROM trades t JOIN symbols s ON s.id = q.sym JOIN Quotes q ON q.sym = t.sym
--> unknown-column 1:52:1 q
--> FROM brings no 'q' up to there.
--> ON reads the streams up to its own: write the condition in WHERE

SELECT px FROM trades, symbols,
--> sql-syntax 1:32:0
--> Expected the name of a stream, found the end of the text.
--> write the name of a stream here

SELECT a.px FROM trades a, trades b, trades c, trades d, trades e
--> query-too-complex 1:58:6 trades
--> FROM has more than 4 streams.
--> join fewer streams

SELECT t.px FROM trades t, symbols s WHERE t.px = s.id
--> type-mismatch 1:49:1 =
--> DOUBLE does not compare with VARCHAR.
--> compare values of one type; numbers compare with numbers

-- windows of streams
SELECT px FROM trades [NOW]
--> unsupported-sql 1:24:3 NOW
--> Expected RANGE or ROWS, found 'NOW'.
--> write [RANGE INTERVAL '5' MINUTE], or [RANGE 300] (seconds); the newest rows are [ROWS 100]

SELECT px FROM trades []
--> sql-syntax 1:24:1 ]
--> Expected RANGE or ROWS, found ']'.
--> write [RANGE INTERVAL '5' MINUTE], or [RANGE 300] (seconds); the newest rows are [ROWS 100]

SELECT px FROM trades [5]
--> sql-syntax 1:24:1 5
--> Expected RANGE or ROWS, found '5'.
--> write [RANGE INTERVAL '5' MINUTE], or [RANGE 300] (seconds); the newest rows are [ROWS 100]

SELECT px FROM trades [RANGE]
--> sql-syntax 1:29:1 ]
--> Expected seconds or an INTERVAL after RANGE, found ']'.
--> write [RANGE INTERVAL '5' MINUTE], or [RANGE 300] (seconds)

SELECT px FROM trades [RANGE UNBOUNDED]
--> sql-syntax 1:30:9 UNBOUNDED
--> Expected seconds or an INTERVAL after RANGE, found 'UNBOUNDED'.
--> write [RANGE INTERVAL '5' MINUTE], or [RANGE 300] (seconds)

SELECT px FROM trades [RANGE -5]
--> sql-syntax 1:30:1 -
--> Expected seconds or an INTERVAL after RANGE, found '-'.
--> write [RANGE INTERVAL '5' MINUTE], or [RANGE 300] (seconds)

SELECT px FROM trades [RANGE INTERVAL '-5' MINUTE]
--> unsupported-sql 1:30:20 INTERVAL '-5' MINUTE
--> A RANGE reaches back from NOW.
--> write [RANGE INTERVAL '5' MINUTE], or [RANGE 300] (seconds)

SELECT px FROM trades [RANGE 0.0000001]
--> sql-syntax 1:30:9 0.0000001
--> The offset is no whole number of microseconds, or one of more than 64 bits.
--> a plain number counts seconds, at most six decimals; a window reaches at most 3155760000 seconds back

SELECT px FROM trades [RANGE INTERVAL '36526' DAY]
--> query-too-complex 1:30:20 INTERVAL '36526' DAY
--> A window reaches at most 36525 days back.
--> leave BEGIN and END out to see everything that is kept

SELECT px FROM trades [RANGE 5
--> sql-syntax 1:31:0
--> Expected a closing bracket behind the window, found the end of the text.
--> write [RANGE INTERVAL '5' MINUTE], or [RANGE 300] (seconds)

SELECT px FROM trades [RANGE 5 MINUTE]
--> sql-syntax 1:32:6 MINUTE
--> Expected a closing bracket behind the window, found 'MINUTE'.
--> write [RANGE INTERVAL '5' MINUTE], or [RANGE 300] (seconds)

SELECT px FROM trades [RANGE 5] AS t [RANGE 6]
--> unsupported-sql 1:38:1 [
--> A stream of FROM has one window.
--> leave one of the two out

SELECT px FROM trades [RANGE 5] [RANGE 6]
--> unsupported-sql 1:33:1 [
--> A stream of FROM has one window.
--> leave one of the two out

SELECT px FROM trades [RANGE 5] BEGIN (NOW - 5) END (NOW)
--> unsupported-sql 1:33:25 BEGIN (NOW - 5) END (NOW)
--> BEGIN-END holds for no stream: each has a window of its own.
--> leave BEGIN and END out, or one [RANGE ...]

SELECT t.px FROM trades [RANGE 5] t, Quotes q [RANGE 6] WHERE t.sym = q.sym BEGIN (NOW - 5) END (NOW)
--> unsupported-sql 1:77:25 BEGIN (NOW - 5) END (NOW)
--> BEGIN-END holds for no stream: each has a window of its own.
--> leave BEGIN and END out, or one [RANGE ...]

SELECT px FROM trades WHERE px > 5 [RANGE 5]
--> unsupported-sql 1:36:1 [
--> A subscript is not offered.
--> LEFT and SUBSTRING cut a text; the list of IN stands in round brackets: IN (1, 2)
