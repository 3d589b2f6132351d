"""Pages of lists: by a key that orders them, so that a page goes on where the last one ended."""

import itertools
from collections.abc import Callable, Sequence
from typing import TypeVar
from urllib.parse import urlencode

from psoup.app.routes.endpoint import Call
from psoup.app.wire.parameters import LIMIT, PAGE
from psoup.engine import limits
from psoup.engine.errors import BadPageError

Entry = TypeVar("Entry")


def list_page(
    call: Call,
    entries: Sequence[Entry],
    *,
    key: Callable[[Entry], str | int],
    subject: str,
    keep: Callable[[Entry], bool] | None = None,
) -> tuple[Sequence[Entry], str | None]:
    """Return the entries of the page asked for, and the relative URL of the next one.

    Args:
        call: its `limit` and `page` are read.
        entries: all of them, ascending by `key`.
        key: what a page goes on from; an entry that comes or goes in between moves no other.
        subject: which list this is, so that another list's token is refused.
        keep: which of the entries are listed; asked until the page is full.

    Raises:
        BadPageError: the token is not this list's, or the list was filtered otherwise.
    """
    subject = f"{subject}?{_filters(call)}"
    limit = min(call.arguments.get(LIMIT) or limits.LIST_ROWS_DEFAULT, limits.LIST_ROWS_MAX)
    token = call.arguments.get(PAGE)
    if token is not None:
        after = call.context.tokens.read(subject, token)
        if not isinstance(after, str | int):
            raise BadPageError("The page token is not this list's.")
        entries = [one for one in entries if key(one) > after]  # type: ignore[operator]
    if keep is not None:
        entries = list(itertools.islice(filter(keep, entries), limit + 1))
    page = entries[:limit]
    if len(entries) <= limit:
        return page, None
    following = call.context.tokens.sign(subject, key(page[-1]))
    kept = [("page", following)]
    kept += [pair for pair in call.request.query_params.multi_items() if pair[0] != PAGE.name]
    return page, f"{call.request.url.path}?{urlencode(kept)}"


def _filters(call: Call) -> str:
    """Return the parameters that choose the entries, in one order whatever theirs."""
    pairs = call.request.query_params.multi_items()
    return urlencode(sorted(pair for pair in pairs if pair[0] not in (LIMIT.name, PAGE.name)))
