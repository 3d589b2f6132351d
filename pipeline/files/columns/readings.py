"""How the values of one column are read, by the options and by the survey of the column."""

from dataclasses import dataclass

from psoup.pipeline.files.options import EpochUnit, ReadOptions
from psoup.pipeline.files.times.formats import TimeFormat
from psoup.pipeline.files.times.forms import ISO, Epoch, TimeForm


@dataclass(frozen=True, slots=True)
class Reading:
    """How texts are read as values of the column's type."""

    form: TimeForm = ISO
    """Format of times."""
    decimal_comma: bool = False
    """Whether numbers have a decimal comma, as in 2,5."""


def given_reading(options: ReadOptions, column: str) -> Reading:
    """Return how a column is read if only the options decide."""
    form = given_form(options, column)
    if form is None:
        form = ISO if options.epoch is None else Epoch(options.epoch)
    return Reading(form, options.decimal_comma)


def given_form(options: ReadOptions, column: str) -> TimeForm | None:
    """Return the format of times that the options give for this column, or None.

    Raises:
        DefinitionError: the format is malformed.
    """
    for name, text in options.time_formats:
        if name == column:
            return Epoch(EpochUnit(text)) if text in set(EpochUnit) else TimeFormat(text)
    return None
