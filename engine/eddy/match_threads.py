"""Chunks settled on several threads: each takes the next one that nobody has taken, the fold keeps order and state.

While a batch is applied no clause comes or goes, so the hits of its chunks hang on the chunks and on tables that nobody
writes. Which thread settles a chunk, and when, changes nothing: chunks begin from the same counts of operators, on one
thread as well. A thread that gets no core takes no chunk: the thread that folds settles chunks as well, and waits for
none that it could settle itself.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from psoup.engine import limits
from psoup.engine.clauses.grouped_filter import GroupedFilters
from psoup.engine.clauses.image import ImageIndex
from psoup.engine.clauses.stream_clauses import StreamClauses
from psoup.engine.clauses.table_probe import IndexTables, TableProbe
from psoup.engine.eddy.operators import Operator
from psoup.engine.eddy.policy import RoutingPolicy
from psoup.engine.eddy.settling import settle
from psoup.engine.results.match_block import EMPTY, Harvest, MatchBlock
from psoup.engine.tuples.chunk import Chunk


class MatchThreads(Protocol):
    """Threads beside the one that folds, which uses them for one batch at a time."""

    @property
    def count(self) -> int:
        """Return how many there may be: at least one."""
        ...

    def begin(self, work: Callable[[int], None], calls: int) -> Callable[[], None]:
        """Call `work` for the numbers from 0 to `calls` - 1, each in a thread of its own; return the wait for them.

        Where fewer threads can be had fewer calls are made, or none. The wait withdraws the calls that have not begun,
        and returns when the others have ended: afterwards none is made. Raises nothing.
        """
        ...


class Scratch:
    """Arrays that one thread writes while it settles a chunk. They hold nothing between two chunks."""

    __slots__ = ("harvest", "probe")

    def __init__(self) -> None:
        """Begin with room for little."""
        self.probe = TableProbe()
        self.harvest = Harvest()

    @property
    def nbytes(self) -> int:
        """Return the size of the arrays."""
        return self.probe.nbytes + self.harvest.nbytes


class ChunkSettler:
    """Settles the chunks that a batch makes whole: on the thread that folds, or on others as well."""

    def __init__(self, policy: RoutingPolicy, threads: MatchThreads | None) -> None:
        """Take the order of operators, which is asked on any of the threads."""
        self._policy = policy
        self._threads = threads
        self._harvest = Harvest()
        self._scratches = [Scratch() for _ in range(0 if threads is None else threads.count + 1)]
        """Those of the threads, and that of the fold."""
        self.shared_out = 0
        """Chunks of batches whose chunks were shared out among threads."""

    @property
    def scratch_bytes(self) -> int:
        """Return the size of what the threads write into."""
        return sum(scratch.nbytes for scratch in self._scratches)

    def blocks(
        self,
        numbers: Sequence[int],
        chunk_of: Callable[[int], Chunk],
        clauses: StreamClauses,
        operators: Sequence[Operator],
    ) -> Iterator[MatchBlock]:
        """Yield the hits of each of these chunks, in order. The clauses may change when all are taken.

        Args:
            numbers: of the chunks, ascending.
            chunk_of: returns a chunk; called on any of the threads.
            clauses: of the chunks' stream.
            operators: what of them cannot be indexed; they count.
        """
        first = 1 if unmeasured(operators) else 0
        for some in (numbers[:first], numbers[first:]):
            yield from self._settled(some, chunk_of, clauses, operators)

    def _settled(
        self,
        numbers: Sequence[int],
        chunk_of: Callable[[int], Chunk],
        clauses: StreamClauses,
        operators: Sequence[Operator],
    ) -> Iterator[MatchBlock]:
        """Yield the hits of these chunks, each of which begins from the counts that stand now."""
        index = clauses.index
        if self._threads is not None and len(numbers) > 1 and isinstance(index, GroupedFilters):
            tables = index.derived()
            if len(numbers) * weight(tables) >= limits.MATCH_THREADS_PAIRS_MIN:
                index.count_probes(len(numbers))
                yield from self._together(numbers, chunk_of, clauses, tables, operators)
                return
        self._harvest.clear()
        begin = [operator.beside() for operator in operators]
        for number in numbers:
            own = [operator.beside() for operator in begin]
            block = settle(
                chunk_of(number),
                index,
                clauses.clause_ids,
                clauses.wanted,
                operators=own,
                policy=self._policy,
                harvest=self._harvest,
            )
            add(operators, own)
            yield block

    def _together(
        self,
        numbers: Sequence[int],
        chunk_of: Callable[[int], Chunk],
        clauses: StreamClauses,
        tables: IndexTables,
        operators: Sequence[Operator],
    ) -> list[MatchBlock]:
        """Return the hits of these chunks, settled by all threads.

        Raises what settling the first of the chunks that fail raises, as one thread would.
        """
        assert self._threads is not None
        self.shared_out += len(numbers)
        waiting = deque(enumerate(numbers))  # taken from by all threads
        blocks = [EMPTY] * len(numbers)
        counted: list[Sequence[Operator]] = [()] * len(numbers)
        failures: dict[int, BaseException] = {}

        def work(thread: int) -> None:
            scratch = self._scratches[thread]
            scratch.harvest.clear()
            while waiting:
                try:
                    at, number = waiting.popleft()
                except IndexError:  # another thread took the last one
                    return
                own = [operator.beside() for operator in operators]
                try:
                    blocks[at] = settle(
                        chunk_of(number),
                        ImageIndex(tables, scratch.probe),
                        clauses.clause_ids,
                        clauses.wanted,
                        operators=own,
                        policy=self._policy,
                        harvest=scratch.harvest,
                    )
                except BaseException as error:  # noqa: BLE001 (raised below, on the thread that folds)
                    failures[at] = error
                    waiting.clear()  # all chunks before this one were taken
                    return
                counted[at] = own

        wait = self._threads.begin(work, min(self._threads.count, len(numbers) - 1))
        try:
            work(-1)
        finally:
            waiting.clear()
            wait()
        self._bound()
        for own in counted[: min(failures, default=len(numbers))]:
            add(operators, own)
        if failures:
            raise failures[min(failures)]
        return blocks

    def _bound(self) -> None:
        """Let go of the largest arrays, until all threads together keep no more than they may."""
        sizes = [scratch.nbytes for scratch in self._scratches]
        held = sum(sizes)
        for thread in sorted(range(len(sizes)), key=sizes.__getitem__, reverse=True):
            if held <= limits.MATCH_SCRATCH_BYTES_MAX:
                return
            self._scratches[thread] = Scratch()
            held -= sizes[thread] - self._scratches[thread].nbytes


def unmeasured(operators: Sequence[Operator]) -> bool:
    """Return whether the order of these operators matters, and one of them has seen no row yet.

    Then the first chunk of a batch is settled before the others, which begin from its counts: in the order in which
    operators were made, one that lets nearly all through would be evaluated for all rows of the batch.
    """
    return len(operators) > 1 and not all(operator.counts().seen for operator in operators)


def add(operators: Sequence[Operator], own: Sequence[Operator]) -> None:
    """Add to operators what those of one chunk have counted."""
    for operator, beside in zip(operators, own, strict=True):
        operator.add(beside)


def weight(tables: IndexTables) -> int:
    """Return what a chunk that meets these tables costs, in pairs of a chunk and a clause of intervals.

    Expressions do not count: small steps of Python and NumPy evaluate them, which run on one core at a time.
    """
    compared = sum(len(table) for table in tables.clause_tables)
    return compared + limits.MATCH_PIVOT_PAIRS * len(tables.pivot_tables)
