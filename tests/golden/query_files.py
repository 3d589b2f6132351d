"""Golden query files: a text, then behind `-->` what it must come to.

Blocks are separated by empty lines; a line beginning with `-- ` before the text is a heading. A comment
`-- {"min": 40}` at the end of a text gives its parameters. After a change that is meant, write the files again
and read the difference before keeping it:

    python -m tests.golden.query_files
"""

import functools
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from psoup.engine.errors import SqlError
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.canonical import sql_constant, sql_expression, sql_name
from psoup.engine.query.factor import (
    AttributeFactor,
    BandFactor,
    BooleanFactor,
    DerivedFactor,
    EquiFactor,
    ResidualFactor,
)
from psoup.engine.query.parameters import NO_PARAMETERS, Parameters
from psoup.engine.query.values.expression import Constant
from psoup.engine.query.values.value_set import Interval, ValueSet
from psoup.engine.tuples.schema import (
    ClockKind,
    ColumnSchema,
    ColumnType,
    Retention,
    StreamId,
    StreamSchema,
)
from tests.golden.answers import golden_world, shown_answer
from tests.world import World

MARK = "--> "
HEADING = "-- "
FOLDER = Path(__file__).parent
ACCEPTED = tuple(
    FOLDER / f"{name}.sql" for name in ("queries", "functions", "shapes", "parameters", "hops")
)
REFUSED = tuple(path.with_stem(f"{path.stem}__invalid") for path in ACCEPTED)
_GIVEN = re.compile(r"-- (\{.*\})$")

TRADES = StreamSchema(
    "trades",
    (
        ColumnSchema("sym", ColumnType.STRING, nullable=False),
        ColumnSchema("px", ColumnType.FLOAT64),
        ColumnSchema("qty", ColumnType.INT64),
        ColumnSchema("open", ColumnType.BOOL),
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("Name", ColumnType.STRING),
        ColumnSchema("order", ColumnType.INT64),
    ),
    time="ts",
    clock=ClockKind.HIGH_WATER,
    retention=Retention(time_us=3_600_000_000),
)
STREAMS = {
    "trades": (StreamId(1), TRADES),
    "Quotes": (StreamId(2), StreamSchema("Quotes", TRADES.columns, "ts", ClockKind.HIGH_WATER)),
    "symbols": (
        StreamId(3),
        StreamSchema(
            "symbols",
            (
                ColumnSchema("id", ColumnType.STRING, nullable=False),
                ColumnSchema("lot", ColumnType.INT64),
                ColumnSchema("since", ColumnType.TIMESTAMP, nullable=False),
            ),
            time="since",
            clock=ClockKind.HIGH_WATER,
        ),
    ),
    "arrivals": (
        StreamId(4),
        StreamSchema("arrivals", (ColumnSchema("sym", ColumnType.STRING),), None, ClockKind.SERVER),
    ),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A heading (or ""), a query text, and the lines it must come to."""

    heading: str
    text: str
    expected: tuple[str, ...]

    def block(self, lines: tuple[str, ...]) -> str:
        """Return the case as the file holds it, coming to `lines`."""
        heading = [HEADING + self.heading] if self.heading else []
        return "\n".join([*heading, self.text, *(MARK + line for line in lines)])


def read_all_cases(paths: Sequence[Path]) -> list[Case]:
    """Return the cases of golden files, in their order."""
    return [case for path in paths for case in read_cases(path)]


def read_cases(path: Path) -> list[Case]:
    """Return the cases of a golden file, in its order."""
    cases = []
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        lines = block.split("\n")
        heading = lines.pop(0).removeprefix(HEADING) if lines[0].startswith(HEADING) else ""
        given = [line for line in lines if not line.startswith(MARK)]
        expected = tuple(line.removeprefix(MARK) for line in lines if line.startswith(MARK))
        cases.append(Case(heading, "\n".join(given), expected))
    return cases


def write_cases(path: Path, outcome: Callable[[str], tuple[str, ...]]) -> None:
    """Write the file again with what its texts come to now."""
    blocks = [case.block(outcome(case.text)) for case in read_cases(path)]
    path.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


def given(text: str) -> Parameters:
    """Return the parameters that a text is registered with."""
    found = _GIVEN.search(text)
    return NO_PARAMETERS if found is None else json.loads(found[1])


def accepted(text: str) -> tuple[str, ...]:
    """Return what an accepted query comes to: canonical text, windows, columns, factors, warnings, answer."""
    query = bind(text, STREAMS, given(text))
    columns = ", ".join(f"{sql_name(o.name)} {o.type}" for o in query.shape.outputs)
    return (
        query.canonical,
        f"{query.window.kind}: {columns}",
        *(["delta replace"] if query.shape.delta == "replace" else []),
        *([f"ranges {list(query.ranges)}"] if query.ranges else []),
        *(f"factor {shown_factor(factor)}" for factor in query.clause.factors),
        *(f"warning {warning.code}" for warning in query.warnings),
        *shown_answer(_world(), query),
    )


@functools.cache
def _world() -> World:
    return golden_world([schema for _, schema in STREAMS.values()])


def refused(text: str) -> tuple[str, ...]:
    """Return what a refused query comes to: code, line:column:length, the text pointed at, what its author reads."""
    try:
        query = bind(text, STREAMS, given(text))
    except SqlError as error:
        at = error.position
        line = text.split("\n")[at.line - 1]
        pointed = line[at.column - 1 : at.column - 1 + at.length]
        pointing = f"{error.code} {at.line}:{at.column}:{at.length} {pointed}".rstrip()
        return (pointing, error.quoting, error.hint)
    return (f"accepted as {query.canonical}",)


def shown_factor(factor: BooleanFactor) -> str:
    """Return a factor as a reader checks it: `px in (40.0, ..)`, an equality, a band, or the residual expression."""
    match factor:
        case DerivedFactor(attribute=attribute, values=values):
            return (
                f"{sql_expression(attribute.function)} in {_shown_values(values, attribute.type)}"
            )
        case ResidualFactor(expression=expression):
            return f"residual {sql_expression(expression)}"
        case EquiFactor(left=left, right=right):
            return f"equal {sql_expression(left)} = {sql_expression(right)}"
        case BandFactor():
            return _shown_band(factor)
        case AttributeFactor(column=column, values=values):
            return f"{sql_expression(column)} in {_shown_values(values, column.type)}"


def _shown_band(factor: BandFactor) -> str:
    low = ".." if factor.low is None else repr(factor.low)
    high = ".." if factor.high is None else repr(factor.high)
    ends = "[" if factor.low_closed and factor.low is not None else "("
    past = "]" if factor.high_closed and factor.high is not None else ")"
    about = "exactly" if factor.exact else f"by {len(factor.conditions)}"
    difference = f"{sql_expression(factor.left)} less {sql_expression(factor.right)}"
    return f"band {difference} in {ends}{low}, {high}{past} {about}"


def _shown_values(values: ValueSet, kind: ColumnType) -> str:
    parts = [_shown_interval(interval, kind) for interval in values.intervals]
    parts += ["NULL"] if values.null else []
    return " or ".join(parts) or "nothing"


def _shown_interval(interval: Interval, kind: ColumnType) -> str:
    low = ".." if interval.low is None else sql_constant(Constant(interval.low, kind))
    high = ".." if interval.high is None else sql_constant(Constant(interval.high, kind))
    if low == high != "..":
        return f"[{low}]"
    return (
        f"{'[' if interval.low_closed else '('}{low}, {high}{']' if interval.high_closed else ')'}"
    )


if __name__ == "__main__":
    for path in ACCEPTED:
        write_cases(path, accepted)
    for path in REFUSED:
        write_cases(path, refused)
