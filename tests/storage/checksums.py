"""Checksums made again, for tests that put something else into a store than a flipped byte."""

from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.fsck import seals
from psoup.storage.redis.upgrade import seal_rows


def sealed_again(client: RedisClient, *names: str) -> None:
    """Make the seals and sums of these keys, None = of all, those of what is there now: psoup might have written it."""
    for name in names or seals.names_of(client):
        for key, field, value in seal_rows(client, name):
            client.fetch_one("HSET", key, field, value)
