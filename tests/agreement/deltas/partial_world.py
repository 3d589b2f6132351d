"""Worlds of groups whose partials are of a few rows each: their units are as small against them as chunks are."""

from typing import Any

import numpy as np
import pytest

from psoup.engine.aggregates.partials import stream_partials
from psoup.engine.aggregates.partials.stream_partials import StreamPartials
from psoup.engine.invocation.one_stream import stream_aggregates
from psoup.engine.invocation.one_stream.stream_finding import StreamFinding
from psoup.engine.invocation.shaped.grouping import grouping_of
from psoup.engine.log.operation import Materialize
from tests.agreement.deltas.group_world import GroupWorld

UNIT_ROWS = 3
UNITS_TOGETHER = 2
CALLS = [
    "FIRST({words}) AS first",
    "ARG_MAX({words}, {number}) AS of_largest",
    "STDDEV_SAMP({number}) AS spread",
    "SUM({number} * 1e308) AS too_large",
    "COUNT({words}) AS texts",
]


class FineSpans:
    """A `TupleSource` that knows the times of UNIT_ROWS rows each, as others know those of chunks."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def reach(
        self, stream_id: Any, first_row: int, past_row: int, begin_us: int | None, end_us: int
    ) -> list[tuple[int, int, bool]]:
        found: list[tuple[int, int, bool]] = []
        for first, past, _ in self._source.reach(stream_id, first_row, past_row, begin_us, end_us):
            for unit in range(first // UNIT_ROWS, -(-past // UNIT_ROWS)):
                rows = np.arange(max(first, unit * UNIT_ROWS), min(past, (unit + 1) * UNIT_ROWS))
                times = self._source.times(stream_id, rows)
                inside = (times <= end_us) & (begin_us is None or times >= begin_us)
                if inside.any():
                    self._add(found, int(rows[0]), int(rows[-1]) + 1, bool(inside.all()))
        return found

    @staticmethod
    def _add(found: list[tuple[int, int, bool]], first: int, past: int, inside: bool) -> None:
        if found and found[-1][1:] == (first, inside):
            first = found.pop()[0]
        found.append((first, past, inside))


class PartialWorld(GroupWorld):
    """One query with groups, each of whose aggregates has partials, over one stream; and its clients."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.source = FineSpans(self.source)
        self.units = 0

    def _sql(self) -> str:
        self.join = False
        return super()._sql()

    def _rows(self, listed: str, number: str, words: str) -> tuple[str, str]:
        return self._groups(listed, number, words)

    def _groups(self, _: str, number: str, words: str) -> tuple[str, str]:
        shown, then = super()._groups(_, number, words)
        calls = [call.format(number=number, words=words) for call in self.rng.sample(CALLS, 2)]
        return shown.replace(f"COUNT(DISTINCT {words}) AS texts", ", ".join(calls)), then

    def compare(self, client: Any) -> None:
        super().compare(client)
        self.world.cache.check()
        cache, snapshot = self.world.cache, self.world.store.results.snapshot(self.query_id)
        grouping = cache.reading(snapshot).of_shape(grouping_of)
        kept = cache.partials.partials(snapshot.cut.gen, snapshot.clause.clause_id, grouping)
        if isinstance(kept, StreamPartials):
            self.units = max(self.units, kept.past - kept.first)


def with_small_units(patching: pytest.MonkeyPatch) -> None:
    """Let units of UNIT_ROWS rows have partials, where the policy keeps something."""

    def whole_row(finding: Any) -> int:
        snapshot = finding._snapshot
        if snapshot.clause.materialize is Materialize.NONE:
            return 0
        rows: int = snapshot.streams[0].rows
        return rows // UNIT_ROWS * UNIT_ROWS

    patching.setattr(StreamFinding, "whole_row", property(whole_row))
    patching.setattr(stream_aggregates, "CHUNK_ROWS", UNIT_ROWS)
    patching.setattr(stream_partials, "LEVEL_FANOUT", UNITS_TOGETHER)
    patching.setattr(stream_partials, "_UNION_GROUPS_MIN", 2)
