"""The two oracles agree on joins: the twin's loops and DuckDB share not one line.

Here the twin evaluates the tree a query was drawn from, not what the binder made of its text.
"""

import itertools
from collections import Counter

from hypothesis import given, strategies as st

from tests import strategies_join, strategies_streams
from tests.oracle_duckdb import DuckDbOracle, Joined
from tests.reference_values import Row, value_of
from tests.strategies import fewer
from tests.strategies_join import DrawnJoin


def matches(query: DrawnJoin, rows: dict[str, list[Row]]) -> list[Joined]:
    """Return what a query finds among rows numbered from 1 in each stream and dated by their number."""
    sides = [list(enumerate(rows[name], start=1)) for name in query.streams]
    found = []
    for parts in itertools.product(*sides):
        numbers, values = tuple(number for number, _ in parts), [row for _, row in parts]
        if value_of(query.where, values) is True:
            shown = tuple(value_of(output, values) for output in query.outputs)
            found.append((numbers, min(numbers), shown))
    return sorted(found, key=lambda one: (one[1], one[0]))


@fewer(15)
@given(data=st.data())
def test_oracle_drawn_joins_mean_the_same_to_twin_and_duckdb(data):
    """WHERE, ON and select list of any drawn join mean the same to the twin and to DuckDB."""
    schemas = data.draw(strategies_streams.stream_sets())
    rows = {name: data.draw(strategies_streams.batches(schema)) for name, schema in schemas.items()}
    query = data.draw(strategies_join.queries(schemas))
    with DuckDbOracle() as oracle:
        for name, schema in schemas.items():
            numbers = range(1, len(rows[name]) + 1)
            oracle.load(schema, rows[name], tuple_ids=numbers, times_us=numbers)
        expected = matches(query, rows)
        spans = [(None, None)] * len(query.streams)
        if not query.distinct:
            assert expected == oracle.join(query.select, spans)
        else:
            distinct = oracle.distinct_join(query.select, spans)
            assert {values for _, _, values in expected} == set(distinct)
            assert max(Counter(distinct).values(), default=1) == 1
