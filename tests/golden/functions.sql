-- numbers
SELECT ABS(px), SIGN(qty) AS s, ROUND(px, 2), ROUND(qty), FLOOR(px) f, CEILING(px) c FROM trades
--> SELECT ABS(px), SIGN(qty) AS s, ROUND(px, 2), ROUND(qty), FLOOR(px) AS f, CEIL(px) AS c FROM trades
--> none: "ABS(px)" float64, s int64, "ROUND(px, 2)" float64, "ROUND(qty)" int64, f float64, c float64
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 7.25, -1, -7.25, -3, -8.0, -7.0
--> row 5e-324, -1, 0.0, -9223372036854775808, 0.0, 1.0
--> row 1e+16, 1, 1e+16, 9223372036854775807, 1e+16, 1e+16
--> row 4.0, 1, 4.0, 15, 4.0, 4.0

SELECT SQRT(qty) AS s, POW(px, 2) AS p, EXP(px), LN(px), LOG(px), MOD(qty, 3), MOD(qty, px) AS m FROM trades
--> SELECT SQRT(CAST(qty AS DOUBLE)) AS s, POWER(px, 2.0) AS p, EXP(px), LN(px), LOG10(px), qty % 3, qty % px AS m FROM trades
--> none: s float64, p float64, "EXP(px)" float64, "LN(px)" float64, "LOG10(px)" float64, "qty % 3" int64, m float64
--> rows 12 at 2014-01-06 12:00:07.500000
--> row NULL, 52.5625, 0.000710174388842549, NULL, NULL, 0, -3.0
--> row NULL, 0.0, 1.0, -744.4400719213812, -323.3062153431158, -2, -0.0
--> row 3037000499.97605, 1e+32, NULL, 36.841361487904734, 16.0, 1, 3372036854775808.0
--> row 3.872983346207417, 16.0, 54.598150033144236, 1.3862943611198906, 0.6020599913279624, 0, 3.0

SELECT GREATEST(px, qty, 3) AS g, LEAST(sym, Name), GREATEST(ts, '2014-01-05') AS t FROM trades
--> SELECT GREATEST(px, CAST(qty AS DOUBLE), 3.0) AS g, LEAST(sym, Name), GREATEST(ts, TIMESTAMP '2014-01-05 00:00:00') AS t FROM trades
--> none: g float64, "LEAST(sym, Name)" string, t timestamp
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 3.0, 'Ü', 2014-01-05 00:00:00
--> row 3.0, '', 2014-01-05 12:05:00
--> row 9.223372036854776e+18, 'abx', 2014-01-05 12:07:00
--> row 15.0, 'ACME', 2014-01-05 23:45:00

SELECT sym FROM trades WHERE ROUND(px, NULL) = 5
--> SELECT sym FROM trades WHERE ROUND(px, NULL) = 5.0
--> none: sym string
--> factor residual ROUND(px, NULL) = 5.0
--> warning not-indexed
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE SQRT(-1) = 5
--> SELECT sym FROM trades WHERE SQRT(-1.0) = 5.0
--> none: sym string
--> factor residual SQRT(-1.0) = 5.0
--> warning never-true
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE ABS(px) > 5 AND ABS(px) > 5.0
--> SELECT sym FROM trades WHERE ABS(px) > 5.0
--> none: sym string
--> factor residual ABS(px) > 5.0
--> warning not-indexed
--> rows 6 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row 'abx'
--> row 'a'
--> row 'ACDC'

-- texts
SELECT sym FROM trades WHERE LOWER(sym) = 'acme'
--> SELECT sym FROM trades WHERE LOWER(sym) = 'acme'
--> none: sym string
--> factor LOWER(sym) in ['acme']
--> rows 3 at 2014-01-06 12:00:07.500000
--> row 'ACME'
--> row 'ACME'
--> row 'ACME'

SELECT sym FROM trades WHERE sym ILIKE 'Ac%'
--> SELECT sym FROM trades WHERE LOWER(sym) LIKE 'ac%'
--> none: sym string
--> factor LOWER(sym) in ['ac', 'ad')
--> rows 5 at 2014-01-06 12:00:07.500000
--> row 'ACME'
--> row 'AC'
--> row 'ACDC'
--> row 'ACME'

SELECT sym FROM trades WHERE sym NOT ILIKE 'ACME'
--> SELECT sym FROM trades WHERE LOWER(sym) <> 'acme'
--> none: sym string
--> factor LOWER(sym) in (.., 'acme') or ('acme', ..)
--> rows 9 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'a'

SELECT sym FROM trades WHERE sym ILIKE 'A!%%' ESCAPE '!'
--> SELECT sym FROM trades WHERE LOWER(sym) LIKE 'a!%%' ESCAPE '!'
--> none: sym string
--> factor LOWER(sym) in ['a%', 'a&')
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 'a%c'

SELECT sym FROM trades WHERE px::VARCHAR ILIKE '4%'
--> SELECT sym FROM trades WHERE LOWER(CAST(px AS VARCHAR)) LIKE '4%'
--> none: sym string
--> factor residual LOWER(CAST(px AS VARCHAR)) LIKE '4%'
--> warning not-indexed
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 'ACME'
--> row 'a'
--> row 'ACME'
--> row 'ACME'

SELECT sym FROM trades WHERE sym ILIKE 'AXXb' ESCAPE 'x'
--> SELECT sym FROM trades WHERE LOWER(sym) = 'axb'
--> none: sym string
--> factor LOWER(sym) in ['axb']
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE NULL ILIKE 'a' OR open
--> SELECT sym FROM trades WHERE open
--> none: sym string
--> factor open in [TRUE, ..)
--> rows 5 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'ACME'
--> row 'a'
--> row 'ACME'

SELECT sym FROM trades WHERE LENGTH(sym) > 3
--> SELECT sym FROM trades WHERE LENGTH(sym) > 3
--> none: sym string
--> factor LENGTH(sym) in [4, ..)
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 'ACME'
--> row 'ACDC'
--> row 'ACME'
--> row 'ACME'

SELECT sym FROM trades WHERE STARTS_WITH(sym, 'A_') AND CONTAINS(Name, 'x') AND ENDS_WITH(sym, 'Z')
--> SELECT sym FROM trades WHERE Name LIKE '%x%' AND sym LIKE '%Z' AND sym LIKE 'A\_%' ESCAPE '\'
--> none: sym string
--> factor sym in ['A_', 'A`')
--> factor residual Name LIKE '%x%'
--> factor residual sym LIKE '%Z'
--> warning not-indexed
--> warning not-indexed
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE CONTAINS(sym, Name) AND STARTS_WITH(sym, Name || '')
--> SELECT sym FROM trades WHERE CONTAINS(sym, Name) AND STARTS_WITH(sym, Name || '')
--> none: sym string
--> factor residual CONTAINS(sym, Name)
--> factor residual STARTS_WITH(sym, Name || '')
--> warning not-indexed
--> warning not-indexed
--> rows 4 at 2014-01-06 12:00:07.500000
--> row ''
--> row 'a'
--> row 'ACME'
--> row 'ACME'

SELECT sym FROM trades WHERE sym || '-' || qty || px = 'x'
--> SELECT sym FROM trades WHERE sym || '-' || CAST(qty AS VARCHAR) || CAST(px AS VARCHAR) = 'x'
--> none: sym string
--> factor residual sym || '-' || CAST(qty AS VARCHAR) || CAST(px AS VARCHAR) = 'x'
--> warning not-indexed
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE (sym || Name) || 'a' LIKE 'x%'
--> SELECT sym FROM trades WHERE sym || Name || 'a' LIKE 'x%'
--> none: sym string
--> factor residual sym || Name || 'a' LIKE 'x%'
--> warning not-indexed
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT 'a' || 1 + 2 AS three, sym || 'x' FROM trades
--> SELECT 'a3' AS three, sym || 'x' FROM trades
--> none: three string, "sym || 'x'" string
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 'a3', 'üx'
--> row 'a3', 'x'
--> row 'a3', 'abxx'
--> row 'a3', 'ACMEx'

SELECT CONCAT(sym, NULL, qty, ts) AS c FROM trades
--> SELECT CONCAT(sym, NULL, CAST(qty AS VARCHAR), CAST(ts AS VARCHAR)) AS c FROM trades
--> none: c string
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 'ü-32014-01-04 09:30:00.000001'
--> row '-92233720368547758082014-01-05 12:05:00'
--> row 'abx92233720368547758072014-01-05 12:07:00'
--> row 'ACME152014-01-05 23:45:00'

SELECT sym FROM trades WHERE SUBSTRING(sym FROM 2 FOR 3) = 'abc' AND POSITION('a' || 'b' IN sym) > 1
--> SELECT sym FROM trades WHERE STRPOS(sym, 'ab') > 1 AND SUBSTRING(sym, 2, 3) = 'abc'
--> none: sym string
--> factor SUBSTRING(sym, 2, 3) in ['abc']
--> factor residual STRPOS(sym, 'ab') > 1
--> warning not-indexed
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT SUBSTR(sym, 2) AS a, SUBSTRING(sym FROM qty) AS b, REPLACE(sym, 'a', 'b') AS c, UCASE(sym) AS d FROM trades
--> SELECT SUBSTRING(sym, 2) AS a, SUBSTRING(sym, qty) AS b, REPLACE(sym, 'a', 'b') AS c, UPPER(sym) AS d FROM trades
--> none: a string, b string, c string, d string
--> rows 12 at 2014-01-06 12:00:07.500000
--> row '', 'ü', 'ü', 'Ü'
--> row '', '', '', ''
--> row 'bx', '', 'bbx', 'ABX'
--> row 'CME', '', 'ACME', 'ACME'

SELECT sym FROM trades WHERE TRIM(BOTH 'x' FROM sym) = 'a' AND trim(leading from sym) = 'b' AND TRIM(sym, 'xy') <> TRIM(sym)
--> SELECT sym FROM trades WHERE LTRIM(sym) = 'b' AND TRIM(sym) <> TRIM(sym, 'xy') AND TRIM(sym, 'x') = 'a'
--> none: sym string
--> factor LTRIM(sym) in ['b']
--> factor TRIM(sym, 'x') in ['a']
--> factor residual TRIM(sym) <> TRIM(sym, 'xy')
--> warning not-indexed
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT TRIM(TRAILING 'x' FROM sym) AS a, RTRIM(sym) AS b, LTRIM(sym, 'ab') AS c FROM trades
--> SELECT RTRIM(sym, 'x') AS a, RTRIM(sym) AS b, LTRIM(sym, 'ab') AS c FROM trades
--> none: a string, b string, c string
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 'ü', 'ü', 'ü'
--> row '', '', ''
--> row 'ab', 'abx', 'x'
--> row 'ACME', 'ACME', 'ACME'

SELECT sym FROM trades WHERE LEFT(sym, 2) = 'AB' AND RIGHT(sym, -1) = 'x'
--> SELECT sym FROM trades WHERE LEFT(sym, 2) = 'AB' AND RIGHT(sym, -1) = 'x'
--> none: sym string
--> factor sym in ['AB', 'AC')
--> factor RIGHT(sym, -1) in ['x']
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT LENGTH('it''s') + 1 AS five, UPPER('ß') AS s FROM trades
--> SELECT 5 AS five, 'ẞ' AS s FROM trades
--> none: five int64, s string
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 5, 'ẞ'
--> row 5, 'ẞ'
--> row 5, 'ẞ'
--> row 5, 'ẞ'

SELECT sym FROM trades WHERE LOWER(NULL) = 'a'
--> SELECT sym FROM trades WHERE LOWER(NULL) = 'a'
--> none: sym string
--> factor residual LOWER(NULL) = 'a'
--> warning never-true
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE sym || NULL = 'a'
--> SELECT sym FROM trades WHERE sym || NULL = 'a'
--> none: sym string
--> factor residual sym || NULL = 'a'
--> warning not-indexed
--> rows 0 at 2014-01-06 12:00:07.500000

-- choices
SELECT sym FROM trades WHERE COALESCE(px, 0) > 5
--> SELECT sym FROM trades WHERE COALESCE(px, 0.0) > 5.0
--> none: sym string
--> factor px in (5.0, ..)
--> rows 5 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'a'
--> row 'ACDC'
--> row 'ACME'

SELECT sym FROM trades WHERE COALESCE(px, qty, NULL) > 5
--> SELECT sym FROM trades WHERE COALESCE(px, CAST(qty AS DOUBLE), NULL) > 5.0
--> none: sym string
--> factor residual COALESCE(px, CAST(qty AS DOUBLE), NULL) > 5.0
--> warning not-indexed
--> rows 5 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'a'
--> row 'ACDC'
--> row 'ACME'

SELECT sym FROM trades WHERE IFNULL(open, FALSE)
--> SELECT sym FROM trades WHERE COALESCE(open, FALSE)
--> none: sym string
--> factor open in [TRUE, ..)
--> rows 5 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'ACME'
--> row 'a'
--> row 'ACME'

SELECT sym FROM trades WHERE NULLIF(qty, 0) = 4
--> SELECT sym FROM trades WHERE CASE WHEN qty = 0 THEN NULL ELSE qty END = 4
--> none: sym string
--> factor residual CASE WHEN qty = 0 THEN NULL ELSE qty END = 4
--> warning not-indexed
--> rows 1 at 2014-01-06 12:00:07.500000
--> row 'a%c'

SELECT NULLIF(qty, 2.5) AS n, COALESCE(1, 2) AS one, COALESCE(NULL, NULL) AS none FROM trades
--> SELECT CASE WHEN qty = 2.5 THEN NULL ELSE qty END AS n, 1 AS one, NULL AS none FROM trades
--> none: n int64, one int64, none bool
--> rows 12 at 2014-01-06 12:00:07.500000
--> row -3, 1, NULL
--> row -9223372036854775808, 1, NULL
--> row 9223372036854775807, 1, NULL
--> row 15, 1, NULL

SELECT CASE WHEN px > 5 THEN 'a' WHEN qty = 1 THEN 'b' ELSE sym END AS c FROM trades
--> SELECT CASE WHEN px > 5.0 THEN 'a' WHEN qty = 1 THEN 'b' ELSE sym END AS c FROM trades
--> none: c string
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'a'
--> row 'ACME'

SELECT CASE qty WHEN 1 THEN 1 WHEN 2 THEN 2.5 END AS d, CASE WHEN px > 5 THEN NULL END AS n FROM trades
--> SELECT CASE WHEN qty = 1 THEN 1.0 WHEN qty = 2 THEN 2.5 END AS d, CASE WHEN px > 5.0 THEN NULL END AS n FROM trades
--> none: d float64, n bool
--> rows 12 at 2014-01-06 12:00:07.500000
--> row NULL, NULL
--> row NULL, NULL
--> row NULL, NULL
--> row NULL, NULL

SELECT sym FROM trades WHERE CASE WHEN open THEN px > 5 ELSE NULL END
--> SELECT sym FROM trades WHERE CASE WHEN open THEN px > 5.0 END
--> none: sym string
--> factor residual CASE WHEN open THEN px > 5.0 END
--> warning not-indexed
--> rows 3 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'ACME'
--> row 'ACME'

SELECT sym FROM trades WHERE CASE WHEN px > 5 THEN 1 ELSE 2 END = 2 BEGIN (NOW - 5) END (NOW)
--> SELECT sym FROM trades WHERE CASE WHEN px > 5.0 THEN 1 ELSE 2 END = 2 BEGIN (NOW - INTERVAL '5' SECOND) END (NOW)
--> sliding: sym string
--> factor residual CASE WHEN px > 5.0 THEN 1 ELSE 2 END = 2
--> warning not-indexed
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE qty = CASE sym WHEN 'a' THEN 1 WHEN Name THEN 2 ELSE -3 END
--> SELECT sym FROM trades WHERE CASE WHEN sym = 'a' THEN 1 WHEN Name = sym THEN 2 ELSE -3 END = qty
--> none: sym string
--> factor residual CASE WHEN sym = 'a' THEN 1 WHEN Name = sym THEN 2 ELSE -3 END = qty
--> warning not-indexed
--> rows 2 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row 'a'

-- casts
SELECT CAST(px AS BIGINT), px::VARCHAR, sym::int, ts::date, open::DOUBLE PRECISION AS o FROM trades
--> SELECT CAST(px AS BIGINT), CAST(px AS VARCHAR), CAST(sym AS BIGINT), DATE_TRUNC('day', ts), CAST(open AS DOUBLE) AS o FROM trades
--> none: "CAST(px AS BIGINT)" int64, "CAST(px AS VARCHAR)" string, "CAST(sym AS BIGINT)" int64, "DATE_TRUNC('day', ts)" timestamp, o float64
--> rows 12 at 2014-01-06 12:00:07.500000
--> row -7, '-7.25', NULL, 2014-01-04 00:00:00, 0.0
--> row 0, '5e-324', NULL, 2014-01-05 00:00:00, 0.0
--> row 10000000000000000, '1e+16', NULL, 2014-01-05 00:00:00, 1.0
--> row 4, '4.0', NULL, 2014-01-05 00:00:00, 1.0

SELECT CAST(NULL AS BOOLEAN) AS b, NULL::TIMESTAMP AS t, NULL::BIGINT AS i, NULL::DOUBLE AS f, NULL::DATE AS d FROM trades
--> SELECT NULL AS b, CAST(NULL AS TIMESTAMP) AS t, CAST(NULL AS BIGINT) AS i, CAST(NULL AS DOUBLE) AS f, DATE_TRUNC('day', CAST(NULL AS TIMESTAMP)) AS d FROM trades
--> none: b bool, t timestamp, i int64, f float64, d timestamp
--> rows 12 at 2014-01-06 12:00:07.500000
--> row NULL, NULL, NULL, NULL, NULL
--> row NULL, NULL, NULL, NULL, NULL
--> row NULL, NULL, NULL, NULL, NULL
--> row NULL, NULL, NULL, NULL, NULL

SELECT sym FROM trades WHERE open IS DISTINCT FROM CAST(NULL AS BOOLEAN) AND ts IS DISTINCT FROM CAST(NULL AS TIMESTAMP)
--> SELECT sym FROM trades WHERE (CAST(NULL AS TIMESTAMP) = ts) IS NOT TRUE AND (CAST(NULL AS TIMESTAMP) IS NOT NULL OR ts IS NOT NULL) AND open IS NOT NULL
--> none: sym string
--> factor open in (.., ..)
--> factor residual (CAST(NULL AS TIMESTAMP) = ts) IS NOT TRUE
--> factor residual CAST(NULL AS TIMESTAMP) IS NOT NULL OR ts IS NOT NULL
--> warning not-indexed
--> warning not-indexed
--> rows 9 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

SELECT CAST(NULL AS VARCHAR) AS n, TRY_CAST(sym AS TIMESTAMP) AS t, CAST(qty AS BIGINT) AS q, '5'::bigint + 1 AS six FROM trades
--> SELECT CAST(NULL AS VARCHAR) AS n, CAST(sym AS TIMESTAMP) AS t, qty AS q, 6 AS six FROM trades
--> none: n string, t timestamp, q int64, six int64
--> rows 12 at 2014-01-06 12:00:07.500000
--> row NULL, NULL, -3, 6
--> row NULL, NULL, -9223372036854775808, 6
--> row NULL, NULL, 9223372036854775807, 6
--> row NULL, NULL, 15, 6

SELECT sym FROM trades WHERE CAST(sym AS BIGINT) > 5
--> SELECT sym FROM trades WHERE CAST(sym AS BIGINT) > 5
--> none: sym string
--> factor residual CAST(sym AS BIGINT) > 5
--> warning not-indexed
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE CAST('x' AS BIGINT) > 5
--> SELECT sym FROM trades WHERE CAST('x' AS BIGINT) > 5
--> none: sym string
--> factor residual CAST('x' AS BIGINT) > 5
--> warning never-true
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT -1::VARCHAR::BIGINT AS m, CAST('2014-01-05' AS TIMESTAMP) AS t FROM trades
--> SELECT -1 AS m, TIMESTAMP '2014-01-05 00:00:00' AS t FROM trades
--> none: m int64, t timestamp
--> rows 12 at 2014-01-06 12:00:07.500000
--> row -1, 2014-01-05 00:00:00
--> row -1, 2014-01-05 00:00:00
--> row -1, 2014-01-05 00:00:00
--> row -1, 2014-01-05 00:00:00

-- times
SELECT sym FROM trades WHERE DATE_TRUNC('hour', ts) = TIMESTAMP '2014-01-05 12:00:00'
--> SELECT sym FROM trades WHERE DATE_TRUNC('hour', ts) = TIMESTAMP '2014-01-05 12:00:00'
--> none: sym string
--> factor ts in [TIMESTAMP '2014-01-05 12:00:00', TIMESTAMP '2014-01-05 12:59:59.999999']
--> rows 2 at 2014-01-06 12:00:07.500000
--> row ''
--> row 'abx'

SELECT sym FROM trades WHERE EXTRACT(hour FROM ts) BETWEEN 9 AND 17 AND YEAR(ts) = 2014 AND EXTRACT(epoch FROM ts) > 5
--> SELECT sym FROM trades WHERE DATE_PART('hour', ts) <= 17 AND DATE_PART('hour', ts) >= 9 AND DATE_PART('year', ts) = 2014 AND EPOCH(ts) > 5.0
--> none: sym string
--> factor residual DATE_PART('hour', ts) <= 17
--> factor residual DATE_PART('hour', ts) >= 9
--> factor residual DATE_PART('year', ts) = 2014
--> factor residual EPOCH(ts) > 5.0
--> warning not-indexed
--> warning not-indexed
--> warning not-indexed
--> warning not-indexed
--> rows 10 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'a%c'

SELECT DATE_PART('DAYS', ts) AS d, EXTRACT('week' FROM ts) AS w, MINUTE(ts) AS m FROM trades
--> SELECT DATE_PART('day', ts) AS d, DATE_PART('week', ts) AS w, DATE_PART('minute', ts) AS m FROM trades
--> none: d int64, w int64, m int64
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 4, 1, 30
--> row 5, 1, 5
--> row 5, 1, 7
--> row 5, 1, 45

SELECT sym FROM trades WHERE TIME_BUCKET(INTERVAL '5' MINUTE, ts) = '2014-01-05 12:05:00'
--> SELECT sym FROM trades WHERE TIME_BUCKET(INTERVAL '5' MINUTE, ts) = TIMESTAMP '2014-01-05 12:05:00'
--> none: sym string
--> factor ts in [TIMESTAMP '2014-01-05 12:05:00', TIMESTAMP '2014-01-05 12:09:59.999999']
--> rows 2 at 2014-01-06 12:00:07.500000
--> row ''
--> row 'abx'

SELECT sym FROM trades WHERE EPOCH(ts) > 5
--> SELECT sym FROM trades WHERE EPOCH(ts) > 5.0
--> none: sym string
--> factor residual EPOCH(ts) > 5.0
--> warning not-indexed
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

SELECT sym FROM trades WHERE ts - TIMESTAMP '2014-01-05' > 5000000
--> SELECT sym FROM trades WHERE ts - TIMESTAMP '2014-01-05 00:00:00' > 5000000
--> none: sym string
--> factor residual ts - TIMESTAMP '2014-01-05 00:00:00' > 5000000
--> warning not-indexed
--> rows 11 at 2014-01-06 12:00:07.500000
--> row ''
--> row 'abx'
--> row 'ACME'
--> row 'a'

SELECT sym FROM trades WHERE '2014-01-05' - ts < 5
--> SELECT sym FROM trades WHERE TIMESTAMP '2014-01-05 00:00:00' - ts < 5
--> none: sym string
--> factor residual TIMESTAMP '2014-01-05 00:00:00' - ts < 5
--> warning not-indexed
--> rows 11 at 2014-01-06 12:00:07.500000
--> row ''
--> row 'abx'
--> row 'ACME'
--> row 'a'

SELECT sym FROM trades WHERE ts >= DATE '2014-01-05'
--> SELECT sym FROM trades WHERE ts >= TIMESTAMP '2014-01-05 00:00:00'
--> none: sym string
--> factor ts in [TIMESTAMP '2014-01-05 00:00:00', ..)
--> rows 11 at 2014-01-06 12:00:07.500000
--> row ''
--> row 'abx'
--> row 'ACME'
--> row 'a'

SELECT ts - ts AS zero, (ts - ts) / 1000000 AS s, ts + INTERVAL '1' HOUR - ts AS hour FROM trades
--> SELECT ts - ts AS zero, (ts - ts) / 1000000 AS s, ts + INTERVAL '1' HOUR - ts AS hour FROM trades
--> none: zero int64, s float64, hour int64
--> rows 12 at 2014-01-06 12:00:07.500000
--> row 0, 0.0, 3600000000
--> row 0, 0.0, 3600000000
--> row 0, 0.0, 3600000000
--> row 0, 0.0, 3600000000

SELECT t.px FROM trades t, Quotes q WHERE ABS(t.ts - q.ts) < 5
--> SELECT trades.px FROM trades, Quotes WHERE ABS(trades.ts - Quotes.ts) < 5
--> none: px float64
--> factor band trades.ts less Quotes.ts in [-4, 4] by 1
--> warning join-unbounded
--> rows 3 at 2014-01-06 12:00:07.500000
--> row 4.0
--> row 1.5
--> row NULL

SELECT t.px FROM trades t, Quotes q WHERE t.ts - q.ts BETWEEN 0 AND 5000000 AND LOWER(t.sym) = LOWER(q.sym)
--> SELECT trades.px FROM trades, Quotes WHERE LOWER(Quotes.sym) = LOWER(trades.sym) AND trades.ts - Quotes.ts <= 5000000 AND trades.ts - Quotes.ts >= 0
--> none: px float64
--> factor equal LOWER(trades.sym) = LOWER(Quotes.sym)
--> factor band trades.ts less Quotes.ts in [0, 5000000] by 2
--> warning join-unbounded
--> rows 4 at 2014-01-06 12:00:07.500000
--> row 1.5
--> row NULL
--> row 41.0
--> row 41.0

SELECT t.px FROM trades t, Quotes q WHERE t.sym = q.sym AND t.ts - DATE '2014-01-05' < q.qty
--> SELECT trades.px FROM trades, Quotes WHERE Quotes.qty > trades.ts - TIMESTAMP '2014-01-05 00:00:00' AND Quotes.sym = trades.sym
--> none: px float64
--> factor equal trades.sym = Quotes.sym
--> factor residual Quotes.qty > trades.ts - TIMESTAMP '2014-01-05 00:00:00'
--> warning join-unbounded
--> warning not-indexed
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT t.px FROM trades t, Quotes q WHERE DATE_TRUNC('minute', t.ts) = DATE_TRUNC('minute', q.ts)
--> SELECT trades.px FROM trades, Quotes WHERE DATE_TRUNC('minute', Quotes.ts) = DATE_TRUNC('minute', trades.ts)
--> none: px float64
--> factor equal DATE_TRUNC('minute', trades.ts) = DATE_TRUNC('minute', Quotes.ts)
--> warning join-unbounded
--> rows 15 at 2014-01-06 12:00:07.500000
--> row 4.0
--> row 50.0
--> row NULL
--> row 1.5

-- conditions
SELECT sym FROM trades WHERE qty IS DISTINCT FROM 5
--> SELECT sym FROM trades WHERE (qty = 5) IS NOT TRUE
--> none: sym string
--> factor qty in (.., 4] or [6, ..) or NULL
--> rows 10 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

SELECT sym FROM trades WHERE qty IS NOT DISTINCT FROM 5
--> SELECT sym FROM trades WHERE qty = 5
--> none: sym string
--> factor qty in [5]
--> rows 2 at 2014-01-06 12:00:07.500000
--> row 'ACME'
--> row 'ACME'

SELECT sym FROM trades WHERE NULL IS DISTINCT FROM qty
--> SELECT sym FROM trades WHERE qty IS NOT NULL
--> none: sym string
--> factor qty in (.., ..)
--> rows 11 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

SELECT sym FROM trades WHERE px IS NOT DISTINCT FROM qty
--> SELECT sym FROM trades WHERE px = qty OR (px IS NULL AND qty IS NULL)
--> none: sym string
--> factor residual px = qty OR (px IS NULL AND qty IS NULL)
--> warning not-indexed
--> rows 2 at 2014-01-06 12:00:07.500000
--> row 'b'
--> row 'AC'

SELECT sym IS DISTINCT FROM Name AS d FROM trades WHERE open IS NOT DISTINCT FROM TRUE AND TRUE
--> SELECT (Name = sym) IS NOT TRUE AND (Name IS NOT NULL OR sym IS NOT NULL) AS d FROM trades WHERE open
--> none: d bool
--> factor open in [TRUE, ..)
--> rows 5 at 2014-01-06 12:00:07.500000
--> row TRUE
--> row TRUE
--> row TRUE
--> row FALSE

SELECT sym FROM trades WHERE (qty, sym) IN ((1, 'a'), (2, 'b'))
--> SELECT sym FROM trades WHERE (qty = 1 AND sym = 'a') OR (qty = 2 AND sym = 'b')
--> none: sym string
--> factor residual (qty = 1 AND sym = 'a') OR (qty = 2 AND sym = 'b')
--> warning not-indexed
--> rows 2 at 2014-01-06 12:00:07.500000
--> row 'b'
--> row 'a'

SELECT sym FROM trades WHERE (qty, sym) NOT IN ((1, 'a'), (2, 'b'))
--> SELECT sym FROM trades WHERE (qty <> 1 OR sym <> 'a') AND (qty <> 2 OR sym <> 'b')
--> none: sym string
--> factor residual qty <> 1 OR sym <> 'a'
--> factor residual qty <> 2 OR sym <> 'b'
--> warning not-indexed
--> warning not-indexed
--> rows 10 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

SELECT sym FROM trades WHERE (qty, ts) IN ((NULL, '2014-01-05'))
--> SELECT sym FROM trades WHERE FALSE
--> none: sym string
--> factor residual FALSE
--> warning never-true
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE qty IN (ABS(-3), 1 + 1, LENGTH('abcd'))
--> SELECT sym FROM trades WHERE qty IN (2, 3, 4)
--> none: sym string
--> factor qty in [2, 4]
--> rows 3 at 2014-01-06 12:00:07.500000
--> row 'a'
--> row 'a%c'
--> row 'b'

SELECT sym FROM trades WHERE qty NOT BETWEEN 5 AND 1
--> SELECT sym FROM trades WHERE qty < 5 OR qty > 1
--> none: sym string
--> factor qty in (.., ..)
--> rows 11 at 2014-01-06 12:00:07.500000
--> row 'ü'
--> row ''
--> row 'abx'
--> row 'ACME'

SELECT sym FROM trades WHERE qty BETWEEN 5 AND 1
--> SELECT sym FROM trades WHERE qty <= 1 AND qty >= 5
--> none: sym string
--> factor qty in nothing
--> warning never-true
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE LENGTH(sym) BETWEEN 2 AND NULL
--> SELECT sym FROM trades WHERE FALSE
--> none: sym string
--> factor residual FALSE
--> warning never-true
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE LOWER(sym) IN ('a', 'b') OR LOWER(sym) = 'c'
--> SELECT sym FROM trades WHERE LOWER(sym) IN ('a', 'b', 'c')
--> none: sym string
--> factor LOWER(sym) in ['a'] or ['b'] or ['c']
--> rows 3 at 2014-01-06 12:00:07.500000
--> row 'a'
--> row 'b'
--> row 'a'

-- functions of a text column are factors of their own, however often they are named
SELECT sym FROM trades WHERE LOWER(sym) = 'a' AND LOWER(sym) > 'b'
--> SELECT sym FROM trades WHERE LOWER(sym) = 'a' AND LOWER(sym) > 'b'
--> none: sym string
--> factor LOWER(sym) in nothing
--> warning never-true
--> rows 0 at 2014-01-06 12:00:07.500000

-- but beside single values of a column, and where these are more than two
SELECT sym FROM trades WHERE qty = 7 AND LOWER(sym) = 'acme'
--> SELECT sym FROM trades WHERE LOWER(sym) = 'acme' AND qty = 7
--> none: sym string
--> factor qty in [7]
--> factor residual LOWER(sym) = 'acme'
--> warning not-indexed
--> rows 0 at 2014-01-06 12:00:07.500000

SELECT sym FROM trades WHERE LOWER(sym) = 'acme' AND LENGTH(sym) = 4 AND TRIM(sym) = 'ACME'
--> SELECT sym FROM trades WHERE LENGTH(sym) = 4 AND LOWER(sym) = 'acme' AND TRIM(sym) = 'ACME'
--> none: sym string
--> factor residual LENGTH(sym) = 4
--> factor residual LOWER(sym) = 'acme'
--> factor residual TRIM(sym) = 'ACME'
--> warning not-indexed
--> warning not-indexed
--> warning not-indexed
--> rows 3 at 2014-01-06 12:00:07.500000
--> row 'ACME'
--> row 'ACME'
--> row 'ACME'

SELECT sym FROM trades WHERE LENGTH(TRIM(Name)) BETWEEN 2 AND 4.5 AND LOWER(Name) IS NOT NULL AND LENGTH(TRIM(Name)) <> 3 AND px > 4
--> SELECT sym FROM trades WHERE LENGTH(TRIM(Name)) <= 4.5 AND LENGTH(TRIM(Name)) <> 3 AND LENGTH(TRIM(Name)) >= 2 AND LOWER(Name) IS NOT NULL AND px > 4.0
--> none: sym string
--> factor px in (4.0, ..)
--> factor LENGTH(TRIM(Name)) in [2] or [4]
--> factor LOWER(Name) in (.., ..)
--> rows 3 at 2014-01-06 12:00:07.500000
--> row 'abx'
--> row 'ACME'
--> row 'ACME'

SELECT sym FROM trades WHERE LOWER(sym) = 'a' OR sym = 'B'
--> SELECT sym FROM trades WHERE LOWER(sym) = 'a' OR sym = 'B'
--> none: sym string
--> factor residual LOWER(sym) = 'a' OR sym = 'B'
--> warning not-indexed
--> rows 2 at 2014-01-06 12:00:07.500000
--> row 'a'
--> row 'a'

SELECT trades.px FROM trades, Quotes WHERE trades.sym = Quotes.sym AND LOWER(Quotes.Name) = 'a' AND LOWER(trades.Name) = 'a'
--> SELECT trades.px FROM trades, Quotes WHERE LOWER(Quotes.Name) = 'a' AND LOWER(trades.Name) = 'a' AND Quotes.sym = trades.sym
--> none: px float64
--> factor LOWER(Quotes.Name) in ['a']
--> factor LOWER(trades.Name) in ['a']
--> factor equal trades.sym = Quotes.sym
--> warning join-unbounded
--> rows 2 at 2014-01-06 12:00:07.500000
--> row 40.0
--> row 40.0
