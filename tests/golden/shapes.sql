-- aggregates of all rows
SELECT COUNT(*) FROM trades
--> SELECT COUNT(*) FROM trades
--> none: "COUNT(*)" int64
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 12

SELECT count(*) AS n, COUNT(px), COUNT(DISTINCT sym), COUNT(1) AS ones, COUNT() AS none, COUNT(NULL) AS never FROM trades WHERE px > 40
--> SELECT COUNT(*) AS n, COUNT(px), COUNT(DISTINCT sym), COUNT(*) AS ones, COUNT(*) AS none, COUNT(NULL) AS never FROM trades WHERE px > 40.0
--> none: n int64, "COUNT(px)" int64, "COUNT(DISTINCT sym)" int64, ones int64, none int64, never int64
--> factor px in (40.0, ..)
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 4, 4, 3, 4, 4, 0

SELECT SUM(px), SUM(qty), AVG(px), AVG(qty), MIN(px), MAX(ts), SUM(NULL) AS nothing FROM trades
--> SELECT SUM(px), SUM(qty), AVG(px), AVG(qty), MIN(px), MAX(ts), SUM(NULL) AS nothing FROM trades
--> none: "SUM(px)" float64, "SUM(qty)" int64, "AVG(px)" float64, "AVG(qty)" float64, "MIN(px)" float64, "MAX(ts)" timestamp, nothing int64
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 1.0000000000000172e+16, 37, 909090909090924.8, 3.3636363636363638, -7.25, 2014-01-06 12:00:07.500000, NULL

SELECT SUM(DISTINCT qty), AVG(DISTINCT px), MIN(DISTINCT px) AS low, MAX(DISTINCT sym) AS high FROM trades
--> SELECT SUM(DISTINCT qty), AVG(DISTINCT px), MIN(px) AS low, MAX(sym) AS high FROM trades
--> none: "SUM(DISTINCT qty)" int64, "AVG(DISTINCT px)" float64, low float64, high string
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 30, 1000000000000013.2, -7.25, 'ü'

SELECT VAR_SAMP(px), VAR_POP(px), STDDEV_SAMP(qty), STDDEV_POP(qty), MEDIAN(qty), QUANTILE_CONT(px, 0.99), QUANTILE_CONT(px, 1) FROM trades
--> SELECT VAR_SAMP(px), VAR_POP(px), STDDEV_SAMP(qty), STDDEV_POP(qty), MEDIAN(qty), QUANTILE_CONT(px, 0.99), QUANTILE_CONT(px, 1.0) FROM trades
--> none: "VAR_SAMP(px)" float64, "VAR_POP(px)" float64, "STDDEV_SAMP(qty)" float64, "STDDEV_POP(qty)" float64, "MEDIAN(qty)" float64, "QUANTILE_CONT(px, 0.99)" float64, "QUANTILE_CONT(px, 1.0)" float64
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 9.09090909090906e+30, 8.264462809917327e+30, 4.124817371235595e+18, 3.932859050943488e+18, 4.0, 9000000000000009.0, 1e+16

SELECT BOOL_AND(open), BOOL_OR(px > 40), FIRST(px), LAST(sym), ARG_MIN(sym, px), ARG_MAX(ts, px) FROM trades
--> SELECT BOOL_AND(open), BOOL_OR(px > 40.0), FIRST(px), LAST(sym), ARG_MIN(sym, px), ARG_MAX(ts, px) FROM trades
--> none: "BOOL_AND(open)" bool, "BOOL_OR(px > 40.0)" bool, "FIRST(px)" float64, "LAST(sym)" string, "ARG_MIN(sym, px)" string, "ARG_MAX(ts, px)" timestamp
--> rows 1 at 2014-01-06 12:00:07.500000
--> row FALSE, TRUE, -7.25, 'ACME', 'ü', 2014-01-05 12:07:00

SELECT SUM(px * qty) / SUM(qty) AS vwap, MAX(px) - MIN(px) AS spread, ABS(SUM(qty)) + 1 FROM trades BEGIN (NOW - 60) END (NOW)
--> SELECT SUM(px * qty) / SUM(qty) AS vwap, MAX(px) - MIN(px) AS spread, ABS(SUM(qty)) + 1 FROM trades BEGIN (NOW - INTERVAL '1' MINUTE) END (NOW)
--> sliding: vwap float64, spread float64, "ABS(SUM(qty)) + 1" int64
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 38.275, 48.5, 21

SELECT COUNT(*) FILTER (WHERE px > 40 AND open) AS hot, SUM(px) FILTER (WHERE TRUE) AS every, COUNT(*) FILTER (WHERE NULL) AS none FROM trades
--> SELECT COUNT(*) FILTER (WHERE open AND px > 40.0) AS hot, SUM(px) AS every, COUNT(*) FILTER (WHERE FALSE) AS none FROM trades
--> none: hot int64, every float64, none int64
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 3, 1.0000000000000172e+16, 0

SELECT COUNT(*) > 5 AS busy, MAX(ts) + INTERVAL '5' MINUTE AS due, MIN(px) IN (1, 2) AS odd, FIRST(sym) LIKE 'A%' AS a FROM trades
--> SELECT COUNT(*) > 5 AS busy, MAX(ts) + INTERVAL '5' MINUTE AS due, MIN(px) IN (1.0, 2.0) AS odd, FIRST(sym) LIKE 'A%' AS a FROM trades
--> none: busy bool, due timestamp, odd bool, a bool
--> rows 1 at 2014-01-06 12:00:07.500000
--> row TRUE, 2014-01-06 12:05:07.500000, FALSE, FALSE

SELECT 1 AS one, COUNT(*) AS first FROM trades
--> SELECT 1 AS one, COUNT(*) AS first FROM trades
--> none: one int64, first int64
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 1, 12

SELECT COUNT(*) filter FROM trades
--> SELECT COUNT(*) AS filter FROM trades
--> none: filter int64
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 12

-- each aggregate of some rows alone
SELECT COUNT(px) FILTER (WHERE qty > 2) AS c, SUM(qty) FILTER (WHERE px > 1) AS s, AVG(px) FILTER (WHERE open) AS a, MIN(px) FILTER (WHERE qty < 5) AS low, MAX(sym) FILTER (WHERE px < 50) AS high, MEDIAN(px) FILTER (WHERE px BETWEEN -9 AND 99) AS m, QUANTILE_CONT(qty, 0.25) FILTER (WHERE qty IN (1, 2, 4, 15)) AS q FROM trades
--> SELECT COUNT(px) FILTER (WHERE qty > 2) AS c, SUM(qty) FILTER (WHERE px > 1.0) AS s, AVG(px) FILTER (WHERE open) AS a, MIN(px) FILTER (WHERE qty < 5) AS low, MAX(sym) FILTER (WHERE px < 50.0) AS high, MEDIAN(px) FILTER (WHERE px <= 99.0 AND px >= -9.0) AS m, QUANTILE_CONT(qty, 0.25) FILTER (WHERE qty IN (1, 2, 4, 15)) AS q FROM trades
--> none: c int64, s int64, a float64, low float64, high string, m float64, q float64
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 6, NULL, 2000000000000017.5, -7.25, 'ü', 3.0, 2.0

SELECT VAR_SAMP(px) FILTER (WHERE px < 99) AS a, VAR_POP(px) FILTER (WHERE px < 99) AS b, STDDEV_SAMP(px) FILTER (WHERE open) AS c, STDDEV_POP(qty) FILTER (WHERE px > 1 AND px < 99) AS d, VAR_SAMP(px) FILTER (WHERE sym = 'b') AS one, STDDEV_POP(px) FILTER (WHERE sym = 'none') AS none FROM trades
--> SELECT VAR_SAMP(px) FILTER (WHERE px < 99.0) AS a, VAR_POP(px) FILTER (WHERE px < 99.0) AS b, STDDEV_SAMP(px) FILTER (WHERE open) AS c, STDDEV_POP(qty) FILTER (WHERE px < 99.0 AND px > 1.0) AS d, VAR_SAMP(px) FILTER (WHERE sym = 'b') AS one, STDDEV_POP(px) FILTER (WHERE sym = 'none') AS none FROM trades
--> none: a float64, b float64, c float64, d float64, one float64, none float64
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 507.75625, 456.980625, 4472135954999569.5, 4.43087497693452, NULL, NULL

SELECT open, BOOL_AND(px > 1) FILTER (WHERE qty > 1) AS every, BOOL_OR(open) FILTER (WHERE px IS NULL) AS either, FIRST(px) FILTER (WHERE sym <> 'ACME') AS first, LAST(Name) FILTER (WHERE qty < 3) AS last, ARG_MIN(sym, qty) FILTER (WHERE px > 2.5) AS least, ARG_MAX(sym, ts) FILTER (WHERE px < 41) AS latest FROM trades GROUP BY open
--> SELECT open, BOOL_AND(px > 1.0) FILTER (WHERE qty > 1) AS every, BOOL_OR(open) FILTER (WHERE px IS NULL) AS either, FIRST(px) FILTER (WHERE sym <> 'ACME') AS first, LAST(Name) FILTER (WHERE qty < 3) AS last, ARG_MIN(sym, qty) FILTER (WHERE px > 2.5) AS least, ARG_MAX(sym, ts) FILTER (WHERE px < 41.0) AS latest FROM trades GROUP BY open
--> none: open bool, every bool, either bool, first float64, last string, least string, latest string
--> rows 3 at 2014-01-06 12:00:07.500000
--> row FALSE, TRUE, NULL, -7.25, 'a', 'ACDC', 'b'
--> row TRUE, TRUE, NULL, 1e+16, 'b', 'ACME', 'a'
--> row NULL, FALSE, NULL, 40.0, 'a', 'a', 'a%c'

-- groups
SELECT sym, MAX(px) FROM trades GROUP BY sym
--> SELECT sym, MAX(px) FROM trades GROUP BY sym
--> none: sym string, "MAX(px)" float64
--> rows 9 at 2014-01-06 12:00:07.500000
--> row '', 5e-324
--> row 'AC', NULL
--> row 'ACDC', 50.0
--> row 'ACME', 41.0

SELECT sym FROM trades GROUP BY sym
--> SELECT sym FROM trades GROUP BY sym
--> none: sym string
--> rows 9 at 2014-01-06 12:00:07.500000
--> row ''
--> row 'AC'
--> row 'ACDC'
--> row 'ACME'

SELECT MAX(px) AS high FROM trades GROUP BY sym, open, sym
--> SELECT MAX(px) AS high FROM trades GROUP BY sym, open
--> none: high float64
--> rows 10 at 2014-01-06 12:00:07.500000
--> row 5e-324
--> row NULL
--> row 50.0
--> row 41.0

SELECT qty % 10 AS digit, COUNT(*) AS n FROM trades GROUP BY digit
--> SELECT qty % 10 AS digit, COUNT(*) AS n FROM trades GROUP BY qty % 10
--> none: digit int64, n int64
--> rows 8 at 2014-01-06 12:00:07.500000
--> row -8, 1
--> row -3, 1
--> row 1, 1
--> row 2, 2

SELECT sym, qty % 10, COUNT(*) FROM trades GROUP BY 2, 1
--> SELECT sym, qty % 10, COUNT(*) FROM trades GROUP BY qty % 10, sym
--> none: sym string, "qty % 10" int64, "COUNT(*)" int64
--> rows 10 at 2014-01-06 12:00:07.500000
--> row '', -8, 1
--> row 'ü', -3, 1
--> row 'a', 1, 1
--> row 'a', 2, 1

SELECT qty % 10 + 1 AS next, px + qty % 10 AS shifted, COUNT(*) FROM trades GROUP BY qty % 10, px
--> SELECT qty % 10 + 1 AS next, px + qty % 10 AS shifted, COUNT(*) FROM trades GROUP BY qty % 10, px
--> none: next int64, shifted float64, "COUNT(*)" int64
--> rows 11 at 2014-01-06 12:00:07.500000
--> row -7, -8.0, 1
--> row -2, -10.25, 1
--> row 2, 2.5, 1
--> row 3, 4.0, 1

SELECT px AS qty, COUNT(*) FROM trades GROUP BY qty, px
--> SELECT px AS qty, COUNT(*) FROM trades GROUP BY qty, px
--> none: qty float64, "COUNT(*)" int64
--> rows 11 at 2014-01-06 12:00:07.500000
--> row 5e-324, 1
--> row -7.25, 1
--> row 1.5, 1
--> row 2.0, 1

SELECT open, NOT open AS closed, NOT px > 40 AS cold, COUNT(*) FROM trades GROUP BY open, px > 40
--> SELECT open, NOT open AS closed, NOT px > 40.0 AS cold, COUNT(*) FROM trades GROUP BY open, px > 40.0
--> none: open bool, closed bool, cold bool, "COUNT(*)" int64
--> rows 6 at 2014-01-06 12:00:07.500000
--> row FALSE, TRUE, TRUE, 3
--> row FALSE, TRUE, FALSE, 1
--> row TRUE, FALSE, TRUE, 2
--> row TRUE, FALSE, FALSE, 3

SELECT trades.sym, COUNT(*) FROM trades GROUP BY "sym"
--> SELECT sym, COUNT(*) FROM trades GROUP BY sym
--> none: sym string, "COUNT(*)" int64
--> rows 9 at 2014-01-06 12:00:07.500000
--> row '', 1
--> row 'AC', 1
--> row 'ACDC', 1
--> row 'ACME', 3

SELECT sym, COUNT(*) FROM trades GROUP BY (sym)
--> SELECT sym, COUNT(*) FROM trades GROUP BY sym
--> none: sym string, "COUNT(*)" int64
--> rows 9 at 2014-01-06 12:00:07.500000
--> row '', 1
--> row 'AC', 1
--> row 'ACDC', 1
--> row 'ACME', 3

SELECT t.sym, lot, SUM(px) AS total FROM trades AS t JOIN symbols AS s ON t.sym = s.id GROUP BY t.sym, s.lot BEGIN (NOW - 60) END (NOW)
--> SELECT trades.sym, symbols.lot, SUM(trades.px) AS total FROM trades, symbols WHERE symbols.id = trades.sym GROUP BY trades.sym, symbols.lot BEGIN (NOW - INTERVAL '1' MINUTE) END (NOW)
--> sliding: sym string, lot int64, total float64
--> factor equal trades.sym = symbols.id
--> rows 2 at 2014-01-06 12:00:07.500000
--> row 'a', NULL, 1.5
--> row 'b', 8, 2.0

SELECT DISTINCT COUNT(*) AS n FROM trades GROUP BY sym
--> SELECT DISTINCT COUNT(*) AS n FROM trades GROUP BY sym
--> none: n int64
--> delta replace
--> rows 3 at 2014-01-06 12:00:07.500000
--> row 1
--> row 3
--> row 2

-- conditions on groups
SELECT sym, COUNT(*) AS n FROM trades GROUP BY sym HAVING n > 5 AND MAX(px) < 100
--> SELECT sym, COUNT(*) AS n FROM trades GROUP BY sym HAVING COUNT(*) > 5 AND MAX(px) < 100.0
--> none: sym string, n int64
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades GROUP BY sym HAVING sym <> 'A' AND TRUE
--> SELECT sym FROM trades GROUP BY sym HAVING sym <> 'A'
--> none: sym string
--> rows 9 at 2014-01-06 12:00:07.500000
--> row ''
--> row 'AC'
--> row 'ACDC'
--> row 'ACME'

SELECT SUM(qty) AS qty FROM trades GROUP BY sym HAVING qty > 5
--> SELECT SUM(qty) AS qty FROM trades GROUP BY sym HAVING SUM(qty) > 5
--> none: qty int64
--> rows 3 at 2014-01-06 12:00:07.500000
--> row 7
--> row 25
--> row 9223372036854775807

SELECT SUM(qty) AS px FROM trades GROUP BY px HAVING px > 5
--> SELECT SUM(qty) AS px FROM trades GROUP BY px HAVING px > 5.0
--> none: px int64
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 2
--> row 10
--> row 7
--> row 9223372036854775807

SELECT sym FROM trades GROUP BY sym HAVING TRUE
--> SELECT sym FROM trades GROUP BY sym
--> none: sym string
--> rows 9 at 2014-01-06 12:00:07.500000
--> row ''
--> row 'AC'
--> row 'ACDC'
--> row 'ACME'

SELECT sym FROM trades GROUP BY sym HAVING COUNT(*) = NULL
--> SELECT sym FROM trades GROUP BY sym HAVING FALSE
--> none: sym string
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT 1 AS one FROM trades HAVING COUNT(*) > 5
--> SELECT 1 AS one FROM trades HAVING COUNT(*) > 5
--> none: one int64
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 1

SELECT 1 AS one FROM trades HAVING TRUE
--> SELECT 1 AS one FROM trades HAVING TRUE
--> none: one int64
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 1

SELECT (COUNT(*) > 1 AND FALSE) AS never FROM trades
--> SELECT FALSE AS never FROM trades HAVING TRUE
--> none: never bool
--> rows 1 at 2014-01-06 12:00:07.500000
--> row FALSE

-- order
SELECT sym FROM trades ORDER BY px
--> SELECT sym FROM trades ORDER BY px
--> none: sym string
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row 'a%c'
--> row ''
--> row 'a'

SELECT sym, px FROM trades ORDER BY sym ASC, px DESC NULLS LAST, ts NULLS FIRST, qty DESC NULLS FIRST, px
--> SELECT sym, px FROM trades ORDER BY sym, px DESC, ts NULLS FIRST, qty DESC NULLS FIRST
--> none: sym string, px float64
--> rows 12 at 2014-01-06 12:00:07.500000
--> row '', 5e-324
--> row 'AC', NULL
--> row 'ACDC', 50.0
--> row 'ACME', 41.0

SELECT sym, px AS price FROM trades ORDER BY price DESC, 1
--> SELECT sym, px AS price FROM trades ORDER BY price DESC, sym
--> none: sym string, price float64
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 'abx', 1e+16
--> row 'ACDC', 50.0
--> row 'ACME', 41.0
--> row 'ACME', 41.0

SELECT px AS qty, qty AS px FROM trades ORDER BY px, qty + 1
--> SELECT px AS qty, qty AS px FROM trades ORDER BY px, qty + 1
--> none: qty float64, px int64
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 5e-324, -9223372036854775808
--> row -7.25, -3
--> row 1.5, 1
--> row 40.0, 2

SELECT px AS qty FROM trades ORDER BY trades.qty, qty
--> SELECT px AS qty FROM trades ORDER BY trades.qty, qty
--> none: qty float64
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 5e-324
--> row -7.25
--> row 1.5
--> row 2.0

SELECT px * 2 AS twice FROM trades ORDER BY twice + 1, -px
--> SELECT px * 2.0 AS twice FROM trades ORDER BY px * 2.0 + 1.0, -px
--> none: twice float64
--> rows 12 at 2014-01-06 12:00:07.500000
--> row -14.5
--> row 1e-323
--> row -0.0
--> row 3.0

SELECT px * 2 FROM trades ORDER BY 1 DESC
--> SELECT px * 2.0 FROM trades ORDER BY px * 2.0 DESC
--> none: "px * 2.0" float64
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 2e+16
--> row 100.0
--> row 82.0
--> row 82.0

SELECT px AS "SYM", sym AS "Sym" FROM trades ORDER BY sym, "SYM"
--> SELECT px AS SYM, sym AS Sym FROM trades ORDER BY Sym, SYM
--> none: SYM float64, Sym string
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 5e-324, ''
--> row NULL, 'AC'
--> row 50.0, 'ACDC'
--> row 4.0, 'ACME'

SELECT 'x' AS label, sym FROM trades ORDER BY label, 2
--> SELECT 'x' AS label, sym FROM trades ORDER BY sym
--> none: label string, sym string
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 'x', ''
--> row 'x', 'AC'
--> row 'x', 'ACDC'
--> row 'x', 'ACME'

SELECT DISTINCT sym, px FROM trades ORDER BY px DESC, sym
--> SELECT DISTINCT sym, px FROM trades ORDER BY px DESC, sym
--> none: sym string, px float64
--> rows 11 at 2014-01-06 12:00:07.500000
--> row 'abx', 1e+16
--> row 'ACDC', 50.0
--> row 'ACME', 41.0
--> row 'a', 40.0

SELECT DISTINCT px FROM trades ORDER BY px * 2, ABS(px)
--> SELECT DISTINCT px FROM trades ORDER BY px * 2.0, ABS(px)
--> none: px float64
--> rows 11 at 2014-01-06 12:00:07.500000
--> row -7.25
--> row 0.0
--> row 5e-324
--> row 1.5

SELECT sym, COUNT(*) AS n FROM trades GROUP BY sym ORDER BY n DESC, MAX(px), sym
--> SELECT sym, COUNT(*) AS n FROM trades GROUP BY sym ORDER BY n DESC, MAX(px), sym
--> none: sym string, n int64
--> rows 9 at 2014-01-06 12:00:07.500000
--> row 'ACME', 3
--> row 'a', 2
--> row 'ü', 1
--> row 'a%c', 1

SELECT qty % 10 AS digit FROM trades GROUP BY digit ORDER BY qty % 10 + 1
--> SELECT qty % 10 AS digit FROM trades GROUP BY qty % 10 ORDER BY qty % 10 + 1
--> none: digit int64
--> rows 8 at 2014-01-06 12:00:07.500000
--> row -8
--> row -3
--> row 1
--> row 2

SELECT t.px AS px, s.lot FROM trades AS t, symbols AS s WHERE t.sym = s.id ORDER BY px, s.since, id
--> SELECT trades.px, symbols.lot FROM trades, symbols WHERE symbols.id = trades.sym ORDER BY trades.px, symbols.since, symbols.id
--> none: px float64, lot int64
--> factor equal trades.sym = symbols.id
--> warning join-unbounded
--> rows 6 at 2014-01-06 12:00:07.500000
--> row 1.5, NULL
--> row 2.0, 8
--> row 4.0, 1
--> row 40.0, NULL

-- limits
SELECT sym FROM trades LIMIT 5
--> SELECT sym FROM trades LIMIT 5
--> none: sym string
--> delta replace
--> rows 5 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

SELECT sym FROM trades WHERE px > 1 OFFSET 5
--> SELECT sym FROM trades WHERE px > 1.0 OFFSET 5
--> none: sym string
--> delta replace
--> factor px in (1.0, ..)
--> rows 3 at 2014-01-06 12:00:07.500000
--> row 'ACDC'
--> row 'ACME'
--> row 'ACME'

SELECT sym FROM trades OFFSET 5 LIMIT 010
--> SELECT sym FROM trades LIMIT 10 OFFSET 5
--> none: sym string
--> delta replace
--> rows 7 at 2014-01-06 12:00:07.500000
--> row 'a%c'
--> row 'b'
--> row 'a'
--> row 'AC'

SELECT sym FROM trades LIMIT 0
--> SELECT sym FROM trades LIMIT 0
--> none: sym string
--> delta replace
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades LIMIT 1000000000 OFFSET 0
--> SELECT sym FROM trades LIMIT 1000000000
--> none: sym string
--> delta replace
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

SELECT sym, MAX(px) AS high FROM trades WHERE qty > 5 GROUP BY sym HAVING COUNT(*) > 2 ORDER BY high DESC LIMIT 10 OFFSET 20 BEGIN (NOW - 60) END (NOW);
--> SELECT sym, MAX(px) AS high FROM trades WHERE qty > 5 GROUP BY sym HAVING COUNT(*) > 2 ORDER BY high DESC LIMIT 10 OFFSET 20 BEGIN (NOW - INTERVAL '1' MINUTE) END (NOW)
--> sliding: sym string, high float64
--> delta replace
--> factor qty in [6, ..)
--> rows 0 at 2014-01-06 12:00:07.500000

-- row windows
SELECT sym FROM trades [ROWS 5]
--> SELECT sym FROM trades [ROWS 5]
--> none: sym string
--> delta replace
--> rows 5 at 2014-01-06 12:00:07.500000
--> row 'a'
--> row 'AC'
--> row 'ACDC'
--> row 'ACME'

SELECT sym FROM trades [partition by sym rows 1] WHERE px > 3
--> SELECT sym FROM trades [PARTITION BY sym ROWS 1] WHERE px > 3.0
--> none: sym string
--> delta replace
--> factor px in (3.0, ..)
--> rows 3 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'ACDC'
--> row 'ACME'

SELECT t.sym FROM trades AS t [PARTITION BY t.qty % 2, SYM, sym ROWS 0010] BEGIN (NOW - 60) END (NOW)
--> SELECT sym FROM trades [PARTITION BY qty % 2, sym ROWS 10] BEGIN (NOW - INTERVAL '1' MINUTE) END (NOW)
--> sliding: sym string
--> delta replace
--> rows 6 at 2014-01-06 12:00:07.500000
--> row 'b'
--> row 'a'
--> row 'AC'
--> row 'ACDC'

SELECT sym FROM trades [PARTITION BY px > 4, qty IS NULL ROWS 1000000000] ORDER BY px LIMIT 3
--> SELECT sym FROM trades [PARTITION BY px > 4.0, qty IS NULL ROWS 1000000000] ORDER BY px LIMIT 3
--> none: sym string
--> delta replace
--> rows 3 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row 'a%c'
--> row ''

SELECT sym, COUNT(*) AS n FROM trades [ROWS 5] t GROUP BY sym
--> SELECT sym, COUNT(*) AS n FROM trades [ROWS 5] GROUP BY sym
--> none: sym string, n int64
--> delta replace
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 'AC', 1
--> row 'ACDC', 1
--> row 'ACME', 2
--> row 'a', 1

SELECT DISTINCT sym FROM trades t [ROWS 5]
--> SELECT DISTINCT sym FROM trades [ROWS 5]
--> none: sym string
--> delta replace
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 'a'
--> row 'AC'
--> row 'ACDC'
--> row 'ACME'

SELECT t.px, s.lot FROM trades t [PARTITION BY sym ROWS 1] JOIN symbols [RANGE 60] s ON t.sym = s.id
--> SELECT trades.px, symbols.lot FROM trades [PARTITION BY trades.sym ROWS 1], symbols [RANGE INTERVAL '1' MINUTE] WHERE symbols.id = trades.sym
--> none: px float64, lot int64
--> delta replace
--> ranges [None, 60000000]
--> factor equal trades.sym = symbols.id
--> rows 2 at 2014-01-06 12:00:07.500000
--> row 2.0, 8
--> row 1.5, NULL

SELECT t.px, s.lot FROM trades t, symbols s [ROWS 3] WHERE t.sym = s.id
--> SELECT trades.px, symbols.lot FROM trades, symbols [ROWS 3] WHERE symbols.id = trades.sym
--> none: px float64, lot int64
--> delta replace
--> factor equal trades.sym = symbols.id
--> warning join-unbounded
--> rows 3 at 2014-01-06 12:00:07.500000
--> row 40.0, NULL
--> row 2.0, 8
--> row 1.5, NULL

SELECT a.px FROM trades a [PARTITION BY a.sym ROWS 2], trades b [PARTITION BY sym ROWS 1] WHERE a.sym = b.sym
--> SELECT trades_1.px FROM trades [PARTITION BY trades_1.sym ROWS 2] AS trades_1, trades [PARTITION BY trades_2.sym ROWS 1] AS trades_2 WHERE trades_1.sym = trades_2.sym
--> none: px float64
--> delta replace
--> factor equal trades_1.sym = trades_2.sym
--> warning join-unbounded
--> rows 11 at 2014-01-06 12:00:07.500000
--> row -7.25
--> row 5e-324
--> row 1e+16
--> row 40.0

-- LEFT JOIN
SELECT sym, lot FROM trades LEFT JOIN symbols ON sym = id
--> SELECT trades.sym, symbols.lot FROM trades LEFT JOIN symbols ON symbols.id = trades.sym
--> none: sym string, lot int64
--> delta replace
--> factor equal trades.sym = symbols.id
--> warning join-unbounded
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 'ü', NULL
--> row 'ACME', 1
--> row 'ACME', 1
--> row 'ACME', 1

SELECT t.sym, s.lot FROM trades AS t left outer join symbols AS s ON s.id = t.sym AND t.px > 5 WHERE t.qty > 3 AND s.lot IS NULL
--> SELECT trades.sym, symbols.lot FROM trades LEFT JOIN symbols ON symbols.id = trades.sym AND trades.px > 5.0 WHERE symbols.lot IS NULL AND trades.qty > 3
--> none: sym string, lot int64
--> delta replace
--> factor trades.px in (5.0, ..)
--> factor trades.qty in [4, ..)
--> factor equal trades.sym = symbols.id
--> warning join-unbounded
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 'abx', NULL
--> row 'ACME', NULL
--> row 'a%c', NULL
--> row 'ACDC', NULL

SELECT t.sym FROM trades t LEFT JOIN symbols s ON t.sym = s.id WHERE s.id IS NULL BEGIN (NOW - 60) END (NOW)
--> SELECT trades.sym FROM trades LEFT JOIN symbols ON symbols.id = trades.sym WHERE symbols.id IS NULL BEGIN (NOW - INTERVAL '1' MINUTE) END (NOW)
--> sliding: sym string
--> delta replace
--> factor equal trades.sym = symbols.id
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 'AC'
--> row 'ACDC'
--> row 'ACME'
--> row 'ACME'

SELECT * FROM trades t LEFT JOIN Quotes q [RANGE 60] ON q.ts BETWEEN t.ts - INTERVAL '5' SECOND AND t.ts AND t.sym = q.sym
--> SELECT trades.sym AS "t.sym", trades.px AS "t.px", trades.qty AS "t.qty", trades.open AS "t.open", trades.ts AS "t.ts", trades.Name AS "t.Name", trades."order" AS "t.order", Quotes.sym AS "q.sym", Quotes.px AS "q.px", Quotes.qty AS "q.qty", Quotes.open AS "q.open", Quotes.ts AS "q.ts", Quotes.Name AS "q.Name", Quotes."order" AS "q.order" FROM trades LEFT JOIN Quotes [RANGE INTERVAL '1' MINUTE] ON Quotes.sym = trades.sym AND Quotes.ts <= trades.ts AND Quotes.ts >= trades.ts - INTERVAL '5' SECOND
--> none: "t.sym" string, "t.px" float64, "t.qty" int64, "t.open" bool, "t.ts" timestamp, "t.Name" string, "t.order" int64, "q.sym" string, "q.px" float64, "q.qty" int64, "q.open" bool, "q.ts" timestamp, "q.Name" string, "q.order" int64
--> delta replace
--> ranges [None, 60000000]
--> factor equal trades.sym = Quotes.sym
--> factor band trades.ts less Quotes.ts in [0, 5000000] by 2
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 'ü', -7.25, -3, FALSE, 2014-01-04 09:30:00.000001, 'Ü', 15, NULL, NULL, NULL, NULL, NULL, NULL, NULL
--> row '', 5e-324, -9223372036854775808, FALSE, 2014-01-05 12:05:00, '', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL
--> row 'abx', 1e+16, 9223372036854775807, TRUE, 2014-01-05 12:07:00, 'acme', 7, NULL, NULL, NULL, NULL, NULL, NULL, NULL
--> row 'ACME', 4.0, 15, TRUE, 2014-01-05 23:45:00, 'b', -1, NULL, NULL, NULL, NULL, NULL, NULL, NULL

SELECT t.sym, COUNT(q.px) AS n FROM trades t [ROWS 9] LEFT JOIN Quotes q [PARTITION BY sym ROWS 1] ON t.sym = q.sym GROUP BY t.sym HAVING n = 0
--> SELECT trades.sym, COUNT(Quotes.px) AS n FROM trades [ROWS 9] LEFT JOIN Quotes [PARTITION BY Quotes.sym ROWS 1] ON Quotes.sym = trades.sym GROUP BY trades.sym HAVING COUNT(Quotes.px) = 0
--> none: sym string, n int64
--> delta replace
--> factor equal trades.sym = Quotes.sym
--> warning join-unbounded
--> rows 3 at 2014-01-06 12:00:07.500000
--> row 'ACDC', 0
--> row 'a', 0
--> row 'a%c', 0

SELECT a.px, b.px AS later FROM trades a LEFT JOIN trades b ON a.sym = b.sym AND a.ts < b.ts WHERE a.px > 1 OR b.px > 1
--> SELECT trades_1.px, trades_2.px AS later FROM trades AS trades_1 LEFT JOIN trades AS trades_2 ON trades_1.sym = trades_2.sym AND trades_1.ts < trades_2.ts WHERE trades_1.px > 1.0 OR trades_2.px > 1.0
--> none: px float64, later float64
--> delta replace
--> factor equal trades_1.sym = trades_2.sym
--> factor band trades_1.ts less trades_2.ts in (.., 0) exactly
--> warning join-unbounded
--> rows 9 at 2014-01-06 12:00:07.500000
--> row 1e+16, NULL
--> row 4.0, 41.0
--> row 4.0, 41.0
--> row 40.0, 1.5

SELECT t.px FROM trades t LEFT JOIN symbols s ON t.sym = s.id WHERE t.px = NULL
--> SELECT trades.px FROM trades LEFT JOIN symbols ON symbols.id = trades.sym WHERE FALSE
--> none: px float64
--> delta replace
--> factor residual FALSE
--> warning never-true
--> warning join-unbounded
--> warning join-not-kept
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT t.px, s.lot FROM trades t JOIN Quotes q ON q.sym = t.sym AND q.px > 1 LEFT JOIN symbols s ON t.sym = s.id AND s.lot > q.qty WHERE t.px > 2 AND s.lot IS NULL
--> SELECT trades.px, symbols.lot FROM trades, Quotes LEFT JOIN symbols ON Quotes.qty < symbols.lot AND symbols.id = trades.sym WHERE Quotes.px > 1.0 AND Quotes.sym = trades.sym AND symbols.lot IS NULL AND trades.px > 2.0
--> none: px float64, lot int64
--> delta replace
--> factor trades.px in (2.0, ..)
--> factor Quotes.px in (1.0, ..)
--> factor equal trades.sym = Quotes.sym
--> factor equal trades.sym = symbols.id
--> factor band Quotes.qty less symbols.lot in (.., 0) exactly
--> warning join-unbounded
--> rows 6 at 2014-01-06 12:00:07.500000
--> row 41.0, NULL
--> row 41.0, NULL
--> row 4.0, NULL
--> row 4.0, NULL

SELECT t.px FROM trades t [ROWS 5], Quotes q LEFT JOIN symbols s [ROWS 2] ON t.sym = s.id WHERE t.px = q.px
--> SELECT trades.px FROM trades [ROWS 5], Quotes LEFT JOIN symbols [ROWS 2] ON symbols.id = trades.sym WHERE Quotes.px = trades.px
--> none: px float64
--> delta replace
--> factor equal trades.px = Quotes.px
--> factor equal trades.sym = symbols.id
--> warning join-unbounded
--> rows 2 at 2014-01-06 12:00:07.500000
--> row 41.0
--> row 41.0

-- hops
SELECT sym, COUNT(*) AS n FROM trades WHERE px > 40 GROUP BY sym HAVING n > 2 ORDER BY n DESC LIMIT 3 BEGIN (NOW - 60) END (NOW) EVERY 60
--> SELECT sym, COUNT(*) AS n FROM trades WHERE px > 40.0 GROUP BY sym HAVING COUNT(*) > 2 ORDER BY n DESC LIMIT 3 BEGIN (NOW - INTERVAL '1' MINUTE) END (NOW) EVERY INTERVAL '1' MINUTE
--> sliding: sym string, n int64
--> delta replace
--> factor px in (40.0, ..)
--> rows 0 at 2014-01-06 12:00:00
