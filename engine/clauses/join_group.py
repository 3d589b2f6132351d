"""A group: the standing clauses with one FROM list and the same join factors, joined together.

Each has a bit. What they ask of single sources decides a row's lineage, through the index that whole chunks of
selections meet as well; what they ask besides of composites is settled once for each distinct expression. Slots are
reused; a slot that is given away has no factor left anywhere.
Source: Chandrasekaran & Franklin 2002, 2.4 and 3.2; Madden et al., SIGMOD 2002 (CACQ), 3.1 (tuple lineage).
"""

import heapq
from collections.abc import Collection, Iterable

import numpy as np
from numpy.typing import NDArray

from psoup.engine.clauses.stream_clauses import StreamClauses
from psoup.engine.data.data_stem import DataSteM
from psoup.engine.joins.counts import JoinCounts
from psoup.engine.joins.join import Condition
from psoup.engine.joins.side import GroupSide, Rows
from psoup.engine.kernels.bits import CHUNK_WORDS, LITTLE, Words, mask_of, positions, words_of
from psoup.engine.kernels.hits import LIST_ROWS_MAX
from psoup.engine.kernels.join import bitmaps_of, count_slots, mark_bitmaps, mark_lists
from psoup.engine.kernels.slot_lists import list_rows
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.query.join_shape import JoinShape, across, shape_of, sides_of
from psoup.engine.query.values.expression import Expression, sources_of
from psoup.engine.results.composites import CompositePage
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import Form, Harvest, Keeping, MatchBlock
from psoup.engine.tuples.block import Block
from psoup.engine.tuples.chunk import Chunk, padded
from psoup.engine.tuples.lineage import Lineage, Slot


class SourceClauses:
    """What the clauses of a group ask of one source alone."""

    def __init__(self) -> None:
        """Begin without clauses."""
        self._asking = StreamClauses()
        self._own: dict[Slot, Slot] = {}
        """Those that ask for something: slot of the group -> slot here, whose clause id is the slot of the group."""
        self._free: Words | None = None
        """The bits of the others, while they are known."""
        self._harvest = Harvest()

    def build(self, slot: Slot, side: StandingQueryClause) -> None:
        """Keep what a slot's clause asks."""
        self._free = None
        if side.factors:
            self._own[slot] = self._asking.build(ClauseId(slot), side, Keeping.SMALLER)

    def evict(self, slot: Slot) -> None:
        """Forget what a slot's clause asks."""
        self._free = None
        own = self._own.pop(slot, None)
        if own is not None:
            self._asking.evict(own)

    def lineage(self, stem: DataSteM, rows: Rows, all_slots: Words) -> Words | None:
        """Return (k, w) bits: which clauses each row satisfies; None = all of them do.

        Args:
            stem: the source's.
            rows: (k,) in any order.
            all_slots: (w,) the bits of all clauses.

        Cost: that of a whole chunk's match for every 4,096 rows.
        """
        if not self._own:
            return None
        if self._free is None:
            self._free = all_slots & ~slot_words(self._own, len(all_slots))
        words = np.empty((len(rows), len(all_slots)), dtype=np.uint64)
        words[:] = self._free
        for begin in range(0, len(rows), CHUNK_ROWS):
            some = slice(begin, begin + CHUNK_ROWS)
            self._mark(stem, rows[some], words[some])
        return words

    def _mark(self, stem: DataSteM, rows: Rows, words: Words) -> None:
        """Set the bits of the clauses that up to a chunk of rows satisfy."""
        asking = self._asking
        chunk = Chunk(0, lambda name: padded(stem.gathering.column(name, rows)))
        for lineage in asking.index.probe(chunk, asking.wanted, self._harvest):
            unsettled = Block(chunk, lineage)
            for step in asking.residuals.values():
                step.narrow(unsettled)
            self._harvest.add(lineage, asking.wanted)
        block = self._harvest.block(asking.clause_ids)
        lists, maps = block.forms == Form.LIST, block.forms == Form.BITMAP
        begins = block.places[lists].astype(np.int64)
        pasts = begins + block.counts[lists]
        mark_lists(block.clause_ids[lists], begins, pasts, block.offsets, words)
        if maps.any():
            bitmaps = np.zeros((words.shape[1] * 64, CHUNK_WORDS), dtype=np.uint64)
            bitmaps[block.clause_ids[maps]] = block.bitmaps[block.places[maps]]
            mark_bitmaps(bitmaps, words)

    def check(self) -> None:
        """Assert that slots agree."""
        self._asking.check()
        held = {own: Slot(clause_id) for own, (clause_id, _) in self._asking.slots.items()}
        assert held == {own: slot for slot, own in self._own.items()}, "slots agree"


def slot_words(slots: Collection[Slot], words: int) -> Words:
    """Return `words` words with the bits of these slots."""
    return mask_of(np.fromiter(slots, np.int64, len(slots)), words)


class JoinGroup:
    """The clauses of one shape.

    Attributes:
        group_id: id of the clause that began it.
        shape: FROM list and join factors.
        counts: what its joins have done.
        routes: by entering source the last route.
        entrants: chunks and queries joined.
    """

    def __init__(self, group_id: ClauseId, shape: JoinShape) -> None:
        """Begin without clauses."""
        self.group_id = group_id
        self.shape = shape
        self.counts = JoinCounts()
        self.routes: dict[int, tuple[tuple[int, int], ...]] = {}
        self.entrants = 0
        self._slots: dict[ClauseId, Slot] = {}
        self._clauses: dict[ClauseId, StandingQueryClause] = {}
        self._free: list[Slot] = []
        self._past = 0
        self._sources = [SourceClauses() for _ in range(shape.count)]
        self._conditions: dict[Expression, tuple[Condition, set[Slot]]] = {}
        self._ids = np.zeros(64, dtype=np.int64)
        self._keeping = np.zeros(64, dtype=np.uint8)
        self._harvest = Harvest()
        self._everyone: Words | None = None
        self._in_order: NDArray[np.int32] | None = None
        self._plain_block: MatchBlock | None = None

    def __len__(self) -> int:
        """Return the number of clauses."""
        return len(self._slots)

    def build(self, clause_id: ClauseId, clause: StandingQueryClause, keeping: Keeping) -> None:
        """Give a clause the lowest free slot."""
        slot = heapq.heappop(self._free) if self._free else Slot(self._past)
        self._past = max(self._past, slot + 1)
        if slot >= len(self._ids):
            self._ids = np.append(self._ids, np.zeros_like(self._ids))
            self._keeping = np.append(self._keeping, np.zeros_like(self._keeping))
        self._slots[clause_id], self._clauses[clause_id] = slot, clause
        self._ids[slot], self._keeping[slot] = clause_id, keeping
        for source, side in zip(self._sources, sides_of(clause), strict=True):
            source.build(slot, side)
        for expression in across(clause):
            condition = Condition(expression, sources_of(expression))
            self._conditions.setdefault(expression, (condition, set()))[1].add(slot)
        self._changed()

    def evict(self, clause_id: ClauseId) -> None:
        """Forget a clause."""
        slot, clause = self._slots.pop(clause_id), self._clauses.pop(clause_id)
        for source in self._sources:
            source.evict(slot)
        for expression in across(clause):
            slots = self._conditions[expression][1]
            slots.remove(slot)
            if not slots:
                del self._conditions[expression]
        heapq.heappush(self._free, slot)
        self._changed()

    def side(
        self, source: int, stem: DataSteM, first_row: int, past_row: int, alive: Words
    ) -> GroupSide:
        """Return the rows of a source in whole chunks, as `alive` clauses ask for them."""
        clauses, everyone = self._sources[source], self.everyone
        return GroupSide(
            stem,
            lambda rows: clauses.lineage(stem, rows, everyone),
            alive,
            first_row,
            past_row,
        )

    def conditions(self) -> list[Condition]:
        """Return the conditions on composites besides join factors, each with the bits of the clauses that have it."""
        found = []
        for condition, slots in self._conditions.values():
            if condition.asks is None:
                condition.asks = self._bits(slots)
            found.append(condition)
        return found

    @property
    def everyone(self) -> Words:
        """Return (w,) words with the bits of all clauses. Not to be written."""
        if self._everyone is None:
            self._everyone = self._bits(self._slots.values())
        return self._everyone

    def bits(self, clause_ids: Iterable[ClauseId]) -> Words:
        """Return (w,) words with the bits of these clauses; others than the group's have none."""
        return self._bits([self._slots[one] for one in clause_ids if one in self._slots])

    def clauses_of(self, words: Words) -> list[ClauseId]:
        """Return the clauses whose bits are set, in order of their slots."""
        return [ClauseId(int(self._ids[slot])) for slot in positions(words).tolist()]

    def _bits(self, slots: Collection[Slot]) -> Words:
        return slot_words(slots, max(1, words_of(self._past)))

    def _changed(self) -> None:
        """Let what hangs on the clauses be made again: one has come or gone."""
        self._everyone = self._in_order = self._plain_block = None
        for condition, _ in self._conditions.values():
            condition.asks = None

    def page(self, rows: Rows, words: Words, earliest: Rows, latest: Rows) -> CompositePage:
        """Return up to a chunk of composites as a page, their lineage turned over into a block.

        Args:
            rows: (n, p), in order of `latest`; p at most CHUNK_ROWS.
            words: (p, w), none of them without a bit.
            earliest: (p,).
            latest: (p,).
        """
        return CompositePage(rows, earliest, latest, self._block(words))

    def _block(self, words: Words) -> MatchBlock:
        """Return the lineage of a page as a block. Where one clause stands, that of a whole page is always the same."""
        is_plain = len(self._slots) == 1 and len(words) == CHUNK_ROWS
        if is_plain and self._plain_block is not None:
            return self._plain_block
        if self._in_order is None:
            # Of clauses: slots hang on which of them were given away, and a restart gives them anew.
            ordered = sorted(self._slots.items())
            self._in_order = np.array([slot for _, slot in ordered], dtype=np.int32)
        if len(words) <= LIST_ROWS_MAX:
            return self._listed(words, self._in_order)
        bitmaps = np.zeros((words.shape[1] * 64, CHUNK_WORDS), dtype=LITTLE)
        bitmaps_of(words, bitmaps)
        found = bitmaps[self._in_order]
        self._harvest.add(Lineage(self._in_order, found, np.any(found, axis=1)), self._keeping)
        block = self._harvest.block(self._ids)
        if is_plain:
            self._plain_block = block
        return block

    def _listed(self, words: Words, slots: NDArray[np.int32]) -> MatchBlock:
        """Return the lineage of so few composites that lists are the smaller form of all; slots in order of clauses."""
        counts = np.zeros(words.shape[1] * 64, dtype=np.int64)
        count_slots(words, np.ones(len(words), dtype=np.int64), counts)
        slots = slots[counts[slots] > 0]
        lengths = counts[slots]
        begins = np.cumsum(lengths) - lengths
        offsets = np.empty(int(lengths.sum()), dtype=np.uint16)
        counts[slots] = begins
        list_rows(words, counts, offsets)
        return MatchBlock(
            clause_ids=self._ids[slots],
            forms=np.full(len(slots), Form.LIST, dtype=np.uint8),
            counts=lengths.astype(np.int32),
            places=begins.astype(np.int32),
            offsets=offsets,
            bitmaps=np.empty((0, CHUNK_WORDS), dtype=LITTLE),
        )

    def check(self) -> None:
        """Assert that slots, sides and conditions agree."""
        assert sorted([*self._slots.values(), *self._free]) == list(range(self._past))
        for clause_id, slot in self._slots.items():
            assert self._ids[slot] == clause_id, "a slot has its clause"
            assert shape_of(self._clauses[clause_id]).key == self.shape.key
        asked: dict[Expression, set[Slot]] = {}
        for clause_id, clause in self._clauses.items():
            for expression in across(clause):
                asked.setdefault(expression, set()).add(self._slots[clause_id])
        assert asked == {e: slots for e, (_, slots) in self._conditions.items()}
        for source in self._sources:
            source.check()
