"""The worlds of the kit's files, in the order in which what breaks a service is soonest told."""

import json
from typing import Any, Final

from conformance.generate import FOLDER

WORLDS: Final[list[dict[str, Any]]] = [
    json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.iterdir())
]
OVER_ROWS: Final = sorted(
    (world for world in WORLDS if "clock" not in world and "slow" not in world),
    key=lambda world: len(world["steps"]),
)
"""Those of few steps come first; one that takes a minute is played by `make torture`."""
OVER_CLOCK: Final = [world for world in WORLDS if "clock" in world]
"""The one whose client waits long for what does not come is last."""
