"""The service's API layer over PostgreSQL: the very same application, with what an invocation does replaced.

    python -m benchmarks.postgres_api FD FILE    # serves on a listening socket it is given; what it asks is in FILE

Server, protocol, routes, parameters, threads, page tokens, the shape of an answer and its encoding are the
service's own. `invoke` alone is another: one prepared statement to PostgreSQL, on a connection that each
thread of the pool keeps to itself, so that nobody waits for one. And no answer is kept: PostgreSQL names no
position at which an answer would be known to hold.
"""

import json
import socket
import sys
import threading
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from benchmarks import postgres
from benchmarks.workloads import ATTRIBUTES, SECOND_US
from psoup.app.connection.server import make_server
from psoup.app.main import create_app
from psoup.app.operate.lifecycle import pace_collector
from psoup.app.operate.log_lines import configure_logging
from psoup.app.routes.endpoint import Call
from psoup.app.routes.results import envelopes, invocations
from psoup.app.routes.results.long_poll import Invoked
from psoup.app.settings import Settings
from psoup.app.wire.models.results.invocations import Presentation
from psoup.engine.invoke import Answer, PagePosition, PartPosition, Request
from psoup.engine.log.operation import QueryId
from psoup.engine.query.window import Bound, Window
from psoup.engine.results.contract import Cut, Gen
from psoup.engine.results.delta import QueryRecord
from psoup.engine.results.hits import ClauseId
from psoup.engine.tuples.batch import Column, Seq
from psoup.engine.tuples.schema import ColumnType

OUTPUTS = (
    ("ts", ColumnType.TIMESTAMP),
    *((name, ColumnType.INT64) for name in ATTRIBUTES),
)
IDS, FIRST_OUTPUT = 1, 2
"""Places in a row of `postgres.page_sql`, behind the count."""
SEQ = 32


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of PostgreSQL: WHERE clauses by handle, over a table that holds the window's rows alone."""

    dsn: str
    wheres: Mapping[str, str]
    now_us: int
    window_s: int
    past_row: int
    remembers: bool = False
    """Ask once for each query and give the same answer again: what everything but PostgreSQL costs."""


class Statements:
    """Invocations as statements. `invoke` has the signature of `psoup.engine.invoke.invoke`. Thread-safe."""

    def __init__(self, asked: Asked) -> None:
        """Connect when a thread first asks."""
        self._asked = asked
        self._of_thread = threading.local()
        sliding = Window(Bound(asked.window_s * SECOND_US, moving=True), Bound(0, moving=True))
        self._window = sliding
        self._cut = Cut(Gen(1), Seq(SEQ), asked.now_us, asked.now_us)
        self._queries = {
            handle: QueryRecord(QueryId(handle), Seq(SEQ), ClauseId(SEQ), where, sliding)
            for handle, where in asked.wheres.items()
        }
        self._part = PartPosition(asked.past_row, 0, None)
        self._remembered: dict[tuple[QueryId, Request], Answer] = {}

    def invoke(self, *_: object, query_id: QueryId, request: Request, **__: object) -> Answer:
        """Return the first page of an answer, or its count."""
        if not self._asked.remembers:
            return self._asked_of_postgres(query_id, request)
        key = query_id, request
        if key not in self._remembered:
            self._remembered[key] = self._asked_of_postgres(query_id, request)
        return self._remembered[key]

    def _asked_of_postgres(self, query_id: QueryId, request: Request) -> Answer:
        where = self._asked.wheres[query_id]
        if request.count_only:
            ((count,),) = self._rows(postgres.count_sql(where))
            return self._answer(query_id, count, np.empty((0, len(OUTPUTS) + IDS), dtype=np.int64))
        found = self._rows(postgres.page_sql(where, limit=request.limit))
        shown = np.array(found, dtype=np.int64).reshape(-1, len(OUTPUTS) + FIRST_OUTPUT)[:, IDS:]
        return self._answer(query_id, found[0][0] if found else 0, shown)

    def _answer(self, query_id: QueryId, count: int, shown: "np.ndarray[Any, Any]") -> Answer:
        now_us, ids = self._asked.now_us, shown[:, 0]
        columns = tuple(
            (name, Column(kind, shown[:, place])) for place, (name, kind) in enumerate(OUTPUTS, 1)
        )
        oldest_row = int(ids[0]) - 1 if len(ids) else self._asked.past_row
        at = PagePosition(Gen(1), Seq(SEQ), now_us, (self._part,), None, (oldest_row,))
        begin_us, end_us = self._window.bind(now_us)
        return Answer(
            cut=self._cut,
            query=self._queries[query_id],
            now_us=now_us,
            begin_us=begin_us,
            end_us=end_us,
            count=count,
            complete_from_us=None,
            columns=columns,
            tuple_ids=ids,
            leaves_us=self._window.leaves(shown[:, 1]),
            at=at,
            next=at.behind(len(ids), at.oldest_rows) if 0 < len(ids) < count else None,
        )

    def _rows(self, statement: str) -> Sequence[tuple[int, ...]]:
        """Return all rows of a statement, prepared by the thread's connection when it first meets it."""
        cursor = getattr(self._of_thread, "cursor", None)
        if cursor is None:
            import psycopg

            connection = psycopg.connect(self._asked.dsn, autocommit=True)
            connection.prepared_max = None  # as many as there are queries
            cursor = self._of_thread.cursor = connection.cursor(binary=True)
        rows: Sequence[tuple[int, ...]] = cursor.execute(statement, prepare=True).fetchall()
        return rows


def write(path: Path, asked: Asked) -> None:
    """Write what is asked where the process finds it."""
    path.write_text(json.dumps(asdict(asked)), encoding="utf-8")


def serve(number: int, path: Path) -> None:
    """Serve on the listening socket with this file number until a signal ends it."""
    asked = Asked(**json.loads(path.read_text(encoding="utf-8")))
    settings = Settings(store="memory://", log_level="warning")
    configure_logging(level=settings.log_level, style=settings.log_format)
    pace_collector()
    with (
        mock.patch.object(envelopes, "invoke", Statements(asked).invoke),
        mock.patch.object(invocations, "_kept_response", _new_response),
    ):
        make_server(create_app(settings), settings).run(sockets=[socket.socket(fileno=number)])


def _new_response(
    call: Call, query_id: QueryId, alike: Hashable, asked: invocations.Asked, shown: Presentation
) -> Invoked:
    """Return the answer, whatever was answered before."""
    del alike
    return invocations.answer_response(call, query_id, asked, shown)


if __name__ == "__main__":
    serve(int(sys.argv[1]), Path(sys.argv[2]))
