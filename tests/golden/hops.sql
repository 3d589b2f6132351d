-- windows that hop
SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) EVERY INTERVAL '5' MINUTE
--> SELECT sym FROM trades BEGIN (NOW - INTERVAL '1' HOUR) END (NOW) EVERY INTERVAL '5' MINUTE
--> sliding: sym string
--> warning window-exceeds-retention
--> rows 5 at 2014-01-06 12:00:00
--> row 'a%c'
--> row 'b'
--> row 'a'
--> row 'AC'

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) EVERY 300
--> SELECT sym FROM trades BEGIN (NOW - INTERVAL '1' HOUR) END (NOW) EVERY INTERVAL '5' MINUTE
--> sliding: sym string
--> warning window-exceeds-retention
--> rows 5 at 2014-01-06 12:00:00
--> row 'a%c'
--> row 'b'
--> row 'a'
--> row 'AC'

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) every 0.5
--> SELECT sym FROM trades BEGIN (NOW - INTERVAL '1' HOUR) END (NOW) EVERY INTERVAL '500' MILLISECOND
--> sliding: sym string
--> warning window-exceeds-retention
--> rows 7 at 2014-01-06 12:00:07.500000
--> row 'a%c'
--> row 'b'
--> row 'a'
--> row 'AC'

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) EVERY INTERVAL 1 HOUR;
--> SELECT sym FROM trades BEGIN (NOW - INTERVAL '1' HOUR) END (NOW) EVERY INTERVAL '1' HOUR
--> sliding: sym string
--> warning window-exceeds-retention
--> rows 5 at 2014-01-06 12:00:00
--> row 'a%c'
--> row 'b'
--> row 'a'
--> row 'AC'

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) EVERY INTERVAL '1' DAY ALIGN TIMESTAMP '2014-01-05 06:00:00'
--> SELECT sym FROM trades BEGIN (NOW - INTERVAL '1' HOUR) END (NOW) EVERY INTERVAL '1' DAY ALIGN TIMESTAMP '1970-01-01 06:00:00'
--> sliding: sym string
--> warning window-exceeds-retention
--> rows 0 at 2014-01-06 06:00:00

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) EVERY INTERVAL '1' WEEK ALIGN '2014-01-06'
--> SELECT sym FROM trades BEGIN (NOW - INTERVAL '1' HOUR) END (NOW) EVERY INTERVAL '7' DAY ALIGN TIMESTAMP '1970-01-05 00:00:00'
--> sliding: sym string
--> warning window-exceeds-retention
--> rows 2 at 2014-01-06 00:00:00
--> row 'ACME'
--> row 'a'

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) EVERY 60 ALIGN '1960-01-01 00:00:07.5+02:00'
--> SELECT sym FROM trades BEGIN (NOW - INTERVAL '1' HOUR) END (NOW) EVERY INTERVAL '1' MINUTE ALIGN TIMESTAMP '1970-01-01 00:00:07.500000'
--> sliding: sym string
--> warning window-exceeds-retention
--> rows 7 at 2014-01-06 12:00:07.500000
--> row 'a%c'
--> row 'b'
--> row 'a'
--> row 'AC'

SELECT sym FROM trades BEGIN (NOW - 3600) END (NOW) EVERY 60 ALIGN '2014-01-05'
--> SELECT sym FROM trades BEGIN (NOW - INTERVAL '1' HOUR) END (NOW) EVERY INTERVAL '1' MINUTE
--> sliding: sym string
--> warning window-exceeds-retention
--> rows 5 at 2014-01-06 12:00:00
--> row 'a%c'
--> row 'b'
--> row 'a'
--> row 'AC'

SELECT sym FROM trades BEGIN (NOW - 60) END (NOW - 30) EVERY 300
--> SELECT sym FROM trades BEGIN (NOW - INTERVAL '1' MINUTE) END (NOW - INTERVAL '30' SECOND) EVERY INTERVAL '5' MINUTE
--> delayed: sym string
--> rows 2 at 2014-01-06 12:00:00
--> row 'b'
--> row 'a'

SELECT sym FROM trades BEGIN ('2014-01-05') END (NOW) EVERY 60
--> SELECT sym FROM trades BEGIN (TIMESTAMP '2014-01-05 00:00:00') END (NOW) EVERY INTERVAL '1' MINUTE
--> landmark: sym string
--> rows 9 at 2014-01-06 12:00:00
--> row ''
--> row 'abx'
--> row 'ACME'
--> row 'a'

SELECT sym FROM trades BEGIN ('2014-01-05') END ('2014-01-06') EVERY 60
--> SELECT sym FROM trades BEGIN (TIMESTAMP '2014-01-05 00:00:00') END (TIMESTAMP '2014-01-06 00:00:00') EVERY INTERVAL '1' MINUTE
--> snapshot: sym string
--> rows 4 at 2014-01-06 12:00:00
--> row ''
--> row 'abx'
--> row 'ACME'
--> row 'a'

SELECT sym AS every, px AS align FROM trades AS every BEGIN (NOW - 60) END (NOW) EVERY 60 -- names, and the word
--> SELECT sym AS every, px AS align FROM trades BEGIN (NOW - INTERVAL '1' MINUTE) END (NOW) EVERY INTERVAL '1' MINUTE
--> sliding: every string, align float64
--> rows 4 at 2014-01-06 12:00:00
--> row 'b', 2.0
--> row 'a', 1.5
--> row 'AC', NULL
--> row 'ACDC', 50.0

SELECT t.sym FROM trades t [RANGE 60], quotes q WHERE t.sym = q.sym BEGIN (NOW - 600) END (NOW) EVERY 30 ALIGN '1970-01-01 00:00:10'
--> SELECT trades.sym FROM trades [RANGE INTERVAL '1' MINUTE], Quotes WHERE Quotes.sym = trades.sym BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW) EVERY INTERVAL '30' SECOND ALIGN TIMESTAMP '1970-01-01 00:00:10'
--> sliding: sym string
--> ranges [60000000, None]
--> factor equal trades.sym = Quotes.sym
--> rows 3 at 2014-01-06 11:59:40
--> row 'b'
--> row 'a'
--> row 'AC'

-- a window of 50 minutes that hops by 10 reaches less than an hour back, the other one a microsecond more
SELECT sym FROM trades BEGIN (NOW - 3000) END (NOW) EVERY 600.000001
--> SELECT sym FROM trades BEGIN (NOW - INTERVAL '50' MINUTE) END (NOW) EVERY INTERVAL '600000001' MICROSECOND
--> sliding: sym string
--> rows 5 at 2014-01-06 12:00:02.315016
--> row 'a%c'
--> row 'b'
--> row 'a'
--> row 'AC'

SELECT sym FROM trades BEGIN (NOW - 3000) END (NOW) EVERY 600.000002
--> SELECT sym FROM trades BEGIN (NOW - INTERVAL '50' MINUTE) END (NOW) EVERY INTERVAL '600000002' MICROSECOND
--> sliding: sym string
--> warning window-exceeds-retention
--> rows 5 at 2014-01-06 12:00:04.630032
--> row 'a%c'
--> row 'b'
--> row 'a'
--> row 'AC'
