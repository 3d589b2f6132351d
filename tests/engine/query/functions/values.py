"""Values at the edges of their types, drawn ones, and the expressions that are asked of them.

`i`, `f`, `t` and `te` of a tuple may be anything, `j` counts characters or digits.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

from hypothesis import strategies as st

from psoup.engine.limits import TIMESTAMP_US_MAX, TIMESTAMP_US_MIN
from psoup.engine.query.values.expression import Value
from psoup.engine.query.values.value_set import INT64_MAX, INT64_MIN
from tests.reference_values import Row

YEAR_2000_US = 946_684_800_000_000
FLOATS = """
    0.0 -0.0 0.5 -0.5 1.5 2.5 -2.5 0.49999999999999994 1.005 2.675 123.456 1e15 1e16 1e-5 5e-324 -5e-324
    2.2250738585072014e-308 1e308 -1e308 1.7976931348623157e308 9007199254740992 9007199254740994 9.223372036854775e18
    9223372036854775808 -9223372036854775808 1e300 100 0.1 -8 0.3333333333333333
"""
WORDS = """
    a A ACME hello xxaxx ß İ ΑΣ ǅ é é 🤦🏼‍♂️ 日本 ﬀ a%b_c\\ it's ẞ 1 -5 +7 1.5 2.5 -2.5 1e3 1e-3 15e-1 .5 1. 1_000
    0.49999999999 9223372036854775807 9223372036854775808 -9223372036854775808 1e400 1e-400 1e19 - true T yes N 0
    False on 12a 2014-01-05
"""
INTS = (0, 1, -1, 2, -2, 5, -7, 15, 149, 150, -150, 2**31, 2**53 + 1, INT64_MAX, INT64_MIN)
COUNTS = (0, 1, 2, 3, -1, -2, -3, 4, 7, -9, 400, -400)
TEXTS = (
    *("", "Hello World", "  padded  ", "\ttab\n", "\u2003em\u00a0", " 12 ", " true "),
    *("2014-01-05 12:30:15", "1969-12-31 23:59:59.5", "2014-02-30", *WORDS.split()),
)
TIMES = (
    *(0, -1, 1, YEAR_2000_US, YEAR_2000_US - 1, TIMESTAMP_US_MIN, TIMESTAMP_US_MAX),
    *(TIMESTAMP_US_MIN + 1, TIMESTAMP_US_MAX - 1, -12_345_678_901_234, 1_388_923_200_500_000),
)
EDGES: Mapping[str, Sequence[Value | None]] = {
    "i": (None, *INTS),
    "j": (None, *COUNTS),
    "f": (None, *map(float, FLOATS.split())),
    "g": (None, *map(float, FLOATS.split())),
    "b": (None, False, True),
    "c": (None, False, True),
    "t": (None, *TEXTS),
    "u": (None, *TEXTS),
    "ts": TIMES,
    "te": (None, *TIMES),
}

EXPRESSIONS = Path(__file__).parent / "expressions.sql"
LAST = "TIMESTAMP '9999-12-31 23:59:59.999999'"

_CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
_TEXTS = (
    st.sampled_from(TEXTS)
    | st.text(st.sampled_from("aAbBxX éÉßσΣ日\u0301 %_1.5-+e"), max_size=8)
    | st.text(_CHARACTERS, max_size=6)
)
_FLOATS = st.sampled_from(EDGES["f"][1:]) | st.floats(allow_nan=False, allow_infinity=False)
_INTS = st.sampled_from(INTS) | st.integers(INT64_MIN, INT64_MAX) | st.integers(-30, 30)
_TIMES = st.sampled_from(TIMES) | st.integers(TIMESTAMP_US_MIN, TIMESTAMP_US_MAX)


def drawn_rows() -> st.SearchStrategy[list[Row]]:
    """Draw tuples."""
    columns: dict[str, st.SearchStrategy[Value | None]] = {
        "i": st.none() | _INTS,
        "j": st.none() | st.sampled_from(COUNTS),
        "f": st.none() | _FLOATS,
        "g": st.none() | _FLOATS,
        "b": st.sampled_from(EDGES["b"]),
        "c": st.sampled_from(EDGES["c"]),
        "t": st.none() | _TEXTS,
        "u": st.none() | _TEXTS,
        "ts": _TIMES,
        "te": st.none() | _TIMES,
    }
    return st.lists(st.fixed_dictionaries(columns), min_size=1, max_size=8)


def edge_rows(count: int) -> list[Row]:
    """Return tuples in which every value at an edge stands, beside others by chance."""
    rng = Random(9)
    columns = {}
    for name, pool in EDGES.items():
        listed = [*pool, *rng.choices(pool, k=count)][:count]
        rng.shuffle(listed)
        columns[name] = listed
    return [{name: listed[i] for name, listed in columns.items()} for i in range(count)]


def expressions() -> dict[str, str]:
    """Return the expressions of the file, each beside what DuckDB has to be asked for it."""
    found = {}
    for line in EXPRESSIONS.read_text(encoding="utf-8").splitlines()[1:]:
        text, _, words = line.partition(" --> ")
        if text.startswith("TIME "):
            text = text.removeprefix("TIME ")
            between = f"BETWEEN TIMESTAMP '0001-01-01' AND {LAST}"
            words = f"epoch_us(CASE WHEN {text} {between} THEN {text} END)"
        found[text] = words or text
    return found
