"""Parameters that choose queries, or say what becomes of one, beside those that all endpoints share."""

from psoup.app.wire.parameters import Parameter, flag, one_of, text_up_to
from psoup.engine import limits


def label(text: str) -> tuple[str, str]:
    """Return `key:value`, split at the first colon."""
    key, colon, value = text.partition(":")
    if not colon or not key or not value:
        raise ValueError("expected key:value")
    return key, value


NAME = Parameter(
    "name",
    text_up_to(limits.QUERY_NAME_LENGTH_MAX),
    {"type": "string", "minLength": 1, "maxLength": limits.QUERY_NAME_LENGTH_MAX},
    "Only the query of this name.",
)
REPLACE = flag(
    "replace",
    "`true`: where the name stands for another definition, this one takes its place.",
)
LABEL = Parameter(
    "label",
    label,
    {"type": "string", "pattern": "^[^:]+:.+$", "examples": ["user:42"]},
    "Only queries that have this label; several mean all of them.",
    many=True,
)
STREAM = Parameter(
    "stream",
    text_up_to(limits.COLUMN_NAME_LENGTH_MAX),
    {"type": "string", "minLength": 1, "maxLength": limits.COLUMN_NAME_LENGTH_MAX},
    "Only queries that read this stream.",
)
STATE = Parameter(
    "state",
    one_of("live", "filling", "suspended"),
    {"type": "string", "enum": ["live", "filling", "suspended"]},
    "Only queries in this state.",
)
DESCRIBE = Parameter(
    "describe",
    one_of("full", "ids"),
    {"type": "string", "enum": ["full", "ids"], "default": "full"},
    "`ids`: of each query only its handle and position.",
)
