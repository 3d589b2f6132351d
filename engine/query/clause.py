"""The standing query clause (SQC): the canonical SELECT-FROM-WHERE part of a query.

Equal clauses share one evaluation and one result; handles stay separate. Equal means: the same
`text`, over the same declarations. Windows are not part of it (`window.py`).
"""

from dataclasses import dataclass

from psoup.engine.errors import TextPosition
from psoup.engine.query.factor import BooleanFactor
from psoup.engine.query.shape import Output
from psoup.engine.query.window import Window
from psoup.engine.tuples.schema import StreamId


@dataclass(frozen=True, slots=True)
class Source:
    """One entry of FROM: a stream under its canonical alias (its own name where that tells it apart)."""

    alias: str
    stream: str
    stream_id: StreamId


@dataclass(frozen=True, slots=True)
class StandingQueryClause:
    """What is asked of which streams, and what is shown of a match.

    Attributes:
        text: canonical SQL of the whole clause, without the window.
        sources: FROM, in its order.
        factors: conjuncts of WHERE, at most one AttributeFactor per column of a source, one BandFactor per pair
            of sides; () = every tuple.
        outputs: the select list, `*` resolved.
        distinct: rows equal in all outputs are shown once.
    """

    text: str
    sources: tuple[Source, ...]
    factors: tuple[BooleanFactor, ...]
    outputs: tuple[Output, ...]
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class QueryWarning:
    """Something a query's author should know: a stable code and a sentence.

    `position` and `excerpt` are the place in the text as it was written, where one is known
    (`bind/author_warnings.py`).
    """

    code: str
    detail: str
    position: TextPosition | None = None
    excerpt: str | None = None


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A query text after binding.

    Attributes:
        clause: what is asked.
        window: BEGIN-END.
        canonical: one text for one query, window included.
        warnings: what its author should know.
        ranges: for each source how many microseconds back its own `[RANGE ...]` reaches, None where the
            query's window holds for it; () where no source of a join has one.
    """

    clause: StandingQueryClause
    window: Window
    canonical: str
    warnings: tuple[QueryWarning, ...] = ()
    ranges: tuple[int | None, ...] = ()
