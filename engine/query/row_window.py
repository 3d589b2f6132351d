"""Windows that count rows: `[ROWS n]` and `[PARTITION BY keys ROWS n]` behind a stream of FROM, as in CQL.

Of the tuples of a source that BEGIN-END and retention show at an instant the newest `count` pass, or the newest of each
partition, and WHERE sees no others. Newest is by tuple time, then by tuple id. NULL is a partition of its own. A row
window is no part of a condition: hits are shared with queries without it, and it is applied to them at invocation.
Source: Arasu, Babu & Widom, CQL, VLDB Journal 2006, 6.3 (tuple-based and partitioned windows).
"""

from dataclasses import dataclass

from psoup.engine.query.values.expression import Expression


@dataclass(frozen=True, slots=True)
class RowWindow:
    """The newest tuples of one source.

    Attributes:
        count: how many pass, of the stream or of each partition; at least 1.
        keys: PARTITION BY, over the source alone, each once, in order of their canonical texts; () = no partitions.
    """

    count: int
    keys: tuple[Expression, ...] = ()


RowWindows = tuple[RowWindow | None, ...]
"""For each source its row window, None where it has none; () where no source has one."""
