"""Rule matching: a rule engine's forward chaining beside standing queries, at the sizes it can take.

CLIPS keeps a Rete network: each query is a rule whose pattern tests the slots of a fact, each tuple a fact
that is asserted, each match an activation on the agenda.
"""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import functools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks import ways_arrays
from benchmarks.bench import Contest, Size
from benchmarks.ways import Way, contender, counts_answer
from benchmarks.ways_psoup import fed
from benchmarks.workloads import ATTRIBUTES, INTEGER, Columns, Query, interval_queries, tuples

PSOUP = "psoup, partial"
CLIPS = "CLIPS, a rule per query"
FILTERS = "NumPy, a filter per query"


def contests(size: Size) -> Iterator[Contest]:
    """Yield the one contest."""
    queries = interval_queries(INTEGER, size.pick(smoke=8, full=256))
    columns = tuples(INTEGER, size.pick(smoke=40, full=2_048))
    rows = len(columns["a"])
    yield Contest(
        "rules",
        f"match {rows:,} facts with {len(queries):,} rules",
        "tuples",
        rows,
        [
            contender(PSOUP, functools.partial(fed, INTEGER.stream, queries, columns)),
            contender(CLIPS, lambda: Rules(queries, columns), needs="clips"),
            contender(FILTERS, lambda: ways_arrays.NumpyFilters(INTEGER, queries, columns)),
        ],
    )


class Rules(Way):
    """A CLIPS environment. Answers how many activations each rule has."""

    def __init__(self, queries: Sequence[Query], columns: Columns) -> None:
        """Define template and rules."""
        import clips  # type: ignore[import-untyped,import-not-found,unused-ignore]

        self._rules = clips.Environment()
        self._rules.eval("(set-fact-duplication TRUE)")  # equal tuples are two tuples
        slots = " ".join(f"(slot {name})" for name in ATTRIBUTES)
        self._rules.build(f"(deftemplate reading {slots})")
        for number, query in enumerate(queries):
            self._rules.build(f"(defrule q{number} (reading {_patterns(query)}) =>)")
        self._queries = len(queries)
        self._template = self._rules.find_template("reading")
        values = [columns[name].tolist() for name in ATTRIBUTES]
        self._facts = [dict(zip(ATTRIBUTES, row, strict=True)) for row in zip(*values, strict=True)]

    def setup(self) -> None:
        """Retract all facts."""
        self._rules.reset()

    def run(self, state: None) -> None:
        """Assert the facts: matching is done as they come."""
        assert_fact = self._template.assert_fact
        for fact in self._facts:
            assert_fact(**fact)

    def answer(self, outcome: None) -> bytes:
        """Return the counts."""
        found: Counter[Any] = Counter(one.name for one in self._rules.activations())
        return counts_answer([found[f"q{number}"] for number in range(self._queries)])


def _patterns(query: Query) -> str:
    """Return the query as tests of slots."""
    return " ".join(
        f"({name} ?{name}&:(<= {low} ?{name} {high}))"
        for name, low, high in query.bounds
        if low is not None and high is not None
    )
