"""The keys of a server, and those of them that no index leads to."""

import itertools
from collections.abc import Callable, Collection, Iterator
from typing import Final

from psoup.storage.redis.calls.client import RedisClient

KEYS_PER_SCAN: Final = 1_000
Index = Collection[str]
"""The values of an index: ids of what it leads to."""


def scan_keys(client: RedisClient, pattern: str) -> set[str]:
    """Return the keys that match, each once."""
    found: set[str] = set()
    cursor = b"0"
    while True:
        cursor, names = client.fetch_one("SCAN", cursor, "MATCH", pattern, "COUNT", KEYS_PER_SCAN)
        found.update(name.decode(errors="replace") for name in names)
        if cursor == b"0":
            return found


def stray_keys(
    client: RedisClient, pattern: str, *indexes: str, led_to: Callable[..., set[str]]
) -> Iterator[str]:
    """Yield keys that match and that none of the indexes leads to, ascending.

    `led_to` returns the keys that belong to the values of the indexes, given one `Index` for each. Keys and indexes
    may change together meanwhile: what seems to be a stray is looked at once more, with the indexes of that instant.
    """
    found = scan_keys(client, pattern)
    read = [("HVALS", index) for index in indexes]
    left = iter(sorted(found - led_to(*map(_texts, client.fetch_together(read)))))
    while names := list(itertools.islice(left, KEYS_PER_SCAN)):
        answers = client.fetch_together([*read, *(("EXISTS", name) for name in names)])
        led = led_to(*map(_texts, answers[: len(indexes)]))
        for name, exists in zip(names, answers[len(indexes) :], strict=True):
            if exists and name not in led:
                yield name


def _texts(values: Collection[bytes]) -> Index:
    return [value.decode(errors="replace") for value in values]
