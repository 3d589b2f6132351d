"""Tags of representations in the headers that name some of them (RFC 9110, 13.1)."""

import re
from typing import Final

_TAG: Final = re.compile(r'(?:W/)?"([^"]*)"')


def is_listed(tag: str, header: str) -> bool:
    """Return whether `If-Match` or `If-None-Match` names a tag, compared weakly; `*` names all."""
    if header.strip() == "*":
        return True
    return tag.removeprefix("W/").strip('"') in _TAG.findall(header)
