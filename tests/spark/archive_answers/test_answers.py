"""Histories: answers past memory, computed by Spark, as a service gives them that has forgotten nothing."""

import re

import pyarrow as pa
import pytest

from psoup.engine.limits import SECOND_US
from psoup.pipeline.spark.archive_answers import parts, shaped_rows
from psoup.pipeline.spark.archive_answers.archive_query import instant_us
from tests.oracle_duckdb import DuckDbOracle
from tests.spark.archive_answers.archive_world import compute, filled, pair_of_services

QUERIES = {
    "snapshot": "SELECT * FROM flights BEGIN ('2024-05-01 12:00:20') END ('2024-05-01 12:01:40.123456')",
    "landmark": "SELECT DISTINCT delay, NOT late AS early FROM flights"
    " WHERE late IS NOT NULL OR carrier LIKE '50\\%%' ESCAPE '\\' BEGIN ('2024-05-01 12:00:01') END (NOW)",
    "earlier": "SELECT carrier, landed, delay / 2 AS half FROM flights WHERE origin <> 'A3'"
    " BEGIN (NOW - INTERVAL '2' MINUTE) END (NOW - 5)",
    "join": "SELECT a.flight, b.flight AS other, w.visib, w.ts FROM flights AS a [RANGE 150], flights AS b [RANGE 40],"
    " weather AS w WHERE a.carrier = b.carrier AND a.late = b.late AND b.origin = w.station",
    "near": "SELECT a.flight, b.carrier FROM flights AS a [RANGE 150], flights AS b [RANGE 140]"
    " WHERE b.ts BETWEEN a.ts - INTERVAL '3' SECOND AND a.ts + INTERVAL '1' SECOND",
    "whole": "SELECT COUNT(*) AS n, SUM(flight) FILTER (WHERE flight > 9) AS flights, AVG(delay) AS mean, VAR_SAMP(delay / 1e300) AS spread,"
    " FIRST(carrier) AS first, MEDIAN(flight) AS median, COUNT(DISTINCT origin) AS origins FROM flights",
    "groups, earlier": "SELECT carrier, flight % 3 AS third, COUNT(*) AS n, SUM(delay) FILTER (WHERE late) AS delays,"
    " AVG(flight) AS mean, LAST(landed) AS landed, ARG_MAX(origin, delay) AS origin, QUANTILE_CONT(delay, 0.3) AS most"
    " FROM flights WHERE flight > 0 GROUP BY carrier, third HAVING COUNT(*) > 1"
    " BEGIN (NOW - INTERVAL '2' MINUTE) END (NOW - 5)",
    "groups of a join": "SELECT a.carrier, SUM(w.visib) AS visib, COUNT(b.flight) AS n FROM flights AS a [RANGE 150],"
    " flights AS b [RANGE 40], weather AS w WHERE a.carrier = b.carrier AND b.origin = w.station GROUP BY 1",
    "best groups": "SELECT flight % 40 AS f, SUM(delay) AS delays FROM flights GROUP BY f"
    " ORDER BY COUNT(*) DESC, f DESC LIMIT 12 OFFSET 3",
    "few values": "SELECT DISTINCT COUNT(*) AS n, late FROM flights GROUP BY flight % 40, late",
    "order, earlier": "SELECT flight, carrier, delay FROM flights ORDER BY carrier DESC NULLS FIRST, delay"
    " BEGIN (NOW - INTERVAL '1' MINUTE) END (NOW)",
    "distinct": "SELECT DISTINCT carrier, late FROM flights ORDER BY 2 DESC, carrier LIMIT 14"
    " BEGIN (NOW - INTERVAL '155' SECOND) END (NOW)",
    "newest groups, earlier": "SELECT carrier, SUM(delay) AS delays, COUNT(*) AS n FROM flights [ROWS 50] GROUP BY carrier"
    " BEGIN (NOW - INTERVAL '2' MINUTE) END (NOW)",
    "left": "SELECT a.flight, b.flight AS other, w.visib FROM flights AS a [RANGE 150], flights AS b [RANGE 9]"
    " LEFT JOIN weather AS w ON w.station = b.origin WHERE a.carrier = b.carrier AND (w.visib > 1 OR w.visib IS NULL)",
    "left groups, earlier": "SELECT a.late, COUNT(b.flight) AS n, COUNT(*) AS every FROM flights AS a [RANGE 50]"
    " LEFT JOIN flights AS b [RANGE 20] ON a.carrier = b.carrier AND a.late = b.late GROUP BY a.late",
    "parameters": "SELECT carrier, COUNT(*) AS n FROM flights WHERE delay > :least GROUP BY carrier",
}
EARLIER = "2024-05-01T12:01:00Z"
"""Of queries of that name: before anything that is kept."""


ALIKE = frozenset({"earlier", "near", "few values", "order, earlier", "left"})
"""Of the kinds of others: a query takes two seconds of a core, so `make torture` alone has these computed."""
WHOLE = pytest.param((False, frozenset()), id="serve-all", marks=pytest.mark.slow)
APART = pytest.param(
    (True, frozenset()),
    id="apart",
    marks=[pytest.mark.slow, pytest.mark.service, pytest.mark.redis],
)


@pytest.fixture(scope="module", params=[pytest.param((False, ALIKE), id="serve"), WHOLE, APART])
def pair(request, spark, tmp_path_factory):
    """Return both services, with all histories asked for and computed by one run of the job."""
    apart, left_out = request.param
    queries = {name: sql for name, sql in QUERIES.items() if name not in left_out}
    with (
        pair_of_services(tmp_path_factory.mktemp("histories"), apart=apart) as pair,
        pytest.MonkeyPatch.context() as patch,
    ):
        filled(pair, spark, list(queries.values()))
        for name, sql in queries.items():
            parameters = {"now": EARLIER} if "earlier" in name else {}
            assert "queued" == pair.ask(sql, **parameters)["history"]["state"]
        # Answers of some hundred rows are made of as many partitions and parts as large ones.
        patch.setattr(parts, "PARTITION_ROWS", 150)
        patch.setattr(parts, "PART_ROWS_MAX", 16)
        patch.setattr(shaped_rows, "TOP_ROWS_MAX", 14)  # one query ends there, one behind it
        told = compute(spark, pair.short.url, str(pair.archives))
        assert [("done", "")] * len(queries) == [(one.state, one.detail) for one in told]
        yield pair


def test_history_is_the_answer_of_a_service_that_has_forgotten_nothing(pair):
    """Rows, their order, ids, instants of leaving, values to the bit; position, NOW and window: on all pages."""
    for name, sql in QUERIES.items():
        if sql not in pair.handles:
            continue
        parameters = {"now": EARLIER} if "earlier" in name else {}
        found, expected = pair.answers(sql, **parameters)
        assert repr(expected.rows) == repr(found.rows), name
        assert expected == found
        assert found.complete_from is None
        assert found.warnings or name != "whole"
        assert len(found.rows) > (0 if "COUNT" in sql else 5), name


def test_history_is_what_duckdb_finds_in_all_that_was_sent(pair):
    """Another oracle, which shares nothing with the service: ids, order and values of a join."""
    found, _ = pair.answers(QUERIES["join"])
    now_us = instant_us(found.now)
    select = re.sub(r" \[RANGE \d+\]", "", QUERIES["join"])
    with DuckDbOracle() as oracle:
        for stream, tables in pair.sent.items():
            oracle.load_table(stream, pa.concat_tables(tables))
        spans = [(now_us - reach * SECOND_US, now_us) for reach in (150, 40)]
        expected = oracle.join(select, [*spans, (None, now_us)])
    shown = [
        (row["_id"], (row["flight"], row["other"], row["visib"], instant_us(row["ts"])))
        for row in found.rows
    ]
    assert [("-".join(map(str, ids)), values) for ids, _, values in expected] == shown


def test_history_is_read_as_a_dataframe(pair, spark):
    """With the option `history`: groups in pages, a task each; without it what memory has."""
    sql = QUERIES["groups of a join"]
    found, _ = pair.answers(sql)
    options = {"url": pair.short.url, "query": pair.handles[sql][0], "pageRows": 2, "meta": True}
    whole = spark.read.format("psoup").options(**options, history=True).load()
    rows = [row.asDict() for row in whole.collect()]
    assert [(row["_id"], row["visib"], row["n"]) for row in found.rows] == [
        (row["_id"], row["visib"], row["n"]) for row in rows
    ]
    kept = spark.read.format("psoup").options(**options).load().collect()
    assert sum(row.n for row in kept) < sum(row["n"] for row in rows)


def test_history_is_read_by_pages_in_any_order(pair):
    """As any answer: the addresses of all its pages at once, and Arrow of each."""
    handle = pair.handles[QUERIES["join"]][0]
    envelope = pair.short.answer_pages(handle, history="true", limit=100)
    assert envelope["count"] > 2 * 100
    tables: list[pa.Table] = []
    for address in reversed(envelope["pages"]):
        for body in pair.short.arrow_page(address):
            with pa.ipc.open_stream(body) as reader:
                tables.insert(0, reader.read_all())
    ids = pa.concat_tables(tables)["_id"].to_pylist()
    found, _ = pair.answers(QUERIES["join"])
    assert [row["_id"] for row in found.rows] == ids
