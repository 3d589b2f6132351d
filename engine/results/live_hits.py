"""The hits over single streams that a process holds: match blocks by segment, and clauses' own pages by run."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.results.clause_pages import RUN_CHUNKS, RUN_SEGMENTS, ClausePages, runs_of
from psoup.engine.results.contract import Checkpoint
from psoup.engine.results.delta import CHUNKS, ClauseRecord, Delta, RunKey, StreamRecord
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.page import Page
from psoup.engine.results.segment_blocks import NO_BLOCKS, KeptRows, SegmentBlocks, rows_of_pages
from psoup.engine.tuples.schema import StreamId

Key = TypeVar("Key")
Hits = TypeVar("Hits", SegmentBlocks, ClausePages)


class HeldHits(NamedTuple):
    """What is held of a clause's hits in consecutive chunks: values, which are read without a lock.

    Attributes:
        first, middle, past: chunks of `[first, middle)` are asked of `own`, those of `[middle, past)` of `blocks`.
        held_from: a run outlives its first segments: chunks before this one are not shown.
        own: the clause's own pages, of the runs that have some; None: they are older than the process.
        blocks: of each segment, by its number.
    """

    first: int
    middle: int
    past: int
    held_from: int
    own: Sequence[ClausePages | None] | None
    blocks: Sequence[tuple[int, SegmentBlocks]]

    @property
    def older(self) -> range:
        """Return the chunks whose hits were published before the process began."""
        return range(self.first, self.middle if self.own is None else self.first)

    def rows(self, clause_id: ClauseId) -> list[KeptRows]:
        """Return the hits, but for the older ones. Cost: O(chunks + hits)."""
        first, middle, past, held_from, own, blocks = self
        begin = max(first, held_from)
        found = [rows_of_pages(pages, begin, middle) for pages in own or () if pages is not None]
        for number, one in blocks:
            begin, end = max(middle, number * CHUNKS), min(past, (number + 1) * CHUNKS)
            if begin < end:
                found.append(one.rows(clause_id, begin, end))
        return found


class LiveHits:
    """Match blocks and pages at the applied position. Whoever shares it among threads guards it."""

    __slots__ = ("_began_at", "_blocks", "_older_chunks", "_pages", "nbytes")

    def __init__(self, checkpoint: Checkpoint) -> None:
        """Begin with nothing: the hits in chunks that the checkpoint's streams had whole are elsewhere."""
        self._began_at = checkpoint.cut.seq
        self._older_chunks = {s.stream_id: s.rows // CHUNK_ROWS for s in checkpoint.streams}
        # By segment: what is dropped together lies together.
        self._blocks: dict[StreamId, dict[int, SegmentBlocks]] = {}
        self._pages: dict[RunKey, ClausePages] = {}
        self.nbytes = 0
        """Size of the arrays of what is held."""

    def write(self, delta: Delta) -> None:
        """Hold the blocks and pages of a delta, in place of what was there."""
        for (stream_id, chunk), block in delta.blocks.items():
            segments = self._blocks.setdefault(stream_id, {})
            blocks = segments.get(chunk // CHUNKS, NO_BLOCKS)
            self._keep(segments, chunk // CHUNKS, blocks.beside(chunk, block))
        for key, pages in delta.pages.items():
            self._keep(self._pages, key, pages)

    def drop(self, delta: Delta, clauses: Iterable[ClauseRecord]) -> None:
        """Hold no hits of `clauses`, nor of streams and segments that go with a delta.

        A clause's own pages go with the last segment of their run.
        """
        for stream_id in delta.dropped_streams:
            segments = self._blocks.pop(stream_id, {})
            for number in list(segments):
                self._forget(segments, number)
        for clause in clauses:
            for run in runs_of(clause.paged_segments):
                self._forget(self._pages, (clause.clause_id, run))
        for clause_id, segment in delta.dropped_pages:
            key = clause_id, segment // RUN_SEGMENTS
            pages = self._pages.get(key)
            if pages is not None and pages.last_segment <= segment:
                self._forget(self._pages, key)
        for stream_id, segment in delta.dropped_segments:
            self._forget(self._blocks.get(stream_id, {}), segment)

    def pages(
        self, clause: ClauseRecord, chunks: Sequence[int], dropped_row: int
    ) -> tuple[dict[int, Page], list[int]]:
        """Return the clause's hits in those of `chunks` where it has any, and the chunks whose hits are older.

        `dropped_row` is the stream's: a run outlives its first segments.
        """
        found: dict[int, Page] = {}
        older: list[int] = []
        blocks = self._blocks.get(clause.streams[0], {})
        older_past = self._older_chunks.get(clause.streams[0], 0)
        for chunk in chunks:
            page: Page | None = None
            if chunk * CHUNK_ROWS < clause.block_row and clause.clause_id > self._began_at:
                run = self._pages.get((clause.clause_id, chunk // RUN_CHUNKS))
                if run is not None and chunk * CHUNK_ROWS >= dropped_row:
                    page = run.page(chunk)
            elif chunk < older_past:
                older.append(chunk)
            elif (block := blocks.get(chunk // CHUNKS, NO_BLOCKS).blocks.get(chunk)) is not None:
                page = block.page(clause.clause_id)
            if page is not None:
                found[chunk] = page
        return found, older

    def held(
        self, clause: ClauseRecord, first_chunk: int, past_chunk: int, dropped_row: int
    ) -> HeldHits:
        """Return what is held of the clause's hits in consecutive chunks; `dropped_row` as in `pages`."""
        stream_id = clause.streams[0]
        segments = range(first_chunk // CHUNKS, past_chunk // CHUNKS + 1)
        young = clause.clause_id > self._began_at
        blocks_from = self._older_chunks.get(stream_id, 0)
        if young:
            blocks_from = clause.block_row // CHUNK_ROWS
        middle = min(max(first_chunk, blocks_from), past_chunk)
        own: list[ClausePages | None] | None = None
        if young:
            runs = runs_of(segments) if first_chunk < middle else ()
            own = [self._pages.get((clause.clause_id, run)) for run in runs]
        held = self._blocks.get(stream_id, {})
        blocks = [(number, held.get(number, NO_BLOCKS)) for number in segments]
        held_from = dropped_row // CHUNK_ROWS
        return HeldHits(first_chunk, middle, past_chunk, held_from, own, blocks)

    def check(
        self,
        streams: Mapping[StreamId, StreamRecord],
        clauses: Mapping[ClauseId, ClauseRecord],
    ) -> None:
        """Assert that hits are sound and counted, and are of what stands. Cost: O(everything), for tests."""
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
