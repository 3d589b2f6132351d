"""The hits over single streams that a process holds: blocks of segments, and pages of clauses that are younger.

What is dropped together lies together: blocks by segment, pages by runs of segments.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.results.clause_pages import RUN_SEGMENTS, ClausePages, runs_of
from psoup.engine.results.delta import (
    CHUNKS,
    BlockKey,
    ClauseRecord,
    RunKey,
    StreamRecord,
)
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import MatchBlock
from psoup.engine.results.segment_blocks import NO_BLOCKS, SegmentBlocks
from psoup.engine.tuples.schema import StreamId

Key = TypeVar("Key")
Hits = TypeVar("Hits", SegmentBlocks, ClausePages)


class LiveHits:
    """Blocks and pages at the applied position. Whoever shares it among threads guards it."""

    __slots__ = ("_blocks", "_pages", "nbytes")

    def __init__(self) -> None:
        """Begin empty."""
        self._blocks: dict[StreamId, dict[int, SegmentBlocks]] = {}
        self._pages: dict[RunKey, ClausePages] = {}
        self.nbytes = 0
        """Size of the arrays of what is held."""

    def blocks_of(self, stream_id: StreamId) -> Mapping[int, SegmentBlocks]:
        """Return the blocks of a stream, by segment."""
        return self._blocks.get(stream_id, {})

    def pages_of(self, clause_id: ClauseId, run: int) -> ClausePages | None:
        """Return the pages of a clause in a run of segments; they outlive its first segments."""
        return self._pages.get((clause_id, run))

    def write(
        self, blocks: Mapping[BlockKey, MatchBlock], pages: Mapping[RunKey, ClausePages]
    ) -> None:
        """Hold these, in place of what had their keys."""
        for (stream_id, chunk), block in blocks.items():
            segments = self._blocks.setdefault(stream_id, {})
            held = segments.get(chunk // CHUNKS, NO_BLOCKS)
            self._keep(segments, chunk // CHUNKS, held.beside(chunk, block))
        for key, one in pages.items():
            self._keep(self._pages, key, one)

    def drop_stream(self, stream_id: StreamId) -> None:
        """Hold no block of a stream."""
        for blocks in self._blocks.pop(stream_id, {}).values():
            self.nbytes -= blocks.nbytes

    def drop_clause(self, clause: ClauseRecord) -> None:
        """Hold no page of a clause."""
        for run in runs_of(clause.paged_segments):
            self._forget(self._pages, (clause.clause_id, run))

    def drop_segments(
        self, segments: Iterable[tuple[StreamId, int]], paged: Iterable[tuple[ClauseId, int]]
    ) -> None:
        """Hold no block of these segments, and pages of these clauses no longer than the last segment of their run."""
        for clause_id, segment in paged:
            key = clause_id, segment // RUN_SEGMENTS
            pages = self._pages.get(key)
            if pages is not None and pages.last_segment <= segment:
                self._forget(self._pages, key)
        for stream_id, segment in segments:
            self._forget(self._blocks.get(stream_id, {}), segment)

    def check(
        self,
        streams: Mapping[StreamId, StreamRecord],
        clauses: Mapping[ClauseId, ClauseRecord],
    ) -> None:
        """Assert that hits are of these records, lie where they belong, and are counted. O(everything)."""
        assert self._blocks.keys() <= streams.keys(), "a block has its stream"
        for stream_id, segments in self._blocks.items():
            record = streams[stream_id]
            for number, held in segments.items():
                held.check()
                for chunk in held.blocks:
                    assert number == chunk // CHUNKS
                    assert record.dropped_row <= chunk * CHUNK_ROWS <= record.rows - CHUNK_ROWS
        for (clause_id, run), pages in self._pages.items():
            assert run == pages.run
            assert pages.last_segment in clauses[clause_id].paged_segments
            pages.check()
        counted = sum(one.nbytes for held in self._blocks.values() for one in held.values())
        counted += sum(pages.nbytes for pages in self._pages.values())
        assert counted == self.nbytes, "bytes are counted"

    def _keep(self, held: dict[Key, Hits], key: Key, hits: Hits) -> None:
        """Hold hits in place of what was there, and count them."""
        self._forget(held, key)
        self.nbytes += hits.nbytes
        held[key] = hits

    def _forget(self, held: dict[Key, Hits], key: Key) -> None:
        """Hold what is there no longer, and count it no longer."""
        gone = held.pop(key, None)
        if gone is not None:
            self.nbytes -= gone.nbytes
