"""Chunks and clauses of every type, and what an index of clauses finds: for tests of indexes."""

import numpy as np

from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.query.factor import AttributeFactor
from psoup.engine.query.values.expression import ColumnRef
from psoup.engine.results.match_block import Harvest, Keeping
from psoup.engine.tuples.chunk import Chunk
from psoup.engine.tuples.schema import ColumnType
from tests.engine.columns import chunk_values, column_of
from tests.engine.kernels import twins
from tests.engine.results.blocks import plain

SLOTS = 12
KINDS = {kind.name: kind for kind in ColumnType} | {"other": ColumnType.INT64}
"""An attribute of each type, and one more of whole numbers."""
LISTS = np.full(SLOTS, Keeping.LISTS, dtype=np.uint8)


def chunk_of(seed, nulls, **values):
    drawn = {
        name: chunk_values(kind, seed=seed + i, nulls=nulls)
        for i, (name, kind) in enumerate(KINDS.items())
    }
    columns = {name: column_of(KINDS[name], some) for name, some in (drawn | values).items()}
    return Chunk(0, columns.__getitem__)


CHUNKS = [
    chunk_of(1, 0.1),
    chunk_of(2, 0.0, INT64=[i % 9 for i in range(CHUNK_ROWS)], STRING=["a"] * CHUNK_ROWS),
    chunk_of(3, 1.0),
]
"""Chunks with some NULLs, without any, and of nothing else."""


def factors_of(asked):
    """Return what is asked of single attributes, by name, as factors."""
    return [
        AttributeFactor(ColumnRef(0, name, KINDS[name]), values) for name, values in asked.items()
    ]


def probed(index, chunk, *, wanted=LISTS, open_slots=frozenset()):
    """Return what a probe settles, by slot as a block tells it, and the rows that open slots have left.

    What comes out as a lineage and is not open is settled by what is left of it.
    """
    harvest, left = Harvest(), {}
    for lineage in index.probe(chunk, wanted, harvest):
        assert sorted(set(lineage.slots.tolist())) == lineage.slots.tolist(), "slots ascend"
        settled = [slot not in open_slots for slot in lineage.slots.tolist()]
        for place in np.flatnonzero(lineage.alive).tolist():
            slot, rows = int(lineage.slots[place]), twins.bits_of(lineage.words[place])
            assert rows, "what is alive has a row left"
            assert slot not in left, "a slot comes out once"
            if not settled[place]:
                left[slot] = rows
        lineage.alive &= np.array(settled)
        harvest.add(lineage, wanted)
    block = harvest.block(np.arange(len(wanted)))
    block.check()
    return plain(block), left
