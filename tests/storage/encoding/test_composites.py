"""Pages of composite tuples as bytes: what is written is read back, and what is damaged is refused."""

import struct

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays

from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.results.composites import CompositePage
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.page import UNKEPT, Page
from psoup.storage.encoding import composites as encoding_composites
from psoup.storage.encoding.composites import decode_composites, encode_composites
from tests.storage.driver import plain_pages
from tests.storage.hits import block_of
from tests.storage.joins import page_of, pages_of

NUMBERS = st.one_of(
    st.integers(0, 300),
    st.integers(2**40, 2**40 + 2**17),
    st.integers(-(2**63), 2**63 - 1),
)


@st.composite
def pages(draw) -> CompositePage:
    """Pages of any numbers: times as they come, for a column has to hold whatever there is."""
    count = draw(st.integers(1, 40) | st.just(CHUNK_ROWS))
    columns = [
        draw(arrays.arrays(np.int64, count, elements=NUMBERS, fill=NUMBERS))
        for _ in range(draw(st.integers(2, 8)) + 2)
    ]
    ids = st.integers(1, 400) | st.integers(2**40, 2**40 + 2**33)
    places = st.sets(st.integers(0, count - 1), min_size=1, max_size=400)
    asked = draw(st.dictionaries(ids, places, min_size=1, max_size=7))
    told = {c: page_of(ClauseId(c), np.array(sorted(some))) for c, some in asked.items()}
    block = block_of(told, {c: len(some) for c, some in asked.items()})
    return CompositePage(np.array(columns[2:]), columns[0], columns[1], block)


def sample(clauses: int = 2, count: int = 600) -> CompositePage:
    """Return a page that a join could have found: rows and times close together, lists and bitmaps."""
    chance = np.random.default_rng(5)
    rows = np.array([chance.integers(first, first + 4_000, count) for first in (8_192, 10**6)])
    asked = {
        ClauseId(n): np.flatnonzero(chance.random(count) < (0.02, 1)[n % 2])
        for n in range(1, clauses + 1)
    }
    ((_, page),) = pages_of((ClauseId(1), 0, 2, 0), rows, asked).items()
    page.check()
    return page


@given(page=pages(), piece=st.integers(1, 8))
def test_page_of_composites_of_any_numbers_reads_back(page, piece):
    """Rows, times and the hits of each clause, in whatever order they lie, in however many pieces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding_composites, "PIECE_CLAUSES", piece)
        pieces = encode_composites(page)
        assert -(-len(page.block) // piece) == len(pieces)
        found = decode_composites(pieces)
        assert pieces == encode_composites(found)
    found.block.check()
    assert plain_pages([page]) == plain_pages([found])
    assert all(array.dtype == np.int64 for array in (found.rows, found.earliest, found.latest))
    assert page.block.nbytes == found.block.nbytes


def test_page_of_composites_takes_few_bytes():
    """Each column the width of its span: rows of two chunks two bytes, times within a minute four."""
    page = sample(clauses=1)
    rows = np.array([np.arange(600) % 200, 10**9 + np.arange(600)])
    narrow = CompositePage(rows, page.latest - 5, page.latest, page.block)
    ((value,), (narrower,)) = encode_composites(page), encode_composites(narrow)
    hits = 12 + 512 + 9 + 1 + 2 + 1
    assert 4 + 4 * 9 + 600 * (2 + 2 + 4 + 4) + hits == len(value)
    assert 4 + 4 * 9 + 600 * (1 + 2 + 4 + 1) + hits == len(narrower)


def test_page_of_composites_that_is_read_holds_nothing_else():
    """Its arrays are its own: none of them keeps the bytes it was read from."""
    page = decode_composites(encode_composites(sample()))
    block = page.block
    for array in (block.clause_ids, block.counts, block.forms, block.offsets, block.bitmaps):
        assert array.base is None
    assert page.rows.base is not None
    assert page.rows.base is page.earliest.base is page.latest.base
    assert page.nbytes - block.nbytes == page.rows.base.nbytes


def test_page_of_composites_that_is_damaged_is_refused():
    """What was cut short, is longer than it says, or has another form stops the reader."""
    (value,) = encode_composites(sample())
    broken = [value[:-1], value[:40], value[:2], b"", value + b"\x00", b"\x02" + value[1:]]
    broken += [value[:4] + width + value[5:] for width in (b"\x00", b"\x03", b"\x10")]
    counts_at = 4 + 4 * 9 + 600 * 12
    clauses, maps, hits = struct.unpack_from("<III", value, counts_at)
    assert (2, 1) == (clauses, maps)
    for told in ((1, maps, hits), (clauses, 0, hits), (clauses, maps, hits + 1)):
        broken.append(value[:counts_at] + struct.pack("<III", *told) + value[counts_at + 12 :])
    forms_at = len(value) - 2 * hits - 2
    assert b"\x01\x00" == value[forms_at : forms_at + 2]
    for forms in (b"\x00\x00", b"\x01\x02", b"\x00\x01"):
        broken.append(value[:forms_at] + forms + value[forms_at + 2 :])
    for damaged in broken:
        with pytest.raises((AssertionError, ValueError, struct.error)):
            decode_composites([damaged])


def test_page_of_composites_that_cannot_be_is_not_written():
    """More than a page has, or hits that no column could tell."""
    page = sample()
    many = np.zeros((2, CHUNK_ROWS + 1), dtype=np.int64)
    unkept = block_of({1: UNKEPT, 2: Page(np.arange(2, dtype=np.uint16), None)}, {1: 9, 2: 2})
    for broken in (
        CompositePage(many, many[0], many[0], page.block),
        CompositePage(page.rows, page.earliest, page.latest, unkept),
    ):
        with pytest.raises(AssertionError):
            encode_composites(broken)
