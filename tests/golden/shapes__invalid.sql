-- what is neither grouped by nor aggregated
SELECT sym, COUNT(*) FROM trades
--> unsupported-sql 1:8:3 sym
--> sym stands outside of aggregates, and rows are not grouped by it.
--> write sym behind GROUP BY, or an aggregate of it: LAST(sym)

SELECT sym, px * 2 + qty AS x FROM trades GROUP BY sym, px
--> unsupported-sql 1:22:3 qty
--> qty stands outside of aggregates, and rows are not grouped by it.
--> write qty behind GROUP BY, or an aggregate of it: LAST(qty)

SELECT * FROM trades GROUP BY sym
--> unsupported-sql 1:8:1 *
--> px stands outside of aggregates, and rows are not grouped by it.
--> write px behind GROUP BY, or an aggregate of it: LAST(px)

SELECT sym FROM trades HAVING px > 1
--> unsupported-sql 1:8:3 sym
--> sym stands outside of aggregates, and rows are not grouped by it.
--> write sym behind GROUP BY, or an aggregate of it: LAST(sym)

SELECT sym FROM trades GROUP BY sym HAVING px > 1
--> unsupported-sql 1:44:2 px
--> px stands outside of aggregates, and rows are not grouped by it.
--> write px behind GROUP BY, or an aggregate of it: LAST(px)

SELECT sym FROM trades GROUP BY sym ORDER BY MAX(px), qty
--> unsupported-sql 1:55:3 qty
--> qty stands outside of aggregates, and rows are not grouped by it.
--> write qty behind GROUP BY, or an aggregate of it: LAST(qty)

SELECT sym FROM trades ORDER BY COUNT(*)
--> unsupported-sql 1:8:3 sym
--> sym stands outside of aggregates, and rows are not grouped by it.
--> write sym behind GROUP BY, or an aggregate of it: LAST(sym)

SELECT sym, SUM(qty) AS qty FROM trades GROUP BY sym ORDER BY qty + 1
--> unsupported-sql 1:63:3 qty
--> qty stands outside of aggregates, and rows are not grouped by it.
--> write qty behind GROUP BY, or an aggregate of it: LAST(qty)

SELECT t.sym, s.lot FROM trades AS t JOIN symbols AS s ON t.sym = s.id GROUP BY t.sym
--> unsupported-sql 1:15:5 s.lot
--> symbols.lot stands outside of aggregates, and rows are not grouped by it.
--> write symbols.lot behind GROUP BY, or an aggregate of it: LAST(symbols.lot)

-- aggregates where there are none
SELECT sym FROM trades WHERE COUNT(*) > 5
--> unsupported-sql 1:30:8 COUNT(*)
--> WHERE and ON hold no aggregates.
--> conditions on aggregates stand in HAVING, behind GROUP BY

SELECT COUNT(*) AS n FROM trades WHERE n > 5
--> unknown-column 1:40:1 n
--> 'n' is the name of an output, and WHERE reads columns.
--> conditions on aggregates stand in HAVING, behind GROUP BY

SELECT lot FROM trades JOIN symbols ON sym = id AND MAX(px) > 5
--> unsupported-sql 1:53:7 MAX(px)
--> WHERE and ON hold no aggregates.
--> conditions on aggregates stand in HAVING, behind GROUP BY

SELECT sym FROM trades GROUP BY sym, COUNT(*)
--> unsupported-sql 1:38:8 COUNT(*)
--> GROUP BY holds no aggregates.
--> conditions on aggregates stand in HAVING

SELECT COUNT(*) AS n FROM trades GROUP BY n
--> unsupported-sql 1:43:1 n
--> GROUP BY holds no aggregates.
--> conditions on aggregates stand in HAVING

SELECT COUNT(*) FROM trades GROUP BY 1
--> unsupported-sql 1:38:1 1
--> GROUP BY holds no aggregates.
--> conditions on aggregates stand in HAVING

SELECT SUM(MAX(px)) FROM trades
--> unsupported-sql 1:12:7 MAX(px)
--> Aggregates do not nest.
--> register the inner one as a query of its own, or aggregate the column itself

SELECT COUNT(*) FILTER (WHERE SUM(px) > 5) FROM trades
--> unsupported-sql 1:31:7 SUM(px)
--> Aggregates do not nest.
--> register the inner one as a query of its own, or aggregate the column itself

SELECT sym FROM trades BEGIN (COUNT(*)) END (NOW)
--> unsupported-sql 1:31:5 COUNT
--> Expected a bound of the window, found 'COUNT'.
--> a bound is NOW, NOW - 600 (seconds), NOW - INTERVAL '10' MINUTE or TIMESTAMP '2014-01-05 12:00:00'

-- forms of aggregates
SELECT MAX(px, 2) FROM trades
--> unsupported-sql 1:8:10 MAX(px, 2)
--> MAX takes one value, found 2.
--> write MAX(x)

SELECT SUM() FROM trades
--> unsupported-sql 1:8:5 SUM()
--> SUM takes one value, found 0.
--> write SUM(x)

SELECT SUM(*) FROM trades
--> unsupported-sql 1:12:1 *
--> * stands in COUNT(*) alone.
--> name what to aggregate: COUNT(DISTINCT x), SUM(x)

SELECT COUNT(DISTINCT sym, px) FROM trades
--> unsupported-sql 1:8:23 COUNT(DISTINCT sym, px)
--> COUNT takes one value, found 2.
--> write COUNT(*), COUNT(x) or COUNT(DISTINCT x), of several columns COUNT(DISTINCT a || ',' || b)

SELECT COUNT(DISTINCT *) FROM trades
--> unsupported-sql 1:23:1 *
--> * stands in COUNT(*) alone.
--> name what to aggregate: COUNT(DISTINCT x), SUM(x)

SELECT ARG_MAX(sym) FROM trades
--> unsupported-sql 1:8:12 ARG_MAX(sym)
--> ARG_MAX takes two values, found 1.
--> write ARG_MAX(x, y): x of the row with the greatest y

SELECT QUANTILE_CONT(px) FROM trades
--> unsupported-sql 1:8:17 QUANTILE_CONT(px)
--> QUANTILE_CONT takes two values, found 1.
--> write QUANTILE_CONT(x, 0.9): a value, and a number from 0 to 1

SELECT QUANTILE_CONT(px, 95) FROM trades
--> type-mismatch 1:26:2 95
--> QUANTILE_CONT takes a constant from 0 to 1 as its second value.
--> write 0.5 for the median, 0.99 for the value that 99 % stay below

SELECT QUANTILE_CONT(px, qty) FROM trades
--> type-mismatch 1:26:3 qty
--> QUANTILE_CONT takes a constant from 0 to 1 as its second value.
--> write 0.5 for the median, 0.99 for the value that 99 % stay below

SELECT QUANTILE_CONT(px, NULL) FROM trades
--> type-mismatch 1:26:4 NULL
--> QUANTILE_CONT takes a constant from 0 to 1 as its second value.
--> write 0.5 for the median, 0.99 for the value that 99 % stay below

SELECT MEDIAN(DISTINCT px) FROM trades
--> unsupported-sql 1:8:19 MEDIAN(DISTINCT px)
--> MEDIAN takes no DISTINCT.
--> DISTINCT stands in COUNT, SUM, AVG, MIN and MAX

SELECT LAST(DISTINCT px) FROM trades
--> unsupported-sql 1:8:17 LAST(DISTINCT px)
--> LAST takes no DISTINCT.
--> DISTINCT stands in COUNT, SUM, AVG, MIN and MAX

SELECT FIRST(px ORDER BY qty) FROM trades
--> unsupported-sql 1:17:5 ORDER
--> ORDER BY inside an aggregate is not offered.
--> FIRST and LAST go by tuple time; ARG_MIN(x, y) and ARG_MAX(x, y) by any value

SELECT SUM(sym) FROM trades
--> type-mismatch 1:12:3 sym
--> SUM takes a number, found VARCHAR.
--> aggregate a BIGINT or a DOUBLE

SELECT AVG(ts) FROM trades
--> type-mismatch 1:12:2 ts
--> AVG takes a number, found TIMESTAMP.
--> of times there are MIN, MAX, FIRST, LAST, ARG_MIN, ARG_MAX and COUNT

SELECT SUM(open) FROM trades
--> type-mismatch 1:12:4 open
--> SUM takes a number, found BOOLEAN.
--> count conditions by COUNT(*) FILTER (WHERE condition)

SELECT BOOL_AND(qty) FROM trades
--> type-mismatch 1:17:3 qty
--> BOOL_AND takes a condition, found BIGINT.
--> compare it: x > 5

SELECT COUNT(*) FILTER (px > 5) FROM trades
--> unsupported-sql 1:25:2 px
--> Expected WHERE and a condition, found 'px'. This is SQL outside the dialect of standing queries.
--> write WHERE and a condition

SELECT COUNT(*) FILTER (WHERE px) FROM trades
--> type-mismatch 1:31:2 px
--> Expected a condition, found DOUBLE.
--> compare it with something: a > 5

SELECT SUM(nowhere) FROM trades
--> unknown-column 1:12:7 nowhere
--> trades has no column 'nowhere'.
--> columns of trades: Name, open, "order", px, qty, sym, ts

SELECT COUNT(px FROM trades
--> sql-syntax 1:17:4 FROM
--> Expected a comma or a closing bracket, found 'FROM'.
--> write a comma or a closing bracket

SELECT SUM(INTERVAL '5' MINUTE) FROM trades
--> type-mismatch 1:12:19 INTERVAL '5' MINUTE
--> An INTERVAL stands only beside a TIMESTAMP.
--> write ts + INTERVAL '1' HOUR or ts - INTERVAL '1' HOUR; ts - ts is a number of microseconds

-- aggregates that are not offered
SELECT STDDEV(px) FROM trades
--> unsupported-sql 1:8:6 STDDEV
--> The aggregate STDDEV is not offered.
--> write STDDEV_SAMP(x) or STDDEV_POP(x)

SELECT STRING_AGG(sym, ',') FROM trades
--> unsupported-sql 1:8:10 STRING_AGG
--> The aggregate STRING_AGG is not offered.
--> select the rows: SELECT a FROM s WHERE ..., and gather them where they arrive

SELECT APPROX_COUNT_DISTINCT(sym) FROM trades
--> unsupported-sql 1:8:21 APPROX_COUNT_DISTINCT
--> The aggregate APPROX_COUNT_DISTINCT is not offered.
--> write COUNT(DISTINCT x), which is exact

SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY px) FROM trades
--> unsupported-sql 1:8:15 PERCENTILE_CONT
--> The aggregate PERCENTILE_CONT is not offered.
--> write QUANTILE_CONT(x, 0.9), or MEDIAN(x)

-- window functions
SELECT SUM(px) OVER (PARTITION BY sym) FROM trades
--> unsupported-sql 1:16:4 OVER
--> A window function is not offered.
--> aggregate by groups: SELECT a, SUM(b) FROM s GROUP BY a; the greatest of each by ARG_MAX(x, y); the latest row of each: FROM s [PARTITION BY a ROWS 1]

SELECT COUNT(*) FILTER (WHERE open) OVER () FROM trades
--> unsupported-sql 1:37:4 OVER
--> A window function is not offered.
--> aggregate by groups: SELECT a, SUM(b) FROM s GROUP BY a; the greatest of each by ARG_MAX(x, y); the latest row of each: FROM s [PARTITION BY a ROWS 1]

SELECT ROW_NUMBER() OVER (ORDER BY px) AS place FROM trades
--> unsupported-sql 1:8:10 ROW_NUMBER
--> The function ROW_NUMBER() is not offered.
--> aggregate by groups: SELECT a, SUM(b) FROM s GROUP BY a; the greatest of each by ARG_MAX(x, y); the latest row of each: FROM s [PARTITION BY a ROWS 1]

SELECT sym FROM trades QUALIFY px > 5
--> unsupported-sql 1:24:7 QUALIFY
--> QUALIFY is not offered.
--> aggregate by groups: SELECT a, SUM(b) FROM s GROUP BY a; the greatest of each by ARG_MAX(x, y); the latest row of each: FROM s [PARTITION BY a ROWS 1]

-- lists of keys
SELECT sym FROM trades GROUP sym
--> sql-syntax 1:30:3 sym
--> Expected BY after GROUP, found 'sym'.
--> write BY after GROUP

SELECT sym FROM trades GROUP BY
--> sql-syntax 1:32:0
--> Expected a value, found the end of the text.
--> write a column, a constant or an expression here

SELECT sym FROM trades GROUP BY ()
--> unsupported-sql 1:33:1 (
--> GROUP BY names no key.
--> register one query for each set of keys; without GROUP BY all rows are one group

SELECT sym FROM trades GROUP BY ALL
--> unsupported-sql 1:33:3 ALL
--> ALL in place of a list is not offered.
--> write the columns, or the places of outputs: 1, 2

SELECT sym FROM trades GROUP BY ROLLUP (sym)
--> unsupported-sql 1:33:6 ROLLUP
--> GROUP BY ROLLUP is not offered.
--> register one query for each set of keys; without GROUP BY all rows are one group

SELECT sym FROM trades GROUP BY GROUPING SETS ((sym), ())
--> unsupported-sql 1:33:8 GROUPING
--> GROUP BY GROUPING is not offered.
--> register one query for each set of keys; without GROUP BY all rows are one group

SELECT sym FROM trades GROUP BY 2
--> unsupported-sql 1:33:1 2
--> GROUP BY 2 is the place of no output: there are 1.
--> a whole number is the place of an output, from 1; write the column's name to be safe

SELECT sym FROM trades GROUP BY 0
--> unsupported-sql 1:33:1 0
--> GROUP BY 0 is the place of no output: there are 1.
--> a whole number is the place of an output, from 1; write the column's name to be safe

SELECT sym FROM trades GROUP BY -1
--> unsupported-sql 1:33:2 -1
--> GROUP BY -1 is the place of no output: there are 1.
--> a whole number is the place of an output, from 1; write the column's name to be safe

SELECT sym FROM trades GROUP BY 99999999999999999999999
--> unsupported-sql 1:33:23 99999999999999999999999
--> GROUP BY 99999999999999999999 is the place of no output: there are 1.
--> a whole number is the place of an output, from 1; write the column's name to be safe

SELECT 'x' AS label, COUNT(*) FROM trades GROUP BY label
--> unsupported-sql 1:52:5 label
--> A key of GROUP BY is a constant.
--> leave it out: it is the same in every row

SELECT COUNT(*) FROM trades GROUP BY 1 + 0
--> unsupported-sql 1:38:5 1 + 0
--> A key of GROUP BY is a constant.
--> leave it out: it is the same in every row

SELECT COUNT(*) FROM trades GROUP BY nowhere
--> unknown-column 1:38:7 nowhere
--> trades has no column 'nowhere'.
--> columns of trades: Name, open, "order", px, qty, sym, ts

SELECT COUNT(*) FROM trades GROUP BY sym HAVING
--> sql-syntax 1:48:0
--> Expected a value, found the end of the text.
--> write a column, a constant or an expression here

SELECT COUNT(*) FROM trades HAVING COUNT(*)
--> type-mismatch 1:36:8 COUNT(*)
--> Expected a condition, found BIGINT.
--> compare it with something: a > 5

-- orders
SELECT sym FROM trades ORDER px
--> sql-syntax 1:30:2 px
--> Expected BY after ORDER, found 'px'.
--> write BY after ORDER

SELECT sym FROM trades ORDER BY 2
--> unsupported-sql 1:33:1 2
--> ORDER BY 2 is the place of no output: there are 1.
--> a whole number is the place of an output, from 1; write the column's name to be safe

SELECT sym FROM trades ORDER BY 'px'
--> unsupported-sql 1:33:4 'px'
--> ORDER BY a constant orders nothing.
--> write a column, an output, or the place of an output: 1

SELECT sym FROM trades ORDER BY 1 + 0
--> unsupported-sql 1:33:5 1 + 0
--> ORDER BY a constant orders nothing.
--> write a column, an output, or the place of an output: 1

SELECT sym FROM trades ORDER BY ALL
--> unsupported-sql 1:33:3 ALL
--> ALL in place of a list is not offered.
--> write the columns, or the places of outputs: 1, 2

SELECT sym FROM trades ORDER BY px NULLS
--> sql-syntax 1:41:0
--> Expected FIRST or LAST after NULLS, found the end of the text.
--> write FIRST or LAST after NULLS

SELECT sym FROM trades ORDER BY px DESCENDING
--> sql-syntax 1:36:10 DESCENDING
--> Expected the end of the query, found 'DESCENDING'.
--> leave out what follows, or join conditions by AND

SELECT sym FROM trades ORDER BY px DESC ASC
--> sql-syntax 1:41:3 ASC
--> Expected the end of the query, found 'ASC'.
--> leave out what follows, or join conditions by AND

SELECT sym FROM trades ORDER BY nowhere
--> unknown-column 1:33:7 nowhere
--> trades has no column 'nowhere'.
--> columns of trades: Name, open, "order", px, qty, sym, ts

SELECT DISTINCT sym FROM trades ORDER BY px
--> unsupported-sql 1:42:2 px
--> ORDER BY of SELECT DISTINCT reads what is not selected.
--> select it as well, or order by an output

SELECT DISTINCT sym FROM trades ORDER BY sym, px DESC
--> unsupported-sql 1:47:2 px
--> ORDER BY of SELECT DISTINCT reads what is not selected.
--> select it as well, or order by an output

SELECT DISTINCT COUNT(*) FROM trades GROUP BY sym ORDER BY MAX(px)
--> unsupported-sql 1:60:7 MAX(px)
--> ORDER BY of SELECT DISTINCT reads what is not selected.
--> select it as well, or order by an output

SELECT px * 2 AS twice, twice + 1 AS more FROM trades
--> unknown-column 1:25:5 twice
--> 'twice' is the name of an output, and outputs read columns.
--> write what it stands for: px * 2.0

-- limits
SELECT sym FROM trades LIMIT
--> sql-syntax 1:29:0
--> Expected a whole number after LIMIT, found the end of the text.
--> LIMIT and OFFSET take whole numbers: LIMIT 10 OFFSET 20

SELECT sym FROM trades LIMIT -1
--> unsupported-sql 1:30:1 -
--> Expected a whole number after LIMIT, found '-'.
--> LIMIT and OFFSET take whole numbers: LIMIT 10 OFFSET 20

SELECT sym FROM trades LIMIT 1.5
--> unsupported-sql 1:30:3 1.5
--> Expected a whole number after LIMIT, found '1.5'.
--> LIMIT and OFFSET take whole numbers: LIMIT 10 OFFSET 20

SELECT sym FROM trades LIMIT ALL
--> unsupported-sql 1:30:3 ALL
--> Expected a whole number after LIMIT, found 'ALL'.
--> LIMIT and OFFSET take whole numbers: LIMIT 10 OFFSET 20

SELECT sym FROM trades LIMIT 5, 10
--> unsupported-sql 1:31:1 ,
--> LIMIT takes one number.
--> write LIMIT 10 OFFSET 20: ten rows behind the first twenty

SELECT sym FROM trades LIMIT 10 %
--> unsupported-sql 1:33:1 %
--> LIMIT takes a number alone.
--> LIMIT and OFFSET take whole numbers: LIMIT 10 OFFSET 20

SELECT sym FROM trades LIMIT 1000000001
--> query-too-complex 1:30:10 1000000001
--> LIMIT is more than 1000000000: no answer has so many rows.
--> leave LIMIT out, or write a smaller number

SELECT sym FROM trades OFFSET 99999999999999999999999
--> query-too-complex 1:31:23 99999999999999999999999
--> OFFSET is more than 1000000000: no answer has so many rows.
--> leave OFFSET out, or write a smaller number

SELECT sym FROM trades LIMIT 5 LIMIT 6
--> sql-syntax 1:32:5 LIMIT
--> Expected the end of the query, found 'LIMIT'.
--> the order is SELECT, FROM, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT, OFFSET, and the window BEGIN (...) END (...)

SELECT sym FROM trades FETCH FIRST 5 ROWS ONLY
--> unsupported-sql 1:24:5 FETCH
--> FETCH is not offered.
--> write LIMIT 10

SELECT TOP 5 sym FROM trades
--> sql-syntax 1:8:5 TOP 5
--> TOP is not offered.
--> write LIMIT behind ORDER BY: ORDER BY a DESC LIMIT 10

-- the order of the parts
SELECT sym FROM trades GROUP BY sym WHERE px > 5
--> unsupported-sql 1:37:5 WHERE
--> Expected the end of the query, found 'WHERE'. This is SQL outside the dialect of standing queries.
--> the order is SELECT, FROM, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT, OFFSET, and the window BEGIN (...) END (...)

SELECT sym FROM trades ORDER BY sym GROUP BY sym
--> unsupported-sql 1:37:5 GROUP
--> Expected the end of the query, found 'GROUP'. This is SQL outside the dialect of standing queries.
--> the order is SELECT, FROM, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT, OFFSET, and the window BEGIN (...) END (...)

SELECT sym FROM trades LIMIT 5 ORDER BY sym
--> unsupported-sql 1:32:5 ORDER
--> Expected the end of the query, found 'ORDER'. This is SQL outside the dialect of standing queries.
--> the order is SELECT, FROM, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT, OFFSET, and the window BEGIN (...) END (...)

SELECT sym FROM trades BEGIN (NOW - 60) END (NOW) ORDER BY px
--> sql-syntax 1:51:5 ORDER
--> Expected the end of the query, found 'ORDER'.
--> the order is SELECT, FROM, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT, OFFSET, and the window BEGIN (...) END (...)

SELECT sym FROM trades ORDER BY px BEGIN (NOW - 60)
--> sql-syntax 1:52:0
--> Expected END (...) after BEGIN (...), found the end of the text.
--> write END (...) after BEGIN (...)

-- row windows
SELECT sym FROM trades [ROWS 0]
--> unsupported-sql 1:30:1 0
--> A window of 0 rows shows nothing.
--> write a number from 1 on

SELECT sym FROM trades [ROWS -1]
--> unsupported-sql 1:30:1 -
--> Expected a whole number after ROWS, found '-'.
--> write [ROWS 100], or [PARTITION BY a, b ROWS 1]

SELECT sym FROM trades [ROWS]
--> sql-syntax 1:29:1 ]
--> Expected a whole number after ROWS, found ']'.
--> write [ROWS 100], or [PARTITION BY a, b ROWS 1]

SELECT sym FROM trades [ROWS 1.5]
--> unsupported-sql 1:30:3 1.5
--> Expected a whole number after ROWS, found '1.5'.
--> write [ROWS 100], or [PARTITION BY a, b ROWS 1]

SELECT sym FROM trades [ROWS 1000000001]
--> query-too-complex 1:30:10 1000000001
--> ROWS is more than 1000000000: no answer has so many rows.
--> leave ROWS out, or write a smaller number

SELECT sym FROM trades [ROWS 99999999999999999999999999]
--> query-too-complex 1:30:26 99999999999999999999999999
--> ROWS is more than 1000000000: no answer has so many rows.
--> leave ROWS out, or write a smaller number

SELECT sym FROM trades [ROWS 1 PRECEDING]
--> sql-syntax 1:32:9 PRECEDING
--> Expected a closing bracket behind the window, found 'PRECEDING'.
--> write [ROWS 100], or [PARTITION BY a, b ROWS 1]

SELECT sym FROM trades [PARTITION sym ROWS 1]
--> sql-syntax 1:35:3 sym
--> Expected BY after PARTITION, found 'sym'.
--> write BY after PARTITION

SELECT sym FROM trades [PARTITION BY sym]
--> sql-syntax 1:41:1 ]
--> Expected ROWS and a number, found ']'.
--> write [ROWS 100], or [PARTITION BY a, b ROWS 1]

SELECT sym FROM trades [PARTITION BY sym ROWS 1
--> sql-syntax 1:48:0
--> Expected a closing bracket behind the window, found the end of the text.
--> write [ROWS 100], or [PARTITION BY a, b ROWS 1]

SELECT sym FROM trades [PARTITION BY 1 ROWS 1]
--> unsupported-sql 1:38:1 1
--> A key of PARTITION BY is a constant.
--> leave it out: it is the same in every row

SELECT sym FROM trades [PARTITION BY MAX(px) ROWS 1]
--> unsupported-sql 1:38:7 MAX(px)
--> PARTITION BY holds no aggregates.
--> partition by columns, or expressions

SELECT sym FROM trades [PARTITION BY nope ROWS 1]
--> unknown-column 1:38:4 nope
--> trades has no column 'nope'.
--> did you mean open?

SELECT sym FROM trades [PARTITION BY sym, ROWS 1]
--> sql-syntax 1:48:1 1
--> Expected ROWS and a number, found '1'.
--> write [ROWS 100], or [PARTITION BY a, b ROWS 1]

SELECT sym FROM trades [PARTITION BY qty + 0, qty + 1, qty + 2, qty + 3, qty + 4, qty + 5, qty + 6, qty + 7, qty + 8, qty + 9, qty + 10, qty + 11, qty + 12, qty + 13, qty + 14, qty + 15, qty + 16 ROWS 1]
--> query-too-complex 1:186:1 ,
--> PARTITION BY has more than 16 entries.
--> leave some of them out

SELECT sym FROM trades [PARTITION BY -(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(-(qty))))))))))))))))) ROWS 1]
--> query-too-complex 1:69:1 (
--> Brackets and CASE nest deeper than 16.
--> write the expression with fewer brackets inside each other

SELECT t.px FROM trades t [PARTITION BY s.id ROWS 1], symbols s WHERE t.sym = s.id
--> unknown-column 1:41:1 s
--> A window reads the columns of its own stream alone.
--> partition by columns of the stream before the bracket

SELECT t.px FROM trades t [PARTITION BY u.id ROWS 1], symbols s WHERE t.sym = s.id
--> unknown-column 1:41:1 u
--> FROM brings no 'u' up to there.
--> write t.column, or the column alone

SELECT sym FROM trades [ROWS 5] AS t [ROWS 6]
--> unsupported-sql 1:38:1 [
--> A stream of FROM has one window.
--> leave one of the two out

SELECT sym FROM trades [RANGE 6] AS t [ROWS 5]
--> unsupported-sql 1:39:1 [
--> A stream of FROM has one window.
--> leave one of the two out

-- LEFT JOIN
SELECT t.px FROM trades t LEFT JOIN symbols s
--> sql-syntax 1:46:0
--> Expected ON and a condition after JOIN, found the end of the text.
--> write JOIN b ON a.x = b.y, or FROM a, b WHERE a.x = b.y

SELECT t.px FROM trades t LEFT symbols s ON t.sym = s.id
--> sql-syntax 1:32:7 symbols
--> Expected JOIN after LEFT, found 'symbols'.
--> write JOIN after LEFT

SELECT t.px FROM trades t LEFT JOIN symbols s USING (sym)
--> unsupported-sql 1:47:5 USING
--> USING is not offered.
--> write the condition out: JOIN b ON a.x = b.x

SELECT t.px FROM trades t LEFT JOIN symbols s ON t.px > 5
--> unsupported-sql 1:50:8 t.px > 5
--> The ON of a LEFT JOIN has no comparison of its stream with one before it.
--> compare the streams by = or by a span, not within OR: ON a.x = b.y

SELECT t.px FROM trades t LEFT JOIN symbols s ON t.sym = s.id OR s.lot > 5
--> unsupported-sql 1:50:25 t.sym = s.id OR s.lot > 5
--> The ON of a LEFT JOIN has no comparison of its stream with one before it.
--> compare the streams by = or by a span, not within OR: ON a.x = b.y

SELECT t.px FROM trades t LEFT JOIN symbols s ON FALSE
--> unsupported-sql 1:50:5 FALSE
--> The ON of a LEFT JOIN is true of no rows.
--> every row of the left would stand alone: select from its stream alone

SELECT t.px FROM trades t LEFT JOIN symbols s ON t.sym = s.id WHERE COUNT(*) > 5
--> unsupported-sql 1:69:8 COUNT(*)
--> WHERE and ON hold no aggregates.
--> conditions on aggregates stand in HAVING, behind GROUP BY

SELECT t.px FROM trades t LEFT JOIN symbols s ON t.sym = s.id LEFT JOIN Quotes q ON q.sym = s.id
--> unsupported-sql 1:63:4 LEFT
--> FROM has one LEFT JOIN at most: this is a second one.
--> register a query for each of them, FROM a LEFT JOIN b and FROM a LEFT JOIN c, and put their rows together by the columns of a; or write an inner JOIN for one, before the LEFT JOIN

SELECT t.px FROM trades t, Quotes q LEFT JOIN symbols s ON t.sym = s.id AND q.sym = s.id
--> unsupported-sql 1:28:6 Quotes
--> Nothing joins 'q' to 't'.
--> compare columns of both, not within OR: WHERE t.column = q.column; without that every stream needs a condition of its own

SELECT t.px FROM trades t LEFT JOIN symbols s ON t.sym = s.id, Quotes q
--> unsupported-sql 1:62:1 ,
--> A LEFT JOIN stands last in FROM: no stream is joined behind it.
--> write inner joins before it: FROM a JOIN c ON a.x = c.x LEFT JOIN b ON a.x = b.y

SELECT t.px FROM trades t LEFT JOIN arrivals a ON t.sym = a.sym
--> unsupported-sql 1:37:8 arrivals
--> Streams of unlike clocks do not join: trades has the clock high-water, arrivals server.
--> give each row of arrivals one old date such as 2000-01-01, declare the stream anew with that column as its time, and write arrivals [RANGE INTERVAL '36500' DAY]

SELECT t.px FROM trades t LEFT JOIN symbols s ON t.sym = s.nope
--> unknown-column 1:60:4 nope
--> symbols has no column 'nope'.
--> columns of symbols: id, lot, since

SELECT t.px FROM trades t WHERE t.px > 5 LEFT JOIN symbols s ON t.sym = s.id
--> unsupported-sql 1:42:4 LEFT
--> LEFT JOIN there is not offered.
--> the joins are FROM a JOIN b ON a.x = b.y, FROM a LEFT JOIN b ON a.x = b.y, and FROM a, b WHERE a.x = b.y

SELECT t.px FROM trades t RIGHT JOIN symbols s ON t.sym = s.id
--> unsupported-sql 1:27:5 RIGHT
--> RIGHT JOIN is not offered.
--> let the streams change places: FROM b LEFT JOIN a ON a.x = b.y

SELECT t.px FROM trades t FULL OUTER JOIN symbols s ON t.sym = s.id
--> unsupported-sql 1:27:4 FULL
--> FULL JOIN is not offered.
--> register two queries: a LEFT JOIN b, and b LEFT JOIN a where a.x IS NULL

SELECT t.px FROM trades t CROSS JOIN symbols s ON t.sym = s.id
--> unsupported-sql 1:48:2 ON
--> CROSS JOIN takes no ON.
--> write JOIN b ON a.x = b.y, or FROM a, b WHERE a.x = b.y

SELECT t.px FROM trades t LEFT ANTI JOIN symbols s ON t.sym = s.id
--> unsupported-sql 1:32:4 ANTI
--> ANTI JOIN is not offered.
--> write FROM a LEFT JOIN b ON a.x = b.y WHERE b.y IS NULL

SELECT t.px FROM trades t LEFT JOIN LATERAL symbols s ON t.sym = s.id
--> sql-syntax 1:37:7 LATERAL
--> Expected the name of a stream, found the keyword LATERAL.
--> as a name it stands in double quotes: "LATERAL"

SELECT t.px FROM trades t LEFT JOIN symbols s ON t.sym = s.id AND s.lot = NULL
--> unsupported-sql 1:50:29 t.sym = s.id AND s.lot = NULL
--> The ON of a LEFT JOIN is true of no rows.
--> every row of the left would stand alone: select from its stream alone

SELECT t.px FROM trades t LEFT JOIN symbols s ON t.sym = s.id AND (t.sym, t.qty) IN (('a0', 0), ('a1', 1), ('a2', 2), ('a3', 3), ('a4', 4), ('a5', 5), ('a6', 6), ('a7', 7), ('a8', 8), ('a9', 9), ('a10', 10), ('a11', 11), ('a12', 12), ('a13', 13), ('a14', 14), ('a15', 15), ('a16', 16), ('a17', 17), ('a18', 18), ('a19', 19)) WHERE (s.id, s.lot) IN (('a0', 0), ('a1', 1), ('a2', 2), ('a3', 3), ('a4', 4), ('a5', 5), ('a6', 6), ('a7', 7), ('a8', 8), ('a9', 9), ('a10', 10), ('a11', 11), ('a12', 12), ('a13', 13), ('a14', 14), ('a15', 15), ('a16', 16), ('a17', 17), ('a18', 18), ('a19', 19))
--> query-too-complex 1:50:275 t.sym = s.id AND (t.sym, t.qty) IN (('a0', 0), ('a1', 1), ('a2', 2), ('a3', 3), ('a4', 4), ('a5', 5), ('a6', 6), ('a7', 7), ('a8', 8), ('a9', 9), ('a10', 10), ('a11', 11), ('a12', 12), ('a13', 13), ('a14', 14), ('a15', 15), ('a16', 16), ('a17', 17), ('a18', 18), ('a19', 19))
--> Boolean factors: 81; 64 are accepted.
--> split the query into several

SELECT t.px FROM trades t JOIN Quotes q ON q.sym = t.sym LEFT JOIN symbols s ON q.sym = t.sym
--> unsupported-sql 1:81:13 q.sym = t.sym
--> The ON of a LEFT JOIN has no comparison of its stream with one before it.
--> compare the streams by = or by a span, not within OR: ON a.x = b.y

SELECT a.px FROM trades a, trades b, trades c, trades d LEFT JOIN symbols s ON s.id = a.sym
--> query-too-complex 1:67:7 symbols
--> FROM has more than 4 streams.
--> join fewer streams
