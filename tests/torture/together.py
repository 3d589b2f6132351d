"""How many operations travel together: what the API says of its calls of the log, over the lives of its processes."""

import re
from collections import Counter
from typing import Final

from tests.torture.clients import Client
from tests.torture.history import History

FIGURE: Final = re.compile(
    rb"^psoup_append_(calls|operations)_total(?:\{.*\})? (\S+)$", re.MULTILINE
)


class Counting(Client):
    """Looks at the API's figures again and again; `history.counts` has what was appended, and in how many calls."""

    async def begin(self) -> None:
        """Have seen nothing."""
        self.seen: Counter[str] = Counter()

    async def act(self) -> None:
        """Look, and add what has been done since; who is killed takes along what was not looked at."""
        asked = await self.history.ask(self.connection, "GET", "/metrics")
        if asked.answer is None or asked.answer.status != 200:
            return
        now: Counter[str] = Counter()
        for what, figure in FIGURE.findall(asked.answer.body):
            now[what.decode()] += int(float(figure))
        if any(now[what] < before for what, before in self.seen.items()):
            self.seen.clear()
        for what, figure in now.items():
            self.history.counts[f"append {what}"] += figure - self.seen[what]
        self.seen = now


def judge_together(history: History, least: float) -> dict[str, float]:
    """Return how many operations went in one call, and were on their way when something was broken: on average.

    Fewer than `least` in one call are a violation: nothing was shown of those that travel together.
    """
    counts = history.counts
    together = counts["append operations"] / max(1, counts["append calls"])
    if together < least:
        history.violation(f"{together:.2f} operations a call: too few travel together")
    under_way = counts["under way at faults"] / max(1, counts["fault"])
    return {"operations a call": together, "under way at a fault": under_way}
