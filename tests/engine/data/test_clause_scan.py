"""A clause over stored rows: growing and sealed segments of every type, against single comparisons."""

import functools
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.data import derived_places
from psoup.engine.data.clause_scan import scan, scanned
from psoup.engine.data.scannable import ScanTable
from psoup.engine.data.segment import Segment
from psoup.engine.kernels import within
from psoup.engine.kernels.bits import CHUNK_WORDS
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.clause import Source, StandingQueryClause
from psoup.engine.query.factor import AttributeFactor
from psoup.engine.query.values.derived import DerivedAttribute
from psoup.engine.query.values.expression import ColumnRef, CompareOp
from psoup.engine.query.values.value_set import EVERYTHING, values_among, values_where
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamId, StreamSchema
from tests.engine.columns import chunk_values, column_of, pool, satisfying, value_sets
from tests.engine.kernels import twins
from tests.reference_values import holds
from tests.strategies import fewer

KINDS = list(ColumnType)
BATCH = 5_000
"""No divisor of a chunk: batches end everywhere in them."""


def schema_of(*kinds):
    columns = tuple(ColumnSchema(kind.value, kind) for kind in kinds)
    return StreamSchema("s", columns, None, ClockKind.SERVER)


def segment_of(values_by_kind, *, start=0):
    """Return a segment with these values, written in batches."""
    segment = Segment(schema_of(*values_by_kind), start=start)
    (count,) = {len(values) for values in values_by_kind.values()}
    for first in range(0, count, BATCH):
        past = min(count, first + BATCH)
        ids = np.arange(start + first, start + past, dtype=np.int64)
        columns = [column_of(kind, values[first:past]) for kind, values in values_by_kind.items()]
        segment.write(columns, first_tuple_id=start + first, times=ids)
    segment.check()
    return segment


@functools.cache
def stored(kind, count):
    """Return values and their segment: chunks of one value, of two that lie near, of all, of NULLs."""
    ordered = sorted(set(pool(kind)))
    values = []
    for chunk in range(-(-count // CHUNK_ROWS)):
        at = (3 * chunk) % len(ordered)
        among = [ordered[at : at + 1], ordered[at : at + 2], ordered, []][chunk % 4]
        nulls = 0.0 if chunk % 8 < 4 else 0.2
        values += chunk_values(kind, seed=chunk, among=among, nulls=nulls)
    return values[:count], segment_of({kind: values[:count]})


def clause_of(*factors):
    return StandingQueryClause("", (Source("s", "s", StreamId(1)),), factors)


def asking(kind, values):
    return AttributeFactor(ColumnRef(0, kind.value, kind), values)


def table_of(clause, segment, past):
    return ScanTable.of(scanned(clause), lambda name: segment.scannable(name, past))


def found_by(clause, segment, first, past, table=None):
    """Return the rows that satisfy the clause, after checking that they are counted by chunk."""
    chunks = -(-past // CHUNK_ROWS) - first // CHUNK_ROWS
    words = np.empty(CHUNK_WORDS * chunks, dtype=np.uint64)
    counts = np.empty(chunks, dtype=np.int32)
    scan(
        clause,
        table or table_of(clause, segment, past),
        first,
        past,
        words=words,
        counts=counts,
        read=lambda _, name, where: segment.column(name, where),
    )
    assert counts.tolist() == np.bitwise_count(words).reshape(chunks, -1).sum(axis=1).tolist()
    found = twins.bits_of(words)
    return {first // CHUNK_ROWS * CHUNK_ROWS + bit for bit in found}


COUNTS = [1, CHUNK_ROWS, 2 * CHUNK_ROWS + 1, SEGMENT_ROWS - 1, SEGMENT_ROWS]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kind", KINDS)
@fewer(5, 10)
@given(data=st.data())
def test_scan_of_any_values_oracle_finds_what_belongs(kind, count, data):
    """A set of any shape over rows [first, past) of growing and of sealed segments."""
    values, segment = stored(kind, count)
    edges = st.sampled_from([0, 1, CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1, count - 1])
    first = min(data.draw(edges | st.integers(0, count - 1)), count - 1)
    past = data.draw(st.just(count) | st.integers(first + 1, count))
    asked = data.draw(value_sets(kind))
    expected = {i for i in satisfying(values, asked) if first <= i < past}
    assert expected == found_by(clause_of(asking(kind, asked)), segment, first, past)


@pytest.mark.parametrize("kind", KINDS)
def test_scan_of_each_comparison_oracle_finds_what_belongs(kind):
    """Every operator with every constant of the pool, over a sealed segment and a growing one."""
    for count in (SEGMENT_ROWS, 3 * CHUNK_ROWS + 7):
        values, segment = stored(kind, count)
        for constant in pool(kind)[::3]:
            for op in CompareOp:
                asked = values_where(op, constant)
                clause = clause_of(asking(kind, asked))
                assert satisfying(values, asked) == found_by(clause, segment, 0, count)


def test_scan_reads_no_chunk_that_minima_and_maxima_decide():
    """Chunks that lie outside are cleared and chunks that lie inside are kept, unread."""
    values = [chunk * 10 for chunk in range(4) for _ in range(CHUNK_ROWS)]
    segment = segment_of({ColumnType.INT64: values})
    segment.column("int64", slice(0, len(values))).values[:] = (
        99  # what nobody reads may be anything
    )
    clause = clause_of(asking(ColumnType.INT64, values_among(range(5, 25))))
    kept = set(range(CHUNK_ROWS, 3 * CHUNK_ROWS))
    assert kept == found_by(clause, segment, 0, len(values))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("past", [3 * CHUNK_ROWS + 100, SEGMENT_ROWS])
@pytest.mark.parametrize("nulls", [0.1, 1.0])
def test_scan_of_a_segment_begun_later_oracle_finds_what_belongs(kind, past, nulls):
    """Rows before the first one written are nobody's, in the chunk they share too, growing and sealed."""
    start = CHUNK_ROWS + 100
    values = [
        *chunk_values(kind, seed=3, count=CHUNK_ROWS, nulls=nulls),
        *chunk_values(kind, seed=4, count=past - start - CHUNK_ROWS, among=pool(kind)[:2]),
    ]
    segment = segment_of({kind: values}, start=start)
    for constant in pool(kind)[:3]:
        asked = values_where(CompareOp.GE, constant)
        expected = {start + i for i in satisfying(values, asked)}
        assert expected == found_by(clause_of(asking(kind, asked)), segment, start, past)


WHERES = [
    "int64 > 1 AND float64 < 1.0",
    "int64 > 1 AND string LIKE '%a%' AND bool",
    "int64 + 1 > float64",
    "string = 'ab' AND int64 * 2 = 4 AND bool IS NULL",
    "bool IS NOT NULL AND string IS NULL",
    "int64 = 1 AND string = 'nobody has this' AND int64 / 0 > 1",
    "LOWER(string) = 'ab' AND int64 > 1",
    "LENGTH(string) IN (0, 2) AND UPPER(string) > 'B' AND string <> 'b'",
    "(LOWER(string) IS NULL OR LOWER(string) = 'a') AND LENGTH(string) IS NULL",
    "LTRIM(string) = 'nobody has this' AND int64 + 1 > 1",
    "TRUE",
]


@pytest.mark.parametrize("where", WHERES)
def test_scan_of_several_factors_oracle_agrees_with_the_twin(where):
    """Factors over single attributes and others together: all have to be TRUE for a row."""
    count = 2 * CHUNK_ROWS + 300
    columns = {kind: chunk_values(kind, seed=7, count=count, nulls=0.2) for kind in KINDS}
    clause = bind(f"SELECT * FROM s WHERE {where}", {"s": (StreamId(1), schema_of(*KINDS))}).clause
    rows = [{kind.value: values[i] for kind, values in columns.items()} for i in range(0, count, 7)]
    expected = {7 * i for i, row in enumerate(rows) if holds(clause, [row])}
    found = found_by(clause, segment_of(columns), 0, count)
    assert expected == {row for row in found if row % 7 == 0}


@functools.cache
def numbered():
    """Return two segments, the second of which still grows, with texts in other orders and some NULLs."""
    values = [f"{'xX'[i % 2]}{i * 7 % 2_000:04d}" for i in range(SEGMENT_ROWS)]
    later = [None if i % 5 == 0 else ["X0003", "x", ""][i % 3] for i in range(CHUNK_ROWS + 9)]
    return [(some, segment_of({ColumnType.STRING: some})) for some in (values, later)]


@pytest.mark.parametrize("most", [0, 2, derived_places.SPANS_MAX])
@pytest.mark.parametrize(
    "where",
    [
        "LOWER(string) = 'x0003'",
        "RIGHT(string, 1) IN ('3', '')",
        "RIGHT(string, 2) < '40' AND LOWER(string) > 'x1'",
        "LENGTH(string) < 5",
        "UPPER(string) IN ('X0000', 'x0020', "
        + str([f"X{20 * i:04d}" for i in range(20)])[1:-1]
        + ")",
        "RIGHT(string, 3) = '003' OR RIGHT(string, 3) IS NULL",
    ],
)
def test_scan_of_a_function_of_texts_oracle_finds_its_values_in_every_segment(
    where, most, monkeypatch
):
    """As spans of places, of which one segment has more than the other; or, past a bound, row by row."""
    monkeypatch.setattr(derived_places, "SPANS_MAX", most)
    parts = numbered()
    clause = bind(
        f"SELECT * FROM s WHERE {where}", {"s": (StreamId(1), schema_of(ColumnType.STRING))}
    ).clause
    tables = [table_of(clause, segment, len(values)) for values, segment in parts]
    count = sum(len(values) for values, _ in parts)
    words = np.empty(CHUNK_WORDS * -(-count // CHUNK_ROWS), dtype=np.uint64)
    scan(
        clause,
        tables[0].joined(tables[1]),
        0,
        count,
        words=words,
        counts=np.empty(-(-count // CHUNK_ROWS), dtype=np.int32),
        read=lambda number, name, where: parts[number][1].column(name, where),
    )
    texts = [text for values, _ in parts for text in values]
    held = {text for text in set(texts) if holds(clause, [{"string": text}])}
    assert {i for i, text in enumerate(texts) if text in held} == twins.bits_of(words)


@pytest.fixture
def computed(monkeypatch):
    """Return the texts for which a function is computed while the test runs, call by call."""
    calls, of_texts = [], DerivedAttribute.of_texts

    def noted(attribute, texts):
        calls.append(list(texts))
        return of_texts(attribute, texts)

    monkeypatch.setattr(DerivedAttribute, "of_texts", noted)
    return calls


def test_scan_computes_a_function_once_for_the_texts_of_a_segment(computed):
    """For all clauses that ask for its values; of fewer rows than texts it is computed for theirs alone."""
    values = [f"T{i}" for i in range(3_000)]
    segment = segment_of({ColumnType.STRING: values})
    streams = {"s": (StreamId(1), schema_of(ColumnType.STRING))}
    clauses = [
        bind(f"SELECT * FROM s WHERE LOWER(string) = 't{i}'", streams).clause for i in range(4)
    ]
    assert {2} == found_by(clauses[2], segment, 0, 2_999)
    assert not computed
    assert [{0}, {1}] == [found_by(one, segment, 0, 3_000) for one in clauses[:2]]
    assert {3} == found_by(clauses[3], segment, 0, 2_999), "what is known is used for few rows too"
    assert 3_000 == len(computed[0])
    assert max(map(len, computed[1:])) <= derived_places.MARKED, "those around the bounds alone"


def test_scan_computes_a_function_for_the_segments_with_rows_to_compare_alone(computed):
    """A run of a table of many segments is compared with its own texts."""
    segments = [
        segment_of({ColumnType.STRING: [f"{letter}{i % 9}" for i in range(SEGMENT_ROWS)]})
        for letter in "ABC"
    ]
    streams = {"s": (StreamId(1), schema_of(ColumnType.STRING))}
    clause = bind("SELECT * FROM s WHERE LOWER(string) IN ('a4', 'b4', 'c4')", streams).clause
    tables = [table_of(clause, one, SEGMENT_ROWS) for one in segments]
    table = tables[0].joined(tables[1]).joined(tables[2])
    first = SEGMENT_ROWS + CHUNK_ROWS
    found = found_by(clause, segments[1], first, first + 9, table)
    assert {first + i for i in range(9) if (CHUNK_ROWS + i) % 9 == 4} == found
    assert {f"B{i}" for i in range(9)} == {one for texts in computed for one in texts}


def test_scannable_of_a_growing_segment_stays_what_it_was_when_the_segment_is_sealed():
    """A reader that has begun keeps comparing places among the texts there were.

    Texts that come later, with which the segment is sealed, move all places: what is noted of the sealed
    ones says nothing of the reader's.
    """
    half = SEGMENT_ROWS // 2
    early = ["m", "n"] * (half // 2)
    segment = segment_of({ColumnType.STRING: early})
    clause = clause_of(asking(ColumnType.STRING, values_among(["m"])))
    table = table_of(clause, segment, half)
    ids = np.arange(half, SEGMENT_ROWS, dtype=np.int64)
    later = column_of(ColumnType.STRING, ["a", "b", "c", "d"] * (half // 4))
    segment.write([later], first_tuple_id=half, times=ids)
    expected = set(range(0, half, 2))
    assert expected == found_by(clause, segment, 0, half, table)
    assert expected == found_by(clause, segment, 0, SEGMENT_ROWS)


def test_scan_beside_a_writer_finds_what_belongs_before_and_after_the_segment_is_sealed():
    """Readers on other threads never mix codes of a growing segment with those of a sealed one."""
    kind = ColumnType.STRING
    segment = Segment(schema_of(kind), start=0)
    texts = [f"t{9_999 - i:04d}" for i in range(64)]
    clause = clause_of(asking(kind, values_among([texts[3]])))
    wrong, stop = [], threading.Event()

    def write(first):
        ids = np.arange(first, first + 64, dtype=np.int64)
        segment.write([column_of(kind, texts)], first_tuple_id=first, times=ids)

    def watch():
        while not stop.is_set():
            past = segment.past
            if past and set(range(3, past, 64)) != found_by(clause, segment, 0, past):
                wrong.append(past)

    readers = [threading.Thread(target=watch) for _ in range(2)]
    for reader in readers:
        reader.start()
    for first in range(0, SEGMENT_ROWS, 64):
        write(first)
    stop.set()
    for reader in readers:
        reader.join()
    assert [] == wrong


def test_scan_for_everything_keeps_every_row_asked_about():
    """Factors that everything satisfies, and no factors at all, keep what was asked about."""
    values, segment = stored(ColumnType.INT64, 2 * CHUNK_ROWS + 1)
    rows = set(range(5, len(values)))
    assert rows == found_by(clause_of(), segment, 5, len(values))
    every = clause_of(asking(ColumnType.INT64, EVERYTHING))
    assert rows == found_by(every, segment, 5, len(values))


FORMS: dict[str, tuple[list[Any], int]] = {
    "bytes": ([-(2**63), -(2**63) + 255], within.BYTES),
    "shorts": ([2**63 - 1, 2**63 - 257], within.SHORTS),
    "shorts to the last": ([7, 7 + 65_535], within.SHORTS),
    "longs": ([7, 7 + 65_536], within.LONGS),
    "longs from end to end": ([-(2**63), 2**63 - 1], within.LONGS),
    "NULLs alone": ([None], within.BYTES),
}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((ColumnType.INT64, name) for name in FORMS),
        (ColumnType.TIMESTAMP, "shorts"),
        *(
            pytest.param(ColumnType.TIMESTAMP, name, marks=pytest.mark.slow)
            for name in FORMS
            if name != "shorts"
        ),
    ],
)
def test_sealed_whole_numbers_oracle_are_scanned_in_the_narrowest_form_they_fit(kind, name):
    """Codes stand for values up to the ends of int64; values under NULL are anything and fit nowhere."""
    some, form = FORMS[name]
    values = [*some, None, *chunk_values(kind, seed=1, among=some, count=SEGMENT_ROWS)]
    values = values[:SEGMENT_ROWS]
    segment = segment_of({kind: values})
    assert form == segment.scannable(kind.value, SEGMENT_ROWS).row[within.FORM]
    for constant in (*some, 0, 2**63 - 1):
        for op in CompareOp if constant is not None else ():
            asked = values_where(op, constant)
            found = found_by(clause_of(asking(kind, asked)), segment, 0, SEGMENT_ROWS)
            assert satisfying(values, asked) == found


def test_sealed_columns_keep_their_values_beside_a_byte_or_two_a_row():
    """What readers of columns get is what was written; what scans read is counted as memory."""
    near = [i % 200 for i in range(SEGMENT_ROWS)]
    far = [i * 7 for i in range(SEGMENT_ROWS)]
    texts = [f"t{i % 300}" for i in range(SEGMENT_ROWS)]
    for values, kind, row_bytes in (
        (near, ColumnType.INT64, 8 + 1),
        (far, ColumnType.INT64, 8),
        (texts, ColumnType.STRING, 2),
    ):
        segment = segment_of({kind: values})
        assert values == segment.column(kind.value, slice(0, SEGMENT_ROWS)).to_list()
        ids_and_times = 16
        assert (ids_and_times + row_bytes) * SEGMENT_ROWS == segment.nbytes


def test_scan_of_many_texts_oracle_finds_what_belongs():
    """A segment of nothing but different texts has as many places as two bytes have."""
    values = [f"{i * 7_919 % SEGMENT_ROWS:05d}" for i in range(SEGMENT_ROWS)]
    segment = segment_of({ColumnType.STRING: values})
    asked = values_where(CompareOp.GE, "65533").union(values_among(["00000"]))
    clause = clause_of(asking(ColumnType.STRING, asked))
    assert satisfying(values, asked) == found_by(clause, segment, 0, SEGMENT_ROWS)
