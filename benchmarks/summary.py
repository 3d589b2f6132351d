"""The page that a run ends with: whom psoup is compared with, how often it is faster, and where it is not.

It says what the texts in `results/` say, as the pictures do, so that nobody has to read two dozen of them first.
"""

import statistics
from collections.abc import Sequence
from pathlib import Path

from benchmarks import texts
from benchmarks.texts import NAMES, PEERS, Ratio

_TITLE_WIDTH = 96


def page(folder: Path) -> str:
    """Return the page of the texts in a folder; "" where none of them has a peer."""
    ratios = texts.ratios(folder)
    if not ratios:
        return ""
    faster = sum(one.times >= 1 for one in ratios)
    contests = len({one.contest for one in ratios})
    slower = sorted((one for one in ratios if one.times < 1), key=lambda one: one.times)
    lines = [
        "A ratio is how much longer the strongest form of a peer took than psoup for the same answer, in one run.",
        f"{contests} contests, {len(ratios)} ratios: psoup is as fast or faster in {faster}, slower in {len(slower)}.",
        "",
        f"{'peer':<28} {'ratios':>6} {'faster':>6} {'least':>7} {'median':>7} {'most':>7}",
        *(_peer_line(peer, found) for peer in PEERS if (found := _of(peer, ratios))),
        "",
    ]
    if not slower:
        return "\n".join([*lines, "psoup is slower nowhere."])
    lines.append("Where psoup is slower:")
    lines += [f"{_short(one.times):>7}  {one.peer:<10}  {_cut(one.contest)}" for one in slower]
    return "\n".join(lines)


def _of(peer: str, ratios: Sequence[Ratio]) -> list[float]:
    return sorted(one.times for one in ratios if one.peer == peer)


def _peer_line(peer: str, times: Sequence[float]) -> str:
    """Return the line of one peer, whose ratios ascend."""
    faster = sum(one >= 1 for one in times)
    shown = (times[0], statistics.median(times), times[-1])
    spread = " ".join(f"{_short(one):>7}" for one in shown)
    return f"{NAMES.get(peer, peer):<28} {len(times):>6} {faster:>6} {spread}"


def _short(times: float) -> str:
    return f"{times:,.0f}x" if times >= 100 else f"{times:.2g}x"


def _cut(title: str) -> str:
    return title if len(title) <= _TITLE_WIDTH else f"{title[: _TITLE_WIDTH - 1]}…"
