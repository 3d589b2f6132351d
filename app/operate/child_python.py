"""Child processes that run Python: they never import from the current folder, which belongs to the user.

`python -m` and `python -c` put the current folder first on the path: a `psoup.py` or a `json.py` in it would be
imported instead of psoup, or of Python's own module.
"""

import os
import sys
from typing import Final

_SAFE_PATH: Final = "PYTHONSAFEPATH"
"""Where it is set, Python does not put the current folder on the path."""


def psoup_command(*arguments: str) -> list[str]:
    """Return the command line that runs `psoup` with these arguments in this interpreter."""
    return [sys.executable, "-P", "-m", "psoup", *arguments]


def keep_out_current_folder() -> None:
    """Make every Python that this process starts from now on ignore the current folder.

    It is for those whose command lines psoup does not write: API workers and their helpers, which multiprocessing
    starts, and Spark's Python workers.
    """
    os.environ[_SAFE_PATH] = "1"
