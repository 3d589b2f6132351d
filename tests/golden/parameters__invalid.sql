-- given or not
SELECT sym FROM trades WHERE px > :min AND qty > $lot AND qty < :min
--> invalid-field 1:35:4 :min
--> The parameter :min has no value.
--> give one in params, beside sql: "params": {"min": 40}

SELECT sym FROM trades WHERE px > :min AND qty > $lot -- {"lot": 5}
--> invalid-field 1:35:4 :min
--> The parameter :min has no value.
--> give one in params, beside sql: "params": {"min": 40}

SELECT sym FROM trades WHERE px > :min -- {"min": 5, "max": 6, "mid": 7}
--> invalid-field 1:1:0
--> The query has no parameter :max.
--> it has :min

SELECT sym FROM trades WHERE px > 5 -- {"min": 5}
--> invalid-field 1:1:0
--> The query has no parameter :min.
--> leave the value out, or write the parameter where a constant stands: a > :name

SELECT sym FROM trades WHERE px > :Min -- {"min": 5}
--> invalid-field 1:35:4 :Min
--> The parameter :Min has no value.
--> did you mean the min of params?

-- of another type than the place
SELECT sym FROM trades WHERE px > :min -- {"min": "forty"}
--> invalid-field 1:35:4 :min
--> The value of min does not fit here. DOUBLE does not compare with VARCHAR constant 'forty'.
--> write a number, without quotes

SELECT sym FROM trades WHERE sym = (:sym) -- {"sym": 5}
--> invalid-field 1:37:4 :sym
--> The value of sym does not fit here. VARCHAR does not compare with BIGINT constant 5.
--> write it as a text, in quotes: '5'

SELECT sym FROM trades WHERE open = :open -- {"open": 1}
--> invalid-field 1:37:5 :open
--> The value of open does not fit here. BOOLEAN does not compare with BIGINT constant 1.
--> compare with TRUE or FALSE

SELECT sym FROM trades WHERE qty IN (1, :two, 3) -- {"two": "2"}
--> invalid-field 1:41:4 :two
--> The value of two does not fit here. BIGINT does not compare with VARCHAR constant '2'.
--> write a number, without quotes

SELECT sym FROM trades WHERE qty > :many -- {"many": 100000000000000000000}
--> invalid-field 1:36:5 :many
--> The value of many does not fit here. The integer does not fit 64 bits.
--> integers go from -9223372036854775808 to 9223372036854775807; with a decimal point it is a DOUBLE

SELECT sym FROM trades WHERE px > :exactly -- {"exactly": 9007199254740993}
--> invalid-field 1:35:8 :exactly
--> The value of exactly does not fit here. The integer 9007199254740993 is beyond what a DOUBLE holds exactly.
--> write it as a DOUBLE: 9007199254740992.0

SELECT sym FROM trades WHERE :condition -- {"condition": "px > 5"}
--> invalid-field 1:30:10 :condition
--> The value of condition does not fit here. Expected a condition, found VARCHAR constant 'px > 5'.
--> compare it with something: a > 5

SELECT px + :more FROM trades -- {"more": "1"}
--> invalid-field 1:13:5 :more
--> The value of more does not fit here. Expected a number, found VARCHAR constant '1'.
--> texts are joined by ||

SELECT px + :more FROM trades -- {"more": "10 minutes"}
--> invalid-field 1:13:5 :more
--> The value of more does not fit here. Expected a number, found VARCHAR constant '10 minutes'.
--> texts are joined by ||

SELECT -:more FROM trades -- {"more": "1"}
--> invalid-field 1:9:5 :more
--> The value of more does not fit here. Expected a number, found VARCHAR constant '1'.
--> - takes BIGINT and DOUBLE

SELECT LOWER(:s), SQRT(:x) FROM trades -- {"s": 5, "x": 5}
--> invalid-field 1:14:2 :s
--> The value of s does not fit here. Expected a text, found BIGINT constant 5.
--> write LOWER(s)

SELECT COALESCE(:px, px) FROM trades -- {"px": "none"}
--> invalid-field 1:17:3 :px
--> The value of px does not fit here. Expected DOUBLE as beside it, found VARCHAR constant 'none'.
--> write CAST(... AS DOUBLE), or cast what stands beside it

SELECT ROUND(px, :places) FROM trades -- {"places": "two"}
--> invalid-field 1:18:7 :places
--> The value of places does not fit here. Expected a BIGINT, found VARCHAR constant 'two'.
--> write ROUND(x [, digits])

SELECT sym FROM trades WHERE sym LIKE :pattern -- {"pattern": 5}
--> invalid-field 1:39:8 :pattern
--> The value of pattern does not fit here. Expected a pattern in single quotes, found a number.
--> give a text

SELECT sym FROM trades WHERE sym LIKE '10!%' ESCAPE :by -- {"by": "!!"}
--> invalid-field 1:53:3 :by
--> The value of by does not fit here. ESCAPE takes one character.
--> write ESCAPE '!'

SELECT :a, :b FROM trades -- {"a": 1, "b": 1}
--> invalid-field 1:12:2 :b
--> The value of b does not fit here. Two outputs are named '1'.
--> give one of them an alias: AS "1_2"

-- times
SELECT sym FROM trades WHERE ts > :since -- {"since": "noon"}
--> invalid-field 1:35:6 :since
--> The value of since does not fit here. 'noon' is no time.
--> write '2014-01-05', '2014-01-05 12:00:00' (UTC) or '2014-01-05T12:00:00.5+02:00', years 0001 to 9999

SELECT sym FROM trades WHERE ts > :since -- {"since": 1388923200}
--> invalid-field 1:35:6 :since
--> The value of since does not fit here. TIMESTAMP does not compare with BIGINT constant 1388923200.
--> write a time in quotes, TIMESTAMP '2014-01-05 12:00:00': without them 2014-01-05 is a subtraction

SELECT sym FROM trades WHERE ts > TIMESTAMP :since -- {"since": null}
--> invalid-field 1:45:6 :since
--> The value of since does not fit here. Expected a time in single quotes, found NULL.
--> give a text

SELECT sym FROM trades WHERE ts > DATE :day -- {"day": "2014-01-05 12:00:00"}
--> invalid-field 1:40:4 :day
--> The value of day does not fit here. A DATE is a day alone.
--> write DATE '2014-01-05', or TIMESTAMP '2014-01-05 12:00:00'

SELECT ts + :ahead FROM trades -- {"ahead": 600}
--> invalid-field 1:13:6 :ahead
--> The value of ahead does not fit here. Expected a length of time beside a TIMESTAMP, found BIGINT constant 600.
--> give a text: 10 minutes

SELECT ts + :ahead FROM trades -- {"ahead": "10m"}
--> invalid-field 1:13:6 :ahead
--> The value of ahead does not fit here. INTERVAL has no unit 'm'.
--> write the unit in full: INTERVAL '10' MINUTE

SELECT ts - :back FROM trades -- {"back": true}
--> invalid-field 1:13:5 :back
--> The value of back does not fit here. Expected a length of time beside a TIMESTAMP, found BOOLEAN constant TRUE.
--> give a text: 10 minutes

SELECT ts - :back FROM trades -- {"back": "a while"}
--> invalid-field 1:13:5 :back
--> The value of back does not fit here. 'a while' is no time.
--> write '2014-01-05', '2014-01-05 12:00:00' (UTC) or '2014-01-05T12:00:00.5+02:00', years 0001 to 9999

SELECT TIME_BUCKET(:width, ts) FROM trades -- {"width": 300}
--> invalid-field 1:20:6 :width
--> The value of width does not fit here. Expected an INTERVAL above 0, of a century at most.
--> write TIME_BUCKET(INTERVAL '5' MINUTE, ts)

SELECT TIME_BUCKET(:width, ts) FROM trades -- {"width": "5"}
--> invalid-field 1:20:6 :width
--> The value of width does not fit here. An INTERVAL is one number and one unit.
--> units are MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY and WEEK: INTERVAL '6' HOUR

SELECT DATE_TRUNC(:unit, ts) FROM trades -- {"unit": "decade"}
--> invalid-field 1:19:5 :unit
--> The value of unit does not fit here. Expected a unit of time as a constant text, found VARCHAR constant 'decade'.
--> write one of 'microsecond', 'millisecond', 'second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'

SELECT EXTRACT(:part FROM ts) FROM trades -- {"part": 4}
--> invalid-field 1:16:5 :part
--> The value of part does not fit here. Expected a part of an instant, found a number.
--> give a text

SELECT ts + INTERVAL :n MINUTE FROM trades -- {"n": "5 hours"}
--> invalid-field 1:22:2 :n
--> The value of n does not fit here. '5 hours' is no number of whole microseconds of at most 64 bits.
--> units are MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY and WEEK: INTERVAL '6' HOUR

SELECT ts + INTERVAL :n minutes FROM trades -- {"n": true}
--> invalid-field 1:22:2 :n
--> The value of n does not fit here. Expected a length of time, found TRUE or FALSE.
--> give a text: 10 minutes

SELECT ts + INTERVAL :n FROM trades -- {"n": 5}
--> invalid-field 1:22:2 :n
--> The value of n does not fit here. An INTERVAL is one number and one unit.
--> units are MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY and WEEK: INTERVAL '6' HOUR

-- windows
SELECT sym FROM trades BEGIN (NOW - :back) END (NOW) -- {"back": -5}
--> invalid-field 1:37:5 :back
--> The value of back does not fit here. A bound after NOW is not offered: tuples of the future are not known.
--> a bound is NOW, NOW - 600 (seconds), NOW - INTERVAL '10' MINUTE or TIMESTAMP '2014-01-05 12:00:00'

SELECT sym FROM trades BEGIN (NOW - :back) END (NOW) -- {"back": 0.0000001}
--> invalid-field 1:37:5 :back
--> The value of back does not fit here. The offset is no whole number of microseconds, or one of more than 64 bits.
--> a plain number counts seconds, at most six decimals; a window reaches at most 3155760000 seconds back

SELECT sym FROM trades BEGIN (NOW - :back) END (NOW) -- {"back": null}
--> invalid-field 1:37:5 :back
--> The value of back does not fit here. Expected a length of time, found NULL.
--> give a number of seconds, or a text: 10 minutes

SELECT sym FROM trades BEGIN (NOW - :back) END (NOW) -- {"back": "2014-01-05"}
--> invalid-field 1:37:5 :back
--> The value of back does not fit here. An INTERVAL is one number and one unit.
--> units are MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY and WEEK: INTERVAL '6' HOUR

SELECT sym FROM trades BEGIN (NOW - :back) END (NOW) -- {"back": 99999999999}
--> query-too-complex 1:37:5 :back
--> A window reaches at most 36525 days back.
--> leave BEGIN and END out to see everything that is kept

SELECT sym FROM trades BEGIN (:since) END (NOW) -- {"since": "NOW - 600"}
--> invalid-field 1:31:6 :since
--> The value of since does not fit here. 'NOW - 600' is no time.
--> write '2014-01-05', '2014-01-05 12:00:00' (UTC) or '2014-01-05T12:00:00.5+02:00', years 0001 to 9999

SELECT sym FROM trades BEGIN (:since) END (:until) -- {"since": "2014-01-06", "until": "2014-01-05"}
--> window-empty 1:24:27 BEGIN (:since) END (:until)
--> BEGIN lies after END: no tuple is ever between them.
--> write the earlier bound first; of two offsets the larger is the earlier

SELECT sym FROM trades [RANGE :reach] -- {"reach": "-5 minutes"}
--> invalid-field 1:31:6 :reach
--> The value of reach does not fit here. A RANGE reaches back from NOW.
--> write [RANGE INTERVAL '5' MINUTE], or [RANGE 300] (seconds)

-- where no constant stands
SELECT sym FROM :stream -- {"stream": "trades"}
--> sql-syntax 1:17:7 :stream
--> Expected the name of a stream, found ':stream'.
--> a parameter stands for a constant, not for a name

SELECT sym AS :name FROM trades -- {"name": "s"}
--> sql-syntax 1:15:5 :name
--> Expected an alias, found ':name'.
--> a parameter stands for a constant, not for a name

SELECT sym :name FROM trades -- {"name": "s"}
--> unsupported-sql 1:12:5 :name
--> Expected a comma or FROM, found ':name'. This is SQL outside the dialect of standing queries.
--> columns are separated by commas; FROM and a stream stand behind the last

SELECT trades.:name FROM trades -- {"name": "s"}
--> sql-syntax 1:15:5 :name
--> Expected a column, found ':name'.
--> a parameter stands for a constant, not for a name

SELECT px::$type FROM trades -- {"type": "BIGINT"}
--> sql-syntax 1:12:5 $type
--> Expected a type, found '$type'.
--> the types are BIGINT, DOUBLE, BOOLEAN, VARCHAR, TIMESTAMP and DATE

SELECT sym FROM trades WHERE px IS :what -- {"what": null}
--> unsupported-sql 1:36:5 :what
--> Expected NULL, TRUE or FALSE after IS, found ':what'. This is SQL outside the dialect of standing queries.
--> write IS NULL, IS NOT NULL, IS TRUE or IS FALSE; values compare by = and <>

SELECT sym FROM trades WHERE px :op 5 -- {"op": "="}
--> sql-syntax 1:33:3 :op
--> Expected the end of the query, found ':op'.
--> leave out what follows, or join conditions by AND

SELECT sym FROM trades WHERE sym IN :list -- {"list": "('a')"}
--> unsupported-sql 1:37:5 :list
--> Expected a list of constants in brackets, found ':list'. This is SQL outside the dialect of standing queries.
--> write a list of constants in brackets

SELECT :function(px) FROM trades -- {"function": "ABS"}
--> unsupported-sql 1:17:1 (
--> Expected a comma or FROM, found '('. This is SQL outside the dialect of standing queries.
--> what stands before the bracket is no function here

:sql -- {"sql": "SELECT sym FROM trades"}
--> sql-syntax 1:1:4 :sql
--> Expected SELECT, found ':sql'.
--> write SELECT a, b FROM stream WHERE a > 5 BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)

-- of other kinds
SELECT sym FROM trades WHERE px > $2
--> unsupported-sql 1:35:1 $
--> A parameter without a name is not offered.
--> write :name or $name, and give its value in params

SELECT sym FROM trades WHERE px > :2
--> unsupported-sql 1:35:1 :
--> A parameter without a name is not offered.
--> write :name or $name, and give its value in params

SELECT sym FROM trades WHERE px > : min -- {"min": 5}
--> unsupported-sql 1:35:1 :
--> A parameter without a name is not offered.
--> write :name or $name, and give its value in params

SELECT sym FROM trades WHERE px > :abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklm
--> query-too-complex 1:35:66 :abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklm
--> The name of a parameter has more than 64 characters.
--> give it a shorter name

-- groups, order and limit
SELECT sym FROM trades LIMIT :n -- {"n": 2.5}
--> invalid-field 1:30:2 :n
--> The value of n does not fit here. Expected a whole number, found a number.
--> give LIMIT a number like 10

SELECT sym FROM trades LIMIT 5 OFFSET :n -- {"n": -1}
--> invalid-field 1:39:2 :n
--> The value of n does not fit here. Expected a whole number, found a number.
--> give OFFSET a number like 10

SELECT sym FROM trades LIMIT :n -- {"n": "ten"}
--> invalid-field 1:30:2 :n
--> The value of n does not fit here. Expected a whole number, found a text.
--> give LIMIT a number like 10

SELECT sym FROM trades LIMIT :n -- {"n": 1000000001}
--> query-too-complex 1:30:2 :n
--> LIMIT is more than 1000000000: no answer has so many rows.
--> leave LIMIT out, or write a smaller number

SELECT COUNT(*) FROM trades GROUP BY :key -- {"key": "sym"}
--> invalid-field 1:38:4 :key
--> The value of key does not fit here. A key of GROUP BY is a constant.
--> leave it out: it is the same in every row

SELECT sym FROM trades ORDER BY :key -- {"key": 1}
--> invalid-field 1:33:4 :key
--> The value of key does not fit here. ORDER BY a constant orders nothing.
--> write a column, an output, or the place of an output: 1
