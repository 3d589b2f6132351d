"""What the first rows of a load show once they are read, and the user may not expect: times in 1970, empty texts.

Rows are looked at as they will be sent, whatever the format of the file.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from psoup.engine.limits import SECOND_US
from psoup.engine.query.canonical import sql_name
from psoup.engine.tuples.schema import ColumnSchema, ColumnType
from psoup.engine.tuples.time_unit import TimeUnit, likely_unit
from psoup.pipeline.errors import DataFileError
from psoup.pipeline.files.data_file import DataFile
from psoup.pipeline.files.options import EpochUnit

ROWS_MAX: Final = 20_000
FILES_MAX: Final = 8
_NAMES_SHOWN: Final = 8
_YEAR_US: Final = 366 * 24 * 3_600 * SECOND_US


def notes_on_first_rows(
    files: Sequence[DataFile], columns: Sequence[ColumnSchema], *, time: str | None
) -> tuple[str, ...]:
    """Return sentences about times that lie in 1970 since numbers were read so, and about empty texts beside NULL.

    A file whose rows cannot be read is left out: sending them says why.

    Args:
        files: opened and settled; the first FILES_MAX of them are looked at, ROWS_MAX rows of each.
        columns: of the stream.
        time: the column that --epoch is about.
    """
    dated: dict[str, str] = {}
    mixed: dict[str, None] = {}
    for data in files[:FILES_MAX]:
        try:
            first = next(data.batches(columns, rows=ROWS_MAX), None)
        except DataFileError:
            continue
        if first is None:
            continue
        for column, values in zip(columns, first.columns, strict=True):
            unit = data.epoch_of(column.name)
            if column.type is ColumnType.TIMESTAMP and unit is not None:
                for sentence in _in_1970(column.name, values, unit, is_time=column.name == time):
                    dated.setdefault(column.name, sentence)
            elif column.type is ColumnType.STRING and _has_both(values):
                mixed[sql_name(column.name)] = None
    return (*dated.values(), *_empty_texts(list(mixed)))


def _in_1970(name: str, times: pa.Array, unit: EpochUnit, *, is_time: bool) -> Iterator[str]:
    """Yield a sentence where all times lie in 1970, or in the year before it."""
    extremes = pc.min_max(times.cast(pa.int64()))
    least, most = extremes["min"].as_py(), extremes["max"].as_py()
    if least is None or least < -_YEAR_US or most > _YEAR_US:
        return
    option = "--epoch " if is_time else f"--time-format {name}="
    count = len(times) - times.null_count
    first = (
        "the time of the first row lies"
        if count == 1
        else f"the times of the first {count:,} rows lie"
    )
    seen = f"{name} is read by {option}{unit}: {first} in 1970"
    likely = likely_unit(*(round(us / unit.microseconds) for us in (least, most)))
    if likely is not None:
        yield f"{seen}; the numbers look like {_spoken(likely)}: {option}{likely} reads them so"
    else:
        yield (
            f"{seen}, from {_instant(least)} to {_instant(most)}: right where they count from 1970; windows measure the time"
            " between rows and work in either case"
        )


def _spoken(unit: TimeUnit) -> str:
    return unit.spoken.partition(" ")[0]


def _instant(us: int) -> str:
    return str(datetime.fromtimestamp(us / SECOND_US, UTC).replace(tzinfo=None, microsecond=0))


def _has_both(texts: pa.Array) -> bool:
    """Return whether some texts are empty and others NULL."""
    return bool(texts.null_count) and bool(pc.any(pc.equal(texts, "")).as_py())


def _empty_texts(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    listed = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
    sentence = (
        f"empty texts stand beside NULL in {listed}: an empty text is no NULL, so IS NULL does not find it;"
        f" {names[0]} IS NULL OR {names[0]} = '' finds both"
    )
    return [sentence]
