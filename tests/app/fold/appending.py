"""A loop that rests until it is woken, and whoever appends to its log and hands over what was appended."""

from psoup.engine.tuples.batch import Seq
from tests.app.fold.folding import Folding, numbers, schema
from tests.patience import wait_until
from tests.world import World


class Appending:
    """A loop that rests until it is woken, over a stream `s` and a query that shows all of its rows."""

    def __init__(self, one: Folding) -> None:
        self.folding, self.loop, self.world = one, one.loop, World(one.store.plain)
        assert self.loop.at_hand is not None
        self.hand, self.reads = self.loop.at_hand, 0
        one.store.log.before["read"] = self._count
        self.world.declare(schema("s", None), fold=False)
        self.query_id = self.world.register("SELECT a FROM s", fold=False)
        one.wait(2)

    def append(self, *values: int, handed: bool = True, life: int | None = None) -> Seq:
        """Append rows, and hand them over; return their seq."""
        appended = self.world.append("s", numbers(*values), fold=False)
        if handed:
            self.folding.hand_over(self.world, life=life)
        return appended.seq

    def shown(self) -> list[int]:
        return self.folding.answer(self.query_id)

    def until_it_rests(self) -> None:
        """Return when the loop waits to be woken."""

        def rests() -> bool:
            with self.loop._fold.turning:
                return self.loop._idle and not self.loop._wake.is_set()

        wait_until(rests, "the loop rests")

    def _count(self) -> None:
        self.reads += 1
