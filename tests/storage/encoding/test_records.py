"""Operations, records and pages as bytes: what is written is read back, and what is unknown is refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.kernels.bits import LITTLE
from psoup.engine.limits import CHUNK_ROWS, STREAMS_COUNT_CEILING
from psoup.engine.log.operation import (
    Alter,
    Expire,
    Materialize,
    QueryId,
    Register,
    Remove,
    Renew,
    Replace,
    Tick,
)
from psoup.engine.query.hops import Hops
from psoup.engine.query.parameters import RegisteredText
from psoup.engine.query.window import Bound, Window
from psoup.engine.results.delta import (
    BatchRecord,
    ClauseRecord,
    JoinRecord,
    QueryRecord,
    StreamRecord,
    Suspension,
)
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.page import UNKEPT, Page, bitmap_of
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from psoup.storage import keys
from psoup.storage.encoding import hits as encoding_hits, records as encoding
from tests.storage.hits import block_of
from tests.storage.samples import declare

INT64 = st.integers(-(2**63), 2**63 - 1)
SMALL = st.integers(0, 2**53)


PAGES = st.one_of(
    st.just(UNKEPT),
    st.sets(st.integers(0, CHUNK_ROWS - 1), min_size=1, max_size=400).map(
        lambda rows: Page(np.array(sorted(rows), dtype=np.uint16), None)
    ),
    st.binary(min_size=CHUNK_ROWS // 8, max_size=CHUNK_ROWS // 8)
    .filter(any)
    .map(lambda value: Page(None, bitmap_of(np.frombuffer(value, LITTLE)))),
)


@given(page=PAGES)
def test_page_of_any_hits_reads_back(page):
    """Lists, bitmaps and what is not kept come back as they were, with one byte beside them."""
    value = encoding_hits.encode_page(page)
    assert same(page, encoding_hits.decode_page(value))
    assert 1 + page.nbytes == len(value)


def test_page_of_an_unknown_form_or_size_is_refused():
    """A page is a list, a bitmap of its size or not kept, nothing else."""
    for value in (b"\x04abc", b"\x02" + bytes(511), b"\x03a"):
        with pytest.raises(AssertionError):
            encoding_hits.decode_page(value)
    for offsets in (np.arange(CHUNK_ROWS + 1), np.empty(0)):
        with pytest.raises(AssertionError):
            encoding_hits.encode_page(Page(offsets.astype(np.uint16), None))


@given(
    pages=st.dictionaries(
        st.integers(1, 400) | st.integers(2**40, 2**40 + 99), PAGES, min_size=1, max_size=20
    )
)
def test_block_of_any_clauses_reads_back_in_parts(pages):
    """Each part has the clauses of its group, each clause its hits, whatever lies where in the block."""
    counts = {clause_id: page.count or CHUNK_ROWS for clause_id, page in pages.items()}
    parts = dict(encoding_hits.encode_blocks(block_of(pages, counts)))
    assert sorted({clause_id >> keys.GROUP_BITS for clause_id in pages}) == list(parts)
    found: list[int] = []
    for group, value in parts.items():
        part = encoding_hits.decode_block(value)
        part.check()
        for clause_id, page in part.pages():
            assert group == clause_id >> keys.GROUP_BITS
            assert same(pages[clause_id], page)
            assert same(page, encoding_hits.decode_hits(value, clause_id))
        told = dict(zip(part.clause_ids.tolist(), part.counts.tolist(), strict=True))
        assert {clause_id: counts[clause_id] for clause_id in told} == told
        absent = set(range(group << keys.GROUP_BITS, (group + 1) << keys.GROUP_BITS)) - set(told)
        assert all(encoding_hits.decode_hits(value, ClauseId(n)) is None for n in absent)
        found += told
    assert sorted(pages) == found


def test_block_takes_five_bytes_a_clause_beside_its_hits():
    """And sixteen for itself."""
    lists = {n: Page(np.arange(n, dtype=np.uint16), None) for n in range(1, 60)}
    block = block_of(lists, {n: n for n in lists})
    ((group, value),) = encoding_hits.encode_blocks(block)
    assert (0, 16 + 5 * 59 + block.offsets.nbytes) == (group, len(value))
    assert [] == list(encoding_hits.encode_blocks(block.among(slice(0, 0))))


def test_block_of_an_unknown_form_or_a_part_of_one_is_refused():
    """What was cut short, or written by a later version, stops the reader."""
    pages = {1: Page(np.arange(9, dtype=np.uint16), None), 2: UNKEPT}
    ((_, value),) = encoding_hits.encode_blocks(block_of(pages, {1: 9, 2: 9}))
    for broken in (b"\x02" + value[1:], value[:-1], value + b"\x00", value[:-1] + b"\x01"):
        with pytest.raises((AssertionError, ValueError)):
            encoding_hits.decode_block(broken)
    with pytest.raises(AssertionError):
        encoding_hits.decode_hits(b"\x02" + value[1:], ClauseId(1))


def same(one: Page, other: Page | None) -> bool:
    """Return whether both are of one form and tell the same rows."""
    assert other is not None
    forms = [(page.offsets is None, page.bitmap is None) for page in (one, other)]
    return forms[0] == forms[1] and (not one.kept or one.rows(0).tolist() == other.rows(0).tolist())


@given(
    counters=st.tuples(SMALL, SMALL, st.none() | INT64, SMALL, st.none() | INT64),
    rest=st.tuples(st.none() | INT64, SMALL, st.none() | SMALL, SMALL),
)
def test_stream_record_of_any_numbers_reads_back(counters, rest):
    """Numbers of 64 bits and None come back exactly."""
    record = StreamRecord(StreamId(7), declare("ä", 2).schema, *counters, *rest)
    declaration = encoding.encode_declaration(record.schema)
    assert record == encoding.decode_stream(encoding.encode_stream(record), declaration)


@given(numbers=st.tuples(SMALL, SMALL, SMALL, SMALL, INT64, INT64))
def test_batch_record_of_any_numbers_reads_back(numbers):
    """A batch's place in the log comes back exactly, from 49 bytes."""
    record = BatchRecord(StreamId(3), Seq(9), *numbers)
    value = encoding.encode_batch(record)
    assert (49, record) == (len(value), encoding.decode_batch(StreamId(3), Seq(9), value))


@given(
    text=st.text(),
    streams=st.lists(st.integers(1, 2**53), min_size=1, max_size=4),
    kept=st.tuples(st.sampled_from(Materialize), SMALL, SMALL),
)
def test_clause_record_of_any_text_reads_back(text, streams, kept):
    """Any text and one to four streams in FROM order, a stream twice in a self-join."""
    record = ClauseRecord(ClauseId(5), text, tuple(streams), *kept)
    assert record == encoding.decode_clause(encoding.encode_clause(record))


@given(
    fronts=st.lists(SMALL, min_size=2, max_size=8).map(tuple),
    suspended=st.none() | st.builds(Suspension, SMALL, st.text()),
)
def test_clause_record_of_a_join_reads_back(fronts, suspended):
    """Its group, the fronts of its sources, and whether it is suspended; a clause without them is no longer for it."""
    record = ClauseRecord(ClauseId(5), "x", (StreamId(1), StreamId(2)))
    join = replace(record, join=JoinRecord(ClauseId(4), fronts, suspended))
    assert join == encoding.decode_clause(encoding.encode_clause(join))
    assert b'1,2 [1,5,"x","auto",0,0]' == encoding.encode_clause(record)


TEXTS = st.none() | st.builds(
    RegisteredText,
    st.text(),
    st.dictionaries(
        st.text(min_size=1),
        st.none()
        | st.booleans()
        | INT64
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        min_size=1,
    ),
)


@given(
    ranges=st.lists(st.none() | SMALL, max_size=4).map(tuple),
    text=TEXTS,
    replaced=st.just((1, 0)) | st.tuples(st.integers(2, 99), st.integers(1, 2**53)),
)
def test_query_record_of_any_ranges_text_and_version_reads_back(ranges, text, replaced):
    """One for each source, None among them, or none at all; a query without any of these is no longer for them."""
    record = QueryRecord(QueryId("q"), Seq(9), ClauseId(5), "x", Window())
    version, defined_seq = replaced
    some = replace(record, ranges=ranges, text=text, version=version, defined_seq=defined_seq)
    found = encoding.decode_query(encoding.encode_query(some))
    assert (some, repr(some.text)) == (found, repr(found.text))
    assert b'9 5 [1,"q","x",[null,null],null,{}]' == encoding.encode_query(record)


@given(text=TEXTS)
def test_registration_of_any_text_reads_back(text):
    """Its values keep their types; a registration without parameters is no longer for them."""
    content = Register(QueryId("q"), "x", {"s": StreamId(1)}, text=text)
    kind, header, body = encoding.encode_content(content)
    found = encoding.decode_content(kind, header, body)
    assert isinstance(found, Register)
    assert (content, repr(content.text)) == (found, repr(found.text))
    plain = encoding.encode_content(replace(content, text=None))[1]
    assert b'[1,["q","x",{"s":1},null,{},"auto"]]' == plain


@given(text=TEXTS)
def test_replacement_of_any_text_reads_back(text):
    """It is written as the registration of its definition, under a kind of its own."""
    query = Register(QueryId("q"), "x", {"s": StreamId(1)}, "n", text=text)
    kind, header, body = encoding.encode_content(Replace(query))
    assert ("replace", encoding.encode_content(query)[1:]) == (kind, (header, body))
    assert Replace(query) == encoding.decode_content(kind, header, body)


@given(
    ttl_us=st.none() | st.integers(0, 2**53),
    expires_us=st.integers(0, 2**53),
    amended_seq=st.integers(0, 2**53),
    text=TEXTS,
)
def test_query_with_a_time_to_live_reads_back(ttl_us, expires_us, amended_seq, text):
    """Registration and record, with parameters and without."""
    content = Register(QueryId("q"), "x", {"s": StreamId(1)}, text=text, ttl_us=ttl_us)
    found = encoding.decode_content(*encoding.encode_content(content))
    assert content == found
    record = QueryRecord(QueryId("q"), Seq(9), ClauseId(5), "x", Window(), text=text)
    ends_us = None if ttl_us is None else expires_us
    record = replace(record, ttl_us=ttl_us, expires_us=ends_us, amended_seq=Seq(amended_seq))
    assert record == encoding.decode_query(encoding.encode_query(record))
    assert expires_us == encoding.decode_expired(encoding.encode_expired(expires_us))


@pytest.mark.parametrize(
    "content", [Renew(QueryId("q")), Remove(QueryId("q")), Expire(QueryId("q"))]
)
def test_operation_of_a_handle_reads_back(content):
    """It is written with the handle alone, under a kind of its own."""
    kind, header, body = encoding.encode_content(content)
    assert (type(content).__name__.lower(), b'[1,"q"]', b"") == (kind, header, body)
    assert content == encoding.decode_content(kind, header, body)


def test_alteration_reads_back():
    """It is written with the whole declaration that the stream has from then on."""
    content = Alter(StreamId(7), declare("ä", 2).schema)
    assert content == encoding.decode_content(*encoding.encode_content(content))


def test_stream_record_of_before_reads_back():
    """One whose queries were never replaced is written, and read, as it always was."""
    record = StreamRecord(StreamId(7), declare("a", 1).schema)
    written = encoding.encode_stream(record)
    assert b"[1,7,0,0,null,0,null,null,0,null,0]" == written
    replaced = replace(record, replaced_seq=Seq(9))
    declaration = encoding.encode_declaration(record.schema)
    assert replaced == encoding.decode_stream(encoding.encode_stream(replaced), declaration)


@given(every_us=st.integers(1, 2**53), later_us=st.integers(0, 2**53))
def test_query_record_of_a_window_that_hops_reads_back(every_us, later_us):
    """Its window has the hops as a third member, and another one is no longer for it."""
    ends = Bound(5, moving=True), Bound(0, moving=True)
    record = QueryRecord(QueryId("q"), Seq(9), ClauseId(5), "x", Window(*ends))
    hopping = replace(record, window=Window(*ends, Hops(every_us, later_us % every_us)))
    assert hopping == encoding.decode_query(encoding.encode_query(hopping))
    assert b'9 5 [1,"q","x",[[5,true],[0,true]],null,{}]' == encoding.encode_query(record)


def test_operation_of_an_unknown_kind_or_version_is_refused():
    """An entry that a later version wrote stops the reader."""
    kind, header, body = encoding.encode_content(Tick())
    with pytest.raises(AssertionError, match="unknown kind"):
        encoding.decode_content("tock", header, body)
    with pytest.raises(AssertionError):
        encoding.decode_content(kind, header.replace(b"1", b"2"), body)


def test_digests_of_as_many_declarations_are_kept_as_there_may_be_streams():
    """Whatever the setting says: rows of each, one after the other, find all of them."""
    declared = [declare(f"s{number}").schema for number in range(STREAMS_COUNT_CEILING)]
    encoding.declaration_digest.cache_clear()
    digests = [encoding.declaration_digest(schema) for schema in declared]
    assert digests == [encoding.declaration_digest(schema) for schema in declared]
    assert STREAMS_COUNT_CEILING == encoding.declaration_digest.cache_info().hits
