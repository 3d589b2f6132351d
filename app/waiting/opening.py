"""The waiting room of a running service: its parts, over that service's results and clock."""

import secrets
from typing import Final

from psoup.app.admission.work_pool import WorkPool
from psoup.app.backend.service import Service
from psoup.app.waiting.lookout import Lookout
from psoup.app.waiting.pace import Pace
from psoup.app.waiting.room import WaitingRoom
from psoup.engine.errors import EngineError
from psoup.engine.invocation.position.answer import Since
from psoup.engine.invoke import Answer, Request, answered_or_refused
from psoup.engine.results.contract import Snapshot

WOKEN_THREADS: Final = 2
"""For the answers of those who were woken: apart from those of other requests, which do not wait behind thousands."""


def open_room(service: Service) -> WaitingRoom:
    """Return the waiting room of a service, which has not started yet. To be called in its event loop."""

    def ask(snapshot: Snapshot, since: Since) -> Answer | EngineError:
        return answered_or_refused(
            service.results,
            service.backend.source,
            snapshot,
            Request(limit=1, since=since),
            service.invocations,
        )

    room = WaitingRoom(
        service.applied,
        Lookout(service.results, ask),
        WorkPool("woken", threads=WOKEN_THREADS),
        now_us=service.results.now_us,
        pace=Pace(below=secrets.randbelow),
    )
    service.renewals.watched = room.watched
    return room
