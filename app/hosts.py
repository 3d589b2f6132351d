"""Hosts: what is the name or address of one, and which of them only this machine can reach."""

import ipaddress
import re
from typing import Final

_NAME: Final = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_.])?")
"""Of a host. No asterisk: a service that asks for keys is asked by any name anyway."""


def is_host(text: str) -> bool:
    """Return whether `text` is a name or an address, without scheme and port."""
    return _NAME.fullmatch(text) is not None or _is_address(text)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_any_address(host: str) -> bool:
    """Return whether `host` stands for every address of this machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return not host


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
