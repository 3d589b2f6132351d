"""Filters of Spark that became part of the query: the same rows, fewer of them on the way."""

import json

import pytest

from psoup.client.calls import PsoupClient
from tests.spark.read.read_world import FLIGHTS, append, declare, flights, rows_of

STREAM = "filtered_flights"
TEXT = (
    f"SELECT flight AS number, carrier, delay, late, landed, flight % 2 AS parity FROM {STREAM}"
    " WHERE flight < 50 OR carrier = ''"
)
OWN = "WHERE (carrier = '' OR flight < 50)"
FILTERS = {
    "number > 10 AND number IN (11, 13, 14, NULL) AND NOT late AND parity = 1": (
        "(flight IS NOT NULL) AND (late IS NOT NULL) AND (flight > 10)"
        " AND (flight IN (11, 13, 14, NULL)) AND (NOT late = TRUE)"
    ),
    "number = 13 OR number = 14": None,
    r"startswith(carrier, '50') AND contains(carrier, '%_') AND endswith(carrier, '\\')": (
        r"(carrier IS NOT NULL) AND (carrier LIKE '50%') AND (carrier LIKE '%\%\_%' ESCAPE '\')"
        r" AND (carrier LIKE '%\\' ESCAPE '\')"
    ),
    "carrier > 'a' AND NOT carrier = 'it''s' AND delay = 0.0 AND delay < 'Infinity'": (
        "(carrier IS NOT NULL) AND (delay IS NOT NULL) AND (carrier > 'a')"
        " AND (NOT carrier = 'it''s') AND (delay = 0.0)"
    ),
    "NOT (delay <=> 0.5D) AND landed >= TIMESTAMP '2024-05-01 14:00:00.123470+02:00'": (
        "(landed IS NOT NULL) AND (NOT (delay IS NOT NULL AND delay = 0.5))"
        " AND (landed >= TIMESTAMP '2024-05-01 12:00:00.123470')"
    ),
}
"""Conditions, and what of it becomes part of the query; None = nothing."""


@pytest.fixture(scope="module")
def url(psoup_url):
    """Return the URL of the service, with the flights in a stream."""
    with PsoupClient(psoup_url) as service:
        declare(service, STREAM, FLIGHTS)
        append(service, STREAM, flights(0, 60))
    return psoup_url


def conditions_sent(between):
    """Return the texts that were registered with conditions added to them."""
    texts = [json.loads(one.body)["sql"] for one in between.passed if one.method == "POST"]
    return [text.partition(f"{OWN} AND ")[2] for text in texts if OWN in text]


def test_pushed_filters_oracle_keep_what_spark_keeps(spark, between, url):
    """For each condition: the rows of the DataFrame that was pushed to are those that Spark filters out itself."""
    whole = spark.read.format("psoup").options(url=url, sql=TEXT).load()
    spark.createDataFrame(whole.toArrow()).createOrReplaceTempView("unfiltered")
    for condition, added in FILTERS.items():
        source = spark.read.format("psoup").options(url=between.url, sql=TEXT, pushdown=True)
        between.passed.clear()
        found = rows_of(source.load().where(condition))
        assert rows_of(spark.sql(f"SELECT * FROM unfiltered WHERE {condition}")) == found, condition
        assert ([] if added is None else [added]) == conditions_sent(between), condition
    with PsoupClient(url) as service:
        assert [] == list(service.queries("spark:read"))


def test_pushed_filters_narrow_a_standing_query_only_where_asked_to(spark, between, url, service):
    """A standing query is read as it stands; with `pushdown` a narrower text is read in its place."""
    handle = service.register(TEXT, name="standing flights")["id"]
    expected = [(number,) for number in (47, 48, 49)]
    for pushdown, registered in ((False, 0), (True, 1)):
        options = {"url": between.url, "query": handle, "pushdown": pushdown}
        frame = spark.read.format("psoup").options(**options).load()
        assert expected == rows_of(frame.where("number BETWEEN 47 AND 49").select("number"))
        assert registered == len(conditions_sent(between))


def test_pushed_filters_stay_with_the_loaded_frame_in_this_spark(spark, url):
    """Why nothing is pushed unless asked for: Spark 4.3 plans the whole DataFrame with what was pushed before.

    When this fails, Spark has been mended (SPARK-58551): `pushdown` may be true by default from that version on.
    """
    options = {"url": url, "sql": TEXT, "pushdown": True}
    frame = spark.read.format("psoup").options(**options).load()
    narrow = frame.where("number = 13").count()
    assert (1, 1) == (narrow, frame.count())
    options["pushdown"] = False
    frame = spark.read.format("psoup").options(**options).load()
    assert 1 == frame.where("number = 13").count()
    assert 1 < frame.count()
