"""Worlds of queries with a LEFT JOIN: rows as they are, groups, orders and limits over them; and their clients."""

from tests.agreement.deltas.group_world import GroupWorld
from tests.agreement.deltas.row_window_world import WINDOWS

ON = [
    "x.a % 6 = y.a % 6",
    "x.a % 6 = y.a % 6 AND y.a > 4",
    "x.t = y.t AND x.a > 3",
    "x.a % 6 = y.a % 6 AND x.ts BETWEEN y.ts - INTERVAL '5' SECOND AND y.ts + INTERVAL '3' SECOND",
    "x.ts BETWEEN y.ts AND y.ts + INTERVAL '4' SECOND AND (x.t = y.t OR y.a < 3)",
]
WHERE = [
    "",
    "WHERE x.a % 3 <> 0",
    "WHERE y.a IS NULL",
    "WHERE x.a % 3 <> 0 AND (y.a IS NULL OR y.a > x.a)",
    "WHERE COALESCE(y.t, 'z') <> 'x'",
]


class LeftJoinWorld(GroupWorld):
    """One query and its clients, drawn from a seed."""

    joins = 1.0

    def _sql(self) -> str:
        rng = self.rng
        text = super()._sql()
        head, rest = text.split(" WHERE ", 1)
        _, rest = rest.split("x.a % 3 <> 0", 1)
        listed, sources = head.split(" FROM s AS x ")
        one, other = sources.split(", r AS y")
        if rng.random() < 0.3:
            one = rng.choice([one, *WINDOWS])
            other = rng.choice(WINDOWS)
        if rng.random() < 0.3:
            one += " JOIN s AS z ON x.a = z.a AND x.t = z.t"
        joined = f"s AS x {one} LEFT JOIN r AS y {other} ON {rng.choice(ON)}"
        return f"{listed} FROM {joined} {rng.choice(WHERE)} {rest}"

    def _rows(self, listed: str, number: str, words: str) -> tuple[str, str]:
        shown, then = super()._rows(listed, number, words)
        return shown, then if self.rng.random() < 0.5 else ""
