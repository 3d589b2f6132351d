"""Queries of one skeleton, which differ in the numbers of their WHERE alone, bound by filling a template.

An optimisation, and nothing else: `Skeletons.bind` returns what `binder.bind` returns. Clients register
thousands of queries of one skeleton, and nearly all that binding one costs is spent on what they share.

A skeleton is a text with holes where numbers stand in its WHERE. All else is part of it as it was written,
groups, order, limit and window with their numbers too. `template.py` says which skeletons are simple, and why
filling is right.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from psoup.engine import limits
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.bind.scope import Streams
from psoup.engine.query.bind.template import Template, template_of
from psoup.engine.query.clause import BoundQuery
from psoup.engine.query.text.refusal import Span
from psoup.engine.recent import Recent

_WHERE = re.compile(r"\bWHERE\b", re.IGNORECASE)
_BEHIND = re.compile(r"\b(?:BEGIN|GROUP|HAVING|ORDER|LIMIT|OFFSET)\b", re.IGNORECASE)
_NUMBER = re.compile(
    r"(?<=[\s(=<>])(-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?=[\s);]|\Z)"
)
"""A number of the scanner, with a sign or without, where nothing runs into it."""

_Skeleton = tuple[str, ...]
"""The text up to WHERE, the text behind the condition, and what stands between the holes."""


@dataclass(frozen=True, slots=True)
class SkeletonsStatistics:
    """What is known of skeletons, and how often it helped.

    Attributes:
        skeletons: skeletons known.
        simple: those with a template.
        filled: calls of `bind` answered by filling one.
        passed_on: calls left to `binder.bind`, those that it refused among them.
    """

    skeletons: int
    simple: int
    filled: int
    passed_on: int


class Skeletons:
    """At most `skeletons_max` skeletons, the least recently met forgotten first. Deterministic."""

    def __init__(
        self,
        *,
        skeletons_max: int = limits.SKELETONS_KEPT_MAX,
        make_lock: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        """Begin empty.

        Where threads share it, `make_lock` makes its locks. None is held while a text is bound.
        """
        self._templates: Recent[_Skeleton, Template | None] = Recent(skeletons_max, make_lock())
        self._guard = make_lock()
        self._filled = 0
        self._passed_on = 0

    def bind(self, text: str, streams: Streams) -> BoundQuery:
        """Return what `binder.bind` returns.

        Args:
            text: the query as it was written, or its canonical text.
            streams: the declared streams; not changed by anyone until this returns.

        Raises:
            SqlError: as `binder.bind` does, which is asked wherever no template has the answer.

        Cost: linear in the text; of a simple skeleton about a quarter of `binder.bind`, of a skeleton met for
        the first time up to twice as much.
        """
        skeleton, numbers = _cut(text)
        known = not numbers or skeleton in self._templates
        template = self._templates.get(skeleton)
        query = None
        if template is not None:
            known = template.holds(streams)
            query = template.filled(numbers) if known else None
        with self._guard:
            self._filled += query is not None
            self._passed_on += query is None
        if query is not None:
            return query
        query = bind(text, streams)
        if not known:
            template = template_of(text, _holes(skeleton, numbers), query, streams)
            self._templates.put(skeleton, template)
        return query

    def statistics(self) -> SkeletonsStatistics:
        """Return what is known, and the calls so far."""
        templates = [template for _, template in self._templates.pairs()]
        simple = len(templates) - templates.count(None)
        return SkeletonsStatistics(len(templates), simple, self._filled, self._passed_on)

    def check(self) -> None:
        """Assert that both bounds are kept, and that there are holes to fill."""
        self._templates.check()
        for (head, tail, *pieces), _ in self._templates.pairs():
            assert len(pieces) > 1, "a skeleton has holes"
            length = sum(map(len, (head, tail, *pieces)))
            assert length < limits.SKELETON_LENGTH_MAX, "and a bounded length"


def _cut(text: str) -> tuple[_Skeleton, list[str]]:
    """Return a text's skeleton and the numbers in its holes; no numbers where no skeleton is looked for."""
    where = _WHERE.search(text)
    if where is None or len(text) > limits.SKELETON_LENGTH_MAX:
        return (), []
    past = where.end()
    behind = _BEHIND.search(text, past)
    end = len(text) if behind is None else behind.start()
    parts = _NUMBER.split(text[past:end])
    return (text[:past], text[end:], *parts[::2]), parts[1::2]


def _holes(skeleton: _Skeleton, numbers: Sequence[str]) -> list[Span]:
    """Return where the numbers stand in the text that was cut."""
    head, _, *pieces = skeleton
    past = len(head)
    holes: list[Span] = []
    for piece, number in zip(pieces, numbers, strict=False):  # the last piece stands behind all
        start = past + len(piece)
        past = start + len(number)
        holes.append(Span(start, past))
    return holes
