"""Clauses that are found by a function of a text column: beside the naive twin, which evaluates every condition."""

import itertools

import pytest
from hypothesis import given, strategies as st

from psoup.engine.clauses import grouped_filter, stream_clauses
from psoup.engine.clauses.image import ClauseImage, ImageIndex, residual_steps
from psoup.engine.clauses.stream_clauses import StreamClauses
from psoup.engine.eddy.operators import Operator
from psoup.engine.eddy.policy import BySelectivity
from psoup.engine.eddy.settling import settle
from psoup.engine.limits import CHUNK_ROWS, DERIVED_ATTRIBUTES_MAX
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.factor import DerivedFactor
from psoup.engine.query.values.derived import DERIVING, DerivedAttribute
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import Harvest, Keeping
from psoup.engine.tuples.chunk import Chunk
from psoup.engine.tuples.lineage import Slot
from psoup.engine.tuples.schema import StreamId
from tests.engine.batches import SCHEMA, batch_of
from tests.engine.clauses.plain_index import PlainIndex
from tests.engine.results.blocks import plain
from tests.reference_values import factor_holds
from tests.strategies import fewer

TEXTS = ["", "a", "A", " Acme ", "ACME", "acme", "xacmex", "ß", "ẞ", "İ", "i", "ΟΔΟΣ", "ǆ", None]
"""NULL, nothing, spaces, and letters that become others, or two, where they are not taken one by one."""
KINDS = list(itertools.product(TEXTS, (None, 3, 7)))
ROWS = [(i, KINDS[i % len(KINDS)][1], KINDS[i % len(KINDS)][0]) for i in range(CHUNK_ROWS)]
BATCH = batch_of(ROWS)
CALLS = [
    *("LOWER(t)", "UPPER(t)", "TRIM(t)", "LTRIM(t)", "RTRIM(t, 'x')", "TRIM(t, 'xA')"),
    *("SUBSTRING(t, 2, 2)", "SUBSTRING(t, -1)", "LEFT(t, 1)", "RIGHT(t, -1)", "LENGTH(t)"),
    *("LOWER(TRIM(t))", "LENGTH(RTRIM(t))", "UPPER(LEFT(t, 2))"),
]
TESTS = [
    *("{f} = {c}", "{f} <> {c}", "{f} IN ({c}, {d})", "{f} NOT IN ({c}, {d})", "{f} < {c}"),
    *("{f} BETWEEN {c} AND {d}", "{f} IS NULL", "{f} IS DISTINCT FROM {c}", "NOT {f} = {c}"),
    *("({f} = {c} OR {f} IS NULL)", "({f} >= {c} AND {f} <> {d})", "{f} IN ({c}, NULL)"),
    *("({f} = {c} OR t = 'a')", "{f} || '' = {c}"),
]
"""The last two are no sets of the function's values."""
PATTERNS = ["'a%'", "'%c%'", "'_'"]
OTHERS = ["a > 3", "a IS NULL", "a + 1 > 4", "t > 'B'", "t LIKE '%c%'"]


def clause(where):
    return bind(f"SELECT * FROM s WHERE {where}", {"s": (StreamId(1), SCHEMA)}).clause


@st.composite
def conditions(draw):
    """Draw what is asked of a function, of more than one now and then, and of columns besides."""
    parts = draw(st.lists(st.sampled_from(OTHERS), max_size=1))
    for _ in range(draw(st.integers(1, 2))):
        call = draw(st.sampled_from(CALLS))
        if call.startswith("LENGTH"):
            constants = st.sampled_from(["0", "1", "4", "2.5"])
        else:
            constants = st.sampled_from(["''", "'a'", "'acme'", "'ACME'", "'i'", "'c'", "'ß'"])
            if draw(st.booleans()):
                parts.append(f"{call} LIKE {draw(st.sampled_from(PATTERNS))}")
        test = draw(st.sampled_from(TESTS[:-1] if "LENGTH" in call else TESTS))
        parts.append(test.format(f=call, c=draw(constants), d=draw(constants)))
    return " AND ".join(parts)


def expected(clause):
    """Return the rows that satisfy a clause, by the twin."""
    held = {
        (t, a)
        for t, a in KINDS
        if all(factor_holds(one, [{"t": t, "a": a}]) for one in clause.factors)
    }
    return [i for i, a, t in ROWS if (t, a) in held]


def found(index, clauses, steps):
    """Return the rows of each clause that a chunk finds any of."""
    block = settle(
        Chunk(0, BATCH.column),
        index,
        clauses.clause_ids,
        clauses.wanted,
        operators=[Operator(step) for step in steps],
        policy=BySelectivity(),
        harvest=Harvest(),
    )
    block.check()
    return {clause_id: sorted(rows) for clause_id, (_, rows) in plain(block).items()}


@fewer(25, 200)
@given(
    st.lists(st.tuples(conditions(), st.integers(0, 5)), min_size=1, max_size=12),
    st.sampled_from([1, 2, 32]),
    st.sampled_from([0, 2, 1_024]),
    st.sampled_from([1, 512]),
)
def test_derived_clauses_of_any_program_differential_hit_what_the_twin_says(
    program, most, recent, values
):
    """Recent or settled, by value or by bounds, indexed or past the bound: coming and going, here and in an image."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream_clauses, "DERIVED_ATTRIBUTES_MAX", most)
        patch.setattr(grouped_filter, "RECENT_SLOTS_MAX", recent)
        patch.setattr(grouped_filter, "PIVOT_VALUES_MIN", values)
        patch.setattr(grouped_filter, "PIVOT_SHARE", 1)
        made, plainly = StreamClauses(), StreamClauses(PlainIndex)
        rows: dict[Slot, tuple[ClauseId, list[int]]] = {}
        hits = {}
        for number, (where, gone) in enumerate(program):
            asked = clause(where)
            slot = made.build(ClauseId(number), asked, Keeping.LISTS)
            assert slot == plainly.build(ClauseId(number), asked, Keeping.LISTS)
            rows[slot] = ClauseId(number), expected(asked)
            if Slot(gone) in rows:
                made.evict(Slot(gone))
                plainly.evict(Slot(gone))
                del rows[Slot(gone)]
            made.check()
            plainly.check()
            hits = {own: hit for own, hit in rows.values() if hit}
            assert hits == found(made.index, made, made.residuals.values())
        assert hits == found(plainly.index, plainly, plainly.residuals.values())
        image = ClauseImage.of(made)
        assert image is not None
        assert hits == found(ImageIndex(image.tables), made, residual_steps(image))
        for slot in list(rows):
            made.evict(slot)
        made.check()
        assert not made.residuals
        assert isinstance(made.index, grouped_filter.GroupedFilters)
        assert all(isinstance(one, str) for one in made.index.derived().attributes)


def test_derived_clauses_share_one_computation_for_each_function(monkeypatch):
    """A chunk has a function computed once, however many clauses ask for values of it."""
    computed = []
    values = DerivedAttribute.values

    def counted(attribute, column):
        computed.append(attribute)
        return values(attribute, column)

    monkeypatch.setattr(DerivedAttribute, "values", counted)
    clauses = StreamClauses()
    for number in range(40):
        asked = clause(f"a < {number} AND LOWER(t) = '{number}' AND LENGTH(t) IN (1, {number})")
        clauses.build(ClauseId(number), asked, Keeping.LISTS)
    assert not clauses.residuals
    found(clauses.index, clauses, ())
    assert 2 == len(set(computed)) == len(computed)


def test_derived_clauses_past_the_bound_are_residual_until_they_go():
    """The index takes so many functions; when all clauses of one have gone, it takes another in its place."""
    most = DERIVED_ATTRIBUTES_MAX
    clauses = StreamClauses()
    for number in range(most + 2):
        clauses.build(ClauseId(number), clause(f"SUBSTRING(t, {number}) = 'a'"), Keeping.LISTS)
    assert [{Slot(most)}, {Slot(most + 1)}] == [one.slots for one in clauses.residuals.values()]
    found(clauses.index, clauses, clauses.residuals.values())
    clauses.evict(Slot(0))
    clauses.build(ClauseId(99), clause("LOWER(t) = 'a'"), Keeping.LISTS)
    clauses.check()
    assert 2 == len(clauses.residuals)
    clauses.evict(Slot(most + 1))
    clauses.check()
    assert [{Slot(most)}] == [one.slots for one in clauses.residuals.values()]
    assert [i for i, _, t in ROWS if t in ("a", "A")] == found(
        clauses.index, clauses, clauses.residuals.values()
    )[99]


def test_derived_factors_are_of_functions_that_search_nothing():
    """Those of `DERIVING`, of one text column and constants: any other is evaluated for the rows that are left."""
    wheres = ["REPLACE(t, 'a', 'b') = 'b'", "LEFT(t, a) = 'a'", "LOWER(CAST(a AS VARCHAR)) = '3'"]
    wheres += ["LOWER(t) = t", "LOWER(t) = UPPER(t)", "LENGTH(t) + 1 = 2", "STRPOS(t, 'a') = 1"]
    assert not [
        where
        for where in wheres
        if any(isinstance(one, DerivedFactor) for one in clause(where).factors)
    ]
    named = {call for call in DERIVING for text in CALLS if call in text}
    assert DERIVING == named, "each is tried above"
