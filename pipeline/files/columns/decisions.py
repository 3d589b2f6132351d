"""Decides how a column is read, given its survey: its type, the format of its times, and warnings."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Final

from psoup.engine.tuples.schema import ColumnType
from psoup.pipeline.files.columns.counted_times import CountedTimes
from psoup.pipeline.files.columns.kinds import KINDS, TYPES, ColumnSurvey, InferredColumn, Kind
from psoup.pipeline.files.columns.readings import Reading, given_form, given_reading
from psoup.pipeline.files.options import ReadOptions
from psoup.pipeline.files.times.candidates import COMPACT, is_date_name
from psoup.pipeline.files.times.formats import TimeFormat
from psoup.pipeline.files.times.forms import ISO, Epoch, TimeForm

_SHOWN_LENGTH: Final = 24
_DECIMAL_COMMA: Final = re.compile(r"[+-]?\d*,\d+", re.ASCII)


def wanted_types(options: ReadOptions, declared: Mapping[str, ColumnType]) -> dict[str, ColumnType]:
    """Return the types that are fixed before a survey: declared ones, else those of the options."""
    wanted = dict(options.types)
    wanted |= dict.fromkeys((name for name, _ in options.time_formats), ColumnType.TIMESTAMP)
    if options.time is not None:
        wanted[options.time] = ColumnType.TIMESTAMP
    return {**wanted, **declared}


def begun_survey(name: str, options: ReadOptions, wanted: ColumnType | None) -> ColumnSurvey:
    """Return the survey of a column before its first value; `wanted` is its type, None: the inferred one."""
    form = given_reading(options, name).form
    if wanted is ColumnType.TIMESTAMP and isinstance(form, Epoch):
        return ColumnSurvey(name, counted=CountedTimes(form.unit))
    return ColumnSurvey(name)


def decide_column(
    survey: ColumnSurvey, line: int | None, options: ReadOptions, wanted: ColumnType | None
) -> InferredColumn:
    """Return the column, with the type and format that its values allow.

    Args:
        survey: of all its values.
        line: of the survey's witness.
        options: a format or a unit in them takes precedence.
        wanted: the column's type; None: the inferred one.
    """
    forms, ambiguous = _forms(survey, options, wanted)
    kind = wanted
    if kind is None:
        kind = TYPES[survey.kind]
        if kind is ColumnType.TIMESTAMP and ambiguous:
            kind = ColumnType.STRING
        elif survey.kind is Kind.INT and forms == (COMPACT,):
            kind = ColumnType.TIMESTAMP
    reading = Reading(forms[0], options.decimal_comma)
    counted = survey.counted if isinstance(forms[0], Epoch) else None
    return InferredColumn(
        survey.name,
        kind,
        survey.nulls,
        survey.kind if wanted is None else KINDS[wanted],
        survey.largest,
        note=_note(survey, line, kind, reading),
        witness=survey.witness if survey.before is not Kind.NOTHING else "",
        markers=dict(survey.markers),
        reading=reading,
        sample="" if _is_given(options, survey.name, forms[0]) else survey.sample,
        warning=_warning(survey, kind, ambiguous) if wanted is None else "",
        misfits=kind is ColumnType.TIMESTAMP
        and (_misfits(survey, forms[0]) or (counted is not None and counted.misfits)),
        ambiguous=ambiguous,
        empty_texts=survey.empty_texts,
        counted=counted,
    )


def read_as(column: InferredColumn, form: TimeForm) -> InferredColumn:
    """Return a column with ambiguous times, read in the given format."""
    return dataclasses.replace(
        column,
        type=ColumnType.TIMESTAMP,
        note=f"read as {written_as(form, column.sample)}",
        reading=dataclasses.replace(column.reading, form=form),
        warning="",
        ambiguous=(),
    )


def written_as(form: TimeForm, sample: str) -> str:
    """Return the text of a format, completed by the time of day of `sample`."""
    return form.full_text(sample) if isinstance(form, TimeFormat) else form.text


def _is_given(options: ReadOptions, column: str, form: TimeForm) -> bool:
    """Return whether the options give the format of a column's times."""
    return given_form(options, column) is not None or isinstance(form, Epoch)


def _forms(
    survey: ColumnSurvey, options: ReadOptions, wanted: ColumnType | None
) -> tuple[tuple[TimeForm, ...], tuple[TimeForm, ...]]:
    """Return the format of the column's times, and, if several are possible, all of them."""
    given = given_form(options, survey.name)
    if given is not None:
        return (given,), ()
    dates = wanted is ColumnType.TIMESTAMP or (wanted is None and is_date_name(survey.name))
    if dates and survey.kind is Kind.INT and survey.compact and options.epoch is None:
        return (COMPACT,), ()
    if not survey.forms:
        return (given_reading(options, survey.name).form,), ()
    if survey.forms[0] is ISO or len(survey.forms) == 1:
        return survey.forms[:1], ()
    return survey.forms[:1], survey.forms


def _misfits(survey: ColumnSurvey, form: TimeForm) -> bool:
    """Return whether the format cannot read some value of a column."""
    if form is ISO:
        return survey.kind not in {Kind.NOTHING, Kind.TIMESTAMP}
    return survey.kind is Kind.TEXT


def _note(survey: ColumnSurvey, line: int | None, kind: ColumnType, reading: Reading) -> str:
    """Return the note on a column in the table of columns."""
    if kind is ColumnType.TIMESTAMP and reading.form is not ISO:
        return f"read as {written_as(reading.form, survey.sample)}"
    if survey.before is Kind.NOTHING or kind is not ColumnType.STRING:
        return ""
    return f"{_shown(survey.witness)!r} in line {line} is not {TYPES[survey.before]}"


def _warning(survey: ColumnSurvey, kind: ColumnType, ambiguous: Sequence[TimeForm]) -> str:
    if kind is not ColumnType.STRING:
        return ""
    if survey.kind is Kind.TIMESTAMP and ambiguous:
        named = [f"'{survey.name}={written_as(form, survey.sample)}'" for form in ambiguous]
        return (
            f"{survey.name} stays text: it holds dates such as {survey.sample!r}, and none of them tells the day"
            f" from the month; --time-format {' or '.join(named)} reads them"
        )
    if survey.kind is Kind.NOTHING and survey.markers:
        words = sorted(survey.markers)
        passed = " ".join(f"--null {word}" for word in words)
        return f"{survey.name} holds nothing but {' and '.join(words)} and stays text; {passed} reads that as NULL"
    if survey.kind is Kind.TEXT and _DECIMAL_COMMA.fullmatch(survey.witness):
        return (
            f"{survey.name} stays text: {survey.witness!r} looks like a number with a decimal comma;"
            " --decimal-comma reads such numbers"
        )
    return ""


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN_LENGTH else text[: _SHOWN_LENGTH - 3] + "..."
