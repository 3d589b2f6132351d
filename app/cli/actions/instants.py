"""What is said about --now before an answer is shown: a count in a likely other unit, an instant before all rows."""

import re

from rich.text import Text

from psoup.app.cli.terminal.output import ACCENT
from psoup.client.calls import JsonObject, PsoupClient
from psoup.engine.query.time_literals import format_instant, parse_instant
from psoup.engine.tuples.time_unit import TimeUnit, instant_of, likely_unit

_COUNT = re.compile(r"-?[0-9]{1,18}")


def notes_on_now(service: PsoupClient, described: JsonObject, now: str) -> list[Text]:
    """Return warnings and notes on the instant that an answer is asked for. Reads the list of streams.

    Args:
        service: the service.
        described: the description of the query.
        now: the text of --now.
    """
    counted_us = int(now) if _COUNT.fullmatch(now) else None
    us = parse_instant(now) if counted_us is None else instant_of(counted_us, TimeUnit.US)
    if us is None:
        return []  # the service says what it expects
    if counted_us is not None:
        unit = likely_unit(counted_us, counted_us)
        meant_us = None if unit in (None, TimeUnit.US) else instant_of(counted_us, TimeUnit(unit))
        if unit is not None and meant_us is not None:
            return [
                Text.assemble(
                    ("warning ", "bold yellow"),
                    f"--now {now} is read as microseconds since 1970, {format_instant(us)}. It looks like"
                    f" {unit.spoken.split()[0]}: write --now '{format_instant(meant_us)}'",
                )
            ]
    text = str(described["canonical"])
    read = [one for one in service.streams() if re.search(rf"\b{one['name']}\b", text)]
    begins = [parse_instant(one["oldest"]) for one in read if one.get("oldest")]
    oldest = min((one for one in begins if one is not None), default=None)
    if oldest is None or us >= oldest:
        return []
    return [
        Text.assemble(
            ("note ", f"bold {ACCENT}"),
            f"--now {now} lies before every row that is kept: the oldest is of {format_instant(oldest)}",
        )
    ]
