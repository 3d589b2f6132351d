"""Every endpoint, in the order in which the API pages show them."""

from collections.abc import Sequence
from typing import Final

from psoup.app.routes import archive_answers as histories, batches, explanations, health, llms, top
from psoup.app.routes.endpoint import Endpoint
from psoup.app.routes.queries import queries, validation
from psoup.app.routes.results import events, invocations, sync
from psoup.app.routes.rows import matches, samples, staging, tuples
from psoup.app.routes.streams import stream_changes

ENDPOINTS: Final[Sequence[Endpoint]] = (
    *stream_changes.ENDPOINTS,
    *samples.ENDPOINTS,
    *tuples.ENDPOINTS,
    *staging.ENDPOINTS,
    *batches.ENDPOINTS,
    *queries.ENDPOINTS,
    *validation.ENDPOINTS,
    *invocations.ENDPOINTS,
    *explanations.ENDPOINTS,
    *matches.ENDPOINTS,
    *events.ENDPOINTS,
    *sync.ENDPOINTS,
    *histories.ENDPOINTS,
    *health.ENDPOINTS,
    *top.ENDPOINTS,
    *llms.ENDPOINTS,
)
