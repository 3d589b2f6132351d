-- numbers take the type of what they stand beside
SELECT sym FROM trades WHERE px > :min AND qty = $lot -- {"min": 40, "lot": 5.0}
--> SELECT sym FROM trades WHERE px > 40.0 AND qty = 5
--> none: sym string
--> factor px in (40.0, ..)
--> factor qty in [5]
--> rows 2 at 2014-01-06 12:00:07.500000
--> row 'ACME'
--> row 'ACME'

SELECT sym FROM trades WHERE px BETWEEN :low AND :high -- {"low": -2.5, "high": 1e16}
--> SELECT sym FROM trades WHERE px <= 1e+16 AND px >= -2.5
--> none: sym string
--> factor px in [-2.5, 1e+16]
--> rows 10 at 2014-01-06 12:00:07.500000
--> row ''
--> row 'abx'
--> row 'ACME'
--> row 'a'

SELECT sym FROM trades WHERE px > -:min AND qty > - $most -- {"min": -40, "most": 9223372036854775808}
--> SELECT sym FROM trades WHERE px > 40.0 AND qty > -9223372036854775808
--> none: sym string
--> factor px in (40.0, ..)
--> factor qty in [-9223372036854775807, ..)
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'ACDC'
--> row 'ACME'
--> row 'ACME'

SELECT px * :factor AS p, qty + :more AS q, :a AS a, :b FROM trades -- {"factor": 2, "more": -1, "a": 0.00001, "b": true}
--> SELECT px * 2.0 AS p, qty + -1 AS q, 1e-05 AS a, TRUE FROM trades
--> none: p float64, q int64, a float64, "TRUE" bool
--> rows 12 at 2014-01-06 12:00:07.500000
--> row -14.5, -4, 1e-05, TRUE
--> row 1e-323, NULL, 1e-05, TRUE
--> row 2e+16, 9223372036854775806, 1e-05, TRUE
--> row 8.0, 14, 1e-05, TRUE

-- beside casts
SELECT px::BIGINT AS b, :a::VARCHAR AS v, qty::DOUBLE FROM trades WHERE px :: DOUBLE>:a -- {"a": 4}
--> SELECT CAST(px AS BIGINT) AS b, '4' AS v, CAST(qty AS DOUBLE) FROM trades WHERE px > 4.0
--> none: b int64, v string, "CAST(qty AS DOUBLE)" float64
--> factor px in (4.0, ..)
--> rows 5 at 2014-01-06 12:00:07.500000
--> row 10000000000000000, '4', 9.223372036854776e+18
--> row 40, '4', 2.0
--> row 50, '4', 7.0
--> row 41, '4', 5.0

-- texts, whatever they hold
SELECT sym FROM trades WHERE sym = :sym OR Name = $sym -- {"sym": "a' OR '1'='1"}
--> SELECT sym FROM trades WHERE Name = 'a'' OR ''1''=''1' OR sym = 'a'' OR ''1''=''1'
--> none: sym string
--> factor residual Name = 'a'' OR ''1''=''1' OR sym = 'a'' OR ''1''=''1'
--> warning not-indexed
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE sym IN (:a, :b, :c) -- {"a": ":b", "b": "x -- y", "c": "/* \" */"}
--> SELECT sym FROM trades WHERE sym IN ('/* " */', ':b', 'x -- y')
--> none: sym string
--> factor sym in ['/* " */'] or [':b'] or ['x -- y']
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE sym LIKE :pattern ESCAPE :by AND LOWER(Name) = :name -- {"pattern": "10!%%", "by": "!", "name": "acme"}
--> SELECT sym FROM trades WHERE LOWER(Name) = 'acme' AND sym LIKE '10!%%' ESCAPE '!'
--> none: sym string
--> factor sym in ['10%', '10&')
--> factor LOWER(Name) in ['acme']
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE sym ILIKE :pattern AND STARTS_WITH(sym, :first) -- {"pattern": "%A%", "first": "a_"}
--> SELECT sym FROM trades WHERE LOWER(sym) LIKE '%a%' AND sym LIKE 'a\_%' ESCAPE '\'
--> none: sym string
--> factor sym in ['a_', 'a`')
--> factor residual LOWER(sym) LIKE '%a%'
--> warning not-indexed
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT COALESCE(:none, px, :zero) AS p, CASE WHEN sym = :sym THEN :one ELSE :two END AS c FROM trades -- {"none": null, "zero": 0, "sym": "px", "one": 1, "two": 2.5}
--> SELECT COALESCE(NULL, px, 0.0) AS p, CASE WHEN sym = 'px' THEN 1.0 ELSE 2.5 END AS c FROM trades
--> none: p float64, c float64
--> rows 12 at 2014-01-06 12:00:07.500000
--> row -7.25, 2.5
--> row 5e-324, 2.5
--> row 1e+16, 2.5
--> row 4.0, 2.5

-- NULL, TRUE and FALSE
SELECT sym FROM trades WHERE open = :flag AND (px > :none) IS NULL -- {"flag": true, "none": null}
--> SELECT sym FROM trades WHERE open
--> none: sym string
--> factor open in [TRUE, ..)
--> rows 5 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'ACME'
--> row 'a'
--> row 'ACME'

SELECT sym FROM trades WHERE :all OR sym IS NOT DISTINCT FROM :sym -- {"all": false, "sym": null}
--> SELECT sym FROM trades WHERE sym IS NULL
--> none: sym string
--> factor sym in NULL
--> rows 0 at 2014-01-06 12:00:07.500000

-- times
SELECT sym FROM trades WHERE ts > :since AND ts < TIMESTAMP :until AND ts <> DATE :day -- {"since": "2014-01-05T12:00:00+02:00", "until": "2014-01-06 12:00:00", "day": "2014-01-05"}
--> SELECT sym FROM trades WHERE ts < TIMESTAMP '2014-01-06 12:00:00' AND ts <> TIMESTAMP '2014-01-05 00:00:00' AND ts > TIMESTAMP '2014-01-05 10:00:00'
--> none: sym string
--> factor ts in [TIMESTAMP '2014-01-05 10:00:00.000001', TIMESTAMP '2014-01-06 11:59:59.999999']
--> rows 9 at 2014-01-06 12:00:07.500000
--> row ''
--> row 'abx'
--> row 'ACME'
--> row 'a'

SELECT ts + :ahead AS a, ts - :back AS b, ts - :origin AS c, :ahead + ts AS d, ts - INTERVAL :n HOUR AS e FROM trades -- {"ahead": "10 minutes", "back": "1 day", "origin": "2014-01-05", "n": 6}
--> SELECT ts + INTERVAL '10' MINUTE AS a, ts - INTERVAL '1' DAY AS b, ts - TIMESTAMP '2014-01-05 00:00:00' AS c, ts + INTERVAL '10' MINUTE AS d, ts - INTERVAL '6' HOUR AS e FROM trades
--> none: a timestamp, b timestamp, c int64, d timestamp, e timestamp
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 2014-01-04 09:40:00.000001, 2014-01-03 09:30:00.000001, -52199999999, 2014-01-04 09:40:00.000001, 2014-01-04 03:30:00.000001
--> row 2014-01-05 12:15:00, 2014-01-04 12:05:00, 43500000000, 2014-01-05 12:15:00, 2014-01-05 06:05:00
--> row 2014-01-05 12:17:00, 2014-01-04 12:07:00, 43620000000, 2014-01-05 12:17:00, 2014-01-05 06:07:00
--> row 2014-01-05 23:55:00, 2014-01-04 23:45:00, 85500000000, 2014-01-05 23:55:00, 2014-01-05 17:45:00

SELECT TIME_BUCKET(:width, ts) AS t, TIME_BUCKET(INTERVAL :width, ts) AS u, DATE_TRUNC(:unit, ts) AS v, EXTRACT(:part FROM ts) AS w FROM trades -- {"width": "5 minutes", "unit": "Hours", "part": "dow"}
--> SELECT TIME_BUCKET(INTERVAL '5' MINUTE, ts) AS t, TIME_BUCKET(INTERVAL '5' MINUTE, ts) AS u, DATE_TRUNC('hour', ts) AS v, DATE_PART('dow', ts) AS w FROM trades
--> none: t timestamp, u timestamp, v timestamp, w int64
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 2014-01-04 09:30:00, 2014-01-04 09:30:00, 2014-01-04 09:00:00, 6
--> row 2014-01-05 12:05:00, 2014-01-05 12:05:00, 2014-01-05 12:00:00, 0
--> row 2014-01-05 12:05:00, 2014-01-05 12:05:00, 2014-01-05 12:00:00, 0
--> row 2014-01-05 23:45:00, 2014-01-05 23:45:00, 2014-01-05 23:00:00, 0

-- windows
SELECT sym FROM trades BEGIN (NOW - :back) END (NOW - $delay) -- {"back": "10 minutes", "delay": 60.5}
--> SELECT sym FROM trades BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW - INTERVAL '60500' MILLISECOND)
--> delayed: sym string
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 'a%c'

SELECT sym FROM trades BEGIN (:since) END ((NOW)) -- {"since": "2014-01-05"}
--> SELECT sym FROM trades BEGIN (TIMESTAMP '2014-01-05 00:00:00') END (NOW)
--> landmark: sym string
--> rows 11 at 2014-01-06 12:00:07.500000
--> row ''
--> row 'abx'
--> row 'ACME'
--> row 'a'

SELECT sym FROM trades BEGIN (TIMESTAMP :since) END :until -- {"since": "2014-01-05", "until": "2014-01-06"}
--> SELECT sym FROM trades BEGIN (TIMESTAMP '2014-01-05 00:00:00') END (TIMESTAMP '2014-01-06 00:00:00')
--> snapshot: sym string
--> rows 4 at 2014-01-06 12:00:07.500000
--> row ''
--> row 'abx'
--> row 'ACME'
--> row 'a'

SELECT t.sym FROM trades t [RANGE :reach], "Quotes" q [RANGE :seconds] WHERE t.sym = q.sym AND t.ts < q.ts + INTERVAL :n SECOND AND q.px > :min -- {"reach": "1 hour", "seconds": 90, "n": "2.5", "min": 1}
--> SELECT trades.sym FROM trades [RANGE INTERVAL '1' HOUR], Quotes [RANGE INTERVAL '90' SECOND] WHERE Quotes.px > 1.0 AND Quotes.sym = trades.sym AND Quotes.ts + INTERVAL '2500' MILLISECOND > trades.ts
--> none: sym string
--> ranges [3600000000, 90000000]
--> factor Quotes.px in (1.0, ..)
--> factor equal trades.sym = Quotes.sym
--> factor band trades.ts less Quotes.ts in (.., 2499999] by 1
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 'AC'

SELECT t.sym FROM trades t JOIN "Quotes" q ON t.sym = q.sym AND q.px > :min BEGIN (NOW - :back) END (NOW) -- {"min": 1, "back": 600}
--> SELECT trades.sym FROM trades, Quotes WHERE Quotes.px > 1.0 AND Quotes.sym = trades.sym BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)
--> sliding: sym string
--> factor Quotes.px in (1.0, ..)
--> factor equal trades.sym = Quotes.sym
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 'b'
--> row 'AC'
--> row 'ACME'
--> row 'ACME'

-- rows
SELECT sym FROM trades WHERE (sym, qty) IN ((:a, :b), ('IBM', :b)) -- {"a": "ACME", "b": 5}
--> SELECT sym FROM trades WHERE (qty = 5 AND sym = 'ACME') OR (qty = 5 AND sym = 'IBM')
--> none: sym string
--> factor residual (qty = 5 AND sym = 'ACME') OR (qty = 5 AND sym = 'IBM')
--> warning not-indexed
--> rows 2 at 2014-01-06 12:00:07.500000
--> row 'ACME'
--> row 'ACME'

-- names are words, in any letters, also those of SQL
SELECT sym FROM trades WHERE px > :from AND qty > :END AND qty < $größe -- {"from": 1, "END": 2, "größe": 3}
--> SELECT sym FROM trades WHERE px > 1.0 AND qty < 3 AND qty > 2
--> none: sym string
--> factor px in (1.0, ..)
--> factor qty in nothing
--> warning never-true
--> rows 0 at 2014-01-06 12:00:07.500000

-- groups, order and limit
SELECT sym, SUM(qty * :by) FILTER (WHERE px > :min) AS total FROM trades GROUP BY sym HAVING COUNT(*) >= :least ORDER BY total + :more DESC LIMIT :n OFFSET :skip -- {"by": 2, "min": 1, "least": 3, "more": 1, "n": 10, "skip": 0}
--> SELECT sym, SUM(qty * 2) FILTER (WHERE px > 1.0) AS total FROM trades GROUP BY sym HAVING COUNT(*) >= 3 ORDER BY SUM(qty * 2) FILTER (WHERE px > 1.0) + 1 DESC LIMIT 10
--> none: sym string, total int64
--> delta replace
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 'ACME', 50

SELECT qty % :by AS rest, COUNT(*), QUANTILE_CONT(px, :share) AS high FROM trades GROUP BY rest -- {"by": 7, "share": 0.9}
--> SELECT qty % 7 AS rest, COUNT(*), QUANTILE_CONT(px, 0.9) AS high FROM trades GROUP BY qty % 7
--> none: rest int64, "COUNT(*)" int64, high float64
--> rows 8 at 2014-01-06 12:00:07.500000
--> row -3, 1, -7.25
--> row -1, 1, 5e-324
--> row 0, 2, 9000000000000005.0
--> row 1, 2, 3.75

-- hops
SELECT sym FROM trades BEGIN (NOW - :back) END (NOW) EVERY :step ALIGN :start -- {"back": 3600, "step": "5 minutes", "start": "2026-01-05 00:01:00"}
--> SELECT sym FROM trades BEGIN (NOW - INTERVAL '1' HOUR) END (NOW) EVERY INTERVAL '5' MINUTE ALIGN TIMESTAMP '1970-01-01 00:01:00'
--> sliding: sym string
--> warning window-exceeds-retention
--> rows 1 at 2014-01-06 11:56:00
--> row 'a%c'
