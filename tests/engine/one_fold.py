"""One stream folded by an engine without a store: operations in, deltas out."""

from psoup.engine.log.operation import Materialize, QueryId, Register
from psoup.engine.tuples.schema import StreamId

STREAM = StreamId(1)
BIG = "SELECT a FROM s WHERE a > 2"


def register(number, sql=BIG, materialize=Materialize.AUTO, **streams):
    query_id = QueryId(f"q{number}")
    return Register(query_id, sql, streams or {"s": STREAM}, materialize=materialize)


def numbers(first, count):
    return [(i, i % 5, "x") for i in range(first, first + count)]


def folded(engine, operations):
    """Return the deltas of the operations; the engine's invariants hold after each."""
    deltas = []
    for operation in operations:
        deltas.append(engine.apply(operation))
        engine.check()
    return deltas
