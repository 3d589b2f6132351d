"""The worlds of the kit's files, in the order in which what breaks a service is soonest told."""

import json
from typing import Any, Final

from conformance.generate import FOLDER

WORLDS: Final[list[dict[str, Any]]] = [
    json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.iterdir())
]
OF_EACH_SHAPE: Final = [
    path
    for path in sorted(FOLDER.iterdir())
    if "-keeps-rows" in path.stem or path.stem.startswith(("definitions", "clock-sliding"))
]
"""Files that ask for every shape, where retention takes rows, queries change and the clock moves."""
_SOONEST: Final = (
    "join-hopping-1",
    "select-sliding-1",
    "groups-delayed-keeps-time-1",
    "distinct-delayed-1",
    "ordered-landmark-keeps-rows-1",
    "select-sliding-strange-cursors",
    "groups-delayed-keeps-time-49",
    "total-delayed-keeps-time-10",
    "joined-groups-sliding-1",
)
"""Each way of `service_mutants.py` to break a service is told by one of these."""


def _place(world: dict[str, Any]) -> tuple[int, int]:
    name = world["world"]
    soon = _SOONEST.index(name) if name in _SOONEST else len(_SOONEST)
    return soon, len(world["steps"])


OVER_ROWS: Final = sorted(
    (world for world in WORLDS if "clock" not in world and "slow" not in world), key=_place
)
"""Behind those that tell soonest, those of few steps come first; `make torture` plays the one that takes a minute."""
OVER_CLOCK: Final = [world for world in WORLDS if "clock" in world]
"""The one whose client waits long for what does not come is last."""
