"""Fold a recorded log again, and sum up what is published in one number.

Run as a program (`python -m tests.agreement.replay FILE`) it prints the digest of a pickled log, so that
two processes with different hash seeds can be compared.
"""

import hashlib
import pickle
import sys
from collections.abc import Sequence
from pathlib import Path

from psoup.engine.clock import ManualClock
from psoup.engine.engine import MatchThreads
from psoup.engine.limits import CHUNK_ROWS, FOLD_OPERATIONS_MAX
from psoup.engine.log.operation import Operation
from tests.world import World


def replayed(
    history: Sequence[Operation],
    *,
    operations_max: int = FOLD_OPERATIONS_MAX,
    restart_every: int | None = None,
    match_threads: MatchThreads | None = None,
) -> World:
    """Return a world that took these operations again, and assert that its log gave them back unchanged.

    Args:
        history: entries of a log, from the first.
        operations_max: so many are folded into one publish.
        restart_every: the engine is lost and restored after each so many operations.
        match_threads: the engine's.
    """
    clock = ManualClock(history[0].arrival_us if history else 0)
    world = World(clock=clock, match_threads=match_threads)
    for operation in history:
        clock.advance(operation.arrival_us - clock.now_us())
        world.append_content(operation.content, fold=False)
        if restart_every is not None and operation.seq % restart_every == 0:
            world.fold(operations_max)
            world.lose_engine()
    world.fold(operations_max)
    assert list(history) == world.history
    return world


def published_digest(world: World) -> str:
    """Return a hash of everything published: records, windows, and each page bit for bit."""
    checkpoint = world.store.results.checkpoint()
    summed = hashlib.sha256()
    for part in (
        checkpoint.cut.seq,
        checkpoint.cut.arrival_us,
        checkpoint.streams,
        checkpoint.clauses,
        checkpoint.queries,
        checkpoint.batches,
    ):
        summed.update(repr(part).encode())
    streams = {stream.stream_id: stream for stream in checkpoint.streams}
    for key, composites in sorted(checkpoint.composites.items()):
        summed.update(repr((key, composites.rows.shape)).encode())
        for array in (composites.rows, composites.earliest, composites.latest):
            summed.update(array.tobytes())
        for clause_id, hits in composites.block.pages():
            summed.update(repr((clause_id, hits.rows(0).tolist())).encode())
    for clause in checkpoint.clauses:
        if len(clause.streams) > 1:
            continue
        rows = streams[clause.streams[0]].rows
        kept = [chunk for chunk in range(rows // CHUNK_ROWS) if clause.keeps(chunk, rows)]
        for chunk, page in sorted(world.store.results.pages(clause, kept).items()):
            summed.update(repr((clause.clause_id, chunk, page.kept)).encode())
            if page.offsets is not None:
                summed.update(b"list" + page.offsets.tobytes())
            if page.bitmap is not None:
                summed.update(b"bitmap" + page.bitmap.tobytes())
    return summed.hexdigest()


if __name__ == "__main__":
    recorded = pickle.loads(Path(sys.argv[1]).read_bytes())
    sys.stdout.write(published_digest(replayed(recorded)))
