"""Ports that a test has to know before anything listens there: of a proxy, or of a service that is started again."""

import random
import socket
from typing import Final

KEPT_FREE: Final = range(20_000, 32_000)
"""Below those that Linux and macOS give to whoever asks for any, tests beside this one among them."""


def free_port() -> int:
    """Return a port that is free, and stays so while nobody listens there: no other is given it by chance."""
    chance = random.SystemRandom()  # other processes of tests draw as well
    while True:
        port = chance.choice(KEPT_FREE)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
