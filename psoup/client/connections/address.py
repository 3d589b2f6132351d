"""Checks the URL and the token of a service, before anything is sent, and where a request goes."""

from typing import Final

import httpx2

from psoup.client.errors import AddressError, ForeignAddressError

_STANDARD_PORTS: Final = {"http": 80, "https": 443}


def checked_url(given: str) -> str:
    """Return the URL without a slash at its end, and without the /v1 that every path of the service begins with.

    Raises:
        AddressError: it is not the URL of a service.
    """
    expected = "expected http:// or https://, a host and a port, as in http://127.0.0.1:8000"
    try:
        url = httpx2.URL(given)
    except httpx2.InvalidURL as error:
        reason = str(error).rstrip(".")
        raise AddressError(
            f"{given!r} is not the URL of a service ({reason}): {expected}."
        ) from error
    if url.userinfo:
        raise AddressError(
            "The URL holds a name or a password, which is not shown here: a service asks for a key."
            " Give it with --token or PSOUP_TOKEN, and the URL without what stands before its @."
        )
    if url.scheme not in ("http", "https") or not url.host or (url.port or 0) > 65_535:
        raise AddressError(f"{given!r} is not the URL of a service: {expected}.")
    return given.rstrip("/").removesuffix("/v1")


def target(url: str, path: str) -> httpx2.URL:
    """Return where a request goes: a path below the service's URL, or an address that the service has answered.

    Raises:
        ForeignAddressError: it is one of another scheme, host or port, to which the token must not go.
    """
    base = httpx2.URL(url)
    is_below = path.startswith("/") and not path.startswith("//")
    aim = httpx2.URL(url + path) if is_below else base.join(path)
    if not is_same_origin(aim, base):
        raise ForeignAddressError(url, str(aim.copy_with(query=None)))
    return aim


def is_same_origin(one: httpx2.URL, other: httpx2.URL) -> bool:
    """Return whether both have the same scheme, host and port, so that the token may go to both."""
    return _origin(one) == _origin(other)


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or _STANDARD_PORTS.get(url.scheme)


def checked_token(given: str) -> str:
    """Return the token, whose characters a header can carry.

    Raises:
        AddressError: it has characters other than printable ASCII. The message does not show the token.
    """
    if not all("!" <= character <= "~" for character in given):
        raise AddressError(
            "The token holds a character that no key has: expected ASCII letters, digits and signs,"
            " without blanks and line ends. Correct --token or PSOUP_TOKEN."
        )
    return given
