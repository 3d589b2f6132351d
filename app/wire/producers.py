"""Producers' names: of a batch that is sent once, and of a commit."""

from typing import Final

from psoup.engine import limits

APP_FORM: Final = f"1 to {limits.APP_NAME_BYTES_MAX} bytes of printable text"


def is_app_name(text: str) -> bool:
    """Return whether a producer may be called so."""
    return text.isprintable() and 1 <= len(text.encode()) <= limits.APP_NAME_BYTES_MAX
