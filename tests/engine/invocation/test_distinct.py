"""DISTINCT against dicts."""

import numpy as np
from hypothesis import given, strategies as st

from psoup.engine.invocation.distinct import first_and_last
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType

cells = st.tuples(
    st.sampled_from([None, 0, 1, -5]),
    st.sampled_from([None, "", "a", "b"]),
    st.sampled_from([0.0, -0.0, 1.5]),
)


def columns_of(rows):
    numbers, texts, floats = zip(*rows, strict=True) if rows else ((), (), ())
    codes = {"": 2, "a": 0, "b": 1, None: 0}
    return [
        Column(
            ColumnType.INT64,
            np.array([7 if n is None else n for n in numbers], np.int64),
            np.array([n is not None for n in numbers], np.bool_),
        ),
        Column(
            ColumnType.STRING,
            np.array([codes[t] for t in texts], np.int32),
            np.array([t is not None for t in texts], np.bool_),
            ("a", "b", ""),
        ),
        Column(ColumnType.FLOAT64, np.array(floats, np.float64)),
    ]


@given(st.lists(cells, max_size=30))
def test_first_and_last_of_any_rows_oracle_group_equal_rows(rows):
    """Equal rows, NULL equal to NULL, are one group: its first place, its last place, in order."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for i, row in enumerate(rows):
        groups.setdefault(row, []).append(i)
    first, last = first_and_last(columns_of(rows), len(rows))
    expected = [(places[0], places[-1]) for places in groups.values()]
    assert expected == list(zip(first.tolist(), last.tolist(), strict=True))


def test_first_and_last_without_columns_is_one_group():
    """Rows of nothing are all equal."""
    first, last = first_and_last([], 4)
    assert ([0], [3]) == (first.tolist(), last.tolist())
