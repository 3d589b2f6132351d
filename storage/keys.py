"""Every key of psoup's in a Redis, built here and nowhere else. `docs/storage_layout.md` has the table.

One hash tag, so all keys share one cluster slot. Names that users choose are never part of a key: keys
hold ids that psoup gave, which never come again.
"""

import base64
import hashlib
from collections.abc import Sequence
from typing import Final

from psoup.engine.log.operation import QueryId, StageId
from psoup.engine.results.hits import ClauseId
from psoup.engine.store.archive_answers import HistoryId
from psoup.engine.tuples.schema import StreamId

LAYOUT_VERSION: Final = 7
"""Kept in META as `fmt`; changes whenever a key or its value changes its meaning."""

TAG: Final = "{ps}:"
"""Begins every key."""

# Log side: written by appends and trims.
LOG: Final = "{ps}:log"
HEAD: Final = "{ps}:log:h"
SIZES: Final = "{ps}:log:b"
LOG_STREAMS: Final = "{ps}:log:s"
LOG_QUERIES: Final = "{ps}:log:q"
LOG_NAMES: Final = "{ps}:log:n"
LOG_READERS: Final = "{ps}:log:r"
LOG_APPS: Final = "{ps}:log:a"
OWNERS: Final = "{ps}:log:o"
HOLDS: Final = "{ps}:log:k"
TRIMMED: Final = "{ps}:log:t"
EMPTY: Final = "{ps}:log:z"
REQUESTS: Final = "{ps}:log:i"
PARTS: Final = "{ps}:log:e"
BODIES: Final = "{ps}:log:y"
SUMS: Final = "{ps}:log:c"
LOG_SEALS: Final = "{ps}:log:v"

# Beside the log: histories, written by whoever answers.
HISTORIES: Final = "{ps}:h"

# Results side: written by the engine alone.
META: Final = "{ps}:m"
STREAMS: Final = "{ps}:s"
DECLARATIONS: Final = "{ps}:d"
CLAUSES: Final = "{ps}:c"
QUERIES: Final = "{ps}:q"
EXPIRED: Final = "{ps}:e"
GARBAGE: Final = "{ps}:g"
FIGURES: Final = "{ps}:f"
RESULT_SEALS: Final = "{ps}:v"

NOTICES_CHANNEL: Final = "{ps}:n"
"""Where a publish says what is applied: a wake-up, never the truth. A channel, not a key."""

PAGES_PATTERN: Final = "{ps}:r:*"
"""Matches every key of `pages`."""
BLOCKS_PATTERN: Final = "{ps}:b:*"
"""Matches every key of `blocks`."""
HISTORIES_PATTERN: Final = "{ps}:h:*"
"""Matches every key of `history`, `history_bodies` and `history_parts`."""
BATCHES_PATTERN: Final = "{ps}:x:*"
"""Matches every key of `batches`."""
COMPOSITES_PATTERN: Final = "{ps}:j:*"
"""Matches every key of `composites`."""

PART_PREFIX: Final = "{ps}:log:g:"
"""Begins every key of `part` and `body`."""

GROUP_BITS: Final = 6
"""Clauses whose ids differ in their last 6 bits alone share a field of a block: 64 at most.

A reader of one clause gets the hits of its group, a publish writes a field for each group: at 64 both are
cheap (measured in decision 0007).
"""


def producers(stream_id: StreamId) -> str:
    """Return the key of a stream's producers."""
    return f"{{ps}}:log:p:{stream_id}"


def rowless(stream_id: StreamId) -> str:
    """Return the key of those of a stream's producers that have never sent a row (`rowless_of` in catalogue.lua)."""
    return f"{producers(stream_id)}:e"


def part(stage_id: StageId) -> str:
    """Return the key of a staged part, or of the mark that its commit has left."""
    return f"{PART_PREFIX}{stage_id}"


def body(stage_id: StageId) -> str:
    """Return the key of a part's body, which stays there when it is committed."""
    return f"{part(stage_id)}:b"


def history(history_id: HistoryId) -> str:
    """Return the key of a history's record. The Functions build the three of a history as they are built here."""
    return f"{HISTORIES}:{history_id}"


def history_bodies(history_id: HistoryId) -> str:
    """Return the key of the bodies of a history's parts."""
    return f"{history(history_id)}:b"


def history_parts(history_id: HistoryId) -> str:
    """Return the key of what else is known of a history's parts."""
    return f"{history(history_id)}:p"


def history_field(query_id: QueryId, asked_now_us: int | None) -> str:
    """Return the field of HISTORIES of a query and the instant asked for, None = NOW."""
    return f"{query_id} {'-' if asked_now_us is None else asked_now_us}"


def batches(stream_id: StreamId) -> str:
    """Return the key of a stream's batch records."""
    return f"{{ps}}:x:{stream_id}"


def pages(clause_id: ClauseId, segment: int) -> str:
    """Return the key of a clause's pages in one segment."""
    return f"{{ps}}:r:{clause_id}:{segment}"


def blocks(stream_id: StreamId, segment: int) -> str:
    """Return the key of a stream's match blocks in one segment."""
    return f"{{ps}}:b:{stream_id}:{segment}"


def block_field(chunk: int, group: int) -> str:
    """Return the field of one group's part of a block; `chunk` counts from the segment's first."""
    return f"{chunk}:{group}"


def composites(group: ClauseId) -> str:
    """Return the key of a group's composite tuples."""
    return f"{{ps}}:j:{group}"


def composite_field(numbers: Sequence[int]) -> str:
    """Return the field of a piece of a page of composites: entrant, number, page, piece. A first piece is 0."""
    return ":".join(map(str, numbers if numbers[-1] else numbers[:-1]))


def composite_numbers(field: str) -> tuple[int, int, int, int]:
    """Return the numbers that `composite_field` was given."""
    entrant, number, page, *piece = map(int, field.split(":"))
    return entrant, number, page, piece[0] if piece else 0


def numbers(text: str) -> tuple[int, int]:
    """Return the two numbers at the end of a key that `pages` or `blocks` built, or of a `block_field`."""
    first, second = text.split(":")[-2:]
    return int(first), int(second)


def name_hash(name: str) -> str:
    """Return what stands for a user's name inside a hash: 26 base32 characters of its SHA-256."""
    digest = hashlib.sha256(name.encode()).digest()
    return base64.b32encode(digest)[:26].decode().lower()
