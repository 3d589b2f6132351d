"""Drawn select lists, groups, orders and limits over one stream, with aliases that are called like columns."""

from dataclasses import dataclass

from hypothesis import strategies as st

from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamId, StreamSchema

SCHEMA = StreamSchema(
    "s",
    (
        ColumnSchema("a", ColumnType.INT64),
        ColumnSchema("b", ColumnType.INT64),
        ColumnSchema("f", ColumnType.FLOAT64),
        ColumnSchema("t", ColumnType.STRING),
        ColumnSchema("p", ColumnType.BOOL),
        ColumnSchema("u", ColumnType.INT64),
    ),
    None,
    ClockKind.SERVER,
)
STREAMS = {"s": (StreamId(1), SCHEMA)}

KEYS = ["a", "b", "t", "p", "a + 1", "a > 1", "s.b", "t = 'x'", "f > 1 AND p", "a + b", "ABS(a)"]
ROWS = [*KEYS, "f", "a * 2 + b", "-a", "NOT p", "a IN (1, 2)", "a IS NULL", "t LIKE 'x%'", "1"]
AGGREGATES = [
    "COUNT(*)",
    "COUNT(a)",
    "COUNT(DISTINCT t)",
    "SUM(a + b)",
    "SUM(b) FILTER (WHERE a > 1)",
    "AVG(b)",
    "MIN(t)",
    "MAX(DISTINCT f)",
    "BOOL_OR(p)",
    "COUNT(*) FILTER (WHERE p OR a = 1)",
    "MEDIAN(b)",
    "QUANTILE_CONT(a, 0.25)",
]
NAMES = ["a", "b", "t", "z", "n", "a + 1", "COUNT(*)"]
CAPITALS = ["A", "Z"]
"""Names that are others to psoup, which DuckDB takes for the same."""
CONDITIONS = ["{} IS NULL", "{} = {}", "NOT ({} IS NULL)", "{} IS NULL OR {} = {}", "TRUE"]


@dataclass(frozen=True)
class DrawnShape:
    """A query text, and what its ORDER BY is made of."""

    text: str
    is_distinct: bool


def _quoted(name: str) -> str:
    return name if name.isalpha() else f'"{name}"'


@st.composite
def _listed(draw, items, conditions=()):
    """Draw an item, or something made of some of them."""
    item = st.sampled_from(items)
    found = draw(item)
    if draw(st.integers(0, 3)) == 0 and conditions:
        pattern = draw(st.sampled_from(conditions))
        found = f"({pattern.format(*[draw(item) for _ in range(3)])})"
    return found


@st.composite
def shapes(draw, *, ties: bool = True):
    """Draw a query; without `ties` one whose order leaves nothing open, and whose names DuckDB tells apart."""
    is_grouped = draw(st.booleans())
    keys = draw(st.lists(st.sampled_from(KEYS), max_size=3)) if is_grouped else []
    items = [*keys, *AGGREGATES] if is_grouped else ROWS
    outputs: list[str] = []
    names: list[str] = []
    known = NAMES + CAPITALS if ties else NAMES
    for name in draw(st.lists(st.sampled_from(known), min_size=1, max_size=4, unique=True)):
        text = draw(_listed(items, ["{} IS NULL", "NOT ({} IS NULL)"]))
        is_named = bool(outputs) or draw(st.booleans())  # so that no two have one name
        outputs.append(f"{text} AS {_quoted(name)}" if is_named else text)
        names += [_quoted(name)] if is_named else []
    is_distinct = draw(st.integers(0, 4)) == 0
    parts = [f"SELECT {'DISTINCT ' if is_distinct else ''}{', '.join(outputs)} FROM s"]
    if draw(st.booleans()):
        parts.append("WHERE u > 2")
    if keys:
        written = [draw(st.sampled_from([key, *names, "1"])) for key in keys]
        parts.append(f"GROUP BY {', '.join(written)}")
    if is_grouped and draw(st.booleans()):
        parts.append(f"HAVING {draw(_listed([*names, *items], CONDITIONS))} IS NOT NULL")
    wanted = [
        f"{draw(_listed([*names, *names, *items, '1'], ['{} IS NULL']))}{draw(st.sampled_from(ENDS))}"
        for _ in range(draw(st.integers(0, 3)))
    ]
    if not ties and not is_distinct:
        wanted += [f"s.{key}" if key.isalpha() else key for key in keys] if is_grouped else ["s.u"]
    if wanted:
        parts.append(f"ORDER BY {', '.join(wanted)}")
    if ties:
        parts.append(draw(st.sampled_from(["", "LIMIT 5", "OFFSET 2", "LIMIT 0 OFFSET 7"])))
    return DrawnShape(" ".join(part for part in parts if part), is_distinct)


ENDS = ["", "", " DESC", " NULLS FIRST", " DESC NULLS LAST", " ASC", " DESC NULLS FIRST"]
