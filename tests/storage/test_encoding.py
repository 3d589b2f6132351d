"""Operations, records and pages as bytes: what is written is read back, and what is unknown is refused."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from engine.limits import CHUNK_ROWS
from engine.log.operation import Tick
from engine.results.delta import BatchRecord, ClauseRecord, StreamRecord
from engine.results.hits import ClauseId
from engine.results.page import Page, page_of
from engine.tuples.batch import Seq
from engine.tuples.schema import StreamId
from storage import encoding
from tests.storage.samples import declare

INT64 = st.integers(-(2**63), 2**63 - 1)
SMALL = st.integers(0, 2**53)


@given(offsets=st.sets(st.integers(0, CHUNK_ROWS - 1), min_size=1))
def test_page_of_any_hits_reads_back(offsets):
    """Lists and bitmaps come back with the same rows in the same form, in 513 bytes at most."""
    page = page_of(np.array(sorted(offsets), dtype=np.uint16))
    value = encoding.encode_page(page)
    found = encoding.decode_page(value)
    assert sorted(offsets) == found.rows(0).tolist()
    assert (page.offsets is None) == (found.offsets is None)
    assert len(value) == 1 + page.nbytes <= 513


def test_page_of_an_unknown_form_is_refused():
    """A page is a list or a bitmap of its size, nothing else."""
    for value in (b"\x03abc", b"\x02" + bytes(511)):
        with pytest.raises(AssertionError):
            encoding.decode_page(value)
    too_long = Page(np.arange(300, dtype=np.uint16), None)
    with pytest.raises(AssertionError):
        encoding.encode_page(too_long)


@given(
    counters=st.tuples(SMALL, SMALL, st.none() | INT64, SMALL, st.none() | INT64),
    rest=st.tuples(st.none() | INT64, SMALL, st.none() | SMALL, SMALL),
)
def test_stream_record_of_any_numbers_reads_back(counters, rest):
    """Numbers of 64 bits and None come back exactly."""
    record = StreamRecord(StreamId(7), declare("ä", 2).schema, *counters, *rest)
    declaration = encoding.encode_declaration(record.schema)
    assert record == encoding.decode_stream(encoding.encode_stream(record), declaration)


@given(numbers=st.tuples(SMALL, SMALL, SMALL, SMALL))
def test_batch_record_of_any_numbers_reads_back(numbers):
    """A batch's place in the log comes back exactly, from 33 bytes."""
    record = BatchRecord(StreamId(3), Seq(9), *numbers)
    value = encoding.encode_batch(record)
    assert (33, record) == (len(value), encoding.decode_batch(StreamId(3), Seq(9), value))


@given(text=st.text(), streams=st.lists(st.integers(1, 2**53), min_size=1, max_size=4))
def test_clause_record_of_any_text_reads_back(text, streams):
    """Any text and one to four streams in FROM order, a stream twice in a self-join."""
    record = ClauseRecord(ClauseId(5), text, tuple(streams))
    assert record == encoding.decode_clause(encoding.encode_clause(record))


def test_operation_of_an_unknown_kind_or_version_is_refused():
    """An entry that a later version wrote stops the reader."""
    kind, header, body = encoding.encode_content(Tick())
    with pytest.raises(AssertionError, match="unknown kind"):
        encoding.decode_content("tock", header, body)
    with pytest.raises(AssertionError):
        encoding.decode_content(kind, header.replace(b"1", b"2"), body)
