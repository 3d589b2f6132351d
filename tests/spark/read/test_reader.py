"""`spark.read.format("psoup").option("query", ...)`: the answer of a standing query as a DataFrame."""

import dataclasses
import datetime as dt
import itertools
import pickle
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

from psoup.client.calls import PsoupClient
from psoup.client.errors import ServiceProblem
from psoup.pipeline.errors import OptionError, ReadRefusedError, SchemaMismatchError
from psoup.pipeline.spark.read.reader import reader_of, schema_to_read
from tests.spark.read.read_world import (
    FLIGHTS,
    NOON,
    WEATHER,
    append,
    declare,
    flights,
    rows_of,
    weather,
)

QUERIES = [
    "SELECT * FROM {f} WHERE delay > 0 AND carrier <> 'AA' OR flight IS NULL OR origin IS NULL",
    "SELECT DISTINCT carrier, late FROM {f} WHERE landed >= TIMESTAMP '2024-05-01 12:00:00.123480'",
    "SELECT f.flight, w.visib FROM {f} AS f, {w} AS w WHERE f.origin = w.station AND w.visib < 2",
    "SELECT flight FROM {f} WHERE carrier = 'nobody'",
]


@pytest.fixture(scope="module")
def loaded(psoup_url):
    """Return the names of two streams that hold the rows of `read_world`, the flights as two batches."""
    names = {"f": "read_flights", "w": "read_weather"}
    with PsoupClient(psoup_url) as service:
        declare(service, names["f"], FLIGHTS)
        declare(service, names["w"], WEATHER)
        for first in (0, 30):
            append(service, names["f"], flights(first, first + 30))
        append(service, names["w"], weather())
    return names


def read(url, **options) -> Any:
    """Return the reader that Spark would plan with."""
    given = {"url": url, **{name.lower(): str(value) for name, value in options.items()}}
    return reader_of(given, schema_to_read(given))


def columns(**types: str) -> StructType:
    """Return a schema of the user's own."""
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in types.items()
    ]
    return StructType.fromJson({"type": "struct", "fields": fields})


def all_rows(reader):
    """Return what all partitions read: in another process as far as the reader can tell."""
    partitions = reader.partitions()
    copy = pickle.loads(pickle.dumps(reader))
    return rows_of(batch for one in partitions for batch in copy.read(one))


def test_read_oracle_answers_equal_spark_sql_over_the_source(spark, psoup_url, service, loaded):
    """Selections, projections, joins, DISTINCT, NULLs, times and nothing at all: as Spark SQL finds them."""
    spark.createDataFrame(flights(0, 60)).createOrReplaceTempView(loaded["f"])
    spark.createDataFrame(weather()).createOrReplaceTempView(loaded["w"])
    for text in QUERIES:
        sql = text.format(**loaded)
        handle = service.register(sql)["id"]
        source = spark.read.format("psoup").options(url=psoup_url, query=handle, pageRows=13)
        assert rows_of(spark.sql(sql)) == rows_of(source.load()), sql


def test_read_text_with_parameters_answers_as_with_literals(spark, psoup_url, loaded):
    """The option `params` gives their values; where filters are pushed, the canonical text has them."""
    sql = f"SELECT flight, delay, carrier FROM {loaded['f']} WHERE delay > :min AND carrier <> $not"
    params = '{"min": 0, "not": "it\'s"}'
    literal = sql.replace(":min", "0").replace("$not", "'it''s'")
    expected = all_rows(read(psoup_url, sql=literal))
    assert [] != expected == all_rows(read(psoup_url, sql=sql, params=params))
    fewer = all_rows(read(psoup_url, sql=f"{literal} AND delay < 1 AND carrier = 'AA'"))
    for pushdown in (False, True):
        source = spark.read.format("psoup").options(
            url=psoup_url, sql=sql, params=params, pushdown=pushdown
        )
        assert [] != fewer == rows_of(source.load().where("delay < 1 AND carrier = 'AA'"))
    with pytest.raises(ReadRefusedError, match="The parameter :min has no value"):
        read(psoup_url, sql=sql)


def test_read_pages_of_one_answer_whatever_arrives_meanwhile(psoup_url, service):
    """Every page, read twice and after more rows came, is that of the answer that was planned."""
    declare(service, "read_pages", FLIGHTS)
    append(service, "read_pages", flights(0, 20))
    service.register("SELECT flight, ts FROM read_pages", name="read pages")
    reader = read(psoup_url, query="read pages", pageRows=6)
    partitions = reader.partitions()
    append(service, "read_pages", flights(20, 40))
    first = [rows_of(reader.read(one)) for one in partitions]
    assert [6, 6, 6, 2] == [one.rows for one in partitions]
    assert [6, 6, 6, 2] == [len(rows) for rows in first]
    assert first[::-1] == [rows_of(reader.read(one)) for one in reversed(partitions)]
    expected = flights(0, 20).select(["flight", "ts"])
    assert rows_of(expected.to_batches()) == sorted(itertools.chain(*first), key=repr)
    assert 40 == len(all_rows(read(psoup_url, query="read pages")))


def test_read_page_too_large_for_one_answer_is_followed_as_far_as_its_share(psoup_url, service):
    """A page whose bytes are too many goes on under its own `next`; its neighbour reads what is its own."""
    wide = pa.table({"n": range(2_600), "text": ["x" * 8_000] * 2_600})
    columns = [{"name": "n", "type": "int64"}, {"name": "text", "type": "string"}]
    service.declare("read_wide", {"columns": columns})
    for first in range(0, 2_600, 1_300):
        append(service, "read_wide", wide.slice(first, 1_300))
    handle = service.register("SELECT n, text FROM read_wide")["id"]
    reader = read(psoup_url, query=handle, pageRows=2_400)
    batches = [list(reader.read(one)) for one in reader.partitions()]
    numbers = [[n for one in part for n in one.column("n").to_pylist()] for part in batches]
    assert [list(range(2_400)), list(range(2_400, 2_600))] == numbers
    assert 1 < len(batches[0])


def test_read_meta_shows_ids_and_ends(psoup_url, service, loaded):
    """`_id` is text, as a row of a join has several; `_x` is a time; neither is there unless asked for."""
    handle = service.register(
        f"SELECT flight FROM {loaded['f']} WHERE flight < 3 BEGIN (NOW - INTERVAL '1' HOUR) END (NOW)"
    )["id"]
    reader = read(psoup_url, query=handle, meta="true")
    (batch,) = [batch for one in reader.partitions() for batch in reader.read(one)]
    assert ["_id string", "_x timestamp", "flight bigint"] == [
        f"{field.name} {field.dataType.simpleString()}" for field in reader._schema
    ]
    ends = [row["ts"] + dt.timedelta(hours=1, microseconds=1) for row in flights(1, 3).to_pylist()]
    wanted = [row for row in batch.to_pylist() if row["flight"] in (1, 2)]
    assert ends == [row["_x"] for row in wanted]
    assert all(row["_id"].isdecimal() for row in wanted)


def test_read_at_another_instant_and_position(psoup_url, service, loaded):
    """`now` answers for that instant; a `minSeq` that no position has reached yet is refused in the end."""
    sql = f"SELECT flight FROM {loaded['f']} WHERE flight < 59 BEGIN (NOW - 5) END (NOW)"
    handle = service.register(sql)["id"]
    now = (NOON + dt.timedelta(seconds=20)).isoformat()
    found = all_rows(read(psoup_url, query=handle, now=now))
    assert {(number,) for number in (15, 16, 17, 18, 19, 20)} == set(found)
    with pytest.raises(ServiceProblem, match="not-yet-visible"):
        read(psoup_url, query=handle, minSeq=10**9, retrySeconds=0).partitions()


def test_read_declared_columns_may_be_some_in_any_order(psoup_url, service, loaded):
    """A schema of the user's own chooses columns; one that says something else is refused by name and type."""
    handle = service.register(f"SELECT ts, carrier, flight FROM {loaded['f']}")["id"]
    given = {"url": psoup_url, "query": handle}
    some = columns(flight="long", carrier="string")
    expected = rows_of(flights(0, 60).select(["flight", "carrier"]).to_batches())
    assert expected == all_rows(reader_of(given, some))
    other = columns(flight="integer", carrier="string", gate="string")
    with pytest.raises(SchemaMismatchError) as caught:
        reader_of(given, other).partitions()
    assert "flight: declared as int, in psoup bigint" in str(caught.value)
    assert "gate: declared as string, in psoup not there" in str(caught.value)
    assert "carrier:" not in str(caught.value)


def test_read_expired_page_says_what_to_do(between, service, loaded):
    """A page that the service no longer keeps fails with the way out in the message."""
    handle = service.register(f"SELECT flight FROM {loaded['f']}")["id"]
    reader = read(between.url, query=handle)
    (page,) = reader.partitions()
    between.refuse("GET", page.address, 410, times=1, code="page-expired", retryable=False)
    with pytest.raises(ReadRefusedError, match=r"no longer kept.*Load the DataFrame again"):
        list(reader.read(page))


def test_read_page_of_fewer_rows_than_announced_fails(between, service, loaded):
    """An answer that lost rows on its way is no answer."""
    handle = service.register(f"SELECT flight FROM {loaded['f']}")["id"]
    reader = read(between.url, query=handle)
    (page,) = reader.partitions()
    with pytest.raises(ReadRefusedError, match="has 60 rows where 61 were announced"):
        list(reader.read(dataclasses.replace(page, rows=61)))


def test_read_retried_task_reads_the_same(spark, between, service, loaded):
    """A task that failed half way is run again by Spark, and its page is the same."""
    handle = service.register(f"SELECT flight FROM {loaded['f']}")["id"]
    page = f"/v1/queries/{handle}/results?page"
    between.refuse("GET", page, 400, times=1, code="bad-page", retryable=False)
    source = spark.read.format("psoup").options(url=between.url, query=handle, pageRows=20)
    found = rows_of(source.load())
    assert rows_of(flights(0, 60).select(["flight"]).to_batches()) == found
    statuses = [one.status for one in between.passed if "page=" in one.path]
    assert [200, 200, 200, 400] == sorted(statuses)


REFUSED = [
    ({}, "takes one of the options 'query'"),
    ({"query": "a", "sql": "SELECT 1"}, "takes one of the options 'query'"),
    ({"query": "a", "stream": "trades"}, "The option 'stream' belongs to a stream's rows"),
    ({"query": "a", "pagerows": "0"}, "'pageRows' is '0': expected a whole number from 1 on"),
    ({"query": "a", "pagerows": "100001"}, "'pageRows' is 100001: expected 1 to 100000"),
    ({"query": "a", "meta": "maybe"}, "'meta' is 'maybe': expected true or false"),
    ({"query": "a", "params": "{}"}, "The option 'params' belongs to 'sql'"),
    ({"sql": "SELECT 1", "params": "[1]"}, "The option 'params' is no JSON object"),
    ({"sql": "SELECT 1", "params": '{"a": [1]}'}, "The option 'params' is no JSON object"),
    ({"sql": "SELECT 1", "params": "min=40"}, """expected .option("params", '{"min": 40}')"""),
    ({"query": "a", "quary": "b"}, "no option 'quary' here"),
]


@pytest.mark.parametrize(("given", "said"), REFUSED)
def test_read_options_that_cannot_be_are_refused(given, said):
    """Each says which option, what it was, and what it may be; nothing was asked of a service."""
    with pytest.raises(OptionError) as caught:
        reader_of({"url": "http://127.0.0.1:9", **given}, StructType())
    assert said in str(caught.value)


def test_read_unknown_query_is_refused(psoup_url):
    """Neither a handle nor a name: the message says so."""
    for given in ("q_0000000000000000000000", "nobody's query"):
        with pytest.raises(ReadRefusedError) as caught:
            schema_to_read({"url": psoup_url, "query": given})
        assert f"no standing query with the handle or the name {given!r}" in str(caught.value)
