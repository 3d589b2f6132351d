"""The bounds and the log that an application and its connections share, in one process."""

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
    """Shared by the application and its connections."""

    slots: AdmissionSlots
    traffic: Traffic
    requests: RequestLog
    ids: RequestIds = field(default_factory=RequestIds)
