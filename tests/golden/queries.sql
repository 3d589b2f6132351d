-- select lists
SELECT * FROM trades
--> SELECT sym, px, qty, open, ts, Name, "order" FROM trades
--> none: sym string, px float64, qty int64, open bool, ts timestamp, Name string, "order" int64

SELECT sym FROM trades
--> SELECT sym FROM trades
--> none: sym string

select distinct sym, px from trades;
--> SELECT DISTINCT sym, px FROM trades
--> none: sym string, px float64

SELECT t.* FROM trades AS t
--> SELECT sym, px, qty, open, ts, Name, "order" FROM trades
--> none: sym string, px float64, qty int64, open bool, ts timestamp, Name string, "order" int64

SELECT t.px AS price, T.QTY FROM Trades t
--> SELECT px AS price, qty FROM trades
--> none: price float64, qty int64

SELECT px * 2, qty / 2, qty % 2 + 1 FROM trades
--> SELECT px * 2.0, qty / 2, qty % 2 + 1 FROM trades
--> none: "px * 2.0" float64, "qty / 2" float64, "qty % 2 + 1" int64

SELECT px AS "a ""b""", qty _q FROM trades
--> SELECT px AS "a ""b""", qty AS _q FROM trades
--> none: "a ""b""" float64, _q int64

SELECT "Name", name AS n FROM trades
--> SELECT Name, Name AS n FROM trades
--> none: Name string, n string

SELECT "order" FROM trades WHERE "order" = 1
--> SELECT "order" FROM trades WHERE "order" = 1
--> none: "order" int64
--> factor "order" in [1]

SELECT px AS px FROM trades
--> SELECT px FROM trades
--> none: px float64

SELECT px > 40 AS hot, open, NOT open AS closed FROM trades
--> SELECT px > 40.0 AS hot, open, NOT open AS closed FROM trades
--> none: hot bool, open bool, closed bool

SELECT 1, 1.50, 'it''s', TRUE, TIMESTAMP '2014-01-05' FROM trades
--> SELECT 1, 1.5, 'it''s', TRUE, TIMESTAMP '2014-01-05 00:00:00' FROM trades
--> none: "1" int64, "1.5" float64, "'it''s'" string, "TRUE" bool, "TIMESTAMP '2014-01-05 00:00:00'" timestamp

SELECT ts + INTERVAL '90' SECOND AS later, ts - INTERVAL 1 week AS before FROM trades
--> SELECT ts + INTERVAL '90' SECOND AS later, ts - INTERVAL '7' DAY AS before FROM trades
--> none: later timestamp, before timestamp

SELECT qty % 0 AS never FROM trades
--> SELECT qty % 0 AS never FROM trades
--> none: never int64

SELECT 1 % 0 AS never, NULL AS n FROM trades
--> SELECT 1 % 0 AS never, NULL AS n FROM trades
--> none: never int64, n bool

SELECT sym FROM Quotes
--> SELECT sym FROM Quotes
--> none: sym string

-- comparisons
SELECT sym FROM trades WHERE px > 40
--> SELECT sym FROM trades WHERE px > 40.0
--> none: sym string
--> factor px in (40.0, ..)

SELECT sym FROM trades WHERE 40 < px
--> SELECT sym FROM trades WHERE px > 40.0
--> none: sym string
--> factor px in (40.0, ..)

SELECT sym FROM trades WHERE NOT px <= 40
--> SELECT sym FROM trades WHERE px > 40.0
--> none: sym string
--> factor px in (40.0, ..)

SELECT sym FROM trades WHERE px != 40 AND sym = 'ACME'
--> SELECT sym FROM trades WHERE px <> 40.0 AND sym = 'ACME'
--> none: sym string
--> factor px in (.., 40.0) or (40.0, ..)
--> factor sym in ['ACME']

SELECT sym FROM trades WHERE sym = 'ACME' AND px <> 40.00 AND sym = 'ACME'
--> SELECT sym FROM trades WHERE px <> 40.0 AND sym = 'ACME'
--> none: sym string
--> factor px in (.., 40.0) or (40.0, ..)
--> factor sym in ['ACME']

SELECT sym FROM trades WHERE px > 3 AND px <= 5 AND px <> 4
--> SELECT sym FROM trades WHERE px <= 5.0 AND px <> 4.0 AND px > 3.0
--> none: sym string
--> factor px in (3.0, 4.0) or (4.0, 5.0]

SELECT sym FROM trades WHERE px > 5 AND px < 3
--> SELECT sym FROM trades WHERE px < 3.0 AND px > 5.0
--> none: sym string
--> factor px in nothing

SELECT sym FROM trades WHERE px = -0.0
--> SELECT sym FROM trades WHERE px = 0.0
--> none: sym string
--> factor px in [0.0]

SELECT sym FROM trades WHERE qty > 2.5
--> SELECT sym FROM trades WHERE qty > 2.5
--> none: sym string
--> factor qty in [3, ..)

SELECT sym FROM trades WHERE qty = 2.5
--> SELECT sym FROM trades WHERE qty = 2.5
--> none: sym string
--> factor qty in nothing

SELECT sym FROM trades WHERE qty <> 2.5
--> SELECT sym FROM trades WHERE qty <> 2.5
--> none: sym string
--> factor qty in (.., ..)

SELECT sym FROM trades WHERE qty >= 3.0
--> SELECT sym FROM trades WHERE qty >= 3
--> none: sym string
--> factor qty in [3, ..)

SELECT sym FROM trades WHERE qty > 1e300
--> SELECT sym FROM trades WHERE qty > 1e+300
--> none: sym string
--> factor residual qty > 1e+300
--> warning not-indexed

SELECT sym FROM trades WHERE qty < -9223372036854775808
--> SELECT sym FROM trades WHERE qty < -9223372036854775808
--> none: sym string
--> factor qty in nothing

SELECT sym FROM trades WHERE qty <= 9223372036854775807
--> SELECT sym FROM trades WHERE qty <= 9223372036854775807
--> none: sym string
--> factor qty in (.., ..)

SELECT sym FROM trades WHERE qty > px
--> SELECT sym FROM trades WHERE px < qty
--> none: sym string
--> factor residual px < qty
--> warning not-indexed

SELECT sym FROM trades WHERE px < qty
--> SELECT sym FROM trades WHERE px < qty
--> none: sym string
--> factor residual px < qty
--> warning not-indexed

SELECT sym FROM trades WHERE qty > 2 + 3 * 4
--> SELECT sym FROM trades WHERE qty > 14
--> none: sym string
--> factor qty in [15, ..)

SELECT sym FROM trades WHERE (qty + 1) * 2 > 10
--> SELECT sym FROM trades WHERE (qty + 1) * 2 > 10
--> none: sym string
--> factor residual (qty + 1) * 2 > 10
--> warning not-indexed

SELECT sym FROM trades WHERE qty - (1 - 2) > qty - 1 - 2
--> SELECT sym FROM trades WHERE qty - -1 > qty - 1 - 2
--> none: sym string
--> factor residual qty - -1 > qty - 1 - 2
--> warning not-indexed

SELECT sym FROM trades WHERE -qty < -(-5) AND ABS(px) >= 1
--> SELECT sym FROM trades WHERE -qty < 5 AND ABS(px) >= 1.0
--> none: sym string
--> factor residual -qty < 5
--> factor residual ABS(px) >= 1.0
--> warning not-indexed
--> warning not-indexed

SELECT sym FROM trades WHERE sym < Name
--> SELECT sym FROM trades WHERE Name > sym
--> none: sym string
--> factor residual Name > sym
--> warning not-indexed

SELECT sym FROM trades WHERE sym >= ''
--> SELECT sym FROM trades WHERE sym >= ''
--> none: sym string
--> factor sym in (.., ..)

-- flags
SELECT sym FROM trades WHERE open
--> SELECT sym FROM trades WHERE open
--> none: sym string
--> factor open in [TRUE, ..)

SELECT sym FROM trades WHERE open = TRUE
--> SELECT sym FROM trades WHERE open
--> none: sym string
--> factor open in [TRUE, ..)

SELECT sym FROM trades WHERE open <> TRUE
--> SELECT sym FROM trades WHERE NOT open
--> none: sym string
--> factor open in (.., FALSE]

SELECT sym FROM trades WHERE open IS NOT FALSE
--> SELECT sym FROM trades WHERE open IS NOT FALSE
--> none: sym string
--> factor open in [TRUE, ..) or NULL

SELECT sym FROM trades WHERE open < TRUE
--> SELECT sym FROM trades WHERE open < TRUE
--> none: sym string
--> factor open in (.., FALSE]

SELECT sym FROM trades WHERE (px > 1) = open
--> SELECT sym FROM trades WHERE open = (px > 1.0)
--> none: sym string
--> factor residual open = (px > 1.0)
--> warning not-indexed

SELECT sym FROM trades WHERE (px > 1 AND qty > 1) IS TRUE
--> SELECT sym FROM trades WHERE px > 1.0 AND qty > 1
--> none: sym string
--> factor px in (1.0, ..)
--> factor qty in [2, ..)

SELECT sym FROM trades WHERE (px > 1 OR px IS NULL) IS NOT TRUE
--> SELECT sym FROM trades WHERE (px > 1.0 OR px IS NULL) IS NOT TRUE
--> none: sym string
--> factor px in (.., 1.0]

-- NULL and constants
SELECT sym FROM trades WHERE TRUE
--> SELECT sym FROM trades
--> none: sym string

SELECT sym FROM trades WHERE 1 = 2 OR NULL
--> SELECT sym FROM trades WHERE FALSE
--> none: sym string
--> factor residual FALSE

SELECT sym FROM trades WHERE px > 1 AND NULL
--> SELECT sym FROM trades WHERE FALSE
--> none: sym string
--> factor residual FALSE

SELECT sym FROM trades WHERE px = NULL
--> SELECT sym FROM trades WHERE FALSE
--> none: sym string
--> factor residual FALSE

SELECT sym FROM trades WHERE px IS NULL
--> SELECT sym FROM trades WHERE px IS NULL
--> none: sym string
--> factor px in NULL

SELECT sym FROM trades WHERE px IS NOT NULL AND px IS NOT NULL
--> SELECT sym FROM trades WHERE px IS NOT NULL
--> none: sym string
--> factor px in (.., ..)

SELECT sym FROM trades WHERE px IS NULL OR px IS NOT NULL
--> SELECT sym FROM trades WHERE px IS NOT NULL OR px IS NULL
--> none: sym string

SELECT sym FROM trades WHERE px > 40 OR px IS NULL
--> SELECT sym FROM trades WHERE px > 40.0 OR px IS NULL
--> none: sym string
--> factor px in (40.0, ..) or NULL

-- NULL among operands
SELECT NULL + qty AS n, ABS(NULL) AS a, NULL + INTERVAL '1' HOUR AS t FROM trades
--> SELECT NULL + qty AS n, ABS(NULL) AS a, NULL + INTERVAL '1' HOUR AS t FROM trades
--> none: n int64, a int64, t timestamp

SELECT sym FROM trades WHERE NULL IN (1, 2) OR NULL LIKE 'a%' OR qty > 1
--> SELECT sym FROM trades WHERE qty > 1
--> none: sym string
--> factor qty in [2, ..)

SELECT sym FROM trades WHERE (sym LIKE '%x') IS NOT TRUE AND (px IS NULL) IS FALSE
--> SELECT sym FROM trades WHERE (sym LIKE '%x') IS NOT TRUE AND px IS NOT NULL
--> none: sym string
--> factor px in (.., ..)
--> factor residual (sym LIKE '%x') IS NOT TRUE
--> warning not-indexed

SELECT sym FROM trades WHERE qty IN (2.5) OR qty IN (NULL)
--> SELECT sym FROM trades WHERE qty = 2.5
--> none: sym string
--> factor qty in nothing

-- BETWEEN, IN, LIKE
SELECT sym FROM trades WHERE px BETWEEN 1 AND 2
--> SELECT sym FROM trades WHERE px <= 2.0 AND px >= 1.0
--> none: sym string
--> factor px in [1.0, 2.0]

SELECT sym FROM trades WHERE px NOT BETWEEN 1 AND 2
--> SELECT sym FROM trades WHERE px < 1.0 OR px > 2.0
--> none: sym string
--> factor px in (.., 1.0) or (2.0, ..)

SELECT sym FROM trades WHERE px BETWEEN 2 AND 1
--> SELECT sym FROM trades WHERE px <= 1.0 AND px >= 2.0
--> none: sym string
--> factor px in nothing

SELECT sym FROM trades WHERE qty IN (3, 1, 2, 1)
--> SELECT sym FROM trades WHERE qty IN (1, 2, 3)
--> none: sym string
--> factor qty in [1, 3]

SELECT sym FROM trades WHERE qty IN (7)
--> SELECT sym FROM trades WHERE qty = 7
--> none: sym string
--> factor qty in [7]

SELECT sym FROM trades WHERE qty NOT IN (1, 2)
--> SELECT sym FROM trades WHERE qty NOT IN (1, 2)
--> none: sym string
--> factor qty in (.., 0] or [3, ..)

SELECT sym FROM trades WHERE qty NOT IN (1, NULL)
--> SELECT sym FROM trades WHERE qty NOT IN (1, NULL)
--> none: sym string
--> factor qty in nothing

SELECT sym FROM trades WHERE qty IN (1, 2.0, 2.5)
--> SELECT sym FROM trades WHERE qty = 2.5 OR qty IN (1, 2)
--> none: sym string
--> factor qty in [1, 2]

SELECT sym FROM trades WHERE qty = 1 OR 2 = qty OR qty IN (5, 6)
--> SELECT sym FROM trades WHERE qty IN (1, 2, 5, 6)
--> none: sym string
--> factor qty in [1, 2] or [5, 6]

SELECT sym FROM trades WHERE sym = 'b' OR sym = 'a' OR px > 1
--> SELECT sym FROM trades WHERE px > 1.0 OR sym IN ('a', 'b')
--> none: sym string
--> factor residual px > 1.0 OR sym IN ('a', 'b')
--> warning not-indexed

SELECT sym FROM trades WHERE ts IN ('2014-01-05', TIMESTAMP '2014-01-06 00:00:00')
--> SELECT sym FROM trades WHERE ts IN (TIMESTAMP '2014-01-05 00:00:00', TIMESTAMP '2014-01-06 00:00:00')
--> none: sym string
--> factor ts in [TIMESTAMP '2014-01-05 00:00:00'] or [TIMESTAMP '2014-01-06 00:00:00']

SELECT sym FROM trades WHERE sym LIKE 'AC%'
--> SELECT sym FROM trades WHERE sym LIKE 'AC%'
--> none: sym string
--> factor sym in ['AC', 'AD')

SELECT sym FROM trades WHERE sym LIKE 'ACME'
--> SELECT sym FROM trades WHERE sym = 'ACME'
--> none: sym string
--> factor sym in ['ACME']

SELECT sym FROM trades WHERE sym NOT LIKE 'AC%'
--> SELECT sym FROM trades WHERE sym NOT LIKE 'AC%'
--> none: sym string
--> factor sym in (.., 'AC') or ['AD', ..)

SELECT sym FROM trades WHERE sym LIKE '%AC' AND sym LIKE 'A%'
--> SELECT sym FROM trades WHERE sym LIKE '%AC' AND sym LIKE 'A%'
--> none: sym string
--> factor sym in ['A', 'B')
--> factor residual sym LIKE '%AC'
--> warning not-indexed

SELECT sym FROM trades WHERE sym LIKE 'a!%%' ESCAPE '!'
--> SELECT sym FROM trades WHERE sym LIKE 'a!%%' ESCAPE '!'
--> none: sym string
--> factor sym in ['a%', 'a&')

SELECT sym FROM trades WHERE sym LIKE 'a!%' ESCAPE '!'
--> SELECT sym FROM trades WHERE sym = 'a%'
--> none: sym string
--> factor sym in ['a%']

SELECT sym FROM trades WHERE sym LIKE 'a%' ESCAPE '!'
--> SELECT sym FROM trades WHERE sym LIKE 'a%'
--> none: sym string
--> factor sym in ['a', 'b')

SELECT sym FROM trades WHERE sym LIKE '%'
--> SELECT sym FROM trades WHERE sym LIKE '%'
--> none: sym string
--> factor sym in (.., ..)

-- AND, OR, NOT
SELECT sym FROM trades WHERE qty < 1 OR qty > 5
--> SELECT sym FROM trades WHERE qty < 1 OR qty > 5
--> none: sym string
--> factor qty in (.., 0] or [6, ..)

SELECT sym FROM trades WHERE NOT (qty < 1 OR px > 5)
--> SELECT sym FROM trades WHERE px <= 5.0 AND qty >= 1
--> none: sym string
--> factor px in (.., 5.0]
--> factor qty in [1, ..)

SELECT sym FROM trades WHERE NOT (qty < 1 AND px > 5)
--> SELECT sym FROM trades WHERE px <= 5.0 OR qty >= 1
--> none: sym string
--> factor residual px <= 5.0 OR qty >= 1
--> warning not-indexed

SELECT sym FROM trades WHERE qty < 1 OR px > 5 AND open
--> SELECT sym FROM trades WHERE (open AND px > 5.0) OR qty < 1
--> none: sym string
--> factor residual (open AND px > 5.0) OR qty < 1
--> warning not-indexed

SELECT sym FROM trades WHERE (qty < 1 OR px > 5) AND open
--> SELECT sym FROM trades WHERE open AND (px > 5.0 OR qty < 1)
--> none: sym string
--> factor open in [TRUE, ..)
--> factor residual px > 5.0 OR qty < 1
--> warning not-indexed

SELECT sym FROM trades WHERE NOT NOT (sym LIKE '%x' AND NOT open)
--> SELECT sym FROM trades WHERE NOT open AND sym LIKE '%x'
--> none: sym string
--> factor open in (.., FALSE]
--> factor residual sym LIKE '%x'
--> warning not-indexed

SELECT sym FROM trades WHERE px > 1 AND (px < 9 AND (qty = 1 AND open))
--> SELECT sym FROM trades WHERE open AND px < 9.0 AND px > 1.0 AND qty = 1
--> none: sym string
--> factor open in [TRUE, ..)
--> factor px in (1.0, 9.0)
--> factor qty in [1]

-- times
SELECT sym FROM trades WHERE ts > '2014-01-05T12:00:00+02:00'
--> SELECT sym FROM trades WHERE ts > TIMESTAMP '2014-01-05 10:00:00'
--> none: sym string
--> factor ts in [TIMESTAMP '2014-01-05 10:00:00.000001', ..)

SELECT sym FROM trades WHERE ts > '2014-01-05 12:00:00.250' AND ts <= TIMESTAMP '2014-01-06'
--> SELECT sym FROM trades WHERE ts <= TIMESTAMP '2014-01-06 00:00:00' AND ts > TIMESTAMP '2014-01-05 12:00:00.250000'
--> none: sym string
--> factor ts in [TIMESTAMP '2014-01-05 12:00:00.250001', TIMESTAMP '2014-01-06 00:00:00']

SELECT sym FROM trades WHERE ts < TIMESTAMP '2014-01-05' + INTERVAL '36' HOUR
--> SELECT sym FROM trades WHERE ts < TIMESTAMP '2014-01-06 12:00:00'
--> none: sym string
--> factor ts in (.., TIMESTAMP '2014-01-06 11:59:59.999999']

SELECT sym FROM trades WHERE ts - INTERVAL '-5 minutes' > '2014-01-05'
--> SELECT sym FROM trades WHERE ts + INTERVAL '5' MINUTE > TIMESTAMP '2014-01-05 00:00:00'
--> none: sym string
--> factor residual ts + INTERVAL '5' MINUTE > TIMESTAMP '2014-01-05 00:00:00'
--> warning not-indexed

SELECT sym FROM trades WHERE INTERVAL '1' DAY + ts > '2014-01-05'
--> SELECT sym FROM trades WHERE ts + INTERVAL '1' DAY > TIMESTAMP '2014-01-05 00:00:00'
--> none: sym string
--> factor residual ts + INTERVAL '1' DAY > TIMESTAMP '2014-01-05 00:00:00'
--> warning not-indexed

-- windows
SELECT sym FROM trades BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)
--> SELECT sym FROM trades BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)
--> sliding: sym string

SELECT sym FROM trades WHERE px > 40 BEGIN NOW - 600 END NOW
--> SELECT sym FROM trades WHERE px > 40.0 BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)
--> sliding: sym string
--> factor px in (40.0, ..)

SELECT sym FROM trades BEGIN (NOW - INTERVAL '1.5 hours') END (NOW - 0.5)
--> SELECT sym FROM trades BEGIN (NOW - INTERVAL '90' MINUTE) END (NOW - INTERVAL '500' MILLISECOND)
--> delayed: sym string
--> warning window-exceeds-retention

SELECT sym FROM trades BEGIN ('2014-01-05') END (TIMESTAMP '2014-01-05 23:59:59.999999')
--> SELECT sym FROM trades BEGIN (TIMESTAMP '2014-01-05 00:00:00') END (TIMESTAMP '2014-01-05 23:59:59.999999')
--> snapshot: sym string

SELECT sym FROM trades BEGIN '2014-01-05T00:00:00Z' END NOW
--> SELECT sym FROM trades BEGIN (TIMESTAMP '2014-01-05 00:00:00') END (NOW)
--> landmark: sym string

SELECT sym FROM trades BEGIN (NOW - 0) END (NOW);
--> SELECT sym FROM trades BEGIN (NOW) END (NOW)
--> sliding: sym string

SELECT sym FROM trades BEGIN ((NOW - INTERVAL 2 WEEKS)) END (NOW) ; ;
--> SELECT sym FROM trades BEGIN (NOW - INTERVAL '14' DAY) END (NOW)
--> sliding: sym string
--> warning window-exceeds-retention

-- layout
SELECT sym -- the symbol
FROM trades /* of
today */ WHERE px > 40 -- done
--> SELECT sym FROM trades WHERE px > 40.0
--> none: sym string
--> factor px in (40.0, ..)

SELECT é.px FROM trades AS é WHERE é.px > 1
--> SELECT px FROM trades WHERE px > 1.0
--> none: px float64
--> factor px in (1.0, ..)

-- two signs in a row would be a comment: the least integer has no positive to fold into
SELECT sym FROM trades WHERE qty > -(-9223372036854775808)
--> SELECT sym FROM trades WHERE -(-9223372036854775808) < qty
--> none: sym string
--> factor residual -(-9223372036854775808) < qty
--> warning not-indexed
