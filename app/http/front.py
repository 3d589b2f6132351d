"""The bounds and the log that an application and its connections share, in one process."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from psoup.app.admission.slots import AdmissionSlots
from psoup.app.admission.traffic import Traffic
from psoup.app.http.request_ids import RequestIds
from psoup.app.http.request_log import RequestLog

FRONT: Final = "psoup.front"
"""The key of the `Front` in an application's lifespan state, where its connections find it."""


@dataclass(frozen=True, slots=True)
class Front:
    """Shared by the application and its connections.

    Attributes:
        before_end: called when the server begins to end, before it waits for requests to be answered.
    """

    slots: AdmissionSlots
    traffic: Traffic
    requests: RequestLog
    ids: RequestIds = field(default_factory=RequestIds)
    before_end: list[Callable[[], None]] = field(default_factory=list)
