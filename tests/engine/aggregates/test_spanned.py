"""Aggregates of rows that count several times, and of rows in spans, beside those of every row written out."""

import numpy as np
import pytest

from psoup.engine.aggregates.aggregated import aggregated, can_be_weighted, state_of
from psoup.engine.aggregates.groups import grouped
from psoup.engine.aggregates.spanned import Spans, can_be_spanned, state_of_spans
from psoup.engine.query.values.expression import AggregateFunction as Function
from psoup.engine.tuples.schema import ColumnType as Type
from tests.engine.aggregates.reference import bits, call_of, functions_of
from tests.engine.columns import chunk_values, column_of

COUNT, GROUPS = 50, 4
CALLS = [
    call_of(function, kind, distinct=distinct)
    for kind in Type
    for function in functions_of(kind)
    for distinct in (False, True)
    if not distinct or function in (Function.COUNT, Function.SUM, Function.AVG, Function.VAR_POP)
] + [call_of(Function.COUNT, None)]


def of_all(call, values, passes, labels):
    """Return the results of rows that each count once, in groups of which some may have none, as a list."""
    column = column_of(call.arguments[0].type, values) if call.arguments else None
    columns = [] if column is None else [column] * len(call.arguments)
    # A row that does not pass holds each group.
    keys = column_of(Type.INT64, [*labels, *range(GROUPS)])
    nobody = np.full(GROUPS, GROUPS + len(labels))
    places = np.concatenate((np.arange(len(labels)), np.zeros(GROUPS, dtype=np.int64)))
    passes = np.concatenate((passes, np.zeros(GROUPS, dtype=np.bool_)))
    ids = np.concatenate((np.arange(len(labels)), nobody))
    columns = [one.take(places) for one in columns]
    groups = grouped([keys], len(places))
    found = aggregated(call, columns, passes, groups=groups, times=ids, tuple_ids=ids)
    return bits(found.column.to_list()), found.overflowed


def drawn(call, seed):
    """Return values of the call's argument, and which of them pass."""
    kind = call.arguments[0].type if call.arguments else Type.INT64
    values = chunk_values(kind, seed=seed, count=COUNT)
    if kind is Type.FLOAT64 and seed % 2:
        values = np.random.default_rng(seed).normal(size=COUNT).tolist()
    return kind, values, np.random.default_rng(seed).random(COUNT) < (0.7 if seed % 3 else 2)


@pytest.mark.parametrize("call", [one for one in CALLS if can_be_weighted(one)], ids=repr)
def test_weighted_rows_differential_are_as_many_rows(call):
    """Equal bits, with NULLs, extremes and FILTER."""
    for seed in range(3):
        kind, values, passes = drawn(call, seed)
        rng = np.random.default_rng(seed)
        weights, labels = rng.integers(1, 9, COUNT), rng.integers(0, GROUPS, COUNT)
        column, ids = column_of(kind, values), np.arange(COUNT)
        state = state_of(
            call,
            [column] * len(call.arguments),
            passes,
            groups=grouped([column_of(Type.INT64, labels.tolist())], COUNT),
            times=ids,
            tuple_ids=ids,
            weights=weights,
        )
        found = state.finished(call)
        every = np.repeat(ids, weights)
        expected = of_all(call, [values[at] for at in every], passes[every], labels[every].tolist())
        assert expected == (bits(found.column.to_list()), found.overflowed)


@pytest.mark.parametrize("call", [one for one in CALLS if can_be_spanned(one)], ids=repr)
def test_rows_in_spans_differential_are_the_rows_written_out(call):
    """Spans that overlap, each several times; a group without one, and one whose rows do not pass."""
    for seed in range(3):
        kind, values, passes = drawn(call, seed)
        rng, spans = np.random.default_rng(seed), 30
        low, weights = rng.integers(0, COUNT, spans), rng.integers(1, 4, spans)
        high = low + 1 + rng.integers(0, COUNT - low)
        labels = rng.integers(0, GROUPS - 1, spans)
        state = state_of_spans(
            call,
            [column_of(kind, values)] * len(call.arguments),
            None if passes.all() else passes,
            Spans(low, high, weights, labels, GROUPS),
        )
        found = state.finished(call)
        every = [
            (at, label)
            for begin, past, weight, label in zip(low, high, weights, labels, strict=True)
            for at in [*range(begin, past)] * weight
        ]
        expected = of_all(
            call,
            [values[at] for at, _ in every],
            np.array([passes[at] for at, _ in every]),
            [int(label) for _, label in every],
        )
        assert expected == (bits(found.column.to_list()), found.overflowed)


def test_no_spans_are_groups_of_no_rows():
    """COUNT is 0, all else NULL."""
    none = np.empty(0, dtype=np.int64)
    for call in filter(can_be_spanned, CALLS):
        columns = [column_of(one.type, []) for one in call.arguments]
        found = state_of_spans(call, columns, None, Spans(none, none, none, none, 1)).finished(call)
        assert [0 if call.function is Function.COUNT else None] == found.column.to_list()
