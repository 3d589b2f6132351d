-- EVERY and ALIGN
SELECT sym FROM trades WHERE px > 40 EVERY INTERVAL '5' MINUTE
--> unsupported-sql 1:38:5 EVERY
--> EVERY says when a window moves on, and stands behind BEGIN and END.
--> write BEGIN (NOW - INTERVAL '1' HOUR) END (NOW) EVERY INTERVAL '5' MINUTE

SELECT sym FROM trades t [RANGE 60] EVERY 60
--> unsupported-sql 1:37:5 EVERY
--> EVERY says when a window moves on, and stands behind BEGIN and END.
--> write BEGIN (NOW - INTERVAL '1' HOUR) END (NOW) EVERY INTERVAL '5' MINUTE

SELECT sym FROM trades GROUP BY sym EVERY 60 BEGIN (NOW - 60) END (NOW)
--> unsupported-sql 1:37:5 EVERY
--> EVERY says when a window moves on, and stands behind BEGIN and END.
--> write BEGIN (NOW - INTERVAL '1' HOUR) END (NOW) EVERY INTERVAL '5' MINUTE

SELECT t.sym FROM trades t [RANGE 60], quotes q [RANGE 60] WHERE t.sym = q.sym BEGIN (NOW - 60) END (NOW) EVERY 60
--> unsupported-sql 1:80:26 BEGIN (NOW - 60) END (NOW)
--> BEGIN-END holds for no stream: each has a window of its own.
--> leave BEGIN and END out, or one [RANGE ...]

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) EVERY
--> sql-syntax 1:58:0
--> Expected seconds or an INTERVAL after EVERY, found the end of the text.
--> write EVERY INTERVAL '5' MINUTE, or EVERY 300 (seconds)

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) EVERY 0
--> unsupported-sql 1:59:1 0
--> From one hop to the next is a length of time above zero.
--> write EVERY INTERVAL '5' MINUTE, or EVERY 300 (seconds)

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) EVERY INTERVAL '0' SECOND
--> unsupported-sql 1:59:19 INTERVAL '0' SECOND
--> From one hop to the next is a length of time above zero.
--> write EVERY INTERVAL '5' MINUTE, or EVERY 300 (seconds)

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) EVERY INTERVAL '-5' MINUTE
--> unsupported-sql 1:59:20 INTERVAL '-5' MINUTE
--> From one hop to the next is a length of time above zero.
--> write EVERY INTERVAL '5' MINUTE, or EVERY 300 (seconds)

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) EVERY -5
--> sql-syntax 1:59:1 -
--> Expected seconds or an INTERVAL after EVERY, found '-'.
--> write EVERY INTERVAL '5' MINUTE, or EVERY 300 (seconds)

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) EVERY '5 minutes'
--> sql-syntax 1:59:11 '5 minutes'
--> Expected seconds or an INTERVAL after EVERY, found '5 minutes'.
--> a length of time in quotes follows the word INTERVAL: INTERVAL '10 minutes'

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) EVERY 5 MINUTE
--> sql-syntax 1:61:6 MINUTE
--> Expected the end of the query, found 'MINUTE'.
--> leave out what follows, or join conditions by AND

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) EVERY INTERVAL '1' MONTH
--> unsupported-sql 1:72:5 MONTH
--> INTERVAL has no unit 'MONTH'.
--> months and years are of no fixed length: write days, INTERVAL '30' DAY

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) EVERY 0.0000001
--> sql-syntax 1:59:9 0.0000001
--> The offset is no whole number of microseconds, or one of more than 64 bits.
--> a plain number counts seconds, at most six decimals; a window reaches at most 3155760000 seconds back

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) EVERY INTERVAL '40000' DAY
--> query-too-complex 1:59:20 INTERVAL '40000' DAY
--> Hops lie at most 36525 days apart.
--> write EVERY INTERVAL '5' MINUTE, or EVERY 300 (seconds)

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) EVERY 1e30
--> sql-syntax 1:59:4 1e30
--> The offset is no whole number of microseconds, or one of more than 64 bits.
--> a plain number counts seconds, at most six decimals; a window reaches at most 3155760000 seconds back

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) EVERY 60 ALIGN
--> sql-syntax 1:67:0
--> Expected a time in single quotes, found the end of the text.
--> write a time in single quotes

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) EVERY 60 ALIGN NOW
--> sql-syntax 1:68:3 NOW
--> Expected a time in single quotes, found 'NOW'.
--> write a time in single quotes

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) EVERY 60 ALIGN 0
--> sql-syntax 1:68:1 0
--> Expected a time in single quotes, found '0'.
--> write a time in single quotes

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) EVERY 60 ALIGN TIMESTAMP 'noon'
--> type-mismatch 1:78:6 'noon'
--> 'noon' is no time.
--> write '2014-01-05', '2014-01-05 12:00:00' (UTC) or '2014-01-05T12:00:00.5+02:00', years 0001 to 9999

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) EVERY 60 ALIGN '2014-01-05' EVERY 60
--> sql-syntax 1:81:5 EVERY
--> Expected the end of the query, found 'EVERY'.
--> leave out what follows, or join conditions by AND

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) ALIGN '2014-01-05'
--> sql-syntax 1:53:5 ALIGN
--> Expected the end of the query, found 'ALIGN'.
--> leave out what follows, or join conditions by AND

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) EVERY 60 LIMIT 5
--> sql-syntax 1:62:5 LIMIT
--> Expected the end of the query, found 'LIMIT'.
--> the order is SELECT, FROM, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT, OFFSET, and the window BEGIN (...) END (...)

SELECT sym FROM trades BEGIN (NOW - 60) EVERY 60 END (NOW)
--> sql-syntax 1:41:5 EVERY
--> Expected END (...) after BEGIN (...), found 'EVERY'.
--> write END (...) after BEGIN (...)
