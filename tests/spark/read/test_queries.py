"""`spark.read.format("psoup").option("sql", ...)`: registered, read, removed, whatever happens in between."""

import pytest

from psoup.client.calls import PsoupClient
from psoup.client.errors import ServiceProblem
from psoup.engine.limits import SECOND_US
from psoup.pipeline.errors import ReadRefusedError, SchemaMismatchError
from psoup.pipeline.spark.read.queries import LEFT_BEHIND_S, remove_left_behind
from psoup.pipeline.spark.read.reader import reader_of, schema_to_read
from tests.spark.read.read_world import FLIGHTS, append, declare, flights, rows_of

STREAM = "sql_flights"
TEXT = f"SELECT flight, carrier FROM {STREAM} WHERE late"


@pytest.fixture(scope="module")
def url(psoup_url):
    """Return the URL of the service, with the flights in a stream."""
    with PsoupClient(psoup_url) as service:
        declare(service, STREAM, FLIGHTS)
        append(service, STREAM, flights(0, 60))
    return psoup_url


def read(url, **options):
    given = {"url": url, "sql": TEXT, **{name.lower(): str(one) for name, one in options.items()}}
    return reader_of(given, schema_to_read(given))


def left_by_reads(service):
    """Return the names of the queries that reads have left standing."""
    return [one["name"] for one in service.queries("spark:read")]


def expected():
    table = flights(0, 60).select(["flight", "carrier", "late"]).to_pylist()
    return sorted([(one["flight"], one["carrier"]) for one in table if one["late"]], key=repr)


def test_sql_is_read_and_leaves_no_query_behind(spark, url, service):
    """The DataFrame has the query's rows and columns; the service has as many queries as before."""
    source = spark.read.format("psoup").options(url=url, sql=TEXT, pageRows=7)
    frame = source.load()
    assert ["flight bigint", "carrier string"] == [" ".join(column) for column in frame.dtypes]
    assert expected() == rows_of(frame)
    assert [] == left_by_reads(service)


def test_sql_read_that_ends_early_leaves_no_query_behind(url, service):
    """A task whose consumer has enough, as with a limit, still removes what it registered."""
    reader = read(url, pageRows=3)
    (partition,) = reader.partitions()
    rows = reader.read(partition)
    assert 3 == next(rows).num_rows
    assert 1 == len(left_by_reads(service))
    rows.close()
    assert [] == left_by_reads(service)


def test_sql_read_that_fails_leaves_no_query_behind(between, url, service):
    """A page that cannot be had fails the task, and the query is removed all the same."""
    reader = read(between.url, pageRows=20)
    between.refuse("GET", "/v1/queries/", 400, times=2, code="bad-page", retryable=False)
    with pytest.raises(ServiceProblem, match="bad-page"):
        list(reader.read(*reader.partitions()))
    assert 1 == between.count("DELETE", "/v1/queries/q_") - 1  # the other one was the schema's
    assert [] == left_by_reads(service)


def test_sql_registration_whose_answer_was_lost_is_the_same_query(between, url, service):
    """Asked for again under its name it is found, not made once more."""
    reader = read(between.url)
    between.lose_answer("POST", "/v1/queries")
    rows = rows_of(reader.read(*reader.partitions()))
    assert expected() == rows
    assert 3 == between.count("POST", "/v1/queries")
    assert [] == left_by_reads(service)


def test_sql_that_the_service_refuses_says_where(url, service):
    """Column, excerpt and hint of the service are in the message; nothing stands."""
    with pytest.raises(ReadRefusedError) as caught:
        read(url, sql=f"SELECT flight, fligth FROM {STREAM}")
    assert "has no column 'fligth'. Did you mean flight?" in str(caught.value)
    assert "               ^^^^^^" in str(caught.value)
    assert [] == left_by_reads(service)


def test_sql_over_a_stream_declared_anew_is_refused_not_cast(psoup_url, service):
    """What a task registers must show the columns that were declared when the DataFrame was loaded."""
    service.declare("sql_anew", {"columns": [{"name": "v", "type": "int64"}]})
    reader = read(psoup_url, sql="SELECT v FROM sql_anew")
    service.drop("sql_anew")
    service.declare("sql_anew", {"columns": [{"name": "v", "type": "string"}]})
    with pytest.raises(SchemaMismatchError, match="v: declared as bigint, in psoup string"):
        list(reader.read(*reader.partitions()))
    assert [] == left_by_reads(service)


def test_left_behind_queries_go_by_label_and_age(url, service):
    """A query of a killed read goes once it is old; a younger one, and anybody else's, stays."""
    now_s = 2 * LEFT_BEHIND_S
    ages = {"old": 0, "young": LEFT_BEHIND_S}
    for name, since in ages.items():
        labels = {"spark": "read", "spark-since": str(since)}
        service.register(TEXT, name=name, labels=labels)
    service.register(TEXT, name="other", labels={"spark": "else", "spark-since": "0"})
    remove_left_behind(service, now_s=now_s)
    assert ["young"] == left_by_reads(service)
    assert {"young", "other"} == {one["name"] for one in service.queries()} & {
        "old",
        "young",
        "other",
    }
    remove_left_behind(service, now_s=now_s + 1)
    assert [] == left_by_reads(service)


def test_registered_query_says_whose_it_is_and_since_when(url, service):
    """The labels by which a leftover is found, and nothing kept of its matches."""
    from psoup.engine.clock import SystemClock

    reader = read(url, pageRows=3)
    rows = reader.read(*reader.partitions())
    next(rows)
    (one,) = service.queries("spark:read")
    rows.close()
    age_s = SystemClock().now_us() // SECOND_US - int(one["labels"]["spark-since"])
    assert 0 <= age_s < LEFT_BEHIND_S
    assert "none" == one["materialize"]
