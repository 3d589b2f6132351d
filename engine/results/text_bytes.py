"""What results take in memory, and the texts of records: of clauses and handles there are as many as clients like."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass

from psoup.engine.results.delta import ClauseRecord, QueryRecord


@dataclass(frozen=True, slots=True)
class HeldBytes:
    """Bytes held here: of hits, their arrays alone; of queries, the texts of clauses and handles alone."""

    hits: int
    texts: int


def text_bytes(records: Iterable[ClauseRecord | QueryRecord | None]) -> int:
    """Return the memory that the texts of these records take; None has none."""
    texts: list[str] = []
    for record in records:
        if isinstance(record, ClauseRecord):
            texts.append(record.text)
        elif record is not None:
            texts += [record.query_id, record.canonical, record.name or ""]
            texts += [*record.labels, *record.labels.values()]
            if record.text is not None:
                texts += [record.text.sql, *record.text.params]
                texts += [value for value in record.text.params.values() if isinstance(value, str)]
    return sum(map(sys.getsizeof, texts))
