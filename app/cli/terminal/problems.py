"""A refusal of the service in the words of the command line: what was typed, and what to type instead.

This is the one place that knows codes of problems and says them otherwise than the service. A code that has no words
here is shown with the service's own sentence. Members that no sentence has used stand below it, each on a line.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from psoup.app.cli.terminal.output import ACCENT, QUIET, instant
from psoup.app.cli.terminal.phrases import in_command_words
from psoup.client.errors import ServiceProblem

_STREAM: Final = re.compile(r"/v1/streams/([^/]+)")
_QUERY: Final = re.compile(r"/v1/queries/([^/]+)")
_COMMON: Final = frozenset(
    {"type", "title", "status", "code", "detail", "retryable", "instance", "position", "excerpt"}
)
"""Members of every problem, and those that are shown in a form of their own."""


@dataclass(frozen=True, slots=True)
class _Words:
    """A sentence of the command line, and the members of the problem that it says."""

    sentence: str
    members: frozenset[str] = frozenset()


def problem(found: ServiceProblem) -> Group:
    """Return a refusal: what is wrong, the excerpt with a caret, the hint, and what else the service said."""
    words = _in_words(found)
    lines: list[RenderableType] = [
        Text.assemble(("refused ", "bold red"), (found.problem, "bold"), f"  {words.sentence}")
    ]
    excerpt = found.body.get("excerpt")
    if isinstance(excerpt, str):
        lines += [Text(f"  {line}", style=_excerpt_style(line)) for line in excerpt.split("\n")]
    hint = found.body.get("hint")
    if isinstance(hint, str) and "hint" not in words.members and hint not in words.sentence:
        lines.append(Text.assemble(("hint ", f"bold {ACCENT}"), in_command_words(hint)))
    rest = {k: v for k, v in found.body.items() if k not in _COMMON | words.members | {"hint"}}
    lines += [Text(f"  {line}") for name, value in rest.items() for line in _lines(name, value)]
    if found.retryable:
        lines.append(Text("The same request may succeed later.", style=QUIET))
    return Group(*lines)


def _in_words(found: ServiceProblem) -> _Words:
    words = _WORDS.get(found.problem)
    said = None if words is None else words(found)
    if said is not None:
        return said
    if found.status == HTTPStatus.UNAUTHORIZED:
        return _Words(
            "The service asks for a key that is in force. Commands take one from PSOUP_TOKEN, or from --token."
        )
    position, hint = found.body.get("position"), found.body.get("hint")
    if isinstance(position, Mapping) and isinstance(hint, str):
        # The hint says what the detail says, and quotes the query.
        place = f"Line {position.get('line')}, column {position.get('column')}"
        return _Words(f"{place}: {in_command_words(hint)}", frozenset({"hint"}))
    return _Words(in_command_words(found.detail))


def _not_found(found: ServiceProblem) -> _Words | None:
    stream, query = _STREAM.search(found.request.path), _QUERY.search(found.request.path)
    if query is not None:
        return _Words(
            f"There is no query {query[1]}: it was removed, or the handle is misspelt. psoup queries lists those"
            " that stand."
        )
    if stream is not None:
        near = found.body.get("nearest")
        return _Words(
            f"There is no stream {stream[1]!r}. {f'Did you mean {near}?' if near else 'psoup streams lists those that are.'}",
            frozenset({"stream", "nearest"}),
        )
    if not found.request.path:
        return None
    return _Words(
        f"The service has nothing at {found.request.path}. Is --url (or PSOUP_URL) right? It ends behind the port, as in"
        " http://127.0.0.1:8000, unless a proxy adds a path."
    )


def _now_out_of_range(found: ServiceProblem) -> _Words | None:
    oldest, newest = found.body.get("oldest"), found.body.get("newest")
    now = found.request.parameters.get("now")
    if now is None:
        return None
    used = frozenset({"oldest", "newest"})
    if "before what" in found.detail:
        return _Words(
            f"--now {now} lies before what is kept, which begins {instant(oldest)}.", used
        )
    return _Words(f"--now {now} lies after the query's NOW, {instant(newest)}.", used)


def _invalid_field(found: ServiceProblem) -> _Words | None:
    errors = found.body.get("errors")
    if not isinstance(errors, list) or not errors:
        return None
    said = "; ".join(
        f"{_option(found, str(one.get('pointer')))}: {one.get('reason')}" for one in errors
    )
    return _Words(f"{said}.", frozenset({"errors"}))


def _option(found: ServiceProblem, pointer: str) -> str:
    """Return the option that a pointer of the service means, with the value that was sent; else the pointer."""
    if pointer.startswith("?"):
        name = pointer.removeprefix("?")
        return f"--{name} {found.request.parameters.get(name, '')}".rstrip()
    first, *deeper = pointer.strip("/").split("/")
    if first == "params" and deeper:
        return f"--param {deeper[0]}"
    if first not in _OPTIONS or len(deeper) > (first == "retention"):
        return pointer
    value: object = found.request.members.get(first)
    for step in deeper:
        value = value.get(step) if isinstance(value, Mapping) else None
    option = "-".join([f"--{first}", *deeper])
    return option if value is None else f"{option} {value}"


_OPTIONS: Final = frozenset({"time", "clock", "future", "retention", "name", "materialize", "ttl"})
"""Members of bodies that are options of the same name."""


def _name_taken(found: ServiceProblem) -> _Words | None:
    name, handle = found.request.members.get("name"), found.body.get("id")
    if name is None:
        return None
    return _Words(
        f"Another query is called {name}: {handle}. Choose another --name, or remove that query:"
        f" psoup remove {name}",
        frozenset({"id"}),
    )


def _stream_differs(found: ServiceProblem) -> _Words | None:
    stream = _STREAM.search(found.request.path)
    if stream is None:
        return None
    ways = f" psoup drop {stream[1]} drops it with its rows; or choose another name."
    return _Words(
        f"Stream {stream[1]} is declared otherwise.{'' if 'hint' in found.body else ways}"
    )


def _has_queries(found: ServiceProblem) -> _Words | None:
    stream = _STREAM.search(found.request.path)
    if stream is None:
        return None
    return _Words(
        f"Queries were registered on {stream[1]} meanwhile: {found.body.get('queries')}. Repeat the command,"
        " which then asks about them too.",
        frozenset({"queries"}),
    )


def _suspended(found: ServiceProblem) -> _Words:
    since, reason = found.body.get("since_seq"), found.body.get("reason")
    return _Words(
        f"{in_command_words(found.detail)} Since operation {since}: {reason}.",
        frozenset({"since_seq", "reason"}),
    )


def _scope_missing(found: ServiceProblem) -> _Words | None:
    scope = found.body.get("scope")
    return _Words(
        f"The key lacks the scope {scope}, which the command needs. Pass another key by --token or PSOUP_TOKEN; psoup key"
        f" NAME --scope {scope} makes one.",
        frozenset({"scope"}),
    )


_WORDS: Final[Mapping[str, Callable[[ServiceProblem], _Words | None]]] = {
    "not-found": _not_found,
    "now-out-of-range": _now_out_of_range,
    "invalid-field": _invalid_field,
    "name-taken": _name_taken,
    "stream-differs": _stream_differs,
    "has-queries": _has_queries,
    "query-suspended": _suspended,
    "scope-missing": _scope_missing,
}


def _excerpt_style(line: str) -> str:
    return "bold red" if line.strip() and not line.strip().strip("^~") else ""


def _lines(name: str, value: object) -> list[str]:
    """Return what a member of a problem says, in words: one line, or one for each of its entries."""
    if value is None or value == []:
        return []
    match name:
        case "errors" if isinstance(value, list):
            return [_error(one) for one in value]
        case "diff" if isinstance(value, list):
            return [line for one in value for line in _differences(one)]
        case "nearest":
            return [f"did you mean {value}?"]
        case _:
            pass
    listed = ", ".join(map(str, value)) if isinstance(value, list) else instant(value)
    return [f"{name.replace('_', ' ')}: {listed}"]


def _error(one: Mapping[str, Any]) -> str:
    """Return a wrong member or a wrong row on one line."""
    if "reason" in one:
        return f"{one.get('pointer')}: {one['reason']}"
    row = "" if one.get("index") is None else f"row {one['index']}, "
    got = "" if one.get("got") is None else f", got {one['got']}"
    column = str(one.get("pointer", "")).lstrip("/")
    return f"{row}{column}: {one.get('code')}, expected {one.get('expected')}{got}"


def _differences(one: Mapping[str, Any]) -> list[str]:
    """Return in what a member of a declaration differs, one line each: of columns those that do."""
    member, declared, given = one.get("member"), one.get("declared"), one.get("given")
    if member != "columns" or not (isinstance(declared, list) and isinstance(given, list)):
        return [f"{member}: declared {declared}, given {given}"]
    before, after = ({c["name"]: _column(c) for c in columns} for columns in (declared, given))
    if before == after:
        return ["columns: declared in another order"]
    return [
        f"column {name}: declared {before.get(name, 'nothing')}, given {after.get(name, 'nothing')}"
        for name in {**before, **after}
        if before.get(name) != after.get(name)
    ]


def _column(column: Mapping[str, Any]) -> str:
    unit = f" in {column['unit']}" if column.get("unit") else ""
    return f"{column['type']}{unit}{'' if column['nullable'] else ' not null'}"
