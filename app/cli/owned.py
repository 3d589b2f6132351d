"""`psoup` as a child that belongs to its parent: it ends when its standard input ends, however the parent has ended."""

import os
import signal
import threading
from typing import Final

from psoup.app.cli.application import main as run

_STANDARD_INPUT: Final = 0
_CHUNK: Final = 4_096


def main() -> None:
    """Run the command line, and end the process as asked when nobody holds its standard input any more."""
    threading.Thread(target=_end_with_parent, name="psoup-parent", daemon=True).start()
    run()


def _end_with_parent() -> None:
    while os.read(_STANDARD_INPUT, _CHUNK):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
