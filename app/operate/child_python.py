"""How psoup starts Python anew: never with the current folder on the path, whose files belong to somebody else.

`python -m` and `python -c` put the current folder first: an `app.py` or a `json.py` in it would be run in the place of
psoup's, or of Python's own.
"""

import os
import sys
from typing import Final

_SAFE_PATH: Final = "PYTHONSAFEPATH"
"""Python reads it at its start: the current folder is not put on the path."""


def psoup_command(*arguments: str) -> list[str]:
    """Return the command line of a `psoup` with these arguments, by this interpreter."""
    return [sys.executable, "-P", "-m", "psoup", *arguments]


def keep_out_current_folder() -> None:
    """Let every Python that this process starts from now on ignore the current folder.

    That is for those whose command lines are not psoup's: API workers and their helpers, which multiprocessing starts,
    and Spark's Python workers.
    """
    os.environ[_SAFE_PATH] = "1"
