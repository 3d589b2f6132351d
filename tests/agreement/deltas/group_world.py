"""Worlds of queries whose shape does more than select: groups, HAVING, ORDER BY, LIMIT, OFFSET; and their clients."""

from typing import Any

from psoup.engine.invocation.position.answer import Answer
from psoup.engine.query.shape import Shape
from tests.agreement.deltas.delta_world import DeltaWorld

LIMITS = ["", "LIMIT 2", "LIMIT 5", "LIMIT 3 OFFSET 2", "OFFSET 2", "LIMIT 0"]
LIMITS_OF_GROUPS = ["", "", "", "LIMIT 2", "LIMIT 2 OFFSET 1", "OFFSET 1"]


class GroupWorld(DeltaWorld):
    """One query and its clients, drawn from a seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.fold()

    @property
    def shape(self) -> Shape:
        """What the query does with its rows."""
        return self.twin.queries[self.query_id].bound.shape

    def ask(self, **request: Any) -> Answer:
        answer = super().ask(**request)
        if self.shape.delta == "replace":
            assert answer.reset or answer.unchanged or request.get("position") is not None
        return answer

    @property
    def keyed_by_values(self) -> bool:
        return self.shape.distinct

    @property
    def exact_changes(self) -> bool:
        """Whether the answer changes at `changes_us`: HAVING and LIMIT may hide what does."""
        return False

    def _sql(self) -> str:
        self.distinct = False
        text = super()._sql()
        listed, rest = text.removeprefix("SELECT ").split(" FROM ", 1)
        where, begin, window = rest.partition("BEGIN")
        number, words = ("x.a", "y.t") if self.join else ("a", "t")
        drawn = self._rows if self.rng.random() < 0.3 else self._groups
        shown, then = drawn(listed, number, words)
        return f"SELECT {shown} FROM {where} {then} {begin}{window}"

    def _rows(self, listed: str, number: str, words: str) -> tuple[str, str]:
        """Return a select list over rows, and what stands behind WHERE."""
        rng = self.rng
        if rng.random() < 0.3:
            listed = f"DISTINCT {number}, {words}"
        by_number = f"{number} {rng.choice(['ASC', 'DESC'])}"
        by_words = f"{words} NULLS {rng.choice(['FIRST', 'LAST'])}, {by_number}"
        order = rng.choice(["", f"ORDER BY {by_number}", f"ORDER BY {by_words}"])
        return listed, f"{order} {rng.choice(LIMITS)}"

    def _groups(self, _: str, number: str, words: str) -> tuple[str, str]:
        """The same over groups."""
        rng = self.rng
        keys = rng.choice([[], [words], [number], [words, number], [f"{number} % 2"]])
        listed = [f"{key} AS k{place}" for place, key in enumerate(keys)]
        listed += [
            "COUNT(*) AS rows",
            f"SUM({number}) AS total",
            f"MIN({number}) FILTER (WHERE {number} > 5) AS least",
            f"LAST({words}) AS last",
            f"COUNT(DISTINCT {words}) AS texts",
            f"AVG({number}) AS mean",
        ]
        if self.join and rng.random() < 0.7:  # nothing that asks for the pairs
            keys = keys if len(keys) < 2 else keys[:1]
            listed = [f"{key} AS k{place}" for place, key in enumerate(keys)]
            listed += ["COUNT(*) AS rows", f"SUM({number}) AS total", f"MAX({words}) AS last"]
            listed += [f"AVG({number}) AS mean"]
        distinct = "DISTINCT " if rng.random() < 0.1 else ""
        if distinct or rng.random() < 0.2:
            listed = listed[len(keys) :]
        having = rng.choice(["", "", "rows >= 2", "rows < 3", "total > 9"])
        order = rng.choice(["", "", "ORDER BY total DESC", "ORDER BY last, mean"])
        grouped = f"GROUP BY {', '.join(keys)}" if keys else ""
        having = f"HAVING {having}" if having else ""
        return distinct + ", ".join(
            listed
        ), f"{grouped} {having} {order} {rng.choice(LIMITS_OF_GROUPS)}"
