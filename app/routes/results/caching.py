"""What caches are told of an answer: a tag that stands for its rows, and how long it is right without a question.

The tag is weak: `now` differs where the rows do not. It is a keyed digest of the state of the answer and of all that
was asked, so equal tags stand for equal rows; one made with another key, whose page tokens are none here, equals none.
An answer may be used unasked as long as nothing that arrives can enter its window, and the clock takes nothing in or
out of it: until `min(arrivals_us, changes_us)`. One with links to other pages is never used so: the tuples of those may
have gone meanwhile, and who begins again must not be given the same links.
"""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Final

from starlette.responses import Response

from psoup.app.http.page_tokens import PageTokens
from psoup.app.wire.models.results.invocations import Presentation
from psoup.engine.invoke import Answer, Request
from psoup.engine.limits import SECOND_US

NO_CACHE: Final = "private, no-cache"
VARY: Final = "Authorization, Accept, Accept-Encoding"
_AGE_S_MAX: Final = 31_536_000
"""A year, as long as any cache keeps something."""
_IMMUTABLE: Final = f"private, max-age={_AGE_S_MAX}, immutable"
_VERSION: Final = version("psoup")
"""Another version may write the same rows otherwise."""


def entity_tag(
    tokens: PageTokens, answer: Answer, request: Request, shown: Presentation, past: int | None
) -> str:
    """Return the value of the `ETag` of an answer.

    Args:
        tokens: what signs its pages and its cursor.
        answer: one page.
        request: what was asked of the engine.
        shown: how it is written.
        past: rows of the answer up to which the page may reach; None = as far as the answer.
    """
    facts = (_VERSION, answer.query.version, answer.state, request, shown, past)
    return f'W/"{tokens.digest(f"tag {answer.query.query_id}", repr(facts).encode())}"'


def cache_headers(tag: str, answer: Answer, request: Request, *, has_links: bool) -> dict[str, str]:
    """Return the headers by which caches keep an answer of this tag; `has_links`: it names other pages."""
    control = _cache_control(answer, request, has_links=has_links)
    return {"ETag": tag, "Cache-Control": control, "Vary": VARY}


def not_modified(headers: Mapping[str, str]) -> Response:
    """Return the answer to who has it already; `headers` are those that the answer itself would have."""
    return Response(status_code=304, headers=headers)


def _cache_control(answer: Answer, request: Request, *, has_links: bool) -> str:
    now_us, clock_us = answer.now_us, answer.clock_us
    until_us = None if answer.complete else answer.arrivals_us
    is_pinned = request.position is not None or request.seq is not None
    if has_links or now_us is None or clock_us is None or is_pinned:
        return NO_CACHE
    if request.now_us is not None:  # the clock changes nothing at an instant that is over
        return _IMMUTABLE if until_us is None or until_us > now_us else NO_CACHE
    if answer.changes_us is not None:
        until_us = answer.changes_us if until_us is None else min(until_us, answer.changes_us)
    if until_us is None:
        return _IMMUTABLE
    seconds = min((until_us - clock_us) // SECOND_US, _AGE_S_MAX)
    return f"private, max-age={seconds}" if seconds > 0 else NO_CACHE
