"""The standing queries of the demo: groups, a top five, each kind of window, DISTINCT, a join, one that comes late.

They are over the stream that `demo_data` makes.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class DemoQuery:
    """One standing query and what it shows.

    Attributes:
        after_s: when it is registered.
        newest_last: where its answer is longer than the screen, the last rows are shown, which are the newest.
        opens: it is what the console shows first: its rows enter and leave within seconds.
    """

    title: str
    sql: str
    after_s: float = 0.0
    newest_last: bool = True
    opens: bool = False


def demo_queries(start_us: int) -> tuple[DemoQuery, ...]:
    """Return the queries of a demo that begins at `start_us`, microseconds since the epoch."""
    start = _EPOCH + timedelta(microseconds=start_us)
    since_start = f" BEGIN (TIMESTAMP '{start:%Y-%m-%d %H:%M:%S}') END (NOW)"
    return (
        DemoQuery(
            "Labs, offices, halls, last minute",
            "SELECT LEFT(room, STRPOS(room, ' ') - 1) AS kind, COUNT(*) AS readings, ROUND(AVG(temperature), 2) AS mean,"
            " MAX(noise) AS loudest FROM readings GROUP BY kind BEGIN (NOW - INTERVAL '1' MINUTE) END (NOW)",
            newest_last=False,
        ),
        DemoQuery(
            "Warmest five rooms",
            "SELECT room, MAX(temperature) AS warmest FROM readings GROUP BY room ORDER BY warmest DESC LIMIT 5"
            " BEGIN (NOW - INTERVAL '5' SECOND) END (NOW)",
            newest_last=False,
        ),
        DemoQuery(
            "Loud rooms, last 10 seconds",
            "SELECT ts, room, noise FROM readings WHERE noise > 72"
            " BEGIN (NOW - INTERVAL '10' SECOND) END (NOW)",
            opens=True,
        ),
        DemoQuery(
            "Lab doors since the start",
            f"SELECT ts, room FROM readings WHERE door = TRUE AND room LIKE 'lab%'{since_start}",  # noqa: S608
        ),
        DemoQuery(
            "Warm rooms, late readings in",
            "SELECT ts, room, temperature AS temp, temperature * 1.8 + 32 AS f FROM readings"
            " WHERE temperature > 24.3 BEGIN (NOW - INTERVAL '18' SECOND) END (NOW - INTERVAL '8' SECOND)",
        ),
        DemoQuery(
            "Dark rooms",
            "SELECT DISTINCT room FROM readings WHERE light BETWEEN 0 AND 20"
            " BEGIN (NOW - INTERVAL '3' SECOND) END (NOW)",
        ),
        DemoQuery(
            "Doors that went with a bang",
            "SELECT d.ts, d.room, n.noise FROM readings AS d, readings AS n WHERE d.room = n.room AND d.door = TRUE"
            " AND n.noise > 65 AND n.ts BETWEEN d.ts - INTERVAL '1' SECOND AND d.ts + INTERVAL '1' SECOND"
            " BEGIN (NOW - INTERVAL '1' MINUTE) END (NOW)",
        ),
        DemoQuery(
            "Registered late, over old data",
            "SELECT ts, room, temperature AS temp, noise FROM readings WHERE temperature < 18.6 AND noise < 27"
            " BEGIN (NOW - INTERVAL '5' MINUTE) END (NOW)",
            after_s=8.0,
        ),
    )
