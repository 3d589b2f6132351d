"""Cuts an answer to a budget of tokens, and says in it what was left out, and how to get that."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from psoup.agents.tokens import count_tokens

CELL_CHARACTERS_MAX: Final = 500
"""A longer text in a list is cut."""
CUT: Final = "… ({} more characters)"
_SHORTENED: Final = (
    f"Cut after {CELL_CHARACTERS_MAX} characters: {{}} of the texts here; each says by how much."
    " SUBSTRING(column, start, length) in a query reads on in one."
)

JsonObject = dict[str, Any]


class BudgetError(Exception):
    """The answer does not fit into its budget, even without all that can be left out."""

    def __init__(self, max_tokens: int, needed: int) -> None:
        """Name the budget, and one that is enough."""
        self.needed = needed
        super().__init__(
            f"The answer takes {needed} tokens even without its rows, and max_tokens is {max_tokens}: ask again with"
            f" max_tokens of {needed} or more."
        )


@dataclass(frozen=True, slots=True)
class Part:
    """Lists of an answer that may be cut: those that are members of this name, at any depth.

    Attributes:
        member: the name.
        what: is in them, in the plural.
        instead: a sentence that says how to get what is left out.
        total: how many there are, where the list is only the first ones of them.
        is_whole: the member is left out, or nothing of it: some of it would mean something else.
    """

    member: str
    what: str
    instead: str
    total: int | None = None
    is_whole: bool = False


def fit(answer: Mapping[str, Any], parts: Sequence[Part], max_tokens: int) -> JsonObject:
    """Return the answer, cut to a budget; what it is given stays as it is.

    Lists are cut from their ends. Those of the first part go first; only when none of them is left are those of the
    second part cut. Whatever is left out is counted in the member `left_out`, by part, and told in `notes`, a sentence
    each. Long texts in these lists are cut in any case.

    Args:
        answer: of JSON values.
        parts: what may be cut, in this order.
        max_tokens: of the answer as compact JSON, by `count_tokens`.

    Raises:
        BudgetError: it is too long even without them.
    """
    cutting = _Cutting(answer, parts)
    lengths: dict[str, int] = {}
    for part in parts:
        lengths[part.member] = max_tokens  # an element takes a token at least
    whole = cutting.cut(lengths)
    if _size(whole) <= max_tokens:
        return whole
    for part in parts:
        fitting = cutting.longest(part, lengths, max_tokens)
        if fitting is not None:
            return fitting
        lengths[part.member] = 0
    raise BudgetError(max_tokens, _size(cutting.cut(lengths)))


def _size(answer: JsonObject) -> int:
    return count_tokens(as_text(answer))


def as_text(answer: Mapping[str, Any]) -> str:
    """Return an answer as a model reads it: compact JSON."""
    return orjson.dumps(answer).decode()


class _Cutting:
    """One answer, and how it looks with its lists cut to some lengths."""

    def __init__(self, answer: Mapping[str, Any], parts: Sequence[Part]) -> None:
        self._answer = answer
        self._parts = {part.member: part for part in parts}
        self._lengths: Mapping[str, int] = {}
        self._left_out: dict[str, int] = {}
        self._shortened = 0

    def longest(self, part: Part, lengths: Mapping[str, int], max_tokens: int) -> JsonObject | None:
        """Return the answer with lists of a part as long as the budget lets them be; None: not even empty ones fit."""
        best: JsonObject | None = None
        longest = max((len(found) for found in _lists(self._answer, part.member)), default=0)
        low, high = 0, min(longest, max_tokens)
        while low <= high:
            middle = 0 if part.is_whole else (low + high) // 2
            tried = self.cut({**lengths, part.member: middle})
            if _size(tried) <= max_tokens:
                best, low = tried, middle + 1
            else:
                high = middle - 1
            if part.is_whole:
                break
        return best

    def cut(self, lengths: Mapping[str, int]) -> JsonObject:
        """Return the answer with lists of these lengths at most, and what that leaves out."""
        self._lengths, self._left_out, self._shortened = lengths, {}, 0
        found = self._members(self._answer, listed=False)
        for part in self._parts.values():
            if part.total is not None:
                shown = sum(len(one) for one in _lists(found, part.member))
                self._left_out[part.member] = part.total - shown
        left_out = {name: count for name, count in self._left_out.items() if count > 0}
        notes = list(self._answer.get("notes", ()))
        notes += [self._note(self._parts[name], count) for name, count in left_out.items()]
        notes += [_SHORTENED.format(self._shortened)] if self._shortened else []
        return (
            found
            | ({"left_out": left_out} if left_out else {})
            | ({"notes": notes} if notes else {})
        )

    def _value(self, name: str, value: Any, *, listed: bool) -> Any:  # noqa: ANN401 (of JSON)
        """Return the value of a member, cut; `listed`: it is in a list that may be cut."""
        if isinstance(value, Mapping):
            return self._members(value, listed=listed)
        if isinstance(value, list):
            return self._list(name, value, listed=listed)
        return self._text(value) if listed and isinstance(value, str) else value

    def _members(self, value: Mapping[str, Any], *, listed: bool) -> JsonObject:
        found = {}
        for name, one in value.items():
            if self._is_dropped(name, one):
                self._left_out[name] = self._left_out.get(name, 0) + len(one)
            else:
                found[name] = self._value(name, one, listed=listed)
        return found

    def _is_dropped(self, name: str, value: Any) -> bool:  # noqa: ANN401 (of JSON)
        part = self._parts.get(name)
        is_whole = part is not None and part.is_whole and isinstance(value, list)
        return is_whole and len(value) > self._lengths[name]

    def _list(self, name: str, value: list[Any], *, listed: bool) -> list[Any]:
        part, shown = self._parts.get(name), value
        if part is not None:
            shown = value[: self._lengths[name]]
            self._left_out[name] = self._left_out.get(name, 0) + len(value) - len(shown)
        return [self._value("", one, listed=listed or part is not None) for one in shown]

    def _text(self, text: str) -> str:
        over = len(text) - CELL_CHARACTERS_MAX
        if over <= 0:
            return text
        self._shortened += 1
        return text[:CELL_CHARACTERS_MAX] + CUT.format(over)

    def _note(self, part: Part, count: int) -> str:
        listed = sum(len(one) for one in _lists(self._answer, part.member))
        total = listed if part.total is None else part.total
        return f"Left out here: {count} of {total} {part.what}. {part.instead}"


def _lists(value: Any, member: str) -> Iterator[list[Any]]:  # noqa: ANN401 (of JSON)
    """Yield the lists that are members of this name."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            if name == member and isinstance(one, list):
                yield one
            yield from _lists(one, member)
    elif isinstance(value, list):
        for one in value:
            if isinstance(one, Mapping):
                yield from _lists(one, member)
