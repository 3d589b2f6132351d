"""Every endpoint, in the order in which the API pages show them."""

from collections.abc import Sequence
from typing import Final

from psoup.app.routes import (
    archive_answers as histories,
    batches,
    explanations,
    health,
    llms,
    matches,
    queries,
    samples,
    staging,
    stream_changes,
    top,
    tuples,
    validation,
)
from psoup.app.routes.endpoint import Endpoint
from psoup.app.routes.results import events, invocations, sync

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
