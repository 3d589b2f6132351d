"""Where a store stands, in one call: what META and the log's head say, whoever has verified them or not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psoup.engine.errors import IntegrityError
from psoup.engine.results.contract import Gen, Position
from psoup.engine.store.contract import Durability
from psoup.engine.tuples.batch import Seq
from psoup.storage import keys
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.calls.write_token import runs


@dataclass(frozen=True, slots=True)
class StoreState:
    """What psoup_state answers; None = there is nothing.

    Attributes:
        run: the server's present life; `opened_run` is the one that an engine has verified.
        now_us: the server's clock.
        head, waiting_bytes: of the log: its last operation, and the bodies that wait to be applied.
        fmt, cluster, gen, applied: of META: layout, whose, history, and what is published in it.
        library: hash of the engine's Functions.
        durability: as the engine has found it; None also for a word that is none of the levels.
        lease_from_us, lease_until_us: when the engine's lease was renewed, and ends, by the server's clock.
    """

    run: str
    now_us: int
    head: Seq | None
    waiting_bytes: int
    fmt: int | None
    cluster: str | None
    gen: Gen
    applied: Seq
    opened_run: str | None
    library: str
    durability: Durability | None
    lease_from_us: int
    lease_until_us: int

    @property
    def verified(self) -> bool:
        """Return whether an engine has looked at this life of the server."""
        return self.run == self.opened_run

    @property
    def position(self) -> Position:
        """Return the position, of a store that has been begun."""
        assert self.head is not None
        alive = runs(self.now_us, self.lease_from_us, self.lease_until_us)
        return Position(self.gen, self.applied, self.head, self.waiting_bytes, alive)


def read_state(client: RedisClient) -> StoreState:
    """Return the state, all of one instant. Raises what `RedisClient.view` does."""
    return decode_state(client.view("psoup_state", [keys.META, keys.HEAD]))


def decode_state(answer: Sequence[Any]) -> StoreState:
    """Return what an answer of psoup_state says. Raises IntegrityError where it has no numbers."""
    try:
        return _decoded(answer)
    except ValueError as error:
        raise IntegrityError(f"{keys.META} or {keys.HEAD} is damaged: {error}.") from error


def _decoded(answer: Sequence[Any]) -> StoreState:
    run, now_us, head, waiting, *meta = answer
    fmt, cluster, gen, applied, opened, library, durability, lease_from, lease_until = meta
    return StoreState(
        run=run.decode(),
        now_us=int(now_us),
        head=None if head is None else Seq(int(head)),
        waiting_bytes=int(waiting or 0),
        fmt=None if fmt is None else int(fmt),
        cluster=None if cluster is None else cluster.decode(),
        gen=Gen(int(gen or 0)),
        applied=Seq(int(applied or 0)),
        opened_run=None if opened is None else opened.decode(),
        library=(library or b"").decode(),
        durability=next((level for level in Durability if level.encode() == durability), None),
        lease_from_us=int(lease_from or 0),
        lease_until_us=int(lease_until or 0),
    )
