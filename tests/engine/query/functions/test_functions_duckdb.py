"""Every function and every cast gives what DuckDB gives, over drawn values and those at the edges of their types.

Where DuckDB raises, or gives an infinity, psoup gives NULL. What else differs is written in `expressions.sql`, and
explained in decision record 0005.
"""

import math

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from psoup.engine.query.functions import texts
from psoup.engine.query.functions.casts import CASTS
from psoup.engine.query.functions.table import ALIASES, FUNCTIONS, PARTS_AS_FUNCTIONS
from psoup.engine.query.functions.times import PARTS, UNITS_US_MAX
from psoup.engine.query.values.evaluate import evaluate
from psoup.engine.query.values.expression import Value
from psoup.engine.tuples.schema import ColumnType
from tests.engine.query.expression_strategies import SCHEMA, bound, columns_of
from tests.engine.query.functions.values import TEXTS, drawn_rows, edge_rows, expressions
from tests.oracle_duckdb import DuckDbOracle
from tests.reference_values import Row

WRITTEN = expressions()
COLUMNS = {
    ColumnType.INT64: "i",
    ColumnType.FLOAT64: "f",
    ColumnType.BOOL: "b",
    ColumnType.STRING: "t",
    ColumnType.TIMESTAMP: "te",
}


def shown(text: str, rows: list[Row]) -> list[Value | None]:
    """Return psoup's values of an expression."""
    (output,) = bound(f"SELECT {text} AS value FROM s").shape.outputs
    column = evaluate(output.expression, columns_of(SCHEMA, rows), len(rows))
    assert output.type is column.type
    return column.to_list()


def duckdb_values(oracle: DuckDbOracle, text: str) -> list[object]:
    """Return DuckDB's values of an expression; NULL where it raises or is no finite number."""
    listed = oracle.scalar(f"SELECT list(TRY({text}) ORDER BY _tuple_id) FROM s")
    assert isinstance(listed, list)
    return [
        None if isinstance(value, float) and not math.isfinite(value) else value for value in listed
    ]


def is_same(ours: object, theirs: object) -> bool:
    """Return whether two values are the same, -0.0 and 0.0 told apart; numbers of any type."""
    if isinstance(ours, float) and isinstance(theirs, float) and not ours:
        return ours == theirs and math.copysign(1, ours) == math.copysign(1, theirs)
    return ours == theirs


def differences(rows: list[Row], written: dict[str, str]) -> list[str]:
    """Return the expressions of which psoup and DuckDB have different values over these tuples."""
    numbers = range(1, len(rows) + 1)
    found = []
    with DuckDbOracle() as oracle:
        oracle.load(SCHEMA, rows, tuple_ids=numbers, times_us=numbers)
        for text, words in written.items():
            theirs = duckdb_values(oracle, words)
            found += [
                f"{text} of {row}: {ours!r}, DuckDB {other!r}"
                for row, ours, other in zip(rows, shown(text, rows), theirs, strict=True)
                if not is_same(ours, other)
            ]
    return found


def test_oracle_every_function_gives_at_the_edges_what_duckdb_gives():
    """Every value at an edge of its type, NULL too, in every argument."""
    rows = edge_rows(80)
    assert set(TEXTS) <= {row["t"] for row in rows}
    assert [] == differences(rows, WRITTEN)


@given(data=st.data())
def test_oracle_function_of_drawn_values_gives_what_duckdb_gives(data):
    """A few of the expressions over drawn tuples."""
    rows = data.draw(drawn_rows())
    some = st.lists(st.sampled_from(sorted(WRITTEN)), min_size=1, max_size=6, unique=True)
    assert [] == differences(rows, {text: WRITTEN[text] for text in data.draw(some)})


@pytest.mark.parametrize(
    "planes", [(0, 1, 2, 3, 14), pytest.param(range(17), marks=pytest.mark.slow)], ids=len
)
def test_oracle_letters_of_all_scripts_change_as_they_do_in_duckdb(planes):
    """LOWER, UPPER and TRIM of every character there is; and of those that are none yet, or private."""
    codes = (code for plane in planes for code in range(plane << 16, plane + 1 << 16))
    characters = [chr(code) for code in codes if code and not 0xD800 <= code < 0xE000]
    connection = duckdb.connect()
    connection.register("characters", pa.table({"c": characters}))
    changed = "SELECT c, lower(c), upper(c), trim(c) FROM characters WHERE lower(c) <> c OR upper(c) <> c OR trim(c) <> c"
    theirs = set(connection.sql(changed).fetchall())
    connection.close()
    asked = ((c, texts.lower(c), texts.upper(c), texts.trim(c)) for c in characters)
    ours = {made for made in asked if made != (made[0],) * 4}
    assert len(theirs) > 2_000
    assert set() == ours ^ theirs


def test_oracle_asks_every_function_alias_unit_and_cast():
    """What is added to the tables stands among the expressions, too."""
    asked = "\n".join(WRITTEN)
    names = [f"{name}(" for name in (*FUNCTIONS, *ALIASES, *PARTS_AS_FUNCTIONS)]
    names = [name for name in names if name not in ("CASE(", "||(", "CAST(")]
    names += [f"DATE_TRUNC('{unit}'" for unit in UNITS_US_MAX]
    names += [f"EXTRACT({part} FROM" for part in PARTS]
    names += [f"CAST({COLUMNS[source]} AS {kind.sql_name})" for source, kind in CASTS]
    assert [] == [name for name in names if name not in asked]
