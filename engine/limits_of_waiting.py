"""Bounds on coming back, for one query or many at once: part of `limits`, which has all of them under their names."""

from typing import Final

# Coming back. A client waits for minutes in which mostly nothing happens, and thousands do.
CURSOR_LENGTH_MAX: Final = 512
"""Characters of a cursor: one of four streams has some 150. A longer text is none, and answered as a first load is."""
KEPT_ANSWERS_BYTES_MAX: Final = 16_777_216
"""Of answers as they were sent, kept while no operation is applied: who polls with others is sent the same bytes."""
REQUESTS_WATCHING_MAX: Final = 4_096
"""Requests that wait for an answer to change, at one worker: as many as connections. A later one is answered at once,
as if nothing had changed by the end of its time."""
WATCHED_QUERIES_MAX: Final = 250_000
"""That all of them wait for, each as often as somebody does: some 300 bytes each. Then nobody is let in to wait."""
WAIT_S_MAX: Final = 60
"""A long poll and a sync wait no longer: many a proxy cuts off what is silent for a minute."""
LINGER_S_DEFAULT: Final = 0.05
"""Seconds that a wait lasts at least, and that two events are apart, where a client gives no `linger`."""
LINGER_S_MAX: Final = 5.0
"""What a client may give: who waits wants to know soon."""
EVENTS_S: Final = 300.0
"""A stream of events ends so long after it began, a little sooner or later, and its client goes on with another one:
so connections spread over workers again, also after one of them was started anew."""
EVENTS_PING_S: Final = 15.0
"""A stream of events in which nothing happens says so, for proxies, and to notice clients that have vanished."""
EVENTS_RETRY_MS: Final = 2_000
"""A browser connects again so long after a stream of events has ended."""
EVENT_BYTES_MAX: Final = 65_536
"""Of one event; what is larger is sent in pages. It is what a client that reads slowly holds in memory."""
INVOKE_QUERIES_MAX: Final = 1_000
"""Queries invoked by one request: each costs about as much as one of its own."""
INVOKE_ROWS_MAX: Final = 200_000
"""Rows of all their pages together: their columns are in memory at once."""
INVOKE_BYTES_MAX: Final = 67_108_864
"""Bytes of all their pages together."""
SYNC_QUERIES_MAX: Final = 1_000
"""Of one sync, all at one instant."""
SYNC_BYTES_DEFAULT: Final = 1_048_576
"""Of one answer of a sync, where a client does not say."""
SYNC_BYTES_MAX: Final = 16_777_216
"""The same at most; what it has no room for is left for the next."""
SYNC_BODIES_KEPT_BYTES_MAX: Final = 16_777_216
"""Of lists of syncs that were read: who finds nothing new sends the same again."""
BODY_SYNC_BYTES_MAX: Final = 1_048_576
"""Of a sync's list of SYNC_QUERIES_MAX handles with a cursor of some hundred bytes each."""
