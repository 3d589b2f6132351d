"""What stands in front of an application, in one process: places for requests, the connections' traffic, a log."""

from dataclasses import dataclass
from typing import Final

from psoup.app.admission.slots import AdmissionSlots
from psoup.app.admission.traffic import Traffic
from psoup.app.http.request_log import RequestLog

FRONT: Final = "psoup.front"
"""Where an application's lifespan leaves its `Front`, for the connections."""


@dataclass(frozen=True, slots=True)
class Front:
    """Shared by the application and its connections."""

    slots: AdmissionSlots
    traffic: Traffic
    requests: RequestLog
