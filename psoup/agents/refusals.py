"""Errors as an agent reads them: what is wrong, where, and what to do, so that one correction is enough."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic import ValidationError

from psoup.agents.fitting import CELL_CHARACTERS_MAX
from psoup.agents.tokens import TOKENS_OF_CHARACTER_MAX, count_tokens
from psoup.client.errors import PsoupError, ServiceProblem

_TOLD: Final = frozenset(
    {"type", "title", "status", "code", "detail", "retryable", "instance", "position", "excerpt"}
    | {"hint", "errors"}
)
"""Members of a problem that have lines of their own, or say nothing to an agent."""
_INSTEAD: Final[Mapping[str, str]] = {
    "name-taken": "Choose another name, or look at that query: describe(query=...).",
    "not-found": "describe lists the streams and queries that there are.",
    "unauthenticated": "Whoever runs this server gives it a key: PSOUP_TOKEN, or the Authorization header.",
    "scope-missing": "The key of this server does not allow it: tell whoever you work for.",
}
"""What to do, where the service speaks to programs."""


def refusal(error: PsoupError, max_tokens: int) -> str:
    """Return what an agent is told of an error, within its budget."""
    if not isinstance(error, ServiceProblem):
        return fitted([f"{error.code}: {error}"], max_tokens)
    lines = [f"{error.problem}: {error.detail}"]
    lines += str(error.body.get("excerpt") or "").splitlines()
    hints = (error.body.get("hint"), _INSTEAD.get(error.problem))
    lines += [f"hint: {one}" for one in hints if one]
    lines += [
        f"{name}: {_shown(value)}"
        for name, value in error.body.items()
        if name not in _TOLD and value not in (None, [], {})
    ]
    if error.retryable:
        lines.append("The same call may succeed later.")
    errors = error.body.get("errors")
    lines += [_one(each) for each in errors] if isinstance(errors, list) else []
    return fitted(lines, max_tokens)


def wrong_arguments(tool: str, error: ValidationError, max_tokens: int) -> str:
    """Return what an agent is told of arguments that the tool does not take."""
    lines = [f"invalid-arguments: {tool} does not take these arguments. Nothing was done."]
    for one in error.errors():
        place = ".".join(map(str, one["loc"]))
        lines.append(f"{place}: {one['msg']}" if place else str(one["msg"]))
    return fitted(lines, max_tokens)


def fitted(lines: Iterable[str], max_tokens: int) -> str:
    """Return lines as one text within a budget; long lines are cut, and lines that have no room are counted."""
    cut = [
        line if len(line) <= CELL_CHARACTERS_MAX else f"{line[:CELL_CHARACTERS_MAX]}…"
        for line in lines
    ]
    for shown in range(len(cut), 0, -1):
        rest = [f"({len(cut) - shown} more lines)"] * (shown < len(cut))
        text = "\n".join([*cut[:shown], *rest])
        if count_tokens(text) <= max_tokens:
            return text
    return f"{cut[0][: max_tokens // TOKENS_OF_CHARACTER_MAX - 1]}…"


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _one(error: Any) -> str:  # noqa: ANN401 (of JSON)
    """Return one of several errors on a line: of a member, or of a row."""
    if not isinstance(error, Mapping):
        return str(error)
    if "reason" in error:
        return f"{error.get('pointer')}: {error['reason']}"
    row = "" if error.get("index") is None else f"row {error['index']}, "
    column = str(error.get("pointer", "")).lstrip("/")
    got = "" if error.get("got") is None else f", got {error['got']}"
    return f"{row}{column}: {error.get('code')}, expected {error.get('expected')}{got}"
