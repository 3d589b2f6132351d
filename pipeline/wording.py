"""Numbers in sentences."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 row`, `2,000 rows`, `3 batches`, `0 queries`."""
    return f"{number:,} {noun if number == 1 else _plural(noun)}"


def _plural(noun: str) -> str:
    if noun.endswith(("ch", "s", "x")):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
