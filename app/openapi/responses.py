"""The responses and headers that many operations share: one response for each status of a problem."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from psoup.app.http.problems import MEDIA_TYPE, PROBLEM_TYPES
from psoup.app.openapi.problem_bodies import CODES, PROBLEM_BODIES

SCHEMAS: Final = "#/components/schemas/"
_INTEGERS: Final = frozenset({"Psoup-Seq", "Psoup-Gen", "Psoup-Count", "Retry-After"})
_HEADERS: Final[Mapping[str, str]] = {
    "Request-Id": "The id of this request, as in the log and in `instance`.",
    "Psoup-Durability": "What the change survives: `fsync`, `everysec` or `memory`.",
    "Retry-After": "Seconds after which to try again.",
    "WWW-Authenticate": "How to send a key.",
    "Allow": "The methods that the path answers.",
    "Accept-Post": "The media types that are taken.",
    "Accept-Encoding": "The content encodings that are taken, where it is the body's that is not.",
    "RateLimit": "Of a rate of a key: what is left, and when there is more.",
    "RateLimit-Policy": "Of a rate of a key: its quota and window.",
}
_OF_STATUS: Final[Mapping[int, Sequence[str]]] = {
    401: ("WWW-Authenticate",),
    405: ("Allow",),
    415: ("Accept-Post", "Accept-Encoding"),
    429: ("Retry-After", "RateLimit", "RateLimit-Policy"),
    503: ("Retry-After",),
    507: ("Retry-After",),
}
_ALWAYS: Final = frozenset({"Request-Id", "Psoup-Durability"})


def header_components() -> dict[str, Any]:
    """Return the headers that several responses have, by name."""
    return {
        name: header(name, text) | ({"required": True} if name in _ALWAYS else {})
        for name, text in _HEADERS.items()
    }


def header(name: str, text: str) -> dict[str, Any]:
    """Return one header of a response."""
    kind = "integer" if name in _INTEGERS else "string"
    return {"description": text, "schema": {"type": kind}}


def header_ref(name: str) -> dict[str, str]:
    """Return the reference to a header of `header_components`."""
    return {"$ref": f"#/components/headers/{name}"}


def problem_ref(status: int) -> dict[str, str]:
    """Return the reference to the response of `problem_components` for a status."""
    return {"$ref": f"#/components/responses/Problem{status}"}


def problem_components(examples: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return a response for each status that problems have; `examples` are bodies by code."""
    by_status: dict[int, list[str]] = {}
    for code, kind in PROBLEM_TYPES.items():
        by_status.setdefault(kind.status, []).append(code)
    return {
        f"Problem{status}": _response(status, codes, examples)
        for status, codes in sorted(by_status.items())
    }


def _response(
    status: int, codes: Sequence[str], examples: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    content: dict[str, Any] = {"schema": _schema(codes)}
    shown = {code: {"value": examples[code]} for code in codes if code in examples}
    if shown:
        content["examples"] = shown
    names = ("Request-Id", *_OF_STATUS.get(status, ()))
    return {
        "description": "; ".join(f"`{code}`: {PROBLEM_TYPES[code].title}" for code in codes) + ".",
        "headers": {name: header_ref(name) for name in names},
        "content": {MEDIA_TYPE: content},
    }


def _schema(codes: Sequence[str]) -> dict[str, Any]:
    """Return the schema of a body that has one of these codes: each code has its members."""
    each = []
    for model in dict.fromkeys(PROBLEM_BODIES[code] for code in codes):
        body: dict[str, Any] = {"$ref": f"{SCHEMAS}{model.__name__}"}
        theirs = [code for code in codes if PROBLEM_BODIES[code] is model]
        if len(theirs) < len(CODES[model]):  # its other codes have other statuses
            body = {"allOf": [body, {"properties": {"code": {"enum": theirs}}}]}
        each.append(body)
    return each[0] if len(each) == 1 else {"oneOf": each}
