"""Why a member of a control body is refused, in words of our own: pydantic's never reach a client.

A reason says what is expected and of which kind the given value is, and quotes nothing of it.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

_KINDS: Final[tuple[tuple[type | tuple[type, ...], str], ...]] = (
    (bool, "true or false"),
    ((int, float), "a number"),
    (str, "a text"),
    (list, "an array"),
    (dict, "an object"),
)
_Context = Mapping[str, Any]


def reason_of(error: Mapping[str, Any]) -> str:
    """Return what is expected in place of the value that pydantic refused, and what was given."""
    kind, context = error["type"], error.get("ctx", {})
    expected = _EXPECTED.get(kind)
    if expected is not None:
        return f"expected {expected}, got {_kind_of(error['input'])}"
    said = _SAID.get(kind)
    return "cannot be so" if said is None else said(context)


def first_repeated(names: Sequence[str]) -> str:
    """Return the first of names that stand more than once, of which there is one; half a surrogate pair is escaped."""
    counts = Counter(names)
    twice = next(name for name in names if counts[name] > 1)
    return twice.encode(errors="backslashreplace").decode()


def _kind_of(value: object) -> str:
    return next((name for types, name in _KINDS if isinstance(value, types)), "null")


def _words(context: _Context) -> str:
    """Return the words that a member may be, one of them given as a text in quotes."""
    words = str(context["expected"]).split("'")[1::2]
    return f"expected {'one of: ' if len(words) > 1 else ''}{', '.join(words)}"


def _characters(context: _Context) -> str:
    if "min_length" in context:
        return f"expected a text of at least {context['min_length']} characters"
    return f"expected a text of at most {context['max_length']} characters"


def _entries(context: _Context) -> str:
    if "min_length" in context:
        return f"expected at least {context['min_length']} entries"
    return f"expected at most {context['max_length']} entries"


_SAID: Final[Mapping[str, Callable[[_Context], str]]] = {
    "missing": lambda _: "is missing",
    "literal_error": _words,
    "string_too_short": _characters,
    "string_too_long": _characters,
    "string_pattern_mismatch": lambda context: f"expected a text of the form {context['pattern']}",
    "too_short": _entries,
    "too_long": _entries,
    "greater_than": lambda context: f"expected a number greater than {context['gt']}",
    "greater_than_equal": lambda context: f"expected a number from {context['ge']}",
    "less_than": lambda context: f"expected a number less than {context['lt']}",
    "less_than_equal": lambda context: f"expected a number up to {context['le']}",
    "value_error": lambda context: str(context["error"]),
}
_EXPECTED: Final[Mapping[str, str]] = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "an array",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
