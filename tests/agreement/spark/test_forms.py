"""Every form of SQL that psoup takes is answered by Spark SQL as well, over tuples that it finds something in."""

import itertools
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest

from psoup.engine.limits import (
    DAY_US,
    QUERY_OUTPUTS_MAX,
    SECOND_US,
    TIMESTAMP_US_MAX,
    TIMESTAMP_US_MIN,
)
from psoup.engine.query.time_literals import parse_instant
from psoup.engine.query.values.expression import ArithmeticOp, CompareOp, Value
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, Retention, StreamSchema
from psoup.pipeline.spark.sql.calls import UntranslatedError
from psoup.pipeline.spark.sql.standing_query import agreeing, spark_query
from tests.agreement.spark.forms import all_forms, forms_of
from tests.agreement.spark.function_calls import CALLS, REALS
from tests.golden.query_files import ACCEPTED, STREAMS, read_all_cases
from tests.oracle_spark import ARROW, SparkOracle
from tests.reference import Reference
from tests.reference_values import INT64_MAX, INT64_MIN, Row
from tests.strategies import EPOCH_US
from tests.world import World

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

UNTRANSLATED = ("shapes", "parameters")
"""Golden files of forms that are not translated, and of texts that need values beside them."""

TEXTS = ("ACME", "AC", "ACDC", "a", "b", "a%", "a%c", "abx", "x", "A", "")


def moments(rng: Random) -> int:
    """Return an instant of the golden queries' days; the last ten minutes most often."""
    first_us, last_us = (parse_instant(text) for text in ("2014-01-05", "2014-01-06 12:00:00"))
    assert first_us is not None
    assert last_us is not None
    if rng.random() < 0.5:
        return last_us - rng.randrange(1_200) * SECOND_US
    return rng.randrange(first_us - DAY_US, last_us, SECOND_US)


def golden_row(schema: StreamSchema, rng: Random) -> Row:
    """Return a tuple of values that the golden queries look for."""
    pools: dict[ColumnType, list[Value]] = {
        ColumnType.INT64: [0, 1, 1, 2, 2, 3, 5, 7, 8, 15, INT64_MIN, INT64_MAX],
        ColumnType.FLOAT64: [-0.0, 0.5, 1.0, 1.5, 2.0, 4.0, 5.0, 41.0, 50.0, 1e300],
        ColumnType.BOOL: [False, True],
        ColumnType.STRING: list(TEXTS),
    }
    row: dict[str, Value | None] = {}
    for column in schema.columns:
        if column.type is ColumnType.TIMESTAMP:
            row[column.name] = moments(rng)
        else:
            missing = column.nullable and rng.random() < 0.15
            row[column.name] = None if missing else rng.choice(pools[column.type])
    return row


REALS_ULPS = 1
"""By how many DOUBLEs EXP, LN, LOG10 and POWER of Java may lie beside those of the C library."""


def ulps_of(text: str) -> int:
    """Return by how many DOUBLEs Spark's answer to a query may lie beside psoup's."""
    names = ("EXP", "LN", "LOG", "LOG10", "POW", "POWER")
    return REALS_ULPS if any(f"{name}(" in text for name in names) else 0


def asked(oracle: SparkOracle, streams: dict[StreamSchema, list[Row]], texts: list[str]) -> None:
    """Send tuples to a world, ask it all texts, and let the oracle know."""
    world = World()
    for schema, rows in streams.items():
        world.declare(schema)
        world.append(schema.name, rows)
    world.clock.advance(SECOND_US)
    kept = Reference.fold(world.history).streams.values()
    program = oracle.add_program([(one.schema, one.retained()) for one in kept])
    for text in texts:
        oracle.ask(program, text, world.invoke(world.register(text)), ulps=ulps_of(text))


def is_translated(text: str) -> bool:
    """Return whether Spark can be made to say exactly what a golden query means."""
    if "UPPER('ß')" in text:
        return False  # two letters there
    try:
        spark_query(text, [schema for _, schema in STREAMS.values()], now_us=0)
    except UntranslatedError:
        return False
    return True


def that_add_a_form(texts: list[str]) -> list[str]:
    """Return the texts that have a form which none before them has."""
    known: set[str] = set()
    found = []
    for text in texts:
        if not forms_of(text) <= known:
            known |= forms_of(text)
            found.append(text)
    return found


@pytest.mark.parametrize(
    "chosen",
    [that_add_a_form, pytest.param(list, marks=pytest.mark.slow)],
    ids=["each-form-once", "all"],
)
def test_oracle_every_form_of_sql_answers_as_spark_sql(spark, chosen):
    """The golden queries have every form of the grammar; Spark answers each as psoup does."""
    golden = read_all_cases([path for path in ACCEPTED if path.stem not in UNTRANSLATED])
    translated = [case.text for case in golden if is_translated(case.text)]
    assert 9 >= len(golden) - len(translated)
    texts = chosen(translated)
    assert all_forms() == set[str]().union(*map(forms_of, texts))
    rng = Random(6)
    counts = {"trades": 36, "Quotes": 24, "symbols": 10, "arrivals": 4}
    streams = {}
    for name, (_, schema) in STREAMS.items():
        everything = replace(schema, retention=Retention())
        streams[everything] = [golden_row(schema, rng) for _ in range(counts[name])]
    oracle = SparkOracle(spark)
    asked(oracle, streams, texts)
    compared = oracle.compare()
    assert len(texts) == compared.queries
    assert compared.found > 0.8 * compared.queries, compared


EDGES: dict[str, tuple[ColumnType, list[Value | None]]] = {
    "ij": (
        ColumnType.INT64,
        [None, 0, 1, -1, 2, -7, 3, 2**53, 2**53 + 1, -(2**62), INT64_MAX, INT64_MIN],
    ),
    "fg": (
        ColumnType.FLOAT64,
        [None, 0.0, -0.0, 1.0, -1.5, 0.1, 7.25, 2.0**53, 1e308, -1e308, 5e-324, 2.0**63],
    ),
    "su": (
        ColumnType.STRING,
        [None, "", "a", "ab", "A", "a%", "a_b", "\\", "it's", "ü", "ﬀ", "𝄞"],
    ),
    "bc": (ColumnType.BOOL, [None, False, True] * 4),
    "de": (
        ColumnType.TIMESTAMP,
        [
            *(None, 0, -1, 1, EPOCH_US, EPOCH_US + 1, EPOCH_US - DAY_US, 10**15),
            *(TIMESTAMP_US_MIN, TIMESTAMP_US_MIN + DAY_US),
            *(TIMESTAMP_US_MAX, TIMESTAMP_US_MAX - DAY_US),
        ],
    ),
}
"""Two columns of each type, and values at its edges: every pair of them stands in a row."""

TESTS = (
    *(f"{one} {op} {other}" for op in ArithmeticOp for one in "if" for other in "jg"),
    *(f"{one} {op} {other}" for op in CompareOp for one in "if" for other in "jg"),
    *(f"{pair[0]} {op} {pair[1]}" for op in CompareOp for pair in ("su", "bc", "de")),
    *(f"{sign}({one})" for sign in ("-", "ABS") for one in ("i", "f", "i - j", "f * g")),
    *(f"{one} IS {no}NULL" for no in ("", "NOT ") for one in ("i", "f", "s", "b", "d", "i / j")),
    *(
        f"({one}) IS {no}{what}"
        for no in ("", "NOT ")
        for what in ("TRUE", "FALSE")
        for one in ("b", "i < j")
    ),
    *("b AND c", "b OR c", "NOT b", "NOT (b OR c) AND i > 0"),
    *(
        f"i {no}BETWEEN {ends}"
        for no in ("", "NOT ")
        for ends in ("-1 AND 2", "j AND 5", "0.5 AND g", "f AND j")
    ),
    *(
        f"f {no}BETWEEN {ends}"
        for no in ("", "NOT ")
        for ends in ("0 AND 2", "j AND g", "-0.0 AND 0.5")
    ),
    *(f"s {no}BETWEEN 'A' AND u" for no in ("", "NOT ")),
    *(
        f"i {no}IN ({some})"
        for no in ("", "NOT ")
        for some in ("0, 1", "9007199254740993, 2.5", "1, NULL", "9007199254740992.0, -7")
    ),
    *(
        f"f {no}IN ({some})"
        for no in ("", "NOT ")
        for some in ("0, 1.0, 7.25", "0.0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0.1", "NULL")
    ),
    *(f"s {no}IN ('a', '', 'it''s', '\\')" for no in ("", "NOT ")),
    *("d IN ('1970-01-01', TIMESTAMP '2024-01-01 00:00:00')", "b IN (TRUE, NULL)"),
    *(
        f"s {no}LIKE '{like}'"
        for no in ("", "NOT ")
        for like in ("a%", "_", "%b", "\\", "a_b", "%_%", "", "a\\%", "%''%")
    ),
    *(
        f"s {no}LIKE '{like}' ESCAPE '{by}'"
        for no in ("", "NOT ")
        for like, by in (
            ("a!%", "!"),
            ("a!_%", "!"),
            ("!a", "!"),
            ("\\\\", "\\"),
            ("a%%", "%"),
            ("____", "_"),
        )
    ),
    *(
        f"d {op} INTERVAL '{by}'"
        for op in "+-"
        for by in ("1 day", "-1 day", "0.000001 second", "106751991 day", "1.5 weeks")
    ),
    *(
        "INTERVAL '1' DAY + d",
        "d - INTERVAL '1' DAY + INTERVAL '2' DAY - INTERVAL '36500' DAY",
        "d + INTERVAL '1' DAY > e",
    ),
    *(
        "((f * g + 1) * g - 0.5) / f % g",
        "i * j * j - i % 3 + 1",
        "-(-(i)) + ABS(-f)",
        "7 / 2",
        "-7 % 3",
        "1e308 * 10",
    ),
    *CALLS,
)


@pytest.mark.parametrize("tests", [TESTS, REALS], ids=["to-the-last-bit", "reals"])
def test_oracle_every_operation_at_the_edges_of_its_types_answers_as_spark_sql(spark, tests):
    """Each operation over every pair of values at the edges: overflow, zeros, NULL, infinities, order, escapes."""
    columns = [ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False)]
    columns += [ColumnSchema(name, kind) for names, (kind, _) in EDGES.items() for name in names]
    schema = StreamSchema("edges", tuple(columns), "ts", ClockKind.HIGH_WATER)
    rows: list[Row] = []
    for pair in itertools.product(range(12), repeat=2):
        cells = {
            name: values[at]
            for names, (_, values) in EDGES.items()
            for name, at in zip(names, pair, strict=True)
        }
        rows.append({"ts": EPOCH_US, **cells})
    texts = []
    for first in range(0, len(tests), QUERY_OUTPUTS_MAX):
        some = tests[first : first + QUERY_OUTPUTS_MAX]
        shown = ", ".join(f"{test} AS o{i}" for i, test in enumerate(some))
        texts.append(f"SELECT {shown} FROM edges")
    oracle = SparkOracle(spark)
    asked(oracle, {schema: rows}, texts)
    compared = oracle.compare()
    assert (len(texts), len(texts) * len(rows)) == (compared.queries, compared.rows)


def test_oracle_text_of_a_query_gives_names_types_and_order_of_its_answer(spark):
    """The whole text answers with `_id`, `_x` and the outputs by their names, whatever those are, in order."""
    rng = Random(7)
    world = World()
    _, schema = STREAMS["trades"]
    trades = replace(schema, retention=Retention())
    world.declare(trades)
    world.append("trades", [golden_row(trades, rng) for _ in range(12)])
    (stream,) = Reference.fold(world.history).streams.values()
    ids = {"_id": [one.tuple_id for one in stream.tuples]}
    cells = {name: [one.values[name] for one in stream.tuples] for name in stream.tuples[0].values}
    kinds = {column.name: ARROW[column.type] for column in trades.columns}
    table = pa.table(
        {
            name: pa.array(listed).cast(kinds.get(name, pa.int64()))
            for name, listed in (ids | cells).items()
        }
    )
    own = agreeing(spark)
    own.createDataFrame(table).createOrReplaceTempView("trades")
    sql = """
        SELECT -qty AS time, sym AS ids, px AS "a `b`", ts AS leaves, px * 2, open FROM trades [RANGE 90000]
    """
    answer = world.invoke(world.register(sql))
    assert answer.now_us is not None
    query = spark_query(sql, [trades], now_us=answer.now_us)
    answered = own.sql(query.text).toArrow()
    wanted = [pa.field("_id", pa.string()), pa.field("_x", ARROW[ColumnType.TIMESTAMP])]
    wanted += [pa.field(name, ARROW[kind]) for name, kind in query.outputs]
    assert [(one.name, one.type) for one in wanted] == [
        (one.name, one.type) for one in answered.schema
    ]
    assert ["time", "ids", "a `b`", "leaves", "px * 2.0", "open"] == answered.column_names[2:]
    listed = [
        answered[name].cast(pa.int64()).to_pylist()
        if pa.types.is_timestamp(answered[name].type)
        else answered[name].to_pylist()
        for name in answered.column_names
    ]
    assert [
        (one, leaves, tuple(values)) for one, leaves, *values in zip(*listed, strict=True)
    ] == list(answer.rows)
    assert len(answer.rows) > 3
