"""The examples of the OpenAPI: a story of requests, told to a service, and what it has answered.

`make docs` (`python -m tests.app.openapi.written_examples`) writes them anew, with those of `keyed_story.py`;
`test_examples.py` tells both stories to each kind of service and compares.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2
import orjson

from psoup.app.http.problems import MEDIA_TYPE
from psoup.app.openapi.examples import Example
from psoup.app.wire.rows.body import ARROW, COLUMNS, CSV, JSON, NDJSON
from tests.app.archive_job import prices
from tests.app.support import Api

FIGURES: Final = frozenset({"status", "limits", "metrics"})
"""Operations whose answers differ from service to service."""


@dataclass(frozen=True, slots=True)
class Step:
    """One request of the story, in whose texts `{name}` is what an earlier answer was kept under.

    Attributes:
        keep: member of the answer, and the name to keep it under.
        is_shown: it is an example, and not there for others alone.
    """

    operation: str
    name: str
    summary: str
    method: str
    path: str
    status: int
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    media: str = JSON
    body: Any = None
    keep: tuple[str, str] | None = None
    is_shown: bool = True


def declaration(**members: Any) -> dict[str, Any]:
    columns = [
        {"name": "ts", "type": "timestamp"},
        {"name": "sym", "type": "string"},
        {"name": "px", "type": "float64"},
    ]
    return {"columns": columns, "time": "ts", **members}


def trade(second: int, sym: str, px: float) -> dict[str, Any]:
    return {"ts": f"2026-11-21T10:00:{second:02}Z", "sym": sym, "px": px}


SQL: Final = "SELECT * FROM trades WHERE px > 40 BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)"
TRADES: Final = "/v1/streams/trades"
NARROW: Final = "/v1/streams/narrow"
ROWS: Final = f"{TRADES}/rows"
RESULTS: Final = "/v1/queries/{query}/results"
TXN: Final = {"Psoup-Txn-App": "feed-1", "Psoup-Txn-Version": "1"}
COMMIT: Final = {"app": "feed-1", "version": 2, "stages": ["{stage}"]}
UNKNOWN: Final = "q_7HcT0u9XbK2mPq4sVw1zRd"
LINES: Final = (
    '{"sql": "SELECT sym FROM trades WHERE px > 41"}\n{"sql": "SELECT price FROM trades"}\n'
)
JOB: Final = {"worker": "job-0f3a9c", "state": "running", "done": 0, "of": 1}
DECLARED: Final = declaration(retention={"time": "1h"})
FORGETFUL: Final = declaration(retention={"rows": 1})
_IN: Final = (
    Step("declare_stream", "new", "A new stream", "PUT", TRADES, 201, body=DECLARED),
    Step("declare_stream", "again", "The same once more", "PUT", TRADES, 200, body=DECLARED),
    Step("append_rows", "objects", "A producer's batch", "POST", ROWS, 200, headers=TXN,
         body=[trade(0, "ACME", 41.5), trade(1, "ACME", 39.0)]),
    Step("append_rows", "lines", "An object a line", "POST", ROWS, 200, media=NDJSON,
         body=orjson.dumps(trade(2, "WILE", 40.25)).decode() + "\n"),
    Step("append_rows", "csv", "With a line of names", "POST", ROWS, 200, media=CSV,
         body="ts,sym,px\n2026-11-21T10:00:03Z,WILE,44\n"),
    Step("append_rows", "columns", "An array a column", "POST", ROWS, 200, media=COLUMNS,
         body={"ts": ["2026-11-21T10:00:04Z"], "sym": ["ACME"], "px": [42.0]}),
    Step("stage_rows", "part", "A part of a commit", "POST", f"{TRADES}/stages", 201,
         body=[trade(5, "ACME", 43.0)], keep=("stage", "stage")),
    Step("stage_rows", "lines", "An object a line", "POST", f"{TRADES}/stages", 201, media=NDJSON,
         body='{"ts":"2026-11-21T10:00:05Z","sym":"ACME","px":43}\n'),
    Step("stage_rows", "csv", "With a line of names", "POST", f"{TRADES}/stages", 201, media=CSV,
         body="ts,sym,px\n2026-11-21T10:00:05Z,ACME,43\n"),
    Step("stage_rows", "columns", "An array a column", "POST", f"{TRADES}/stages", 201, media=COLUMNS,
         body={"ts": ["2026-11-21T10:00:05Z"], "sym": ["ACME"], "px": [43]}),
    Step("commit_stages", "one", "One part", "POST", "/v1/commits", 200, body=COMMIT),
    Step("stage_rows", "other", "", "POST", f"{TRADES}/stages", 201, body=[trade(6, "ACME", 43.0)],
         keep=("stage", "other"), is_shown=False),
    Step("discard_stage", "other", "A part that nobody commits", "DELETE", "/v1/stages/{other}", 204),
    Step("get_stream", "trades", "The stream with its rows", "GET", TRADES, 200),
    Step("sample_stream", "latest", "The latest two rows", "GET", f"{TRADES}/sample", 200, query={"limit": "2"}),
    Step("declare_stream", "narrow", "", "PUT", NARROW, 201, body=declaration(), is_shown=False),
    Step("change_stream", "wider", "Add a column", "PATCH", NARROW, 200,
         body={"add_columns": [{"name": "note", "type": "string"}]}),
    Step("change_stream", "other type", "", "PATCH", NARROW, 422,
         body={"add_columns": [{"name": "note", "type": "bool"}]}),
    Step("change_stream", "longer", "Keep more", "PATCH", TRADES, 200, body={"retention": {"time": "2h"}}),
    Step("change_stream", "stale", "", "PATCH", TRADES, 412, headers={"If-Match": '"another"'},
         body={"retention": {"time": "1h"}}),
    Step("change_stream", "back", "", "PATCH", TRADES, 200, body={"retention": {"time": "1h"}}, is_shown=False),
    Step("list_streams", "all", "All streams", "GET", "/v1/streams", 200, query={"limit": "10"}),
)  # fmt: skip
_QUERIES: Final = (
    Step("register_query", "new", "A named query", "POST", "/v1/queries", 201, keep=("id", "query"),
         body={"sql": SQL, "name": "dear", "labels": {"user": "42"}}),
    Step("register_query", "again", "The same once more", "POST", "/v1/queries", 200,
         body={"sql": SQL, "name": "dear", "labels": {"user": "42"}}),
    Step("put_query", "new", "A query under the name in the path", "PUT", "/v1/queries/cheap", 201,
         body={"sql": "SELECT sym FROM trades WHERE px < 40", "labels": {"user": "43"}}),
    Step("put_query", "replaced", "Another definition in its place", "PUT", "/v1/queries/cheap", 200,
         query={"replace": "true"}, body={"sql": "SELECT sym FROM trades WHERE px < 30", "labels": {"user": "43"}}),
    Step("put_query", "taken", "", "PUT", "/v1/queries/cheap", 409, body={"sql": SQL}),
    Step("change_query", "changed", "Other labels, and a time to live", "PATCH", "/v1/queries/{query}", 200,
         body={"labels": {"user": "42"}, "ttl": "7d"}),
    Step("change_query", "stale", "", "PATCH", "/v1/queries/{query}", 412, headers={"If-Match": '"another"'},
         body={"ttl": None}),
    Step("remove_queries", "of a user", "By label", "DELETE", "/v1/queries", 200, query={"label": "user:43"}),
    Step("get_query", "dear", "The query", "GET", "/v1/queries/{query}", 200),
    Step("list_queries", "named", "By name", "GET", "/v1/queries", 200, query={"name": "dear"}),
    Step("validate_query", "plan", "A query that is not registered", "POST", "/v1/validate", 200, body={"sql": SQL}),
    Step("list_queries", "of a user", "By stream and label", "GET", "/v1/queries", 200,
         query={"stream": "trades", "label": "user:42"}),
    Step("register_queries", "two", "One that stands, one that is refused", "POST",
         "/v1/batch/queries", 200, media=NDJSON, body=LINES),
    Step("invoke_query", "rows", "Rows as objects", "GET", RESULTS, 200, keep=("cursor", "cursor")),
    Step("invoke_query", "columns", "Names once", "GET", RESULTS, 200, query={"shape": "columns"}),
    Step("invoke_query", "count", "How many", "GET", RESULTS, 200, query={"count": "only"}),
    Step("invoke_query", "csv", "As CSV", "GET", RESULTS, 200, query={"format": "csv"}),
    Step("explain_row", "answered", "A row that is answered", "GET", "/v1/queries/{query}/explain", 200,
         query={"row_id": "1"}),
    Step("explain_row", "left out", "A row that is not", "GET", "/v1/queries/{query}/explain", 200,
         query={"row_id": "2"}),
    Step("explain_given", "row", "A row that is not stored", "POST", "/v1/queries/{query}/explain", 200,
         body={"row": trade(3, "ACME", 39.5)}),
    Step("match_rows", "two", "A row that is dear, and one that is not", "POST", f"{TRADES}/match", 200,
         body={"rows": [trade(3, "ACME", 41.5), trade(3, "ACME", 39.5)], "limit": 10}),
    Step("invoke_series", "every second", "Each second, back from NOW", "GET", "/v1/queries/{query}/series", 200,
         query={"from": "now", "to": "-2s", "every": "-1s"}),
    Step("invoke_series", "lines", "A line for each point", "GET", "/v1/queries/{query}/series", 200,
         query={"from": "-1s", "to": "now", "every": "1s", "format": "ndjson"}),
    Step("invoke_series", "table", "The rows of all points", "GET", "/v1/queries/{query}/series", 200,
         query={"from": "-1s", "to": "now", "every": "1s", "format": "csv"}),
    Step("append_rows", "later", "", "POST", ROWS, 200, body=[trade(7, "ACME", 45.0)], is_shown=False),
    Step("invoke_query", "changes", "What has changed since", "GET", RESULTS, 200,
         query={"cursor": "{cursor}"}),
    Step("invoke_query", "operations", "The same as operations", "GET", RESULTS, 200,
         query={"cursor": "{cursor}", "format": "ndjson"}),
    Step("invoke_queries", "two", "One that stands, one that nobody knows", "POST", "/v1/invoke", 200,
         body={"queries": ["{query}", UNKNOWN], "limit": 2}),
    Step("invoke_queries", "cursors", "What has changed since", "POST", "/v1/invoke", 200,
         body={"queries": [{"query": "{query}", "cursor": "{cursor}"}]}),
)  # fmt: skip
_REFUSED: Final = (
    Step("sync_queries", "gone", "One that nobody knows", "POST", "/v1/sync", 200,
         body={"queries": {UNKNOWN: {}}, "max_bytes": 65_536}),
    Step("declare_stream", "clicks", "", "PUT", "/v1/streams/clicks", 201, is_shown=False,
         body={"columns": [{"name": "page", "type": "string"}]}),
    Step("register_query", "over", "", "POST", "/v1/queries", 201, keep=("id", "over"), is_shown=False,
         body={"sql": "SELECT page FROM clicks BEGIN ('2020-01-01') END ('2020-01-02')"}),
    Step("invoke_query", "over", "", "GET", "/v1/queries/{over}/results", 200, keep=("cursor", "all"),
         is_shown=False),
    Step("follow_query", "over", "Its window is over", "GET", "/v1/queries/{over}/events?cursor={all}", 204),
    Step("follow_query", "unknown", "", "GET", f"/v1/queries/{UNKNOWN}/events", 404),
    Step("register_query", "syntax", "", "POST", "/v1/queries", 422, body={"sql": "SELEC * FROM trades"}),
    Step("register_query", "column", "", "POST", "/v1/queries", 422,
         body={"sql": "SELECT price FROM trades"}),
    Step("register_query", "stream", "", "POST", "/v1/queries", 422,
         body={"sql": "SELECT * FROM trade"}),
    Step("register_query", "outside", "", "POST", "/v1/queries", 422,
         body={"sql": "SELECT * FROM trades UNION SELECT * FROM trades"}),
    Step("register_query", "types", "", "POST", "/v1/queries", 422,
         body={"sql": "SELECT * FROM trades WHERE px > sym"}),
    Step("register_query", "window", "", "POST", "/v1/queries", 422,
         body={"sql": "SELECT * FROM trades BEGIN (NOW) END (NOW - 600)"}),
    Step("register_query", "origin", "", "POST", "/v1/queries", 403, headers={"Origin": "https://elsewhere.example"},
         body={"sql": SQL}),
    Step("list_queries", "host", "", "GET", "/v1/queries", 421, headers={"Host": "elsewhere.example"}),
    Step("register_query", "named", "", "POST", "/v1/queries", 409,
         body={"sql": "SELECT * FROM trades", "name": "dear"}),
    Step("register_query", "member", "", "POST", "/v1/queries", 400, body={"sq": SQL}),
    Step("register_query", "type", "", "POST", "/v1/queries", 422, body={"sql": 12}),
    Step("register_query", "broken", "", "POST", "/v1/queries", 400, body="{"),
    Step("declare_stream", "other", "", "PUT", TRADES, 409, body=declaration()),
    Step("drop_stream", "read", "", "DELETE", TRADES, 409),
    Step("append_rows", "wrong", "", "POST", ROWS, 422, body=[{**trade(9, "ACME", 1), "px": "n/a"}]),
    Step("append_rows", "reused", "", "POST", ROWS, 409, headers=TXN, body=[trade(9, "ACME", 1)]),
    Step("append_rows", "half", "", "POST", ROWS, 400, headers={"Psoup-Txn-App": "feed-1"}, body=[]),
    Step("append_rows", "media", "", "POST", ROWS, 415, media="text/xml", body="<rows/>"),
    Step("commit_stages", "gone", "", "POST", "/v1/commits", 409, body={**COMMIT, "version": 3}),
    Step("invoke_query", "unknown", "", "GET", f"/v1/queries/{UNKNOWN}/results", 404),
    Step("invoke_query", "token", "", "GET", RESULTS, 400, query={"page": "forged"}),
    Step("invoke_query", "early", "", "GET", RESULTS, 422, query={"now": "1970-01-01T00:00:00Z"}),
    Step("invoke_query", "position", "", "GET", RESULTS, 503, query={"min_seq": "1000000", "wait": "0"}),
    Step("invoke_query", "accept", "", "GET", RESULTS, 406, headers={"Accept": "text/html"}),
)  # fmt: skip
_ARCHIVED: Final = (
    Step("list_batches", "first", "Batches past a position", "GET", f"{TRADES}/batches", 200,
         query={"after": "2", "limit": "2"}),
    Step("get_batch", "one", "One batch", "GET", f"{TRADES}/batches/3", 200),
    Step("hold_batches", "through", "Archived so far", "PUT", f"{TRADES}/archive", 200,
         body={"through": 3}),
    Step("hold_batches", "other", "", "PUT", f"{TRADES}/archive", 409, body={"through": 3, "gen": 1}),
    Step("get_hold", "held", "What is held", "GET", f"{TRADES}/archive", 200),
    Step("unhold_batches", "end", "Hold nothing any more", "DELETE", f"{TRADES}/archive", 204),
    Step("declare_stream", "past", "", "PUT", "/v1/streams/forgets", 201, body=FORGETFUL, is_shown=False),
    Step("append_rows", "past", "", "POST", "/v1/streams/forgets/rows", 200, is_shown=False,
         body=[trade(second, "ACME", second) for second in range(20)]),
    Step("register_query", "past", "", "POST", "/v1/queries", 201, keep=("id", "past"), is_shown=False,
         body={"sql": "SELECT px FROM forgets"}),
    Step("invoke_query", "history", "Past memory: a job is asked", "GET", "/v1/queries/{past}/results",
         202, query={"history": "true"}, keep=("history.id", "history")),
    Step("list_histories", "all", "What jobs are to compute", "GET", "/v1/histories", 200,
         query={"state": "queued"}),
    Step("work_on_history", "claim", "A job claims it", "POST", "/v1/histories/{history}", 200, body=JOB),
    Step("work_on_history", "other", "", "POST", "/v1/histories/{history}", 409, body={**JOB, "worker": "job-71c2d0"}),
    Step("work_on_history", "done", "", "POST", "/v1/histories/{history}", 409,
         body={"worker": JOB["worker"], "state": "done", "parts": 1, "rows": 2}),
    Step("put_history_part", "first", "Its first part", "PUT", "/v1/histories/{history}/parts/0", 204,
         media=ARROW, headers={"Psoup-Worker": "job-0f3a9c"}, body=prices(0, 2)),
    Step("drop_history", "end", "Nobody needs it", "DELETE", "/v1/histories/{history}", 204),
)  # fmt: skip
_OPERATED: Final = (
    Step("health", "alive", "The process runs", "GET", "/healthz", 200),
    Step("ready", "ready", "It is ready", "GET", "/readyz", 200),
    Step("metrics", "all", "The meters", "GET", "/metrics", 200),
    Step("status", "figures", "The figures", "GET", "/v1/status", 200),
    Step("top_queries", "invoked", "Those invoked most", "GET", "/v1/top", 200, query={"by": "invokes", "limit": "2"}),
    Step("limits", "limits", "The limits", "GET", "/v1/limits", 200),
    Step("llms", "page", "The page", "GET", "/llms.txt", 200),
    Step("remove_query", "dear", "Remove it", "DELETE", "/v1/queries/{query}", 204),
    Step("drop_stream", "cascade", "With its queries", "DELETE", TRADES, 204, query={"cascade": "true"}),
)  # fmt: skip
STORY: Final = (*_IN, *_QUERIES, *_REFUSED, *_ARCHIVED, *_OPERATED)


async def told(
    api: Api, story: Sequence[Step] = STORY
) -> list[tuple[Step, httpx2.Response, Example]]:
    """Tell a story, and return each step with its answer and the example that they make."""
    kept: dict[str, str] = {}
    found = []
    for step in story:
        path, query, body = (filled(one, kept) for one in (step.path, step.query, step.body))
        text = body if isinstance(body, bytes | str | None) else orjson.dumps(body)
        headers = dict(step.headers) | ({} if body is None else {"Content-Type": step.media})
        answer = await api.send(
            step.method, path, params=query or None, content=text, headers=headers
        )
        if step.keep is not None and answer.is_success:
            member, name = step.keep
            value = answer.json()
            for key in member.split("."):
                value = value[key]
            kept[name] = value
        assert step.status == answer.status_code, (step, answer.text)
        found.append((step, answer, example(step, path, query, body, answer)))
    return found


def example(
    step: Step, path: str, query: Mapping[str, str], body: Any, answer: httpx2.Response
) -> Example:
    """Return what a step shows: not what is binary, and of the meters nothing, as they are many."""
    media = answer.headers.get("content-type", JSON).partition(";")[0]
    value: Any = None
    if media in {JSON, MEDIA_TYPE} and answer.content:
        value = answer.json()
    elif media in {NDJSON, CSV}:
        value = answer.text
    return Example(
        operation=step.operation,
        name=step.name,
        summary=step.summary,
        status=step.status,
        path=path_values(step.path, path),
        query=query,
        headers=step.headers,
        media=step.media,
        body=None if isinstance(body, bytes) else body,
        answer_media=media,
        answer=value,
    )


def filled(value: Any, kept: Mapping[str, str]) -> Any:
    """Return `value` with each `{name}` in its texts as it was kept."""
    if isinstance(value, str):
        for name, text in kept.items():
            value = value.replace(f"{{{name}}}", text)
        return value
    if isinstance(value, list):
        return [filled(one, kept) for one in value]
    if isinstance(value, dict):
        return {name: filled(one, kept) for name, one in value.items()}
    return value


def path_values(template: str, path: str) -> dict[str, str]:
    """Return the parameters of a path by name, as it is declared."""
    names = {"streams": "name", "batches": "seq", "parts": "n"}
    segments = path.split("/")
    return {
        names.get(before, "id"): segment
        for before, segment in itertools.pairwise(segments)
        if before in {"streams", "queries", "stages", "histories", "batches", "parts"}
        and before + "/" in template
    }
