"""Worlds of queries whose shape does more than select: groups, HAVING, ORDER BY, LIMIT, OFFSET; and their clients."""

from dataclasses import replace
from random import Random
from typing import Any

from psoup.engine.invocation.answer import Answer
from psoup.engine.invocation.cache import InvocationCache
from psoup.engine.query.bind.bound_queries import BoundQueries, Declared
from psoup.engine.query.reading import Reading
from psoup.engine.query.shape import Ordering, Output, Shape
from psoup.engine.query.values.expression import (
    AggregateCall,
    AggregateFunction,
    Compare,
    CompareOp,
    Constant,
    Expression,
    GroupKey,
)
from psoup.engine.tuples.schema import ColumnType
from tests.agreement.deltas.delta_world import DeltaWorld


class ShapedQueries(BoundQueries):
    """Bound queries, all of one shape. Until it is known each has its own."""

    def __init__(self) -> None:
        super().__init__()
        self.shape: Shape | None = None

    def reading(self, canonical: str, declared: Declared) -> Reading:
        found = super().reading(canonical, declared)
        return found if self.shape is None else Reading(found.clause, self.shape)


class GroupWorld(DeltaWorld):
    """One query and its clients, drawn from a seed."""

    def __init__(self, seed: int) -> None:
        self.bound = ShapedQueries()
        super().__init__(seed)
        self.distinct = False
        self.world.cache = self.fresh_cache()
        self.fold()
        twin = self.twin.queries[self.query_id]
        self.shape = drawn_shape(self.rng, twin.bound.shape.outputs)
        self.bound.shape = self.shape
        self.twin.queries[self.query_id] = replace(
            twin, bound=replace(twin.bound, shape=self.shape)
        )

    def fresh_cache(self) -> InvocationCache:
        return InvocationCache(self.bound)

    def ask(self, **request: Any) -> Answer:
        answer = super().ask(**request)
        if self.shape.delta == "replace":
            assert answer.reset or answer.unchanged or request.get("position") is not None
        return answer

    @property
    def keyed_by_values(self) -> bool:
        return self.shape.distinct

    @property
    def exact_changes(self) -> bool:
        """Whether the answer changes at `changes_us`: HAVING and LIMIT may hide what does."""
        return False


def drawn_shape(rng: Random, outputs: tuple[Output, ...]) -> Shape:
    """Return a shape over the columns `a` and `t` of some outputs."""
    columns = {output.name: output.expression for output in outputs}
    if rng.random() < 0.3:
        return _rows(rng, outputs, columns)
    return _groups(rng, columns)


def _rows(rng: Random, outputs: tuple[Output, ...], columns: dict[str, Expression]) -> Shape:
    by_number = Ordering(columns["a"], descending=rng.random() < 0.5)
    by_text = Ordering(columns["t"], nulls_first=rng.random() < 0.5)
    distinct = rng.random() < 0.3
    if distinct:
        outputs = tuple(output for output in outputs if output.name in columns.keys() & {"a", "t"})
    limit, offset = rng.choice([(None, 0), (2, 0), (5, 0), (3, 2), (None, 2), (0, 0)])
    order = rng.choice([(), (by_number,), (by_text, by_number)])
    return Shape(outputs, distinct, order=order, limit=limit, offset=offset)


def _groups(rng: Random, columns: dict[str, Expression]) -> Shape:
    number, text = columns["a"], columns["t"]
    keys = rng.choice([(), (text,), (number,), (text, number)])
    count, total, least, last, texts, mean = calls = (
        _call("COUNT"),
        _call("SUM", number),
        _call("MIN", number, only=Compare(CompareOp.GT, number, Constant(5, ColumnType.INT64))),
        _call("LAST", text),
        _call("COUNT", text, distinct=True),
        _call("AVG", number),
    )
    conditions = (
        Compare(CompareOp.GE, count, Constant(2, ColumnType.INT64)),
        Compare(CompareOp.LT, count, Constant(3, ColumnType.INT64)),
        Compare(CompareOp.GT, total, Constant(9, ColumnType.INT64)),
    )
    having = rng.choice([None, None, *conditions])
    orders = ((Ordering(total, descending=True),), (Ordering(last), Ordering(mean)))
    order = rng.choice([(), (), *orders])
    limit, offset = rng.choice([(None, 0), (None, 0), (None, 0), (2, 0), (2, 1), (None, 1)])
    distinct = rng.random() < 0.1
    listed: list[Expression] = [count, total, least, last, texts, mean]
    if not distinct:
        listed = [*(GroupKey(i, key, key.type) for i, key in enumerate(keys)), *listed]
    shown = tuple(Output(f"c{i}", one) for i, one in enumerate(listed))
    return Shape(shown, distinct, keys, calls, having, order, limit, offset)


_INTEGERS = {"COUNT", "SUM"}


def _call(
    name: str, *arguments: Expression, distinct: bool = False, only: Expression | None = None
) -> AggregateCall:
    kind = ColumnType.INT64 if name in _INTEGERS else ColumnType.FLOAT64
    if name in {"MIN", "LAST"}:
        kind = arguments[0].type
    return AggregateCall(AggregateFunction(name), arguments, distinct, only, kind)
