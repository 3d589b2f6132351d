"""The answers that stand in the golden files are those of DuckDB."""

import math
import re

import pytest

from psoup.engine.query.bind.binder import bind
from psoup.engine.query.canonical import sql_expression
from psoup.engine.query.clause import BoundQuery
from tests.agreement.golden_words import Source, duckdb_text
from tests.agreement.shapes.compared import Values, in_micros
from tests.golden.answers import golden_rows, golden_world
from tests.golden.query_files import ACCEPTED, STREAMS, given, read_cases
from tests.oracle_duckdb import DuckDbOracle
from tests.reference_values import INT64_MAX, INT64_MIN
from tests.reference_windows import bounds, rounded
from tests.world import World


@pytest.fixture(scope="module")
def world() -> World:
    """Return a world that holds the golden tuples."""
    return golden_world([schema for _, schema in STREAMS.values()])


@pytest.fixture(scope="module")
def oracle(world):
    """Yield DuckDB with the golden tuples."""
    with DuckDbOracle() as opened:
        for _, schema in STREAMS.values():
            rows = golden_rows(schema)
            opened.load(
                schema,
                rows,
                tuple_ids=range(1, len(rows) + 1),
                times_us=[dated_us(world, schema, row) for row in rows],
            )
        yield opened


def dated_us(world, schema, row):
    """Return the tuple time of a golden tuple."""
    return world.clock.now_us() if schema.time is None else row[schema.time]


def now_us(world: World, query: BoundQuery) -> int:
    """Return NOW of a query: the newest time of its streams, or the hop before it."""
    schemas = [STREAMS[source.stream][1] for source in query.clause.sources]
    newest = max(dated_us(world, one, row) for one in schemas for row in golden_rows(one))
    return rounded(query.window, newest)


def sources(query: BoundQuery, now: int) -> list[Source]:
    """Return what the windows of a query show of its streams."""
    found = []
    for place, source in enumerate(query.clause.sources):
        reach = query.ranges[place] if query.ranges else None
        begin, end = bounds(query.window, now) if reach is None else (now - reach, now)
        columns = [column.name for column in STREAMS[source.stream][1].columns]
        span = (begin, now if end is None else min(end, now))
        counted = query.shape.row_windows[place] if query.shape.row_windows else None
        keys = [] if counted is None else [sql_expression(key) for key in counted.keys]
        keys = [re.sub(r"\b[a-z]\w*\.", "", key, flags=re.IGNORECASE) for key in keys]
        found.append(Source(columns, span, keys, None if counted is None else counted.count))
    return found


def is_same(theirs: object, ours: object) -> bool:
    """Return whether values are the same; DOUBLEs but for last bits: sums are rounded at each step there.

    A SUM that leaves 64 bits is NULL here.
    """
    if isinstance(theirs, int) and not INT64_MIN <= theirs <= INT64_MAX:
        return ours is None
    if isinstance(theirs, float) and isinstance(ours, float):
        return math.isclose(theirs, ours, rel_tol=1e-12)
    return theirs == ours


def are_alike(theirs: Values, ours: Values) -> bool:
    """Return whether two answers are the same, in the same order."""
    return len(theirs) == len(ours) and all(
        len(one) == len(other) and all(map(is_same, one, other))
        for one, other in zip(theirs, ours, strict=True)
    )


@pytest.mark.parametrize("path", ACCEPTED, ids=lambda path: path.stem)
def test_oracle_golden_answers_are_those_of_duckdb(path, world, oracle):
    """Each form of the language over NULLs, extremes, duplicates and late tuples: every row, in order."""
    for case in read_cases(path):
        query = bind(case.text, STREAMS, given(case.text))
        answer = world.invoke(world.register(query.canonical))
        assert now_us(world, query) == answer.now_us, case.text
        text = query.canonical if given(case.text) else case.text
        asked = duckdb_text(text, sources(query, answer.now_us))
        theirs = in_micros(oracle.rows(asked))
        ours = [values for _, _, values in answer.rows]
        if query.shape.distinct and not query.shape.order:
            theirs, ours = sorted(theirs, key=repr), sorted(ours, key=repr)
        assert are_alike(theirs, ours), f"{case.text}\n{asked}\n{theirs}\n{ours}"
