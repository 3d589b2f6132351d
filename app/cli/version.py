"""The versions of psoup, Python and the system: one line for a bug report."""

import platform
from importlib.metadata import version


def version_line() -> str:
    """Return `psoup 0.1.0 (Python 3.11.7, Linux x86_64)`."""
    python, system, machine = platform.python_version(), platform.system(), platform.machine()
    return f"psoup {version('psoup')} (Python {python}, {system} {machine})"
