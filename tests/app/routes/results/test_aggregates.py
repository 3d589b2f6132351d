"""Aggregates over HTTP: every one of every type is answered or refused, and partials make no difference."""

import io
from collections.abc import Iterator

import pyarrow as pa
import pytest

from psoup.engine.limits import CHUNK_ROWS, SECOND_US
from psoup.engine.query.values.expression import AggregateFunction as Function
from tests.app.support import START_US, Api, assert_problem

pytestmark = pytest.mark.anyio
KINDS = {"ts": "timestamp", "sym": "string", "px": "float64", "qty": "int64", "up": "bool"}
ANY = frozenset(KINDS)
NUMBERS = frozenset({"px", "qty"})
TAKES = {
    Function.COUNT: ANY,
    Function.MIN: ANY,
    Function.MAX: ANY,
    Function.FIRST: ANY,
    Function.LAST: ANY,
    Function.ARG_MIN: ANY,
    Function.ARG_MAX: ANY,
    Function.BOOL_AND: frozenset({"up"}),
    Function.BOOL_OR: frozenset({"up"}),
}
"""The columns that an aggregate takes; NUMBERS where there is no entry."""
ROWS = 2 * CHUNK_ROWS + 100
SECOND_ARGUMENTS = {Function.QUANTILE_CONT: "0.3", Function.ARG_MIN: "px", Function.ARG_MAX: "sym"}
FORMATS = ("json", "ndjson", "csv", "arrow")


def calls(*, taken: bool) -> Iterator[str]:
    """Yield a call of each aggregate of a column of each type: those that are taken, or all others."""
    for function in Function:
        for name in KINDS:
            if (name in TAKES.get(function, NUMBERS)) is taken:
                second = SECOND_ARGUMENTS.get(function)
                yield f"{function}({name}{f', {second}' if second else ''})"


def body() -> bytes:
    """Return rows of two chunks and a bit: with NULLs, zeros, and numbers whose sums leave their types."""
    places = range(ROWS)
    columns = {
        "ts": pa.array([START_US - (ROWS - at) * SECOND_US // 100 for at in places]),
        "sym": pa.array([(None, "a", "b", "")[at % 4] for at in places]),
        "px": pa.array([(None, 1.5, -0.0, 1e308, 0.1)[at % 5] for at in places]),
        "qty": pa.array([(None, 2**62, at, 0)[at % 7 % 4] for at in places]),
        "up": pa.array([(None, True, False)[at % 3] for at in places]),
    }
    columns["ts"] = columns["ts"].cast(pa.timestamp("us", tz="UTC"))
    table, sink = pa.table(columns), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


async def filled(api: Api) -> None:
    """Declare the stream, and send the rows."""
    await api.declare()
    sent = await api.body(body(), "application/vnd.apache.arrow.stream")
    assert 200 == sent.status_code, sent.text


@pytest.mark.services
@pytest.mark.parametrize("keys", ["", "sym, up"])
async def test_aggregates_are_the_same_through_partials_and_of_all_rows(api: Api, keys: str):
    """All that there are at once, in every format, asked twice; `none` keeps nothing and reads every row."""
    await filled(api)
    listed = ", ".join(f"{call} AS v{place}" for place, call in enumerate(calls(taken=True)))
    quantiles = ("MEDIAN", "QUANTILE_CONT")
    merged = ", ".join(
        f"{call} AS m{place}"
        for place, call in enumerate(calls(taken=True))
        if not call.startswith(quantiles)
    )
    window = "BEGIN (NOW - INTERVAL '70' SECOND) END (NOW)"
    for some in (listed, merged):
        text = f"SELECT {some} FROM trades {f'GROUP BY {keys}' if keys else ''} {window}"
        answers = {}
        for policy in ("auto", "none"):
            query_id = await api.register(text, materialize=policy)
            path = f"/v1/queries/{query_id}/results"
            answers[policy] = [
                await api.get(path, params={"format": name, "meta": "0"})
                for name in (*FORMATS, *FORMATS)
            ]
        for merged_one, read in zip(answers["auto"], answers["none"], strict=True):
            assert (200, 200) == (merged_one.status_code, read.status_code)
            if read.headers["content-type"] != "application/json":
                assert read.content == merged_one.content
        merged_one, read = (answers[policy][4].json() for policy in ("auto", "none"))
        assert read["rows"] == merged_one["rows"]
        assert (12 if keys else 1) == len(read["rows"])
        warnings = [one["code"] for one in merged_one["warnings"]]
        assert ["overflow"] == warnings
        assert read["warnings"] == merged_one["warnings"]


@pytest.mark.parametrize("call", list(calls(taken=False)))
async def test_aggregates_of_types_that_they_do_not_take_are_refused(api: Api, call: str):
    """AVG and MEDIAN of an instant, too: the problem says what is taken."""
    await api.declare()
    answer = await api.send(
        "POST", "/v1/queries", json={"sql": f"SELECT {call} AS found FROM trades"}
    )
    problem = assert_problem(answer, "type-mismatch")
    assert "takes a" in problem["detail"]
