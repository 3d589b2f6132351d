"""What the machine that compares stores draws its steps of, and looks up."""

from typing import Any

from hypothesis import strategies as st

from psoup.engine.limits import SECOND_US
from psoup.engine.tuples.schema import StreamSchema
from tests.storage.samples import declare

STREAMS = ("a", "a", "a", "b", "c")
names = st.sampled_from(STREAMS)
offsets = st.sampled_from([0] * 12 + [1])
numbers = st.integers(0, 5)
parts = st.integers(0, 9)
lives = st.sampled_from([True] * 7 + [False])
keys = st.none() | st.tuples(st.sampled_from("ppqrst"), st.sampled_from("uuuw"), lives)
"""A request's key: its name, what was sent with it, and whether it counts for a day or no longer than it takes."""
lifetimes = st.sampled_from([None, 0, 0, 86_400 * SECOND_US])
"""Of queries, over at once or never: the server has a clock of its own."""
looked_at = st.sampled_from([None] * 5 + [1, 1, 2])
"""How many columns the declaration had that something was checked against; None = it does not say."""
DEFINED: dict[str, Any] = {
    "name": names,
    "offset": offsets,
    "number": numbers,
    "sql": st.sampled_from(["p", "q", "r"]),
    "query_name": st.none() | st.sampled_from(["first", "second"]),
    "columns": looked_at,
    "ttl_us": lifetimes,
}
"""What a registration and a replacement are drawn of."""


def declared(name: str, columns: int | None) -> StreamSchema | None:
    """Return the declaration of `name` with so many columns."""
    return None if columns is None else declare(name, columns).schema


def reads(query, name):
    return name in str(query.canonical).partition(" of ")[2].split()
