"""The survey of JSON rows over a whole file: the kinds of members, and which of them were objects or arrays."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from psoup.engine.tuples.schema import ColumnType
from psoup.pipeline.files.columns.decisions import begun_survey, decide_column
from psoup.pipeline.files.columns.joined_time import JoinedTime
from psoup.pipeline.files.columns.kinds import ColumnSurvey, InferredColumn, Kind
from psoup.pipeline.files.columns.markers import count_markers
from psoup.pipeline.files.columns.text_kinds import profiler_for
from psoup.pipeline.files.options import ReadOptions
from psoup.pipeline.files.readers.flattening import Flattener, Row
from psoup.pipeline.files.readers.json_values import fold_values

_BLOCK_ROWS: Final = 8_192


@dataclass(frozen=True, slots=True)
class _Run:
    """Consecutive values of a column that have one JSON type, with their lines."""

    kind: type
    values: list[Any] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


class JsonSurvey:
    """Takes rows in order; `columns` returns the result once all rows are added."""

    def __init__(self, options: ReadOptions, wanted: Mapping[str, ColumnType]) -> None:
        """Begin with no rows. The types of columns in `wanted` are fixed."""
        self._options = options
        self._wanted = wanted
        self._nulls = frozenset(options.nulls)
        self._joined = JoinedTime.of(options)
        self._runs: dict[str, _Run] = {}
        self._present: dict[str, int] = {}
        self._arrays: set[str] = set()
        self._skipped: set[str] = set()
        self.surveys: dict[str, ColumnSurvey] = {}
        self.rows = 0

    @property
    def seen(self) -> list[str]:
        """Return the names of all members of the file; those to leave out come last."""
        joined = "" if self._joined is None else self._joined.name
        return [*(name for name in self.surveys if name != joined), *sorted(self._skipped)]

    def add(self, line: int, row: Row) -> None:
        """Add a flat row that begins at `line`."""
        self.rows += 1
        for name, value in row.items():
            if name in self._options.skip:
                self._skipped.add(name)
                continue
            survey = self.surveys.get(name)
            if survey is None:
                survey = begun_survey(name, self._options, self._wanted.get(name))
                self.surveys[name] = survey
            if value is not None and not (isinstance(value, str) and value in self._nulls):
                self._present[name] = self._present.get(name, 0) + 1
                self._fold(survey, value, line)
        if self.rows % _BLOCK_ROWS == 0:
            self._fold_runs()

    def columns(self, flattener: Flattener | None) -> tuple[InferredColumn, ...]:
        """Return how every member is read. A member that is an object only in some rows is text in all."""
        self._fold_runs()
        if flattener is not None:
            self._merge_mixed(flattener)
        found = []
        for name, survey in self.surveys.items():
            survey.nulls = self.rows - self._present.get(name, 0)
            kind = self._wanted.get(name)
            found.append(decide_column(survey, survey.witness_at, self._options, kind))
        return tuple(found)

    def notes(self, flattener: Flattener | None, *, features: bool) -> tuple[str, ...]:
        """Return sentences about the treatment of objects and arrays."""
        found = []
        if features:
            found.append(
                "each feature is a row: its properties, its id, and its place: a point as lon, lat and depth,"
                " any other shape as JSON text in geometry"
            )
        parents = flattener.parents if flattener is not None else {}
        flat = [name for name in self.surveys if name in parents]
        if flat:
            objects = ", ".join(dict.fromkeys(parents[name] for name in flat))
            found.append(
                f"objects are flattened ({objects}), into the columns {', '.join(flat)};"
                " --no-flatten keeps them as JSON text"
            )
        arrays = [name for name in self.surveys if name in self._arrays]
        if arrays:
            found.append(f"arrays are kept as JSON text: {', '.join(arrays)}")
        return tuple(found)

    def _fold(self, survey: ColumnSurvey, value: Any, line: int) -> None:  # noqa: ANN401 (any JSON value)
        """Add a value to the run of its column, whose values have one JSON type."""
        run = self._runs.get(survey.name)
        if run is None or run.kind is not type(value):
            if run is not None:
                self._fold_run(survey, run)
            run = self._runs[survey.name] = _Run(type(value))
        run.values.append(value)
        run.lines.append(line)

    def _fold_runs(self) -> None:
        """Fold the gathered values into the surveys, one column after another."""
        for name, run in self._runs.items():
            self._fold_run(self.surveys[name], run)
        self._runs.clear()

    def _fold_run(self, survey: ColumnSurvey, run: "_Run") -> None:
        name = survey.name
        looked_at = self._wanted.get(name, ColumnType.TIMESTAMP) is ColumnType.TIMESTAMP
        if run.kind is str:
            given = pa.array(run.values, pa.string())
            survey.look_for_empty(given)
            texts = count_markers(given, survey.markers)
            if looked_at:
                profiler_for(self._options, name, (Kind.TIMESTAMP,)).fold(survey, texts, run.lines)
                survey.count_times(texts)
            return
        if run.kind is list:
            self._arrays.add(name)
        if looked_at:
            fold_values(survey, run.values, run.lines)
            if survey.counts_times and run.kind in (int, float):
                survey.count_times(pa.array(run.values))

    def _merge_mixed(self, flattener: Flattener) -> None:
        """Keep an object's columns; or, if it is no object in other rows, one column of text instead."""
        children = {name: flattener.ancestors(name) for name in self.surveys}
        mixed = {name for name in flattener.objects if self._present.get(name)}
        for name, above in children.items():
            if above & mixed or (name in flattener.objects and name not in mixed):
                del self.surveys[name]
        for name in mixed & self.surveys.keys():
            empty_texts = self.surveys[name].empty_texts
            self.surveys[name] = ColumnSurvey(name, Kind.TEXT, empty_texts=empty_texts)
            self._present[name] += flattener.objects[name]
