"""Hits from before a process began, which it does not hold: from wherever they were published."""

from collections.abc import Callable, Mapping, Sequence

from psoup.engine.results.delta import ClauseRecord
from psoup.engine.results.page import Page

OlderPages = Callable[[ClauseRecord, Sequence[int]], Mapping[int, Page]]
"""Pages of chunks that were whole before this process began, from wherever they were published."""


def no_older_pages(_clause: ClauseRecord, _chunks: Sequence[int]) -> Mapping[int, Page]:
    """Return nothing: the process has been there from the beginning."""
    return {}
