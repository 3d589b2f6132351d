"""How long a test waits for what is sure to come.

So long that only a hang is longer, also on a machine that is shared and stands still for seconds now and then; less
than pytest's timeout, so that the test says itself what has not come.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

WAIT_S: Final = 90.0
LOOK_S: Final = 0.02
LEASE_S: Final = 5.0
"""An engine's lease: longer than a busy machine stands still, and short enough to wait for its end."""
PATIENT: Final[Mapping[str, Any]] = {
    "ingest_deadline_s": 60.0,
    "register_deadline_s": 60.0,
    "invoke_deadline_s": 10.0,
}
"""Settings of a service under test: a deadline that is to pass is set by the test."""
PATIENT_ENVIRONMENT: Final = {
    f"PSOUP_{name.upper()}": str(value) for name, value in PATIENT.items()
}
"""The same for a service that is a process."""


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Return once `condition()` is true; `what` is said where it never is."""
    latest_s, pause = time.monotonic() + WAIT_S, threading.Event()
    while not condition():
        assert time.monotonic() < latest_s, f"not in {WAIT_S:g} s: {what}"
        pause.wait(LOOK_S)
