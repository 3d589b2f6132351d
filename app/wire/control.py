"""Bodies of the control plane: strict JSON to a strict model, or a refusal that says where.

Stricter than RFC 8259 where parsers disagree: no duplicate members, no numbers that are none, no text
that is not Unicode. One scan finds depth and literals that are too long before the parser sees them.
"""

import difflib
import functools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Final, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from psoup.app.errors import BadBodyError, UnknownFieldError
from psoup.app.wire.reasons import first_repeated, reason_of
from psoup.engine import limits
from psoup.engine.errors import InvalidFieldError

Model = TypeVar("Model", bound=BaseModel)

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]|-?[0-9][0-9.eE+-]*|NaN|-?Infinity', re.DOTALL)
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_CONSTANTS = frozenset({"NaN", "Infinity", "-Infinity"})
BOM = b"\xef\xbb\xbf"
_SYNONYMS: Final = {"query": "sql", "statement": "sql", "schema": "columns", "fields": "columns"}
"""Names that other services give to members of ours, and that are not like them."""


def parse_json(body: bytes, *, members_max: int = limits.JSON_MEMBERS_MAX) -> object:
    """Return what a control body says; objects of it have `members_max` members at most.

    Raises:
        BadBodyError: it is not the JSON described above; `offset` counts bytes.
    """
    text = decode_text(body)
    _scan(text)
    try:
        return json.loads(
            text, object_pairs_hook=functools.partial(_object, members_max), parse_float=_finite
        )
    except json.JSONDecodeError as error:
        offset = len(text[: error.pos].encode())
        reason = error.msg.lower()
        raise BadBodyError(
            f"The body is not valid JSON: {reason}, at byte {offset}.", reason=reason, offset=offset
        ) from error


def decode_text(body: bytes) -> str:
    """Return a text body as text.

    Raises:
        BadBodyError: it is empty, begins with a byte order mark, or is not UTF-8.
    """
    if not body:
        raise BadBodyError("The body has no bytes.", reason="empty", offset=0)
    if body.startswith(BOM):
        raise BadBodyError("The body begins with a byte order mark.", reason="bom", offset=0)
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise BadBodyError(
            "The body is not UTF-8.", reason="not UTF-8", offset=error.start
        ) from error


def read_model(
    body: bytes, model: type[Model], *, members_max: int = limits.JSON_MEMBERS_MAX
) -> Model:
    """Return the body, with objects of `members_max` members at most, as a `model`.

    Raises:
        BadBodyError: not strict JSON.
        UnknownFieldError: a member the model does not have.
        InvalidFieldError: members of a wrong type or value, all at once, 20 at most.
    """
    value = parse_json(body, members_max=members_max)
    texts = list(_bad_texts(value, ""))
    if texts:
        raise InvalidFieldError("A text holds what no text may hold.", errors=texts)
    try:
        return model.model_validate(value, strict=True)
    except ValidationError as error:
        raise _refusal(error, model) from error


def nearest(name: str, known: Sequence[str]) -> str | None:
    """Return the known name most like `name`, if one is like it at all."""
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return close[0]
    meant = _SYNONYMS.get(name)
    return meant if meant in known else None


def _scan(text: str) -> None:
    depth = 0
    for token in _TOKEN.finditer(text):
        found = token[0]
        if found in "[{":
            depth += 1
            if depth > limits.JSON_DEPTH_MAX:
                raise _too(text, token.start(), "depth", limits.JSON_DEPTH_MAX)
        elif found in "]}":
            depth -= 1
        elif found in _CONSTANTS:
            raise BadBodyError(
                "JSON has no such number.",
                reason="not a JSON number",
                offset=_at(text, token.start()),
            )
        elif found[0] != '"' and len(found) > limits.JSON_NUMBER_LENGTH_MAX:
            raise _too(text, token.start(), "number literal", limits.JSON_NUMBER_LENGTH_MAX)


def _object(members_max: int, pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(pairs) > members_max:
        raise BadBodyError("An object has too many members.", reason="members", limit=members_max)
    members = dict(pairs)
    if len(members) < len(pairs):
        twice = first_repeated([name for name, _ in pairs])
        raise BadBodyError("An object has a member twice.", reason="duplicate member", field=twice)
    return members


def _finite(literal: str) -> float:
    value = float(literal)
    if value in (float("inf"), float("-inf")):
        raise BadBodyError("A number is beyond what a double can hold.", reason="number too large")
    return value


def _bad_texts(value: object, pointer: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        if _SURROGATE.search(value):
            raise BadBodyError(
                "A text holds half of a surrogate pair.", reason="lone surrogate", field=pointer
            )
        if "\0" in value:
            yield pointer, "holds the character NUL"
    elif isinstance(value, dict):
        for name, member in value.items():
            yield from _bad_texts(name, pointer)
            yield from _bad_texts(member, f"{pointer}/{_escape(name)}")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _bad_texts(item, f"{pointer}/{i}")


def _refusal(
    error: ValidationError, model: type[BaseModel]
) -> UnknownFieldError | InvalidFieldError:
    found = error.errors(include_url=False)
    for one in found:
        if one["type"] == "extra_forbidden":
            *way, name = one["loc"]
            known = _members(model, way)
            return UnknownFieldError(
                f"The request has a member that does not exist here. Those that do: {', '.join(known)}.",
                field=_pointer(one["loc"]),
                nearest=nearest(str(name), known),
            )
    errors = [(_pointer(one["loc"]), reason_of(one)) for one in found]
    member = next(iter(found[0]["loc"]), "")
    return refused_members(errors, member=str(member) if member in model.model_fields else None)


def refused_members(
    errors: Sequence[tuple[str, str]], *, member: str | None = None
) -> InvalidFieldError:
    """Return the refusal of members with these pointers and reasons; the first is of, or within, `member`."""
    first = "" if member is None else f", in {member}"
    return InvalidFieldError(
        f"Members of the request have a wrong type or value; the first{first}: {errors[0][1]}.",
        errors=errors,
    )


def _members(model: type[BaseModel], way: Sequence[int | str]) -> list[str]:
    """Return the members of the model that `way` leads to from `model`."""
    for step in way:
        if isinstance(step, int) or step not in model.model_fields:
            continue
        inner = _model_in(model.model_fields[step].annotation)
        if inner is not None:
            model = inner
    return list(model.model_fields)


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((m for part in get_args(annotation) if (m := _model_in(part))), None)


def _pointer(where: Sequence[int | str]) -> str:
    """Return the JSON pointer of a member; that of a key is that of the member it names."""
    return "".join(f"/{_escape(str(step))}" for step in where if step != "[key]")


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _at(text: str, position: int) -> int:
    return len(text[:position].encode())


def _too(text: str, position: int, what: str, limit: int) -> BadBodyError:
    return BadBodyError(
        f"The body is over the limit of {what}.",
        reason=what,
        limit=limit,
        offset=_at(text, position),
    )
