-- select lists
SELECT * FROM trades
--> SELECT sym, px, qty, open, ts, Name, "order" FROM trades
--> none: sym string, px float64, qty int64, open bool, ts timestamp, Name string, "order" int64
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 'ü', -7.25, -3, FALSE, 2014-01-04 09:30:00.000001, 'Ü', 15
--> row '', 5e-324, -9223372036854775808, FALSE, 2014-01-05 12:05:00, '', 0
--> row 'abx', 1e+16, 9223372036854775807, TRUE, 2014-01-05 12:07:00, 'acme', 7
--> row 'ACME', 4.0, 15, TRUE, 2014-01-05 23:45:00, 'b', -1

SELECT sym FROM trades
--> SELECT sym FROM trades
--> none: sym string
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

select distinct sym, px from trades;
--> SELECT DISTINCT sym, px FROM trades
--> none: sym string, px float64
--> rows 11 at 2014-01-06 12:00:07.500000
--> row 'ü', -7.25
--> row '', 5e-324
--> row 'abx', 1e+16
--> row 'ACME', 4.0

SELECT t.* FROM trades AS t
--> SELECT sym, px, qty, open, ts, Name, "order" FROM trades
--> none: sym string, px float64, qty int64, open bool, ts timestamp, Name string, "order" int64
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 'ü', -7.25, -3, FALSE, 2014-01-04 09:30:00.000001, 'Ü', 15
--> row '', 5e-324, -9223372036854775808, FALSE, 2014-01-05 12:05:00, '', 0
--> row 'abx', 1e+16, 9223372036854775807, TRUE, 2014-01-05 12:07:00, 'acme', 7
--> row 'ACME', 4.0, 15, TRUE, 2014-01-05 23:45:00, 'b', -1

SELECT t.px AS price, T.QTY FROM Trades t
--> SELECT px AS price, qty FROM trades
--> none: price float64, qty int64
--> rows 12 at 2014-01-06 12:00:07.500000
--> row -7.25, -3
--> row 5e-324, -9223372036854775808
--> row 1e+16, 9223372036854775807
--> row 4.0, 15

SELECT px * 2, qty / 2, qty % 2 + 1 FROM trades
--> SELECT px * 2.0, qty / 2, qty % 2 + 1 FROM trades
--> none: "px * 2.0" float64, "qty / 2" float64, "qty % 2 + 1" int64
--> rows 12 at 2014-01-06 12:00:07.500000
--> row -14.5, -1.5, 0
--> row 1e-323, -4.611686018427388e+18, 1
--> row 2e+16, 4.611686018427388e+18, 2
--> row 8.0, 7.5, 2

SELECT px AS "a ""b""", qty _q FROM trades
--> SELECT px AS "a ""b""", qty AS _q FROM trades
--> none: "a ""b""" float64, _q int64
--> rows 12 at 2014-01-06 12:00:07.500000
--> row -7.25, -3
--> row 5e-324, -9223372036854775808
--> row 1e+16, 9223372036854775807
--> row 4.0, 15

SELECT "Name", name AS n FROM trades
--> SELECT Name, Name AS n FROM trades
--> none: Name string, n string
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 'Ü', 'Ü'
--> row '', ''
--> row 'acme', 'acme'
--> row 'b', 'b'

SELECT "order" FROM trades WHERE "order" = 1
--> SELECT "order" FROM trades WHERE "order" = 1
--> none: "order" int64
--> factor "order" in [1]
--> rows 2 at 2014-01-06 12:00:07.500000
--> row 1
--> row 1

SELECT px AS px FROM trades
--> SELECT px FROM trades
--> none: px float64
--> rows 12 at 2014-01-06 12:00:07.500000
--> row -7.25
--> row 5e-324
--> row 1e+16
--> row 4.0

SELECT px > 40 AS hot, open, NOT open AS closed FROM trades
--> SELECT px > 40.0 AS hot, open, NOT open AS closed FROM trades
--> none: hot bool, open bool, closed bool
--> rows 12 at 2014-01-06 12:00:07.500000
--> row FALSE, FALSE, TRUE
--> row FALSE, FALSE, TRUE
--> row TRUE, TRUE, FALSE
--> row FALSE, TRUE, FALSE

SELECT 1, 1.50, 'it''s', TRUE, TIMESTAMP '2014-01-05' FROM trades
--> SELECT 1, 1.5, 'it''s', TRUE, TIMESTAMP '2014-01-05 00:00:00' FROM trades
--> none: "1" int64, "1.5" float64, "'it''s'" string, "TRUE" bool, "TIMESTAMP '2014-01-05 00:00:00'" timestamp
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 1, 1.5, 'it''s', TRUE, 2014-01-05 00:00:00
--> row 1, 1.5, 'it''s', TRUE, 2014-01-05 00:00:00
--> row 1, 1.5, 'it''s', TRUE, 2014-01-05 00:00:00
--> row 1, 1.5, 'it''s', TRUE, 2014-01-05 00:00:00

SELECT ts + INTERVAL '90' SECOND AS later, ts - INTERVAL 1 week AS before FROM trades
--> SELECT ts + INTERVAL '90' SECOND AS later, ts - INTERVAL '7' DAY AS before FROM trades
--> none: later timestamp, before timestamp
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 2014-01-04 09:31:30.000001, 2013-12-28 09:30:00.000001
--> row 2014-01-05 12:06:30, 2013-12-29 12:05:00
--> row 2014-01-05 12:08:30, 2013-12-29 12:07:00
--> row 2014-01-05 23:46:30, 2013-12-29 23:45:00

SELECT qty % 0 AS never FROM trades
--> SELECT qty % 0 AS never FROM trades
--> none: never int64
--> rows 12 at 2014-01-06 12:00:07.500000
--> row NULL
--> row NULL
--> row NULL
--> row NULL

SELECT 1 % 0 AS never, NULL AS n FROM trades
--> SELECT 1 % 0 AS never, NULL AS n FROM trades
--> none: never int64, n bool
--> rows 12 at 2014-01-06 12:00:07.500000
--> row NULL, NULL
--> row NULL, NULL
--> row NULL, NULL
--> row NULL, NULL

SELECT sym FROM Quotes
--> SELECT sym FROM Quotes
--> none: sym string
--> rows 6 at 2014-01-06 12:00:05
--> row 'ACME'
--> row 'a'
--> row 'b'
--> row 'a'

-- comparisons
SELECT sym FROM trades WHERE px > 40
--> SELECT sym FROM trades WHERE px > 40.0
--> none: sym string
--> factor px in (40.0, ..)
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'ACDC'
--> row 'ACME'
--> row 'ACME'

SELECT sym FROM trades WHERE 40 < px
--> SELECT sym FROM trades WHERE px > 40.0
--> none: sym string
--> factor px in (40.0, ..)
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'ACDC'
--> row 'ACME'
--> row 'ACME'

SELECT sym FROM trades WHERE NOT px <= 40
--> SELECT sym FROM trades WHERE px > 40.0
--> none: sym string
--> factor px in (40.0, ..)
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'ACDC'
--> row 'ACME'
--> row 'ACME'

SELECT sym FROM trades WHERE px != 40 AND sym = 'ACME'
--> SELECT sym FROM trades WHERE px <> 40.0 AND sym = 'ACME'
--> none: sym string
--> factor px in (.., 40.0) or (40.0, ..)
--> factor sym in ['ACME']
--> rows 3 at 2014-01-06 12:00:07.500000
--> row 'ACME'
--> row 'ACME'
--> row 'ACME'

SELECT sym FROM trades WHERE sym = 'ACME' AND px <> 40.00 AND sym = 'ACME'
--> SELECT sym FROM trades WHERE px <> 40.0 AND sym = 'ACME'
--> none: sym string
--> factor px in (.., 40.0) or (40.0, ..)
--> factor sym in ['ACME']
--> rows 3 at 2014-01-06 12:00:07.500000
--> row 'ACME'
--> row 'ACME'
--> row 'ACME'

SELECT sym FROM trades WHERE px > 3 AND px <= 5 AND px <> 4
--> SELECT sym FROM trades WHERE px <= 5.0 AND px <> 4.0 AND px > 3.0
--> none: sym string
--> factor px in (3.0, 4.0) or (4.0, 5.0]
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE px > 5 AND px < 3
--> SELECT sym FROM trades WHERE px < 3.0 AND px > 5.0
--> none: sym string
--> factor px in nothing
--> warning never-true
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE px = -0.0
--> SELECT sym FROM trades WHERE px = 0.0
--> none: sym string
--> factor px in [0.0]
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 'a%c'

SELECT sym FROM trades WHERE qty > 2.5
--> SELECT sym FROM trades WHERE qty > 2.5
--> none: sym string
--> factor qty in [3, ..)
--> rows 6 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'ACME'
--> row 'a%c'
--> row 'ACDC'

SELECT sym FROM trades WHERE qty = 2.5
--> SELECT sym FROM trades WHERE qty = 2.5
--> none: sym string
--> factor qty in nothing
--> warning never-true
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE qty <> 2.5
--> SELECT sym FROM trades WHERE qty <> 2.5
--> none: sym string
--> factor qty in (.., ..)
--> rows 11 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

SELECT sym FROM trades WHERE qty >= 3.0
--> SELECT sym FROM trades WHERE qty >= 3
--> none: sym string
--> factor qty in [3, ..)
--> rows 6 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'ACME'
--> row 'a%c'
--> row 'ACDC'

SELECT sym FROM trades WHERE qty > 1e300
--> SELECT sym FROM trades WHERE qty > 1e+300
--> none: sym string
--> factor residual qty > 1e+300
--> warning not-indexed
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE qty < -9223372036854775808
--> SELECT sym FROM trades WHERE qty < -9223372036854775808
--> none: sym string
--> factor qty in nothing
--> warning never-true
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE qty <= 9223372036854775807
--> SELECT sym FROM trades WHERE qty <= 9223372036854775807
--> none: sym string
--> factor qty in (.., ..)
--> rows 11 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

SELECT sym FROM trades WHERE qty > px
--> SELECT sym FROM trades WHERE px < qty
--> none: sym string
--> factor residual px < qty
--> warning not-indexed
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row 'abx'
--> row 'ACME'
--> row 'a%c'

SELECT sym FROM trades WHERE px < qty
--> SELECT sym FROM trades WHERE px < qty
--> none: sym string
--> factor residual px < qty
--> warning not-indexed
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row 'abx'
--> row 'ACME'
--> row 'a%c'

SELECT sym FROM trades WHERE qty > 2 + 3 * 4
--> SELECT sym FROM trades WHERE qty > 14
--> none: sym string
--> factor qty in [15, ..)
--> rows 2 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'ACME'

SELECT sym FROM trades WHERE (qty + 1) * 2 > 10
--> SELECT sym FROM trades WHERE (qty + 1) * 2 > 10
--> none: sym string
--> factor residual (qty + 1) * 2 > 10
--> warning not-indexed
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 'ACME'
--> row 'ACDC'
--> row 'ACME'
--> row 'ACME'

SELECT sym FROM trades WHERE qty - (1 - 2) > qty - 1 - 2
--> SELECT sym FROM trades WHERE qty - -1 > qty - 1 - 2
--> none: sym string
--> factor residual qty - -1 > qty - 1 - 2
--> warning not-indexed
--> rows 9 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row 'ACME'
--> row 'a'
--> row 'a%c'

SELECT sym FROM trades WHERE -qty < -(-5) AND ABS(px) >= 1
--> SELECT sym FROM trades WHERE -qty < 5 AND ABS(px) >= 1.0
--> none: sym string
--> factor residual -qty < 5
--> factor residual ABS(px) >= 1.0
--> warning not-indexed
--> warning not-indexed
--> rows 9 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row 'abx'
--> row 'ACME'
--> row 'a'

SELECT sym FROM trades WHERE sym < Name
--> SELECT sym FROM trades WHERE Name > sym
--> none: sym string
--> factor residual Name > sym
--> warning not-indexed
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'ACME'
--> row 'a'
--> row 'ACDC'

SELECT sym FROM trades WHERE sym >= ''
--> SELECT sym FROM trades WHERE sym >= ''
--> none: sym string
--> factor sym in (.., ..)
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

-- flags
SELECT sym FROM trades WHERE open
--> SELECT sym FROM trades WHERE open
--> none: sym string
--> factor open in [TRUE, ..)
--> rows 5 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'ACME'
--> row 'a'
--> row 'ACME'

SELECT sym FROM trades WHERE open = TRUE
--> SELECT sym FROM trades WHERE open
--> none: sym string
--> factor open in [TRUE, ..)
--> rows 5 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'ACME'
--> row 'a'
--> row 'ACME'

SELECT sym FROM trades WHERE open <> TRUE
--> SELECT sym FROM trades WHERE NOT open
--> none: sym string
--> factor open in (.., FALSE]
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'b'
--> row 'ACDC'

SELECT sym FROM trades WHERE open IS NOT FALSE
--> SELECT sym FROM trades WHERE open IS NOT FALSE
--> none: sym string
--> factor open in [TRUE, ..) or NULL
--> rows 8 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'ACME'
--> row 'a'
--> row 'a%c'

SELECT sym FROM trades WHERE open < TRUE
--> SELECT sym FROM trades WHERE open < TRUE
--> none: sym string
--> factor open in (.., FALSE]
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'b'
--> row 'ACDC'

SELECT sym FROM trades WHERE (px > 1) = open
--> SELECT sym FROM trades WHERE open = (px > 1.0)
--> none: sym string
--> factor residual open = (px > 1.0)
--> warning not-indexed
--> rows 7 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

SELECT sym FROM trades WHERE (px > 1 AND qty > 1) IS TRUE
--> SELECT sym FROM trades WHERE px > 1.0 AND qty > 1
--> none: sym string
--> factor px in (1.0, ..)
--> factor qty in [2, ..)
--> rows 7 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'ACME'
--> row 'a'
--> row 'b'

SELECT sym FROM trades WHERE (px > 1 OR px IS NULL) IS NOT TRUE
--> SELECT sym FROM trades WHERE (px > 1.0 OR px IS NULL) IS NOT TRUE
--> none: sym string
--> factor px in (.., 1.0]
--> rows 3 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'a%c'

-- NULL and constants
SELECT sym FROM trades WHERE TRUE
--> SELECT sym FROM trades
--> none: sym string
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

SELECT sym FROM trades WHERE 1 = 2 OR NULL
--> SELECT sym FROM trades WHERE FALSE
--> none: sym string
--> factor residual FALSE
--> warning never-true
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE px > 1 AND NULL
--> SELECT sym FROM trades WHERE FALSE
--> none: sym string
--> factor residual FALSE
--> warning never-true
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE px = NULL
--> SELECT sym FROM trades WHERE FALSE
--> none: sym string
--> factor residual FALSE
--> warning never-true
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE px IS NULL
--> SELECT sym FROM trades WHERE px IS NULL
--> none: sym string
--> factor px in NULL
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 'AC'

SELECT sym FROM trades WHERE px IS NOT NULL AND px IS NOT NULL
--> SELECT sym FROM trades WHERE px IS NOT NULL
--> none: sym string
--> factor px in (.., ..)
--> rows 11 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

SELECT sym FROM trades WHERE px IS NULL OR px IS NOT NULL
--> SELECT sym FROM trades WHERE px IS NOT NULL OR px IS NULL
--> none: sym string
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

SELECT sym FROM trades WHERE px > 40 OR px IS NULL
--> SELECT sym FROM trades WHERE px > 40.0 OR px IS NULL
--> none: sym string
--> factor px in (40.0, ..) or NULL
--> rows 5 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'AC'
--> row 'ACDC'
--> row 'ACME'

-- NULL among operands
SELECT NULL + NULL AS n, NULL / NULL AS d, MOD(NULL, NULL) AS m, CEIL(MOD(NULL, NULL)) AS c FROM trades
--> SELECT NULL + NULL AS n, NULL / NULL AS d, NULL % NULL AS m, CEIL(NULL % NULL) AS c FROM trades
--> none: n int64, d float64, m int64, c int64
--> rows 12 at 2014-01-06 12:00:07.500000
--> row NULL, NULL, NULL, NULL
--> row NULL, NULL, NULL, NULL
--> row NULL, NULL, NULL, NULL
--> row NULL, NULL, NULL, NULL

SELECT NULL + qty AS n, ABS(NULL) AS a, NULL + INTERVAL '1' HOUR AS t FROM trades
--> SELECT NULL + qty AS n, ABS(NULL) AS a, NULL + INTERVAL '1' HOUR AS t FROM trades
--> none: n int64, a int64, t timestamp
--> rows 12 at 2014-01-06 12:00:07.500000
--> row NULL, NULL, NULL
--> row NULL, NULL, NULL
--> row NULL, NULL, NULL
--> row NULL, NULL, NULL

SELECT sym FROM trades WHERE NULL IN (1, 2) OR NULL LIKE 'a%' OR qty > 1
--> SELECT sym FROM trades WHERE qty > 1
--> none: sym string
--> factor qty in [2, ..)
--> rows 8 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'ACME'
--> row 'a'
--> row 'a%c'

SELECT sym FROM trades WHERE (sym LIKE '%x') IS NOT TRUE AND (px IS NULL) IS FALSE
--> SELECT sym FROM trades WHERE (sym LIKE '%x') IS NOT TRUE AND px IS NOT NULL
--> none: sym string
--> factor px in (.., ..)
--> factor residual (sym LIKE '%x') IS NOT TRUE
--> warning not-indexed
--> rows 10 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'ACME'
--> row 'a'

SELECT sym FROM trades WHERE qty IN (2.5) OR qty IN (NULL)
--> SELECT sym FROM trades WHERE qty = 2.5
--> none: sym string
--> factor qty in nothing
--> warning never-true
--> rows 0 at 2014-01-06 12:00:07.500000

-- BETWEEN, IN, LIKE
SELECT sym FROM trades WHERE px BETWEEN 1 AND 2
--> SELECT sym FROM trades WHERE px <= 2.0 AND px >= 1.0
--> none: sym string
--> factor px in [1.0, 2.0]
--> rows 2 at 2014-01-06 12:00:07.500000
--> row 'b'
--> row 'a'

SELECT sym FROM trades WHERE px NOT BETWEEN 1 AND 2
--> SELECT sym FROM trades WHERE px < 1.0 OR px > 2.0
--> none: sym string
--> factor px in (.., 1.0) or (2.0, ..)
--> rows 9 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

SELECT sym FROM trades WHERE px BETWEEN 2 AND 1
--> SELECT sym FROM trades WHERE px <= 1.0 AND px >= 2.0
--> none: sym string
--> factor px in nothing
--> warning never-true
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE qty IN (3, 1, 2, 1)
--> SELECT sym FROM trades WHERE qty IN (1, 2, 3)
--> none: sym string
--> factor qty in [1, 3]
--> rows 3 at 2014-01-06 12:00:07.500000
--> row 'a'
--> row 'b'
--> row 'a'

SELECT sym FROM trades WHERE qty IN (7)
--> SELECT sym FROM trades WHERE qty = 7
--> none: sym string
--> factor qty in [7]
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 'ACDC'

SELECT sym FROM trades WHERE qty NOT IN (1, 2)
--> SELECT sym FROM trades WHERE qty NOT IN (1, 2)
--> none: sym string
--> factor qty in (.., 0] or [3, ..)
--> rows 8 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

SELECT sym FROM trades WHERE qty NOT IN (1, NULL)
--> SELECT sym FROM trades WHERE qty NOT IN (1, NULL)
--> none: sym string
--> factor qty in nothing
--> warning never-true
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE qty IN (1, 2.0, 2.5)
--> SELECT sym FROM trades WHERE qty = 2.5 OR qty IN (1, 2)
--> none: sym string
--> factor qty in [1, 2]
--> rows 3 at 2014-01-06 12:00:07.500000
--> row 'a'
--> row 'b'
--> row 'a'

SELECT sym FROM trades WHERE qty = 1 OR 2 = qty OR qty IN (5, 6)
--> SELECT sym FROM trades WHERE qty IN (1, 2, 5, 6)
--> none: sym string
--> factor qty in [1, 2] or [5, 6]
--> rows 5 at 2014-01-06 12:00:07.500000
--> row 'a'
--> row 'b'
--> row 'a'
--> row 'ACME'

SELECT sym FROM trades WHERE sym = 'b' OR sym = 'a' OR px > 1
--> SELECT sym FROM trades WHERE px > 1.0 OR sym IN ('a', 'b')
--> none: sym string
--> factor residual px > 1.0 OR sym IN ('a', 'b')
--> warning not-indexed
--> rows 8 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'ACME'
--> row 'a'
--> row 'b'

SELECT sym FROM trades WHERE ts IN ('2014-01-05', TIMESTAMP '2014-01-06 00:00:00')
--> SELECT sym FROM trades WHERE ts IN (TIMESTAMP '2014-01-05 00:00:00', TIMESTAMP '2014-01-06 00:00:00')
--> none: sym string
--> factor ts in [TIMESTAMP '2014-01-05 00:00:00'] or [TIMESTAMP '2014-01-06 00:00:00']
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 'a'

SELECT sym FROM trades WHERE sym LIKE 'AC%'
--> SELECT sym FROM trades WHERE sym LIKE 'AC%'
--> none: sym string
--> factor sym in ['AC', 'AD')
--> rows 5 at 2014-01-06 12:00:07.500000
--> row 'ACME'
--> row 'AC'
--> row 'ACDC'
--> row 'ACME'

SELECT sym FROM trades WHERE sym LIKE 'ACME'
--> SELECT sym FROM trades WHERE sym = 'ACME'
--> none: sym string
--> factor sym in ['ACME']
--> rows 3 at 2014-01-06 12:00:07.500000
--> row 'ACME'
--> row 'ACME'
--> row 'ACME'

SELECT sym FROM trades WHERE sym NOT LIKE 'AC%'
--> SELECT sym FROM trades WHERE sym NOT LIKE 'AC%'
--> none: sym string
--> factor sym in (.., 'AC') or ['AD', ..)
--> rows 7 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'a'

SELECT sym FROM trades WHERE sym LIKE '%AC' AND sym LIKE 'A%'
--> SELECT sym FROM trades WHERE sym LIKE '%AC' AND sym LIKE 'A%'
--> none: sym string
--> factor sym in ['A', 'B')
--> factor residual sym LIKE '%AC'
--> warning not-indexed
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 'AC'

SELECT sym FROM trades WHERE sym LIKE 'a!%%' ESCAPE '!'
--> SELECT sym FROM trades WHERE sym LIKE 'a!%%' ESCAPE '!'
--> none: sym string
--> factor sym in ['a%', 'a&')
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 'a%c'

SELECT sym FROM trades WHERE sym LIKE 'a!%' ESCAPE '!'
--> SELECT sym FROM trades WHERE sym = 'a%'
--> none: sym string
--> factor sym in ['a%']
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE sym LIKE 'a%' ESCAPE '!'
--> SELECT sym FROM trades WHERE sym LIKE 'a%'
--> none: sym string
--> factor sym in ['a', 'b')
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'a'
--> row 'a%c'
--> row 'a'

SELECT sym FROM trades WHERE sym LIKE '%'
--> SELECT sym FROM trades WHERE sym LIKE '%'
--> none: sym string
--> factor sym in (.., ..)
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

-- AND, OR, NOT
SELECT sym FROM trades WHERE qty < 1 OR qty > 5
--> SELECT sym FROM trades WHERE qty < 1 OR qty > 5
--> none: sym string
--> factor qty in (.., 0] or [6, ..)
--> rows 5 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

SELECT sym FROM trades WHERE NOT (qty < 1 OR px > 5)
--> SELECT sym FROM trades WHERE px <= 5.0 AND qty >= 1
--> none: sym string
--> factor px in (.., 5.0]
--> factor qty in [1, ..)
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 'ACME'
--> row 'a%c'
--> row 'b'
--> row 'a'

SELECT sym FROM trades WHERE NOT (qty < 1 AND px > 5)
--> SELECT sym FROM trades WHERE px <= 5.0 OR qty >= 1
--> none: sym string
--> factor residual px <= 5.0 OR qty >= 1
--> warning not-indexed
--> rows 11 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

SELECT sym FROM trades WHERE qty < 1 OR px > 5 AND open
--> SELECT sym FROM trades WHERE (open AND px > 5.0) OR qty < 1
--> none: sym string
--> factor residual (open AND px > 5.0) OR qty < 1
--> warning not-indexed
--> rows 5 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

SELECT sym FROM trades WHERE (qty < 1 OR px > 5) AND open
--> SELECT sym FROM trades WHERE open AND (px > 5.0 OR qty < 1)
--> none: sym string
--> factor open in [TRUE, ..)
--> factor residual px > 5.0 OR qty < 1
--> warning not-indexed
--> rows 3 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'ACME'
--> row 'ACME'

SELECT sym FROM trades WHERE NOT NOT (sym LIKE '%x' AND NOT open)
--> SELECT sym FROM trades WHERE NOT open AND sym LIKE '%x'
--> none: sym string
--> factor open in (.., FALSE]
--> factor residual sym LIKE '%x'
--> warning not-indexed
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE px > 1 AND (px < 9 AND (qty = 1 AND open))
--> SELECT sym FROM trades WHERE open AND px < 9.0 AND px > 1.0 AND qty = 1
--> none: sym string
--> factor open in [TRUE, ..)
--> factor px in (1.0, 9.0)
--> factor qty in [1]
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 'a'

-- times
SELECT sym FROM trades WHERE ts > '2014-01-05T12:00:00+02:00'
--> SELECT sym FROM trades WHERE ts > TIMESTAMP '2014-01-05 10:00:00'
--> none: sym string
--> factor ts in [TIMESTAMP '2014-01-05 10:00:00.000001', ..)
--> rows 11 at 2014-01-06 12:00:07.500000
--> row ''
--> row 'abx'
--> row 'ACME'
--> row 'a'

SELECT sym FROM trades WHERE ts > '2014-01-05 12:00:00.250' AND ts <= TIMESTAMP '2014-01-06'
--> SELECT sym FROM trades WHERE ts <= TIMESTAMP '2014-01-06 00:00:00' AND ts > TIMESTAMP '2014-01-05 12:00:00.250000'
--> none: sym string
--> factor ts in [TIMESTAMP '2014-01-05 12:00:00.250001', TIMESTAMP '2014-01-06 00:00:00']
--> rows 4 at 2014-01-06 12:00:07.500000
--> row ''
--> row 'abx'
--> row 'ACME'
--> row 'a'

SELECT sym FROM trades WHERE ts < TIMESTAMP '2014-01-05' + INTERVAL '36' HOUR
--> SELECT sym FROM trades WHERE ts < TIMESTAMP '2014-01-06 12:00:00'
--> none: sym string
--> factor ts in (.., TIMESTAMP '2014-01-06 11:59:59.999999']
--> rows 10 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

SELECT sym FROM trades WHERE ts - INTERVAL '-5 minutes' > '2014-01-05'
--> SELECT sym FROM trades WHERE ts + INTERVAL '5' MINUTE > TIMESTAMP '2014-01-05 00:00:00'
--> none: sym string
--> factor residual ts + INTERVAL '5' MINUTE > TIMESTAMP '2014-01-05 00:00:00'
--> warning not-indexed
--> rows 11 at 2014-01-06 12:00:07.500000
--> row ''
--> row 'abx'
--> row 'ACME'
--> row 'a'

SELECT sym FROM trades WHERE INTERVAL '1' DAY + ts > '2014-01-05'
--> SELECT sym FROM trades WHERE ts + INTERVAL '1' DAY > TIMESTAMP '2014-01-05 00:00:00'
--> none: sym string
--> factor residual ts + INTERVAL '1' DAY > TIMESTAMP '2014-01-05 00:00:00'
--> warning not-indexed
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

-- windows
SELECT sym FROM trades BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)
--> SELECT sym FROM trades BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)
--> sliding: sym string
--> rows 7 at 2014-01-06 12:00:07.500000
--> row 'a%c'
--> row 'b'
--> row 'a'
--> row 'AC'

SELECT sym FROM trades WHERE px > 40 BEGIN NOW - 600 END NOW
--> SELECT sym FROM trades WHERE px > 40.0 BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)
--> sliding: sym string
--> factor px in (40.0, ..)
--> rows 3 at 2014-01-06 12:00:07.500000
--> row 'ACDC'
--> row 'ACME'
--> row 'ACME'

SELECT sym FROM trades BEGIN (NOW - INTERVAL '1.5 hours') END (NOW - 0.5)
--> SELECT sym FROM trades BEGIN (NOW - INTERVAL '90' MINUTE) END (NOW - INTERVAL '500' MILLISECOND)
--> delayed: sym string
--> warning window-exceeds-retention
--> rows 5 at 2014-01-06 12:00:07.500000
--> row 'a%c'
--> row 'b'
--> row 'a'
--> row 'AC'

SELECT sym FROM trades BEGIN ('2014-01-05') END (TIMESTAMP '2014-01-05 23:59:59.999999')
--> SELECT sym FROM trades BEGIN (TIMESTAMP '2014-01-05 00:00:00') END (TIMESTAMP '2014-01-05 23:59:59.999999')
--> snapshot: sym string
--> rows 3 at 2014-01-06 12:00:07.500000
--> row ''
--> row 'abx'
--> row 'ACME'

SELECT sym FROM trades BEGIN '2014-01-05T00:00:00Z' END NOW
--> SELECT sym FROM trades BEGIN (TIMESTAMP '2014-01-05 00:00:00') END (NOW)
--> landmark: sym string
--> rows 11 at 2014-01-06 12:00:07.500000
--> row ''
--> row 'abx'
--> row 'ACME'
--> row 'a'

SELECT sym FROM trades BEGIN (NOW - 0) END (NOW);
--> SELECT sym FROM trades BEGIN (NOW) END (NOW)
--> sliding: sym string
--> rows 2 at 2014-01-06 12:00:07.500000
--> row 'ACME'
--> row 'ACME'

SELECT sym FROM trades BEGIN ((NOW - INTERVAL 2 WEEKS)) END (NOW) ; ;
--> SELECT sym FROM trades BEGIN (NOW - INTERVAL '14' DAY) END (NOW)
--> sliding: sym string
--> warning window-exceeds-retention
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

-- layout
SELECT sym -- the symbol
FROM trades /* of
today */ WHERE px > 40 -- done
--> SELECT sym FROM trades WHERE px > 40.0
--> none: sym string
--> factor px in (40.0, ..)
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'ACDC'
--> row 'ACME'
--> row 'ACME'

SELECT é.px FROM trades AS é WHERE é.px > 1
--> SELECT px FROM trades WHERE px > 1.0
--> none: px float64
--> factor px in (1.0, ..)
--> rows 8 at 2014-01-06 12:00:07.500000
--> row 1e+16
--> row 4.0
--> row 40.0
--> row 2.0

-- two signs in a row would be a comment: the least integer has no positive to fold into
SELECT sym FROM trades WHERE qty > -(-9223372036854775808)
--> SELECT sym FROM trades WHERE -(-9223372036854775808) < qty
--> none: sym string
--> factor residual -(-9223372036854775808) < qty
--> warning not-indexed
--> rows 0 at 2014-01-06 12:00:07.500000

-- joins
SELECT px, lot FROM trades, symbols WHERE sym = id
--> SELECT trades.px, symbols.lot FROM trades, symbols WHERE symbols.id = trades.sym
--> none: px float64, lot int64
--> factor equal trades.sym = symbols.id
--> warning join-unbounded
--> rows 6 at 2014-01-06 12:00:07.500000
--> row 41.0, 1
--> row 41.0, 1
--> row 4.0, 1
--> row 40.0, NULL

SELECT t.px, s.lot FROM trades t JOIN symbols AS s ON t.sym = s.id WHERE t.px > 5 BEGIN (NOW - 60) END (NOW)
--> SELECT trades.px, symbols.lot FROM trades, symbols WHERE symbols.id = trades.sym AND trades.px > 5.0 BEGIN (NOW - INTERVAL '1' MINUTE) END (NOW)
--> sliding: px float64, lot int64
--> factor trades.px in (5.0, ..)
--> factor equal trades.sym = symbols.id
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT px, lot FROM symbols INNER JOIN trades ON sym = id AND px > 5 AND lot IS NOT NULL
--> SELECT trades.px, symbols.lot FROM symbols, trades WHERE symbols.id = trades.sym AND symbols.lot IS NOT NULL AND trades.px > 5.0
--> none: px float64, lot int64
--> factor symbols.lot in (.., ..)
--> factor trades.px in (5.0, ..)
--> factor equal symbols.id = trades.sym
--> warning join-unbounded
--> rows 2 at 2014-01-06 12:00:07.500000
--> row 41.0, 1
--> row 41.0, 1

SELECT t.px FROM trades t CROSS JOIN symbols s WHERE t.sym = s.id
--> SELECT trades.px FROM trades, symbols WHERE symbols.id = trades.sym
--> none: px float64
--> factor equal trades.sym = symbols.id
--> warning join-unbounded
--> rows 6 at 2014-01-06 12:00:07.500000
--> row 41.0
--> row 41.0
--> row 4.0
--> row 40.0

SELECT * FROM trades, symbols WHERE sym = id
--> SELECT trades.sym, trades.px, trades.qty, trades.open, trades.ts, trades.Name, trades."order", symbols.id, symbols.lot, symbols.since FROM trades, symbols WHERE symbols.id = trades.sym
--> none: sym string, px float64, qty int64, open bool, ts timestamp, Name string, "order" int64, id string, lot int64, since timestamp
--> factor equal trades.sym = symbols.id
--> warning join-unbounded
--> rows 6 at 2014-01-06 12:00:07.500000
--> row 'ACME', 41.0, 5, TRUE, 2014-01-06 12:00:07.500000, 'ACME', 1, 'ACME', 1, 2014-01-05 00:00:00
--> row 'ACME', 41.0, 5, TRUE, 2014-01-06 12:00:07.500000, 'ACME', 1, 'ACME', 1, 2014-01-05 00:00:00
--> row 'ACME', 4.0, 15, TRUE, 2014-01-05 23:45:00, 'b', -1, 'ACME', 1, 2014-01-05 00:00:00
--> row 'a', 40.0, 2, NULL, 2014-01-06 00:00:00, 'a', 2, 'a', NULL, 2014-01-06 11:59:30

SELECT * FROM trades t, Quotes AS "big q" WHERE t.sym = "big q".sym AND t.qty < "big q".qty
--> SELECT trades.sym AS "t.sym", trades.px AS "t.px", trades.qty AS "t.qty", trades.open AS "t.open", trades.ts AS "t.ts", trades.Name AS "t.Name", trades."order" AS "t.order", Quotes.sym AS "big q.sym", Quotes.px AS "big q.px", Quotes.qty AS "big q.qty", Quotes.open AS "big q.open", Quotes.ts AS "big q.ts", Quotes.Name AS "big q.Name", Quotes."order" AS "big q.order" FROM trades, Quotes WHERE Quotes.qty > trades.qty AND Quotes.sym = trades.sym
--> none: "t.sym" string, "t.px" float64, "t.qty" int64, "t.open" bool, "t.ts" timestamp, "t.Name" string, "t.order" int64, "big q.sym" string, "big q.px" float64, "big q.qty" int64, "big q.open" bool, "big q.ts" timestamp, "big q.Name" string, "big q.order" int64
--> factor equal trades.sym = Quotes.sym
--> factor band trades.qty less Quotes.qty in (.., 0) exactly
--> warning join-unbounded
--> rows 5 at 2014-01-06 12:00:07.500000
--> row 'a', 1.5, 1, TRUE, 2014-01-06 11:59:10, 'b', 3, 'a', 1.0, 9, TRUE, 2014-01-05 23:45:00, 'a', 3
--> row 'a', 40.0, 2, NULL, 2014-01-06 00:00:00, 'a', 2, 'a', 1.0, 9, TRUE, 2014-01-05 23:45:00, 'a', 3
--> row 'a', 40.0, 2, NULL, 2014-01-06 00:00:00, 'a', 2, 'a', NULL, 12, FALSE, 2014-01-06 11:59:10, 'A', 2
--> row 'b', 2.0, 2, FALSE, 2014-01-06 11:59:07.500000, 'a', 5, 'b', 2.5, 3, NULL, 2014-01-06 11:59:01, NULL, 8

SELECT s.*, t.px * 2 FROM trades t, symbols s WHERE t.sym = s.id
--> SELECT symbols.id, symbols.lot, symbols.since, trades.px * 2.0 FROM trades, symbols WHERE symbols.id = trades.sym
--> none: id string, lot int64, since timestamp, "trades.px * 2.0" float64
--> factor equal trades.sym = symbols.id
--> warning join-unbounded
--> rows 6 at 2014-01-06 12:00:07.500000
--> row 'ACME', 1, 2014-01-05 00:00:00, 82.0
--> row 'ACME', 1, 2014-01-05 00:00:00, 82.0
--> row 'ACME', 1, 2014-01-05 00:00:00, 8.0
--> row 'a', NULL, 2014-01-06 11:59:30, 80.0

SELECT DISTINCT a.sym FROM trades a, trades b WHERE a.sym = b.sym AND a.px < b.px
--> SELECT DISTINCT trades_1.sym FROM trades AS trades_1, trades AS trades_2 WHERE trades_1.px < trades_2.px AND trades_1.sym = trades_2.sym
--> none: sym string
--> factor equal trades_1.sym = trades_2.sym
--> factor band trades_1.px less trades_2.px in (.., 0.0) exactly
--> warning join-unbounded
--> rows 2 at 2014-01-06 12:00:07.500000
--> row 'ACME'
--> row 'a'

SELECT b.px, a.px AS other FROM trades AS b JOIN trades AS a ON a.sym = b.sym WHERE b.qty > a.qty + 7
--> SELECT trades_1.px, trades_2.px AS other FROM trades AS trades_1, trades AS trades_2 WHERE trades_1.qty > trades_2.qty + 7 AND trades_1.sym = trades_2.sym
--> none: px float64, other float64
--> factor equal trades_1.sym = trades_2.sym
--> factor band trades_1.qty less trades_2.qty in [8, ..) by 1
--> warning join-unbounded
--> rows 2 at 2014-01-06 12:00:07.500000
--> row 4.0, 41.0
--> row 4.0, 41.0

SELECT a.px FROM trades a, Quotes q, trades c, symbols s WHERE a.sym = q.sym AND q.sym = c.sym AND c.sym = s.id
--> SELECT trades_1.px FROM trades AS trades_1, Quotes, trades AS trades_2, symbols WHERE Quotes.sym = trades_1.sym AND Quotes.sym = trades_2.sym AND symbols.id = trades_2.sym
--> none: px float64
--> factor equal trades_1.sym = Quotes.sym
--> factor equal Quotes.sym = trades_2.sym
--> factor equal trades_2.sym = symbols.id
--> warning join-unbounded
--> rows 27 at 2014-01-06 12:00:07.500000
--> row 41.0
--> row 41.0
--> row 41.0
--> row 41.0

SELECT a.px, "trades".qty FROM quotes a, TRADES WHERE A.sym = Trades.SYM
--> SELECT Quotes.px, trades.qty FROM Quotes, trades WHERE Quotes.sym = trades.sym
--> none: px float64, qty int64
--> factor equal Quotes.sym = trades.sym
--> warning join-unbounded
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 6.0, 5
--> row 6.0, 5
--> row 6.0, 15
--> row 41.0, 15

SELECT t.px FROM trades t JOIN symbols s ON s.lot = "order" JOIN Quotes q ON q.sym = t.sym
--> SELECT trades.px FROM trades, symbols, Quotes WHERE Quotes.sym = trades.sym AND symbols.lot = trades."order"
--> none: px float64
--> factor equal trades.sym = Quotes.sym
--> factor equal trades."order" = symbols.lot
--> warning join-unbounded
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 41.0
--> row 41.0
--> row 41.0
--> row 41.0

-- join factors
SELECT t.px FROM trades t, Quotes q WHERE q.qty = t.px
--> SELECT trades.px FROM trades, Quotes WHERE Quotes.qty = trades.px
--> none: px float64
--> factor equal trades.px = Quotes.qty
--> warning join-unbounded
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT t.px FROM trades t, Quotes q WHERE t.open = q.open AND t.ts = q.ts
--> SELECT trades.px FROM trades, Quotes WHERE Quotes.open = trades.open AND Quotes.ts = trades.ts
--> none: px float64
--> factor equal trades.open = Quotes.open
--> factor equal trades.ts = Quotes.ts
--> warning join-unbounded
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 4.0

SELECT t.px FROM trades t, Quotes q WHERE t.qty + 1 = q.qty - 2
--> SELECT trades.px FROM trades, Quotes WHERE Quotes.qty - 2 = trades.qty + 1
--> none: px float64
--> factor equal trades.qty + 1 = Quotes.qty - 2
--> warning join-unbounded
--> rows 2 at 2014-01-06 12:00:07.500000
--> row 40.0
--> row 2.0

SELECT t.px FROM trades t, Quotes q WHERE ABS(t.px - q.px) < 5
--> SELECT trades.px FROM trades, Quotes WHERE ABS(trades.px - Quotes.px) < 5.0
--> none: px float64
--> factor band trades.px less Quotes.px in [-5.000000000000001, 5.000000000000001] by 1
--> warning join-unbounded
--> rows 21 at 2014-01-06 12:00:07.500000
--> row 1.5
--> row 2.0
--> row 4.0
--> row 5e-324

SELECT t.px FROM trades t, Quotes q WHERE ABS(q.qty - t.qty) <= 5
--> SELECT trades.px FROM trades, Quotes WHERE ABS(Quotes.qty - trades.qty) <= 5
--> none: px float64
--> factor band trades.qty less Quotes.qty in [-5, 5] by 1
--> warning join-unbounded
--> rows 27 at 2014-01-06 12:00:07.500000
--> row -7.25
--> row 41.0
--> row 41.0
--> row 1.5

SELECT t.px FROM trades t, Quotes q WHERE 5 > ABS(t.qty - q.qty) AND t.qty < q.qty
--> SELECT trades.px FROM trades, Quotes WHERE ABS(trades.qty - Quotes.qty) < 5 AND Quotes.qty > trades.qty
--> none: px float64
--> factor band trades.qty less Quotes.qty in [-4, 0] by 2
--> warning join-unbounded
--> rows 11 at 2014-01-06 12:00:07.500000
--> row -7.25
--> row 41.0
--> row 41.0
--> row 50.0

SELECT t.px FROM trades t, Quotes q WHERE t.qty BETWEEN q.qty - 5 AND q.qty + 5
--> SELECT trades.px FROM trades, Quotes WHERE Quotes.qty + 5 >= trades.qty AND Quotes.qty - 5 <= trades.qty
--> none: px float64
--> factor band trades.qty less Quotes.qty in [-5, 5] by 2
--> warning join-unbounded
--> rows 27 at 2014-01-06 12:00:07.500000
--> row -7.25
--> row 41.0
--> row 41.0
--> row 1.5

SELECT t.px FROM trades t, Quotes q WHERE t.px BETWEEN q.px - 0.5 AND q.px + 0.5
--> SELECT trades.px FROM trades, Quotes WHERE Quotes.px + 0.5 >= trades.px AND Quotes.px - 0.5 <= trades.px
--> none: px float64
--> factor band trades.px less Quotes.px in [-1.0, 1.0] by 2
--> warning join-unbounded
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 1.5
--> row 2.0
--> row 41.0
--> row 41.0

SELECT t.px FROM trades t, Quotes q WHERE t.px BETWEEN q.qty - 5 AND q.qty + 5
--> SELECT trades.px FROM trades, Quotes WHERE Quotes.qty + 5 >= trades.px AND Quotes.qty - 5 <= trades.px
--> none: px float64
--> factor band trades.px less Quotes.qty in [-1029.0, 1029.0] by 2
--> warning join-unbounded
--> rows 16 at 2014-01-06 12:00:07.500000
--> row 1.5
--> row 2.0
--> row -0.0
--> row 5e-324

SELECT t.px FROM trades t, Quotes q WHERE t.qty BETWEEN q.qty - 0.5 AND q.qty + 0.5
--> SELECT trades.px FROM trades, Quotes WHERE Quotes.qty + 0.5 >= trades.qty AND Quotes.qty - 0.5 <= trades.qty
--> none: px float64
--> factor band trades.qty less Quotes.qty in [-1025, 1025] by 2
--> warning join-unbounded
--> rows 3 at 2014-01-06 12:00:07.500000
--> row 1.5
--> row 41.0
--> row 41.0

SELECT t.px FROM trades t, Quotes q WHERE t.ts BETWEEN q.ts AND q.ts + INTERVAL '5' MINUTE
--> SELECT trades.px FROM trades, Quotes WHERE Quotes.ts + INTERVAL '5' MINUTE >= trades.ts AND Quotes.ts <= trades.ts
--> none: px float64
--> factor band trades.ts less Quotes.ts in [0, 300000000] by 2
--> warning join-unbounded
--> rows 20 at 2014-01-06 12:00:07.500000
--> row 1e+16
--> row 5e-324
--> row 4.0
--> row 41.0

SELECT t.px FROM trades t, Quotes q WHERE q.ts - INTERVAL '1' SECOND < t.ts AND t.ts - INTERVAL '1' SECOND < q.ts
--> SELECT trades.px FROM trades, Quotes WHERE Quotes.ts - INTERVAL '1' SECOND < trades.ts AND Quotes.ts > trades.ts - INTERVAL '1' SECOND
--> none: px float64
--> factor band trades.ts less Quotes.ts in [-999999, 999999] by 2
--> warning join-unbounded
--> rows 3 at 2014-01-06 12:00:07.500000
--> row 4.0
--> row 1.5
--> row NULL

SELECT t.px FROM trades t, Quotes q WHERE t.px >= q.px AND t.px <= q.px
--> SELECT trades.px FROM trades, Quotes WHERE Quotes.px <= trades.px AND Quotes.px >= trades.px
--> none: px float64
--> factor band trades.px less Quotes.px in [0.0, 0.0] exactly
--> warning join-unbounded
--> rows 2 at 2014-01-06 12:00:07.500000
--> row 41.0
--> row 41.0

SELECT t.px FROM trades t, Quotes q WHERE t.qty > q.qty + 7
--> SELECT trades.px FROM trades, Quotes WHERE Quotes.qty + 7 < trades.qty
--> none: px float64
--> factor band trades.qty less Quotes.qty in [8, ..) by 1
--> warning join-unbounded
--> warning join-not-kept
--> rows 8 at 2014-01-06 12:00:07.500000
--> row 1e+16
--> row 4.0
--> row 1e+16
--> row 1e+16

SELECT t.px FROM trades t, Quotes q WHERE q.qty - t.qty = 5
--> SELECT trades.px FROM trades, Quotes WHERE Quotes.qty - trades.qty = 5
--> none: px float64
--> factor band trades.qty less Quotes.qty in [-5, -5] by 1
--> warning join-unbounded
--> rows 2 at 2014-01-06 12:00:07.500000
--> row -0.0
--> row 50.0

SELECT t.px FROM trades t, Quotes q WHERE t.qty - q.qty + 1 < 2.5
--> SELECT trades.px FROM trades, Quotes WHERE trades.qty - Quotes.qty + 1 < 2.5
--> none: px float64
--> factor band trades.qty less Quotes.qty in (.., 1] by 1
--> warning join-unbounded
--> warning join-not-kept
--> rows 32 at 2014-01-06 12:00:07.500000
--> row -7.25
--> row -7.25
--> row -7.25
--> row -7.25

SELECT t.px FROM trades t, Quotes q WHERE t.qty * 2 < q.qty + q."order"
--> SELECT trades.px FROM trades, Quotes WHERE Quotes.qty + Quotes."order" > trades.qty * 2
--> none: px float64
--> factor band trades.qty * 2 less Quotes.qty + Quotes."order" in (.., 0) exactly
--> warning join-unbounded
--> warning join-not-kept
--> rows 26 at 2014-01-06 12:00:07.500000
--> row -7.25
--> row -7.25
--> row -7.25
--> row -7.25

SELECT t.px FROM trades t, Quotes q WHERE ABS(t.qty - q.qty) > 5
--> SELECT trades.px FROM trades, Quotes WHERE ABS(trades.qty - Quotes.qty) > 5
--> none: px float64
--> factor residual ABS(trades.qty - Quotes.qty) > 5
--> warning join-unbounded
--> warning join-not-kept
--> warning not-indexed
--> rows 23 at 2014-01-06 12:00:07.500000
--> row -7.25
--> row -7.25
--> row -7.25
--> row -7.25

SELECT t.px FROM trades t, Quotes q WHERE t.sym < q.sym
--> SELECT trades.px FROM trades, Quotes WHERE Quotes.sym > trades.sym
--> none: px float64
--> factor residual Quotes.sym > trades.sym
--> warning join-unbounded
--> warning join-not-kept
--> warning not-indexed
--> rows 29 at 2014-01-06 12:00:07.500000
--> row 50.0
--> row NULL
--> row 5e-324
--> row 5e-324

SELECT t.px FROM trades t, Quotes q WHERE NOT t.sym = q.sym
--> SELECT trades.px FROM trades, Quotes WHERE Quotes.sym <> trades.sym
--> none: px float64
--> factor residual Quotes.sym <> trades.sym
--> warning join-unbounded
--> warning join-not-kept
--> warning not-indexed
--> rows 60 at 2014-01-06 12:00:07.500000
--> row -7.25
--> row -7.25
--> row -7.25
--> row -7.25

SELECT t.px FROM trades t, Quotes q WHERE t.qty + q.qty = 10
--> SELECT trades.px FROM trades, Quotes WHERE trades.qty + Quotes.qty = 10
--> none: px float64
--> factor residual trades.qty + Quotes.qty = 10
--> warning join-unbounded
--> warning join-not-kept
--> warning not-indexed
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 1.5
--> row 50.0
--> row 41.0
--> row 41.0

SELECT t.px FROM trades t, Quotes q, symbols s WHERE t.qty + q.qty < s.lot
--> SELECT trades.px FROM trades, Quotes, symbols WHERE symbols.lot > trades.qty + Quotes.qty
--> none: px float64
--> factor residual symbols.lot > trades.qty + Quotes.qty
--> warning join-unbounded
--> warning join-not-kept
--> warning not-indexed
--> rows 79 at 2014-01-06 12:00:07.500000
--> row -7.25
--> row -7.25
--> row -7.25
--> row -7.25

SELECT t.px FROM trades t, Quotes q WHERE t.sym = q.sym AND (t.px = 1 OR q.px = 1)
--> SELECT trades.px FROM trades, Quotes WHERE (Quotes.px = 1.0 OR trades.px = 1.0) AND Quotes.sym = trades.sym
--> none: px float64
--> factor equal trades.sym = Quotes.sym
--> factor residual Quotes.px = 1.0 OR trades.px = 1.0
--> warning join-unbounded
--> warning not-indexed
--> rows 2 at 2014-01-06 12:00:07.500000
--> row 1.5
--> row 40.0

SELECT t.px FROM trades t, Quotes q WHERE t.px > 5 AND q.px > 5 AND t.sym LIKE '%a'
--> SELECT trades.px FROM trades, Quotes WHERE Quotes.px > 5.0 AND trades.px > 5.0 AND trades.sym LIKE '%a'
--> none: px float64
--> factor trades.px in (5.0, ..)
--> factor Quotes.px in (5.0, ..)
--> factor residual trades.sym LIKE '%a'
--> warning join-unbounded
--> warning join-not-kept
--> warning not-indexed
--> rows 2 at 2014-01-06 12:00:07.500000
--> row 40.0
--> row 40.0

SELECT t.px FROM trades t, Quotes q WHERE t.sym = q.sym AND 1 = 2
--> SELECT trades.px FROM trades, Quotes WHERE FALSE
--> none: px float64
--> factor residual FALSE
--> warning never-true
--> warning join-unbounded
--> warning join-not-kept
--> rows 0 at 2014-01-06 12:00:07.500000

-- windows of streams
SELECT px FROM trades [RANGE INTERVAL '5' MINUTE]
--> SELECT px FROM trades BEGIN (NOW - INTERVAL '5' MINUTE) END (NOW)
--> sliding: px float64
--> rows 6 at 2014-01-06 12:00:07.500000
--> row 2.0
--> row 1.5
--> row NULL
--> row 50.0

SELECT px FROM trades t [range 7200.5]
--> SELECT px FROM trades BEGIN (NOW - INTERVAL '7200500' MILLISECOND) END (NOW)
--> sliding: px float64
--> warning window-exceeds-retention
--> rows 7 at 2014-01-06 12:00:07.500000
--> row -0.0
--> row 2.0
--> row 1.5
--> row NULL

SELECT px, lot FROM trades [RANGE INTERVAL '5' MINUTE] t, symbols [RANGE 0] WHERE sym = id
--> SELECT trades.px, symbols.lot FROM trades [RANGE INTERVAL '5' MINUTE], symbols [RANGE INTERVAL '0' DAY] WHERE symbols.id = trades.sym
--> none: px float64, lot int64
--> ranges [300000000, 0]
--> factor equal trades.sym = symbols.id
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT px, lot FROM trades AS t [RANGE INTERVAL '2' HOUR] JOIN symbols ON sym = id BEGIN ('2014-01-05') END (NOW)
--> SELECT trades.px, symbols.lot FROM trades [RANGE INTERVAL '2' HOUR], symbols WHERE symbols.id = trades.sym BEGIN (TIMESTAMP '2014-01-05 00:00:00') END (NOW)
--> landmark: px float64, lot int64
--> ranges [7200000000, None]
--> factor equal trades.sym = symbols.id
--> warning window-exceeds-retention
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 41.0, 1
--> row 41.0, 1
--> row 2.0, 8
--> row 1.5, NULL

SELECT px, lot FROM trades, symbols AS s [RANGE INTERVAL '2' HOUR] WHERE sym = id BEGIN (NOW - INTERVAL '2' HOUR) END (NOW)
--> SELECT trades.px, symbols.lot FROM trades, symbols [RANGE INTERVAL '2' HOUR] WHERE symbols.id = trades.sym BEGIN (NOW - INTERVAL '2' HOUR) END (NOW)
--> sliding: px float64, lot int64
--> ranges [None, 7200000000]
--> factor equal trades.sym = symbols.id
--> warning window-exceeds-retention
--> rows 2 at 2014-01-06 12:00:07.500000
--> row 2.0, 8
--> row 1.5, NULL

SELECT a.px FROM trades [RANGE 60] AS a, trades [RANGE 120] AS b WHERE a.sym = b.sym
--> SELECT trades_1.px FROM trades [RANGE INTERVAL '1' MINUTE] AS trades_1, trades [RANGE INTERVAL '2' MINUTE] AS trades_2 WHERE trades_1.sym = trades_2.sym
--> none: px float64
--> ranges [60000000, 120000000]
--> factor equal trades_1.sym = trades_2.sym
--> rows 8 at 2014-01-06 12:00:07.500000
--> row 2.0
--> row 1.5
--> row NULL
--> row 50.0

-- forms that stand in none of the others
SELECT sym FROM trades BEGIN ('2014-01-05') END (NOW - 600)
--> SELECT sym FROM trades BEGIN (TIMESTAMP '2014-01-05 00:00:00') END (NOW - INTERVAL '10' MINUTE)
--> landmark: sym string
--> rows 4 at 2014-01-06 12:00:07.500000
--> row ''
--> row 'abx'
--> row 'ACME'
--> row 'a'

SELECT sym FROM trades WHERE (qty = 1) = FALSE AND sym NOT LIKE 'a!%%' ESCAPE '!'
--> SELECT sym FROM trades WHERE qty <> 1 AND sym NOT LIKE 'a!%%' ESCAPE '!'
--> none: sym string
--> factor qty in (.., 0] or [2, ..)
--> factor sym in (.., 'a%') or ['a&', ..)
--> rows 9 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

SELECT sym FROM arrivals [RANGE 60] WHERE sym <> 'a'
--> SELECT sym FROM arrivals WHERE sym <> 'a' BEGIN (NOW - INTERVAL '1' MINUTE) END (NOW)
--> sliding: sym string
--> factor sym in (.., 'a') or ('a', ..)
--> rows 1 at 2024-01-01 00:00:00
--> row 'ACME'

SELECT DISTINCT sym, open FROM trades BEGIN (NOW - 900) END (NOW)
--> SELECT DISTINCT sym, open FROM trades BEGIN (NOW - INTERVAL '15' MINUTE) END (NOW)
--> sliding: sym string, open bool
--> rows 6 at 2014-01-06 12:00:07.500000
--> row 'a%c', NULL
--> row 'b', FALSE
--> row 'a', TRUE
--> row 'AC', NULL

SELECT DISTINCT t.sym FROM trades t [RANGE 900], Quotes q [RANGE 600] WHERE t.sym = q.sym
--> SELECT DISTINCT trades.sym FROM trades [RANGE INTERVAL '15' MINUTE], Quotes [RANGE INTERVAL '10' MINUTE] WHERE Quotes.sym = trades.sym
--> none: sym string
--> ranges [900000000, 600000000]
--> factor equal trades.sym = Quotes.sym
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 'b'
--> row 'a'
--> row 'AC'
--> row 'ACME'

SELECT sym FROM trades WHERE '2014-01-06' BETWEEN ts AND '2014-01-07'
--> SELECT sym FROM trades WHERE ts <= TIMESTAMP '2014-01-06 00:00:00'
--> none: sym string
--> factor ts in (.., TIMESTAMP '2014-01-06 00:00:00']
--> rows 5 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

SELECT sym FROM trades WHERE NULL BETWEEN qty AND 5 OR NULL IS NULL
--> SELECT sym FROM trades
--> none: sym string
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

SELECT sym FROM trades WHERE ts > '2014-01-05 23:30-23:59' OR ts = '2014-01-05t12:00z'
--> SELECT sym FROM trades WHERE ts = TIMESTAMP '2014-01-05 12:00:00' OR ts > TIMESTAMP '2014-01-06 23:29:00'
--> none: sym string
--> factor ts in [TIMESTAMP '2014-01-05 12:00:00'] or [TIMESTAMP '2014-01-06 23:29:00.000001', ..)
--> rows 0 at 2014-01-06 12:00:07.500000
