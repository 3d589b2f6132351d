"""What is wrong with staged parts, and with what the log's head and catalogue say of parts, holds and trims."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from psoup.engine import limits
from psoup.engine.log.operation import StageId
from psoup.engine.verify.difference import Difference
from psoup.storage import keys
from psoup.storage.encoding.checksums import body_sum
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.calls.tidy import scan_hash
from psoup.storage.redis.fsck.scanning import Index, stray_keys

TRIES: Final = 5
"""So often is looked for a moment in which no part comes or goes."""


def _body_faults(client: RedisClient, stage_id: StageId) -> Iterator[Difference]:
    """Yield whether the body of a part is another one than was staged; nothing of one that has gone meanwhile."""
    said, body = client.fetch_together(
        [("HGET", keys.part(stage_id), "c"), ("HGET", keys.body(stage_id), "b")]
    )
    if said is not None and body is not None and said.decode(errors="replace") != body_sum(body):
        yield Difference("log", f"the body of the staged part {stage_id} is damaged")


def part_faults(client: RedisClient) -> Iterator[Difference]:
    """Yield parts and marks that are damaged, not counted or left lying; holds and trims of streams not in force.

    Parts may be staged and committed meanwhile; where they come and go too fast, they are not compared.
    """
    ids: list[bytes] = []
    for _ in range(TRIES):
        index, staged, holds, trimmed, streams, committed, *parts = client.fetch_together(
            [
                ("HGETALL", keys.PARTS),
                ("HGET", keys.HEAD, "staged"),
                ("HKEYS", keys.HOLDS),
                ("HKEYS", keys.TRIMMED),
                ("HVALS", keys.LOG_STREAMS),
                ("HVALS", keys.BODIES),
                *(("HMGET", keys.part(StageId(one.decode())), "n", "z", "v") for one in ids),
                *(("HSTRLEN", keys.body(StageId(one.decode())), "b") for one in ids),
            ]
        )
        if index[1::2] == ids:
            break
        ids = index[1::2]
    else:
        return
    counted, kept = 0, set(committed)
    rows = zip(index[::2], ids, parts[: len(ids)], parts[len(ids) :], strict=True)
    for number, stage_id, (own, size, mark), held in rows:
        waiting = held if mark is None else 0  # the body of a committed one is the log's
        if own != number or size is None or int(size) != waiting:
            yield Difference("log", f"the staged part {stage_id.decode()} is damaged")
        if mark is not None and held and stage_id not in kept:
            yield Difference(
                "log", f"the body of the part {stage_id.decode()} is left of its commit"
            )
        counted += waiting + limits.STAGE_MARK_BYTES
    if int(staged) != counted:
        yield Difference("log", f"{int(staged)} bytes are said to be staged, and {counted} are")
    for stage_id in ids:
        yield from _body_faults(client, StageId(stage_id.decode()))
    yield from _stream_faults(streams, holds, trimmed)
    for key in stray_keys(
        client, f"{keys.PART_PREFIX}*", keys.PARTS, keys.BODIES, led_to=_keys_of_parts
    ):
        yield Difference("log", f"{key} is of no staged part and of no batch")


def lost_parts(client: RedisClient, *, meanwhile: Callable[[], None]) -> Iterator[Difference]:
    """Yield parts that the index leads to and that are not there, or without their body. `meanwhile` as for seals.

    Parts may come, be committed and go meanwhile: body first, because a part's mark is left as its body goes.
    """
    for number, name in scan_hash(client, keys.PARTS).items():
        meanwhile()
        stage_id = StageId(name.decode(errors="replace"))
        body, (own, mark), left = client.fetch(
            [
                ("EXISTS", keys.body(stage_id)),
                ("HMGET", keys.part(stage_id), "n", "v"),
                ("HGET", keys.PARTS, number),
            ]
        )
        if left == name and (own != number or not (body or mark)):
            yield Difference("log", f"{keys.part(stage_id)} or its body is lost")


def _keys_of_parts(parts: Index, committed: Index) -> set[str]:
    ids = [StageId(one) for one in parts]
    return {
        *map(keys.part, ids),
        *map(keys.body, ids),
        *map(keys.body, map(StageId, committed)),
    }


def _stream_faults(
    streams: Sequence[bytes], holds: Sequence[bytes], trimmed: Sequence[bytes]
) -> Iterator[Difference]:
    """Yield what is kept of streams that are not in force."""
    declared = {row.split()[0] for row in streams}
    for stream_id in holds:
        if stream_id not in declared:
            yield Difference("log", f"stream {stream_id.decode()} is held, and is not declared")
    for stream_id in trimmed:
        if stream_id not in declared:
            yield Difference("log", f"stream {stream_id.decode()} was trimmed, and is not declared")
