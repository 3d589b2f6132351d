"""Columns of Python values, and sets of values, for tests of everything that compares them."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.query.values.expression import CompareOp
from psoup.engine.query.values.value_set import (
    EVERY_VALUE,
    EVERYTHING,
    NO_VALUE,
    NULL_ALONE,
    intersection,
    values_among,
    values_where,
)
from psoup.engine.tuples.batch import DTYPES, Column
from psoup.engine.tuples.schema import ColumnType
from tests.strategies import POOLS

FLOAT_MAX = 1.7976931348623157e308

EXTREMES: dict[ColumnType, list[Any]] = {
    ColumnType.INT64: [-(2**63), -(2**63) + 1, 2**63 - 2, 2**63 - 1],
    ColumnType.FLOAT64: [-FLOAT_MAX, FLOAT_MAX, -5e-324, 5e-324, -0.0, 0.0],
    ColumnType.BOOL: [],
    ColumnType.STRING: ["", "\0", "a\0", "a\0\0", "\uffff", "\U00010000", "\U0010ffff"],
    ColumnType.TIMESTAMP: [-(2**63), 2**63 - 1],
}
"""Beside the pools: the ends of each type, and texts that differ in U+0000 or past U+FFFF alone."""


def pool(kind):
    """Return all the values that are drawn of a type."""
    often, edges = POOLS[kind]
    return [*often, *edges, *EXTREMES[kind]]


def column_of(kind, values):
    """Return Python values, None for NULL, as a column whose dictionary also holds unused texts."""
    valid = np.array([value is not None for value in values], dtype=np.bool_)
    dictionary = None
    if kind is ColumnType.STRING:
        texts = [*dict.fromkeys(value for value in values if value is not None), "un", "used"]
        codes = {text: code for code, text in enumerate(texts)}
        dictionary = texts
        filled = [codes.get(value, 0) for value in values]
    else:
        filled = [0 if value is None else value for value in values]
    return Column(kind, np.array(filled, DTYPES[kind]), None if valid.all() else valid, dictionary)


def chunk_values(kind, *, seed, among=None, nulls=0.1, count=CHUNK_ROWS):
    """Return `count` values of a type, from its pool or `among`, NULL as often as asked."""
    rng = np.random.default_rng(seed)
    some = pool(kind) if among is None else list(among)
    picked = rng.integers(0, max(1, len(some)), count).tolist()
    null = rng.random(count) < (nulls if some else 1.0)
    return [None if n else some[i] for i, n in zip(picked, null.tolist(), strict=True)]


@st.composite
def value_sets(draw, kind):
    """Draw what a WHERE of any shape may ask of an attribute: unions, holes, points, NULL."""
    constants = st.sampled_from(pool(kind))
    parts = st.one_of(
        st.builds(values_where, st.sampled_from(list(CompareOp)), constants),
        st.builds(values_among, st.lists(constants, max_size=8)),
        st.sampled_from([NULL_ALONE, NO_VALUE, EVERY_VALUE, EVERYTHING]),
    )
    made = draw(parts)
    for _ in range(draw(st.integers(0, 3))):
        other = draw(parts)
        made = made.union(other) if draw(st.booleans()) else intersection((made, other))
    return made


def satisfying(values, asked):
    """Return the places of the values that belong to the set, one by one."""
    known = {value: asked.contains(value) for value in set(values)}
    return {i for i, value in enumerate(values) if known[value]}
