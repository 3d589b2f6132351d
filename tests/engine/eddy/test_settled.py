"""What is ready is taken; what is not, the eddy finds itself; and an image finds what the Query SteM finds."""

import pickle

import numpy as np
import pytest

from psoup.engine.clauses.image import ClauseImage
from psoup.engine.clauses.stream_clauses import StreamClauses
from psoup.engine.eddy.settling import ImageEddy
from psoup.engine.engine import Engine
from psoup.engine.errors import IntegrityError
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Materialize, QueryId, Rows
from psoup.engine.results.clause_pages import ClausePages
from psoup.engine.results.match_block import EMPTY, Keeping, MatchBlock
from tests.agreement.joins.world import stream, tuples
from tests.engine.clauses.plain_index import PlainIndex
from tests.strategies import EPOCH_US
from tests.world import World

NAME = "r"
CHUNKS = 3


class Ready:
    """Has ready what a test has put here, and notes what it is asked for."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.blocks: dict[int, MatchBlock] = {}
        self.runs: dict[int, ClausePages] = {}
        self.asked: list[object] = []
        self.told: list[object] = []

    def expect(self, operations):
        """Note which operations are expected."""
        self.told.append([operation.seq for operation in operations])

    def begin(self, state, operation):
        """Note at which operation the state stands."""
        self.told.append((state.applied, operation.seq))

    def block(self, stream_id, chunk):
        """Return a block."""
        self.asked.append(chunk)
        return self.blocks.get(chunk)

    def pages(self, clause_id, run):
        """Return pages."""
        self.asked.append((clause_id, run))
        return self.runs.get(run)


def history(*wheres, late=()):
    """Return a world with a stream, queries, CHUNKS chunks of tuples in one batch, and queries that come late."""
    world = World()
    world.declare(stream(NAME), fold=False)
    for where in wheres:
        world.register(
            f"SELECT n FROM r WHERE {where}", materialize=Materialize.PARTIAL, fold=False
        )
    world.append_table(
        NAME, tuples(0, CHUNKS * CHUNK_ROWS, keys=9, seed=1, first_us=EPOCH_US, step_us=9)
    )
    for where in late:
        world.register(
            f"SELECT n FROM r WHERE {where}", materialize=Materialize.PARTIAL, fold=False
        )
    world.fold()
    return world


def test_block_that_is_ready_is_taken_and_another_is_found():
    """Whoever says that nobody has hits in a chunk is believed; of the other chunks the eddy finds its own."""
    world = history("k > 3", "w LIKE '%1%'")
    ready = Ready()
    ready.blocks = {1: EMPTY}
    engine = Engine(precomputed=ready)
    engine.expect(world.history)
    deltas = [engine.apply(operation) for operation in world.history]
    assert [0, 1, 2] == ready.asked
    assert [0, 2] == [chunk for _, chunk in deltas[-1].blocks]
    own = Engine()
    expected = [own.apply(operation) for operation in world.history][-1].blocks
    for key, block in deltas[-1].blocks.items():
        assert dict(expected[key].pages()).keys() == dict(block.pages()).keys()
        assert np.array_equal(expected[key].counts, block.counts)


def test_settled_is_told_what_comes_and_before_each_operation_where_the_state_stands():
    """Expected operations first, all together; then each as it is about to be applied."""
    world = history("k > 3")
    ready = Ready()
    engine = Engine(precomputed=ready)
    engine.expect(world.history)
    for operation in world.history:
        engine.apply(operation)
    assert [[1, 2, 3], (0, 1), (1, 2), (2, 3)] == ready.told


def test_pages_that_are_ready_are_taken_and_others_are_found():
    """A fresh clause meets old chunks by what is ready of its run, else by the columns."""
    world = history(late=("k * 2 > 3", "k * 2 > 5"))
    nothing = np.zeros(CHUNKS, dtype=np.int32)
    words = np.zeros(CHUNKS * 64, dtype=np.uint64)
    ready = Ready()
    engine = Engine(precomputed=ready)
    found = []
    for operation in world.history:
        found.append(engine.apply(operation).pages)
        ready.runs = (
            {0: ClausePages.of(0, words, nothing, Keeping.SMALLER)} if len(found) == 2 else {}
        )
    assert [(3, 0), (4, 0)] == [asked for asked in ready.asked if isinstance(asked, tuple)]
    assert not found[2], "no page for a clause without hits"
    assert [(4, 0)] == list(found[3])


def image_of(world):
    """Return the image of a world's clauses as another process has it, the stream's id, and the batch."""
    (stream_id, schema) = world.streams[NAME]
    clauses = world.engine._state.query_stem.probe(stream_id)
    image = pickle.loads(pickle.dumps(ClauseImage.of(clauses)))
    (batch,) = [one.content for one in world.history if isinstance(one.content, Rows)]
    return ImageEddy(image, schema), stream_id, batch


def test_image_finds_elsewhere_what_the_query_stem_finds():
    """Intervals, single values, texts, NULLs and expressions; one query has gone before, and its slot is used again."""
    world = World()
    world.declare(stream(NAME))
    gone = world.register("SELECT n FROM r WHERE k = 1", materialize=Materialize.PARTIAL)
    wheres = [
        "k BETWEEN 2 AND 5",
        "w > '3'",
        "g IS NULL",
        "k * 2 + i > 9",
        "w LIKE '%1%' AND b",
        "n = 77",
    ]
    for where in wheres:
        world.register(f"SELECT n FROM r WHERE {where}", materialize=Materialize.PARTIAL)
    world.remove(QueryId(gone))
    batch = tuples(0, CHUNKS * CHUNK_ROWS, keys=9, seed=1, first_us=EPOCH_US, step_us=9)
    world.append_table(NAME, batch)
    eddy, stream_id, rows = image_of(world)
    settled = dict(eddy.settle(stream_id, 0, [(rows.body, rows.rows)]))
    assert [0, 1, 2] == list(settled)
    engine = Engine()
    (delta,) = [engine.apply(operation) for operation in world.history][-1:]
    for (_, chunk), block in delta.blocks.items():
        settled[chunk].check()
        own = {clause: page.rows(0).tolist() for clause, page in block.pages()}
        assert own == {clause: page.rows(0).tolist() for clause, page in settled[chunk].pages()}


def test_image_refuses_a_body_with_other_rows_than_noted():
    """Rows that nobody counted would move all that follow."""
    world = history("k > 3")
    eddy, stream_id, rows = image_of(world)
    with pytest.raises(IntegrityError, match="12288 rows, and 12287 are noted"):
        list(eddy.settle(stream_id, 0, [(rows.body, rows.rows - 1)]))


def test_image_of_another_kind_of_index_is_none():
    """Only grouped filters travel; others stay where they are."""
    assert ClauseImage.of(StreamClauses(PlainIndex)) is None
