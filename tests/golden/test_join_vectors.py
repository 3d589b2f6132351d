"""The papers' joins, step by step: what PSoup, JIT, A-Caching and k-Mon say is found, and when.

Each is one standing query, registered before the first tuple, and again at the end. The figures of PSoup and JIT
are drawn, not printed: their tuples are chosen here so that each step of the text happens.
"""

from collections import Counter

import pytest

from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import Materialize, QueryId
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, Retention, StreamSchema
from tests.golden.vectors import FIRST_DAY_US
from tests.world import World


class Steps:
    """A world whose tuples are whole numbers, dated by the second in which they come."""

    def __init__(self, streams: dict[str, str], kept: dict[str, Retention] | None = None) -> None:
        self.world = World()
        self.columns = streams
        self.second = 0
        self.seen: dict[QueryId, Counter[tuple[object, ...]]] = {}
        for name, columns in streams.items():
            listed = [ColumnSchema(one, ColumnType.INT64) for one in columns.split()]
            listed.append(ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False))
            retention = (kept or {}).get(name, Retention())
            self.world.declare(
                StreamSchema(name, tuple(listed), "ts", ClockKind.HIGH_WATER, retention)
            )

    def arrive(self, name: str, *tuples: tuple[int, ...]) -> None:
        """Send tuples of one stream, all in one second; the next ones come a second later."""
        ts = FIRST_DAY_US + self.second * SECOND_US
        names = self.columns[name].split()
        self.world.append(name, [dict(zip(names, one, strict=True)) | {"ts": ts} for one in tuples])
        self.second += 1

    def register(self, sql: str, materialize: Materialize = Materialize.AUTO) -> QueryId:
        """Register a query."""
        query_id = self.world.register(sql, materialize=materialize)
        self.seen[query_id] = Counter()
        return query_id

    def found(self, query_id: QueryId) -> list[tuple[object, ...]]:
        """Return what it answers now, sorted."""
        return sorted(values for _, _, values in self.world.invoke(query_id).rows)

    def emitted(self, query_id: QueryId) -> list[tuple[object, ...]]:
        """Return what it answers now and did not when last asked, sorted: what the papers' plans emit."""
        now = Counter(self.found(query_id))
        fresh, self.seen[query_id] = now - self.seen[query_id], now
        return sorted(fresh.elements())


@pytest.fixture(params=list(Materialize))
def policy(request):
    """Return each policy of what is kept."""
    return request.param


# PSoup (VLDB 2002), 3.2.2. Tuples have been seen up to the 54th and queries up to the 22nd.
PSOUP_QUERY = "SELECT R.a, S.b FROM R, S WHERE R.a < 5 AND R.a > S.b AND S.b > 1"


def figure_4(policy: Materialize) -> tuple[Steps, dict[int, QueryId]]:
    """Return the world before query 23 comes: R holds 1, 3, 4, 8 and S holds 1, 2, 3, 7."""
    steps = Steps({"R": "a", "S": "b"})
    texts = {
        21: "SELECT R.a, S.b FROM R, S WHERE R.a > S.b AND R.a > 4 AND S.b > 6",
        22: "SELECT R.a, S.b FROM R, S WHERE R.a = S.b",
    }
    handles = {number: steps.register(text, policy) for number, text in texts.items()}
    steps.arrive("R", (1,), (8,))
    steps.arrive("S", (2,), (7,))
    steps.arrive("R", (3,), (4,))
    steps.arrive("S", (1,), (3,))
    return steps, handles


def test_golden_psoup_figure_4_entry_of_a_new_join_query(policy):
    """R.a < 5 leaves 1, 3, 4: hybrid structs "1 > S.b", "3 > S.b", "4 > S.b", each with S.b > 1, probe S."""
    steps, handles = figure_4(policy)
    before = {number: steps.found(query_id) for number, query_id in handles.items()}
    handles[23] = steps.register(PSOUP_QUERY, policy)
    # Of S, 2 and 3 and 7 pass S.b > 1: 1 finds none, 3 finds 2, 4 finds 2 and 3.
    assert [(3, 2), (4, 2), (4, 3)] == steps.found(handles[23])
    assert {21: [(8, 7)], 22: [(1, 1), (3, 3)]} == before
    assert before == {number: steps.found(handles[number]) for number in before}


def test_golden_psoup_figure_5_entry_of_a_new_r_tuple(policy):
    """The new tuple probes the Query SteM, a hybrid struct for each query whose R-only factors hold, then S."""
    steps, handles = figure_4(policy)
    handles[23] = steps.register(PSOUP_QUERY, policy)
    for query_id in handles.values():
        steps.emitted(query_id)
    steps.arrive("R", (4,))
    # 4 > 4 fails query 21's R-only factor; query 22 asks S for 4; query 23 asks S for b < 4 and b > 1.
    fresh = {number: steps.emitted(query_id) for number, query_id in handles.items()}
    assert {21: [], 22: [], 23: [(4, 2), (4, 3)]} == fresh
    steps.arrive("R", (9,))
    fresh = {number: steps.emitted(query_id) for number, query_id in handles.items()}
    assert {21: [(9, 7)], 22: [], 23: []} == fresh
    steps.arrive("S", (4,), (2,))
    fresh = {number: steps.emitted(query_id) for number, query_id in handles.items()}
    assert {21: [], 22: [(4, 4), (4, 4)], 23: [(3, 2), (4, 2), (4, 2)]} == fresh


# JIT (ICDE 2008), Figure 1: SELECT * FROM A, B, C WHERE A.x = B.x AND A.y = C.y, RANGE 5 minutes each.
JIT_QUERY = """SELECT A.n AS a, B.n AS b, C.n AS c
    FROM A [RANGE INTERVAL '5' MINUTE], B [RANGE INTERVAL '5' MINUTE], C [RANGE INTERVAL '5' MINUTE]
    WHERE A.x = B.x AND A.y = C.y"""


def test_golden_jit_table_i_finds_nothing_until_c1_and_then_eight(policy):
    """REF makes 8 ab-tuples for nothing, JIT resumes 7 of them when c1 comes: abc is 8 either way."""
    steps = Steps({"A": "n x y", "B": "n x", "C": "n y"})
    early = steps.register(JIT_QUERY, policy)
    partial = steps.register("SELECT A.n AS a, B.n AS b FROM A, B WHERE A.x = B.x", policy)
    steps.arrive("B", (1, 1), (2, 1), (3, 1))
    assert ([], []) == (steps.emitted(partial), steps.emitted(early))
    steps.arrive("A", (1, 1, 100))
    assert ([(1, 1), (1, 2), (1, 3)], []) == (steps.emitted(partial), steps.emitted(early))
    steps.arrive("B", (4, 1))
    assert ([(1, 4)], []) == (steps.emitted(partial), steps.emitted(early))
    steps.arrive("A", (2, 1, 100))
    assert ([(2, 1), (2, 2), (2, 3), (2, 4)], []) == (steps.emitted(partial), steps.emitted(early))
    steps.arrive("C", (1, 100))
    expected = [(a, b, 1) for a in (1, 2) for b in (1, 2, 3, 4)]
    assert expected == steps.emitted(early)
    assert expected == steps.found(steps.register(JIT_QUERY, policy))
    # Alive for exactly five minutes, the last instant included here: b1 to b3 leave, then a1, then b4.
    steps.second = 301
    steps.arrive("C", (2, 7))
    assert [(1, 4, 1), (2, 4, 1)] == steps.found(early)
    steps.arrive("C", (3, 7))
    assert [(2, 4, 1)] == steps.found(early)
    steps.arrive("C", (4, 7))
    assert [] == steps.found(early)


def test_golden_jit_figure_5_suspended_parts_are_found_when_e1_comes(policy):
    """A1 and c1 match no E tuple until e1: then a1b1c1e1. FROM takes four streams, so D is left out."""
    steps = Steps({"A": "n x", "B": "n y", "C": "n z", "E": "n x y z"})
    query = """SELECT A.n AS a, B.n AS b, C.n AS c, E.n AS e FROM A, B, C, E
        WHERE A.n <= B.n AND B.n <= C.n AND A.x = E.x AND B.y = E.y AND C.z = E.z"""
    early = steps.register(query, policy)
    steps.arrive("B", (1, 5))
    steps.arrive("C", (1, 6))
    steps.arrive("E", (0, 9, 5, 9))  # matches b1, neither a1 nor c1
    steps.arrive("A", (1, 4))
    assert [] == steps.emitted(early)
    steps.arrive("E", (1, 4, 5, 6))
    assert [(1, 1, 1, 1)] == steps.emitted(early)
    steps.arrive("A", (1, 4))  # like a1
    steps.arrive("E", (2, 4, 5, 7))  # matches a1, not c1
    assert [(1, 1, 1, 1)] == steps.emitted(early)
    steps.arrive("C", (2, 7))
    assert [(1, 1, 2, 2), (1, 1, 2, 2)] == steps.emitted(early)
    assert steps.found(early) == steps.found(steps.register(query, policy))


def test_golden_a_caching_examples_5_1_1_and_5_4_emit_what_the_thesis_says(policy):
    """Babu 2005: <1> on R1 gives <1,1,2,2>, again from the cache; with <3> in R3 it gives <1,1,3,3> as well."""
    steps = Steps({"R1": "A", "R2": "A B", "R3": "B"})
    query = """SELECT R1.A AS a1, R2.A AS a2, R2.B AS b2, R3.B AS b3 FROM R1, R2, R3
        WHERE R1.A = R2.A AND R2.B = R3.B"""
    early = steps.register(query, policy)
    steps.arrive("R2", (1, 2), (1, 3), (2, 3))
    steps.arrive("R3", (2,))
    assert [] == steps.emitted(early)
    steps.arrive("R1", (1,))
    assert [(1, 1, 2, 2)] == steps.emitted(early)
    steps.arrive("R1", (1,))
    assert [(1, 1, 2, 2)] == steps.emitted(early)
    steps.arrive("R3", (3,))  # joins both <1> of R1; the key <2> has no R1 tuple
    assert [(1, 1, 3, 3), (1, 1, 3, 3)] == steps.emitted(early)
    steps.arrive("R1", (1,))
    assert [(1, 1, 2, 2), (1, 1, 3, 3)] == steps.emitted(early)
    assert steps.found(early) == steps.found(steps.register(query, policy))


def test_golden_k_mon_example_6_3_1_emits_for_the_tuple_whose_children_are_there(policy):
    """Babu 2005: (6, 5) finds its children in S2 and S3, (8, 10) has one that fails D < 8 and one missing."""
    steps = Steps({"S1": "A B", "S2": "A C", "S3": "B D"})
    query = """SELECT S1.A AS a, S1.B AS b, C AS c, D AS d FROM S1, S2, S3
        WHERE S1.A = S2.A AND S1.B = S3.B AND D < 8"""
    early = steps.register(query, policy)
    steps.arrive("S2", (6, 20), (4, 15))
    steps.arrive("S3", (5, 3), (7, 9), (10, 12))
    steps.arrive("S1", (6, 5))
    assert [(6, 5, 20, 3)] == steps.emitted(early)
    steps.arrive("S1", (8, 10))
    assert [] == steps.emitted(early)
    assert [(6, 5, 20, 3)] == steps.found(steps.register(query, policy))


@pytest.mark.parametrize("rows", [None, 1], ids=["unbounded", "rows 1"])
def test_golden_k_mon_example_6_3_2_emits_when_the_last_child_comes(policy, rows):
    """Babu 2005: (2, 4) and (1, 2) are Unknown until (4, 12) passes D > 10; [Rows 1] on S3 takes it back."""
    kept = {} if rows is None else {"S3": Retention(rows=rows)}
    steps = Steps({"S1": "A B", "S2": "B C", "S3": "C D"}, kept)
    query = """SELECT S1.A AS a, S1.B AS b, S2.C AS c, S3.D AS d FROM S1, S2, S3
        WHERE S1.B = S2.B AND S2.C = S3.C AND S3.D > 10"""
    early = steps.register(query, policy)
    steps.arrive("S2", (2, 4))
    steps.arrive("S1", (1, 2))
    assert [] == steps.emitted(early)
    steps.arrive("S3", (4, 12))
    assert [(1, 2, 4, 12)] == steps.emitted(early)
    steps.arrive("S3", (9, 12))
    expected = [(1, 2, 4, 12)] if rows is None else []
    assert expected == steps.found(early)
    assert expected == steps.found(steps.register(query, policy))
