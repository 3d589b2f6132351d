"""Worlds that are no drawing's affair: cursors that no answer gave, and rows that the service's clock moves."""

from typing import Any

from conformance.model import Query, Service
from conformance.recording import World
from conformance.streams import Stream
from conformance.windows import SECOND, Bound, Window

STRANGE_CURSORS = ("", "AQAAAA", "nonsense", "%00é", "x" * 500)


def strange_cursors(start: int) -> World:
    """Return a world in which a client comes with cursors that no answer of this query gave: each is a first load."""
    window = Window(Bound(True, 20 * SECOND), Bound(True, 0))
    world = World(
        "select-sliding-strange-cursors",
        "a cursor that is empty, unreadable or another query's is a first load, and no error",
        Query("select", window),
        Service({"a": Stream()}),
    )
    world.append("a", [(start + second * SECOND, 1, second) for second in (1, 2, 4)])
    for text in STRANGE_CURSORS:
        world.ask(text=text)
        world.apply("ann", f"a{len(world.stands)}")
    answer = world.ask(text_of="SELECT n FROM {a} WHERE k = 1")
    world.apply("ann", answer)
    world.compare("ann")
    return world


def definitions(start: int) -> World:
    """Return a world in which columns come, the query is another one under its handle, and then it is removed."""
    sliding = Window(Bound(True, 20 * SECOND), Bound(True, 0))
    landmark = Window(Bound(False, start - 10 * SECOND), Bound(True, 0))
    world = World(
        "definitions",
        "a column changes no answer, a query that is replaced begins anew, and one that is removed is gone",
        Query("select", sliding),
        Service({"a": Stream()}),
    )
    world.append("a", [(start + second * SECOND, 1, second) for second in (1, 2, 4, 30)])
    first = world.ask()
    world.apply("ann", first)
    world.add_columns("a", "w")
    world.ask(first)
    world.append("a", [(start + second * SECOND, 1, second) for second in (31, 32)])
    second = world.ask(first)
    world.apply("ann", second)
    world.replace(Query("select", landmark))
    third = world.ask(second)
    world.apply("ann", third)
    world.compare("ann")
    world.append("a", [(start + 34 * SECOND, 1, 34)])
    fourth = world.ask(third)
    world.apply("ann", fourth)
    world.compare("ann")
    world.end("remove")
    world.ask(fourth)
    world.ask()
    return world


def there_and_back(start: int) -> World:
    """Return a world in which an answer that comes whole is another one, and then the same again, while one is late."""
    world = World(
        "first-there-and-back",
        "an answer is as before again: what was answered in between and comes late is not newer",
        Query("first", Window(Bound(True, 20 * SECOND), Bound(True, 0))),
        Service({"a": Stream()}),
    )
    world.append("a", [(start, 1, 3)])
    first = world.ask()
    world.apply("ann", first)
    world.append("a", [(start + SECOND, 1, 4)])
    late = world.ask(first)
    world.append("a", [(start + 40 * SECOND, 1, 3)])
    again = world.ask(first)
    world.apply("ann", again)
    world.apply("ann", late, holds=again)
    world.append("a", [(start + 41 * SECOND, 1, 5)])
    world.apply("ann", world.ask(again))
    world.compare("ann")
    return world


def expired(start: int) -> World:
    """Return a world in which nobody uses the query for its time to live, which is the shortest there is."""
    world = World(
        "expired",
        "a query that nobody has used for its time to live is gone, and says that it has expired",
        Query("select", Window(Bound(True, 20 * SECOND), Bound(True, 0))),
        Service({"a": Stream()}),
        ttl="1m",
    )
    world.append("a", [(start + second * SECOND, 1, second) for second in (1, 2)])
    answer = world.ask()
    world.apply("ann", answer)
    world.end("expire")
    world.ask(answer)
    world.ask()
    return world


def by_the_clock() -> list[dict[str, Any]]:
    """Return worlds whose NOW is the service's clock: rows leave without a byte, and enter without a new row."""
    sliding = "BEGIN (NOW - INTERVAL '2' SECOND) END (NOW)"
    delayed = "BEGIN (NOW - INTERVAL '3' SECOND) END (NOW - INTERVAL '1' SECOND)"
    landmark = "BEGIN (TIMESTAMP '2020-01-01 00:00:00') END (NOW)"
    return [
        _clocked("clock-sliding", "rows leave and enter by the clock alone", sliding, 0, 2_000),
        _clocked("clock-delayed", "rows enter a second after their time", delayed, 1_000, 2_000),
        _clocked("clock-landmark", "rows dated ahead enter, and none leaves", landmark, 0, None),
        waiting(),
    ]


def _clocked(
    name: str, says: str, window: str, delay_ms: int, stays_ms: int | None
) -> dict[str, Any]:
    def rows(*enter_ms: int) -> list[dict[str, int | None]]:
        return [
            {"in_ms": one, "out_ms": None if stays_ms is None else one + stays_ms}
            for one in enter_ms
        ]

    return _over_clock(
        name,
        says,
        window,
        delay_ms,
        [
            {"do": "append", "stream": "a", "rows": rows(-1_400, -1_000, 0, 400, 700)},
            {"do": "ask", "answer": "a1", "cursor": None},
            {"do": "ask", "answer": "a2", "cursor": "a1"},
            {"do": "wait", "until_ms": 700},
            {"do": "ask", "answer": "a3", "cursor": "a2"},
            {"do": "append", "stream": "a", "rows": rows(500, 1_900)},
            {"do": "ask", "answer": "a4", "cursor": "a3"},
            {"do": "ask", "answer": "a5", "cursor": "a1"},
            {"do": "wait", "until_ms": 2_700},
            {"do": "ask", "answer": "a6", "cursor": "a4"},
            {"do": "ask", "answer": "a7", "cursor": "a6"},
        ],
    )


def waiting() -> dict[str, Any]:
    """Return a world in which nobody asks in vain: answers come when the clock or a new row changes them."""
    window = "BEGIN (NOW - INTERVAL '10' SECOND) END (NOW)"
    # The later ones are for a client that is slow: it has the second row by the time at which it begins to wait for it.
    enter_ms = (-9_000, 1_500, 5_000, 8_500)
    first = [{"in_ms": one, "out_ms": one + 10_000} for one in enter_ms]
    comes = {"stream": "a", "rows": [{"in_ms": 500, "out_ms": 10_500}]}
    steps: list[dict[str, Any]] = [
        {"do": "append", "stream": "a", "rows": first},
        {"do": "ask", "answer": "a1", "cursor": None},
        {"do": "ask", "answer": "a2", "cursor": "a1", "wait_s": 20, "on": "any"},
        {"do": "ask", "answer": "a3", "cursor": "a2", "wait_s": 20, "on": "enter"},
        {"do": "ask", "answer": "a4", "cursor": "a3", "wait_s": 20, "meanwhile": comes},
    ]
    says = "a request that waits is answered when a row leaves, enters by the clock, or arrives"
    return _over_clock("clock-waiting", says, window, 0, steps)


def _over_clock(
    name: str, says: str, window: str, delay_ms: int, steps: list[dict[str, Any]]
) -> dict[str, Any]:
    columns = [{"name": "ts", "type": "timestamp"}, {"name": "n", "type": "int64"}]
    return {
        "world": name,
        "says": says,
        "clock": "server",
        "streams": {"a": {"columns": columns, "time": "ts", "clock": "server"}},
        "sql": f"SELECT n FROM {{a}} {window}",
        "delay_ms": delay_ms,
        "steps": steps,
    }
