"""Rows on their way into a stream, without Spark around them: parts, waiting, refusals, what is left."""

import dataclasses
import re

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructField, StructType

from psoup.client.calls import Txn
from psoup.client.errors import ServiceProblem
from psoup.engine import limits
from psoup.engine.tuples.arrow import encode_batch
from psoup.pipeline.definition import columns_of
from psoup.pipeline.errors import WriteRefusedError
from psoup.pipeline.spark import staging
from psoup.pipeline.spark.options import Compression, Connection, write_options
from psoup.pipeline.spark.staging import (
    PART_BYTES_MAX,
    StagedRows,
    WritePlan,
    commit_stages,
    discard_stages,
    plan_write,
    stage_rows,
)
from tests.spark.between import Rule
from tests.spark.stored import stored_numbers

COLUMNS = [{"name": "id", "type": "int64"}, {"name": "name", "type": "string"}]
PART_ROWS = limits.BATCH_ROWS_MAX


@pytest.fixture
def plan(between, service, request):
    """Return where the rows of a test go: a stream of its own, through the proxy."""
    stream = re.sub(r"\W", "_", request.node.name)[:60]
    service.declare(stream, {"columns": COLUMNS})
    columns = columns_of({"columns": COLUMNS})
    return WritePlan(
        Connection(url=between.url, retry_s=20.0), stream, columns, Compression.ZSTD, PART_ROWS
    )


def rows(ids, name=None):
    """Return a batch as Spark gives one."""
    names = [f"n{i}" if name is None else name for i in ids]
    return pa.record_batch({"id": pa.array(ids, pa.int64()), "name": names})


def test_rows_of_many_batches_travel_in_one_part(plan, between, service):
    """Spark hands them out ten thousand at a time: a request for each would cost more than the rows."""
    staged = stage_rows(plan, (rows(range(i, i + 1_000)) for i in range(0, 20_000, 1_000)))
    assert (1, 20_000) == (len(staged.stages), staged.rows)
    assert 1 == between.count("POST", "/v1/streams/")
    commit_stages(plan, Txn("a", 0), [staged])
    assert list(range(20_000)) == stored_numbers(service, plan.stream, "id")


def test_rows_are_cut_into_parts_that_a_request_may_hold(plan, monkeypatch):
    """By bytes and by number, whatever the batches are; a large batch is halved until it fits."""
    rng = np.random.default_rng(7)
    texts = [rng.bytes(4_000).hex() for _ in range(64)]
    batch = pa.record_batch(
        {"id": pa.array(range(3_200), pa.int64()), "name": [texts[i % 64] for i in range(3_200)]}
    )
    assert batch.nbytes > 3 * PART_BYTES_MAX
    parts = list(staging._parts(plan, [batch.slice(0, 10), batch, batch.slice(5, 0)]))
    assert PART_BYTES_MAX >= max(part.nbytes for part in parts)
    assert [*range(10), *range(3_200)] == pa.concat_batches(parts)["id"].to_pylist()
    few = dataclasses.replace(plan, part_rows=1_000)
    parts = list(staging._parts(few, [rows(range(i, i + 400)) for i in range(0, 4_000, 400)]))
    assert [800] * 5 == [part.num_rows for part in parts]


def test_rows_of_one_column_fit_a_stream_of_many(between, service):
    """The columns that they do not name are NULL, and take their bytes in the service's log."""
    wide = [{"name": f"c{k}", "type": "int64"} for k in range(64)]
    service.declare("wide", {"columns": wide})
    options = write_options({"url": between.url, "stream": "wide"})
    plan = plan_write(options, StructType([StructField("c0", LongType())]))
    staged = stage_rows(plan, [pa.record_batch({"c0": range(60_000)})])
    commit_stages(plan, Txn("a", 0), [staged])
    assert 60_000 == service.stream("wide")["rows"]


def test_no_rows_are_neither_staged_nor_committed(plan, between):
    """An empty partition has a schema and nothing to say."""
    staged = stage_rows(plan, iter([rows([])]))
    assert StagedRows((), 0) == staged
    commit_stages(plan, Txn("a", 0), [staged])
    assert [] == between.passed


def test_rows_nearly_all_alike_are_sent_as_they_are(plan, service):
    """They pack a hundredfold, which the service takes for an attack."""
    alike = rows([7] * 150_000, "")
    body, encoding = staging.compressed(encode_batch(alike), Compression.ZSTD)
    assert None is encoding
    assert len(body) > limits.BODY_RATIO_FREE_BYTES
    staged = stage_rows(plan, [alike])
    commit_stages(plan, Txn("a", 0), [staged])
    assert 150_000 == service.stream(plan.stream)["rows"]


def test_service_that_was_away_is_waited_for(plan, between, service):
    """Not only one that answered before: each task is a new client."""
    between.rules.append(Rule("POST", "/v1/streams/", lambda _: None, times=2))
    staged = stage_rows(plan, [rows(range(3))])
    assert 3 == between.count("POST", "/v1/streams/")
    commit_stages(plan, Txn("a", 0), [staged])
    assert 3 == service.stream(plan.stream)["rows"]


def test_failure_amid_the_rows_discards_what_was_staged(plan, between, service, monkeypatch):
    """A task that fails is repeated: what it leaves would only take room."""
    monkeypatch.setattr(staging, "PART_BYTES_MAX", 1)

    def failing():
        yield rows(range(3))
        yield rows(range(3, 6))
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="the source broke"):
        stage_rows(plan, failing())
    assert between.count("DELETE", "/v1/stages/") == between.count("POST", "/v1/streams/") > 0
    stages = [one.path.rpartition("/")[2] for one in between.passed if one.method == "DELETE"]
    with pytest.raises(ServiceProblem, match="stage-missing"):
        service.commit(Txn("a", 0), stages)


def test_discarding_is_given_up_where_nothing_answers(plan, between):
    """What is left ends by itself: a task that fails does not wait for it."""
    between.refuse("DELETE", "/v1/stages/", 503, times=9, code="overloaded", retryable=True)
    discard_stages(plan, ["st_" + "a" * 22, "st_" + "b" * 22])
    assert 1 == between.count("DELETE", "/v1/stages/")


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (409, "txn-content-differs", "does not give the same rows again"),
        (409, "stage-missing", "took longer than staged rows are kept"),
        (413, "commit-too-large", "It has 12 rows in 1 parts, more than one commit may have"),
        (422, "validation-failed", "maxFilesPerTrigger"),
    ],
)
def test_commit_that_cannot_be_says_what_it_means(plan, between, status, code, said):
    """The service's words, and those of whoever has to mend the job."""
    between.refuse(
        "POST", "/v1/commits", status, times=1, code=code, detail="in short", retryable=False
    )
    with pytest.raises(WriteRefusedError) as refused:
        commit_stages(plan, Txn("spark:q", 7), [StagedRows(("st_" + "a" * 22,), 12)])
    assert f"({status} {code}: in short)" in str(refused.value)
    assert said in str(refused.value)
    assert "version 7 of 'spark:q'" in str(refused.value)


def test_commit_that_is_refused_otherwise_is_the_services_problem(plan, between):
    """A key that ended is nothing that a smaller micro-batch would cure."""
    between.refuse("POST", "/v1/commits", 403, times=1, code="forbidden", detail="no")
    with pytest.raises(ServiceProblem, match="403 forbidden"):
        commit_stages(plan, Txn("a", 1), [StagedRows(("st_" + "a" * 22,), 1)])


def test_too_many_parts_are_refused_with_what_to_do(plan):
    """By the real service: one commit names at most so many."""
    stages = tuple(f"st_{i:022}" for i in range(limits.COMMIT_STAGES_MAX + 1))
    with pytest.raises(WriteRefusedError, match="maxOffsetsPerTrigger"):
        commit_stages(plan, Txn("a", 1), [StagedRows(stages, 2_000)])
