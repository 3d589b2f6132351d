"""Settling a chunk: all clauses of its stream meet its rows, until each bit of the lineage is a hit or cleared.

The hits depend on the chunk and its clauses alone. So another process can compute them, before the operation is
applied: the eddy takes hits that are ready (`PrecomputedHits`), and computes the others itself.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from psoup.engine.clauses.image import ClauseImage, ImageIndex, residual_steps
from psoup.engine.data.data_stem import DataSteM
from psoup.engine.eddy.operators import Operator
from psoup.engine.eddy.policy import BySelectivity, RoutingPolicy
from psoup.engine.errors import IntegrityError
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Operation
from psoup.engine.results.clause_pages import ClausePages
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import Harvest, MatchBlock
from psoup.engine.state.state import State
from psoup.engine.tuples.batch import Seq, TupleId
from psoup.engine.tuples.batch_reader import BatchReader
from psoup.engine.tuples.block import Block
from psoup.engine.tuples.chunk import Chunk
from psoup.engine.tuples.lineage import Lineage
from psoup.engine.tuples.schema import StreamId, StreamSchema


class PrecomputedHits(Protocol):
    """Hits computed ahead of their operation. None: not ready, the caller computes them.

    Hits that are ready equal those that the caller would compute, bit for bit.
    """

    def expect(self, operations: Sequence[Operation]) -> None:
        """Note the operations that are applied next."""
        ...

    def begin(self, state: State, operation: Operation) -> None:
        """Compute hits for this operation and other expected ones; `state` is the one before it."""
        ...

    def block(self, stream_id: StreamId, chunk: int) -> MatchBlock | None:
        """Return the hits in a chunk that has just become whole."""
        ...

    def pages(self, clause_id: ClauseId, page_run: int) -> ClausePages | None:
        """Return the hits of a fresh clause in the whole chunks of a page run, from the first to be kept on."""
        ...


class Probed(Protocol):
    """The index of a stream's clauses, for chunks."""

    def probe(self, chunk: Chunk, wanted: NDArray[np.uint8], harvest: Harvest) -> Iterator[Lineage]:
        """Add the hits of clauses that the index decides to the harvest; yield lineages of the others."""
        ...


def settle(
    chunk: Chunk,
    index: Probed,
    clause_ids: NDArray[np.int64],
    wanted: NDArray[np.uint8],
    *,
    operators: Sequence[Operator],
    policy: RoutingPolicy,
    harvest: Harvest,
) -> MatchBlock:
    """Return the hits of a chunk: probe the index, then route the lineages it leaves open through the operators.

    Args:
        chunk: 4,096 tuples.
        index: the clauses of their stream, by slot.
        clause_ids: by slot, the clause.
        wanted: by slot, a Keeping each.
        operators: what cannot be indexed.
        policy: the order in which lineages visit them.
        harvest: empty; empty again afterwards.
    """
    for lineage in index.probe(chunk, wanted, harvest):
        unsettled = Block(chunk, lineage)
        for place in policy.order([operator.counts() for operator in operators]):
            operators[place].apply(unsettled)
        harvest.add(lineage, wanted)
    return harvest.block(clause_ids)


class ImageEddy:
    """Settles chunks against an image of clauses, in a process that has no log and no state."""

    def __init__(self, image: ClauseImage, schema: StreamSchema) -> None:
        """Take the clauses of a stream and its declaration. Cost: O(residual slots)."""
        self._image = image
        self._index = ImageIndex(image.tables)
        self._operators = [Operator(step) for step in residual_steps(image)]
        self._policy = BySelectivity()
        self._harvest = Harvest()
        self._reader = BatchReader(schema)

    def settle(
        self, stream_id: StreamId, first_chunk: int, batches: Sequence[tuple[bytes, int]]
    ) -> Iterator[tuple[int, MatchBlock]]:
        """Yield the number and the hits of each chunk that the batches make up.

        Args:
            stream_id: of the tuples.
            first_chunk: the chunk that begins with the first row.
            batches: bodies as the log has them, and how many rows each is said to have: whole chunks in all.

        Raises:
            IntegrityError: a body is not a batch of this stream, or has another number of rows.
        """
        self._harvest.clear()
        stem = stem_of(self._reader, stream_id, first_chunk, batches)
        for number in range(first_chunk, stem.past_row // CHUNK_ROWS):
            block = settle(
                stem.chunk(number),
                self._index,
                self._image.clause_ids,
                self._image.wanted,
                operators=self._operators,
                policy=self._policy,
                harvest=self._harvest,
            )
            yield number, block


def stem_of(
    reader: BatchReader, stream_id: StreamId, first_chunk: int, batches: Sequence[tuple[bytes, int]]
) -> DataSteM:
    """Return the tuples of these batches, the first of which begins a chunk (`ImageEddy.settle`).

    Tuple ids count from 0 and undated tuples get the time 0, where the log would give both: no hit depends on them.
    """
    stem = DataSteM(reader.schema, first_row=first_chunk * CHUNK_ROWS)
    for body, rows in batches:
        batch = reader.batch(
            body, stream_id=stream_id, first_tuple_id=TupleId(0), seq=Seq(0), arrival_us=0
        )
        if len(batch) != rows:
            raise IntegrityError(
                f"A batch of stream {reader.schema.name} has {len(batch)} rows, and {rows} are noted."
            )
        stem.build(batch)
    return stem
