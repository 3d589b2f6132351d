"""Notes for the user before the first row is sent, about all values of the files.

They say which words are read as NULL, in which format times are read, which unit of times is likely mistaken, and where
empty texts stand beside NULL.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from psoup.engine.limits import SECOND_US
from psoup.engine.query.canonical import sql_name
from psoup.engine.tuples.schema import ColumnType
from psoup.engine.tuples.time_unit import TimeUnit, likely_unit
from psoup.pipeline.files.columns.counted_times import CountedTimes
from psoup.pipeline.files.columns.decisions import written_as
from psoup.pipeline.files.columns.kinds import InferredColumn
from psoup.pipeline.files.times.forms import ISO

_NAMES_SHOWN: Final = 8


def notes_on(columns: Sequence[InferredColumn], *, time: str | None) -> tuple[str, ...]:
    """Return sentences about decisions for columns; a marker is named once, with all its columns.

    Args:
        columns: of all files together, with their types in the stream.
        time: the column that --epoch is about.
    """
    return (
        *_markers(columns),
        *_times(columns),
        *(c.warning for c in columns if c.warning),
        *_quoted(columns),
        *(sentence for column in columns for sentence in _early(column, time=time)),
        *_empty_texts(columns),
    )


def _quoted(columns: Sequence[InferredColumn]) -> list[str]:
    """Return a sentence about words of SQL, and names with signs, which SQL reads in double quotes alone."""
    names = [quoted for c in columns if (quoted := sql_name(c.name)) != c.name]
    return [f"in SQL these names stand in double quotes: {_listed(names)}"] if names else []


def _empty_texts(columns: Sequence[InferredColumn]) -> list[str]:
    """Return a sentence about text columns in which some values are empty and others NULL."""
    names = [
        sql_name(c.name)
        for c in columns
        if c.type is ColumnType.STRING and c.empty_texts and c.nulls
    ]
    if not names:
        return []
    sentence = (
        f"empty texts stand beside NULL in {_listed(names)}: an empty text is no NULL, so IS NULL does not find it;"
        f" {names[0]} IS NULL OR {names[0]} = '' finds both"
    )
    return [sentence]


def _early(column: InferredColumn, *, time: str | None) -> Iterator[str]:
    """Yield a sentence if all times lie in 1970 since numbers were read so, or some that look like another unit."""
    counted = column.counted
    if counted is None or not counted.early or column.type is not ColumnType.TIMESTAMP:
        return
    option = "--epoch " if column.name == time else f"--time-format {column.name}="
    whole = counted.early == counted.count
    each_us = counted.unit.microseconds
    likely = likely_unit(*(round(us / each_us) for us in (counted.least_us, counted.most_us)))
    seen = f"{column.name} is read by {option}{counted.unit}: {_share(counted)} in 1970"
    if likely is not None and whole:
        yield f"{seen}; the numbers look like {_spoken(likely)}: {option}{likely} reads them so"
    elif likely is not None:
        yield (
            f"{seen}, and their numbers look like {_spoken(likely)}: one column is read in one unit, so write"
            " all numbers in the same one, or load these rows from a file of their own"
        )
    elif whole:
        yield (
            f"{seen}, from {_instant(counted.least_us)} to {_instant(counted.most_us)}: right where they count from"
            " 1970; windows measure the time between rows and work in either case"
        )


def _share(counted: CountedTimes) -> str:
    if counted.early < counted.count:
        verb = "lies" if counted.early == 1 else "lie"
        return f"{counted.early:,} of {counted.count:,} times {verb}"
    return "its only time lies" if counted.count == 1 else f"all {counted.count:,} times lie"


def _spoken(unit: TimeUnit) -> str:
    return unit.spoken.partition(" ")[0]


def _instant(us: int) -> str:
    return str(datetime.fromtimestamp(us / SECOND_US, UTC).replace(tzinfo=None, microsecond=0))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")


def ambiguity(column: InferredColumn, *, time: str | None) -> str:
    """Return why the times of a column are ambiguous, and the options that decide. `time` is the column of --time."""
    name = "" if column.name == time else f"{column.name}="
    ways = " or ".join(f"'{name}{written_as(form, column.sample)}'" for form in column.ambiguous)
    return (
        f"no value tells the day from the month, as in {column.sample!r}: pass --time-format {ways}"
    )


def _markers(columns: Sequence[InferredColumn]) -> list[str]:
    """Return a sentence for each marker: the columns in which it is NULL, and text columns in which it is not."""
    empty: dict[str, list[str]] = {}
    kept: dict[str, list[str]] = {}
    for column in columns:
        where = kept if column.type is ColumnType.STRING else empty
        for marker, count in column.markers.items():
            where.setdefault(marker, []).append(f"{sql_name(column.name)} ({count:,})")
    sentences = []
    for marker, places in sorted(empty.items()):
        sentence = (
            f'{marker} is NULL in {", ".join(places)}; --types "COLUMN string" keeps it as text'
        )
        if marker in kept:
            sentence += (
                f"; it stays text in {', '.join(kept[marker])}, unless --null {marker} is passed"
            )
        sentences.append(sentence)
    return sentences


def _times(columns: Sequence[InferredColumn]) -> list[str]:
    return [
        f"{column.name} is read as {written_as(column.reading.form, column.sample)}, such as {column.sample!r}"
        for column in columns
        if column.type is ColumnType.TIMESTAMP and column.reading.form is not ISO and column.sample
    ]
