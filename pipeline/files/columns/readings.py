"""How the values of one column are read: decided by the options, and by what the whole column shows."""

from dataclasses import dataclass

from psoup.pipeline.files.options import EpochUnit, ReadOptions
from psoup.pipeline.files.times.formats import TimeFormat
from psoup.pipeline.files.times.forms import ISO, Epoch, TimeForm


@dataclass(frozen=True, slots=True)
class Reading:
    """How texts become values of the column's type."""

    form: TimeForm = ISO
    """How times are written."""
    decimal_comma: bool = False
    """Whether numbers are written 2,5."""


def asked_reading(options: ReadOptions, column: str) -> Reading:
    """Return how a column is read by the options alone."""
    form = asked_form(options, column)
    if form is None:
        form = ISO if options.epoch is None else Epoch(options.epoch)
    return Reading(form, options.decimal_comma)


def asked_form(options: ReadOptions, column: str) -> TimeForm | None:
    """Return the form of times that the options name for this very column, or None.

    Raises:
        DefinitionError: the format cannot be.
    """
    for name, text in options.time_formats:
        if name == column:
            return Epoch(EpochUnit(text)) if text in set(EpochUnit) else TimeFormat(text)
    return None
