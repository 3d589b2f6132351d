"""The standing query clause (SQC): the condition of a query, which is its FROM and its WHERE.

Equal clauses share one evaluation and one set of hits; handles stay separate. Equal means: the same `text`, over the
same declarations. Select list, groups and order (`shape.py`) and windows (`window.py`) are no part of it: they are
applied to hits at invocation.
"""

from dataclasses import dataclass

from psoup.engine.errors import TextPosition
from psoup.engine.query.factor import BooleanFactor
from psoup.engine.query.shape import Shape
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
    """What is asked of which streams.

    Attributes:
        text: canonical SQL of FROM and WHERE, as a query of its own: `SELECT 1 FROM ... WHERE ...`. Never longer
            than the canonical text of a query that has the clause, so it binds wherever that one did.
        sources: FROM, in its order.
        factors: conjuncts of WHERE, at most one AttributeFactor per column of a source, one BandFactor per pair
            of sides; () = every tuple.
    """

    text: str
    sources: tuple[Source, ...]
    factors: tuple[BooleanFactor, ...]


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
        clause: its condition.
        shape: what is done with the rows that satisfy it.
        window: BEGIN-END.
        canonical: one text for one query, shape and window included.
        warnings: what its author should know.
        ranges: for each source how many microseconds back its own `[RANGE ...]` reaches, None where the
            query's window holds for it; () where no source of a join has one.
    """

    clause: StandingQueryClause
    shape: Shape
    window: Window
    canonical: str
    warnings: tuple[QueryWarning, ...] = ()
    ranges: tuple[int | None, ...] = ()
