"""A process that opens the embedded store, appends, says what was acknowledged, and goes on until killed."""

import sys
from pathlib import Path

from psoup.engine.clock import SystemClock
from psoup.engine.log.operation import Tick
from psoup.storage.opening import open_store


def main() -> None:
    store = open_store(None, data=Path(sys.argv[1]), clock=SystemClock())
    while True:
        sys.stdout.write(f"{store.log.append(Tick()).seq}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
