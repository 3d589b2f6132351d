"""What is wrong with histories: records, parts and the index that leads to them."""

from collections.abc import Iterator, Sequence

from psoup.engine import limits
from psoup.engine.store.archive_answers import HistoryId, HistoryState
from psoup.engine.verify.difference import Difference
from psoup.storage import keys
from psoup.storage.encoding.checksums import body_sum
from psoup.storage.encoding.histories import Record, decode_history, pairs, part_sum
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.fsck.scanning import Index, stray_keys


def history_faults(client: RedisClient) -> Iterator[Difference]:
    """Yield histories that are damaged or not counted, and what lies about of histories that are no more.

    Each is looked at in one instant: histories may begin, get parts and go meanwhile.
    """
    index = pairs(client.fetch_one("HGETALL", keys.HISTORIES))
    if len(index) > limits.HISTORIES_MAX:
        yield Difference(
            "keys", f"there are {len(index)} histories, {limits.HISTORIES_MAX} at most"
        )
    for field, name in index.items():
        history_id = HistoryId(name.decode())
        record, parts, numbers = client.fetch_together(
            [
                ("HGETALL", keys.history(history_id)),
                ("HGETALL", keys.history_parts(history_id)),
                ("HKEYS", keys.history_bodies(history_id)),
            ]
        )
        if record:
            fault = _fault(field, name, pairs(record), pairs(parts), set(numbers))
            fault = fault or _body_fault(client, history_id, numbers)
        else:
            left = client.fetch_one("HGET", keys.HISTORIES, field)
            fault = "has no record" if left == name else None
        if fault is not None:
            yield Difference("keys", f"history {history_id} {fault}")
    for key in stray_keys(
        client, keys.HISTORIES_PATTERN, keys.HISTORIES, led_to=_keys_of_histories
    ):
        yield Difference("keys", f"{key} is of no history")


def _keys_of_histories(ids: Index) -> set[str]:
    built = (keys.history, keys.history_bodies, keys.history_parts)
    return {key(HistoryId(history_id)) for history_id in ids for key in built}


def _fault(
    field: bytes, name: bytes, record: Record, parts: Record, numbers: set[bytes]
) -> str | None:
    """Return what is wrong with one history but for its bodies."""
    try:
        history = decode_history(b"0", record)
        known = [tuple(map(int, text.split()[:2])) for text in parts.values()]
        rows = sum(one[0] for one in known)
        sound = (history.asked.history_id.encode(), record[b"f"]) == (name, field)
        sound &= parts.keys() == numbers and int(record[b"n"]) == rows
        sound &= history.nbytes == sum(one[1] for one in known)
        sound &= history.state is not HistoryState.DONE or history.rows == rows
    except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError):
        sound = False
    return None if sound else "is damaged"


def _body_fault(client: RedisClient, history_id: HistoryId, numbers: Sequence[bytes]) -> str | None:
    """Return which body of a history is another one than is said, each looked at in one instant."""
    for number in numbers:
        part, body = client.fetch_together(
            [
                ("HGET", keys.history_parts(history_id), number),
                ("HGET", keys.history_bodies(history_id), number),
            ]
        )
        if part is None or body is None:
            continue
        if int(part.split()[1]) != len(body):
            return f"has a part {int(number)} of another size"
        if part_sum(part) != body_sum(body):
            return f"has a damaged part {int(number)}"
    return None
