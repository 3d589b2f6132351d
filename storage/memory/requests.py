"""Keys that clients give their requests: `known_request` and `enter_request` in `functions/catalogue.lua`."""

from dataclasses import dataclass

from psoup.engine import limits
from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import Content, QueryId, Register, RequestKey
from psoup.engine.tuples.batch import Seq
from psoup.storage import refusals


@dataclass(frozen=True, slots=True)
class KnownRequest:
    """What was stored under a key, the `number`-th of all: its operation, and the handle of a registration."""

    number: int
    seq: Seq
    arrival_us: int
    digest: bytes
    query_id: QueryId | None


class Requests:
    """The last REQUEST_KEYS_MAX keys, in the order in which they were stored. Not thread-safe."""

    def __init__(self) -> None:
        """Begin with no key."""
        self._known: dict[str, KnownRequest] = {}
        self._count = 0

    def known(self, key: RequestKey, now_us: int) -> KnownRequest | None:
        """Return what was stored under a key; None = it is new at `now_us`.

        Raises:
            RequestKeyReusedError: the key was sent with something else.
        """
        found = self._known.get(key.name)
        if found is None or now_us - found.arrival_us >= limits.REQUEST_KEY_LIFE_S * SECOND_US:
            return None
        if found.digest != key.digest:
            raise refusals.request_key_reused(found.seq)
        return found

    def enter(self, key: RequestKey, seq: Seq, content: Content, now_us: int) -> None:
        """Take note of the key of `content`, which was stored as operation `seq` at `now_us`."""
        self._known.pop(key.name, None)  # sent too long ago to count
        first = next(iter(self._known), None)
        if first is not None and self._known[first].number <= self._count - limits.REQUEST_KEYS_MAX:
            del self._known[first]
        query_id = content.query_id if isinstance(content, Register) else None
        self._known[key.name] = KnownRequest(self._count, seq, now_us, key.digest, query_id)
        self._count += 1

    def check(self) -> None:
        """Assert that no more keys are known than may be, in the order of their operations. O(keys)."""
        numbers = [one.number for one in self._known.values()]
        assert numbers == sorted(numbers)
        assert not numbers or numbers[0] >= self._count - limits.REQUEST_KEYS_MAX
