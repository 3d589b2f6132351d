"""Cursors: short, the same for the same position, and none for what was not signed for the query."""

import base64
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from psoup.app.http.cursors import Cursor, read_cursor, sign_cursor
from psoup.app.http.page_tokens import KEY_BYTES, PageTokens
from psoup.engine import limits
from psoup.engine.invocation.position.answer import BEFORE_ALL_US, PartPosition, Since
from psoup.engine.log.operation import QueryId
from psoup.engine.results.contract import Gen
from psoup.engine.tuples.batch import Seq

QUERY = QueryId("q_7HcT0u9XbK2mPq4sVw1zRd")
NOW_US = 1_795_255_200_000_000
TOKENS = PageTokens(lambda: b"k" * KEY_BYTES)
PART = PartPosition(10_000_000, 200_000, NOW_US - 3_600_000_000)
INSTANTS = st.integers(BEFORE_ALL_US, limits.TIMESTAMP_US_MAX)
OTHER_PART = PartPosition(7, 0, None)
PARTS = st.builds(PartPosition, st.integers(0, 2**47), st.integers(0, 2**47), st.none() | INSTANTS)


def since(**members: object) -> Since:
    given: dict[str, object] = {
        "gen": Gen(1_793_521_800_000),
        "seq": Seq(981_233),
        "now_us": NOW_US,
        "parts": (PART,),
        "changes_us": NOW_US + 1_700_000,
        "count": 1_187,
    }
    return Since(**(given | members))  # type: ignore[arg-type]


@given(
    now_us=INSTANTS,
    wait_us=st.none() | st.integers(1, limits.WINDOW_US_MAX),
    count=st.integers(0, 2**47),
    parts=st.lists(PARTS, min_size=1, max_size=limits.QUERY_STREAMS_MAX),
    kind=st.tuples(st.booleans(), st.just(b"") | st.binary(min_size=16, max_size=16)),
)
def test_cursor_is_read_as_it_was_signed(now_us, wait_us, count, parts, kind):
    """Positions at every instant, of as many streams as a query has, are the same once read; and short enough."""
    changes_us = None if wait_us is None else now_us + wait_us
    held = since(now_us=now_us, changes_us=changes_us, count=count, parts=tuple(parts))
    counted, content = kind
    held = replace(held, content=content)
    text = sign_cursor(TOKENS, QUERY, Cursor(held, counted=counted))
    assert Cursor(held, counted=counted) == read_cursor(TOKENS, QUERY, text)
    assert len(text) <= limits.CURSOR_LENGTH_MAX


def test_cursor_of_one_stream_is_short_and_the_same_for_the_same_position():
    """A URL has room for it, and caches see one URL while nothing changes."""
    text = sign_cursor(TOKENS, QUERY, Cursor(since()))
    assert len(text) <= 100
    assert text == sign_cursor(PageTokens(lambda: b"k" * KEY_BYTES), QUERY, Cursor(since()))


def test_cursor_of_another_query_key_or_kind_is_none():
    """It is signed for one query, with the key of one service, and is no page token."""
    text = sign_cursor(TOKENS, QUERY, Cursor(since()))
    assert None is read_cursor(TOKENS, QueryId("q_0000000000000000000000"), text)
    assert None is read_cursor(PageTokens(lambda: b"o" * KEY_BYTES), QUERY, text)
    assert None is read_cursor(TOKENS, QUERY, TOKENS.sign(QUERY, ["history", 1, 2]))


RECORDED = {
    "joK3SIRxb94y_05dKpW_-QEAAaGWOtNAAAAADvjxAAZgxmx6KAAAAAAAABnwoAAAAAAEowAAAJiWgAAAAAMNQAAGYMWV5oQA": Cursor(
        since()
    ),
    "wcnMmGUMCvkffyeVXq6z4QEBAaGWOtNAAAAADvjxAAZgxmx6KAAAAAAAAAAAAAAAAAAAAAAAAJiWgAAAAAMNQAAGYMWV5oQAAAAAAAAHAAAA"
    "AAAAgAAAAAAAAAA": Cursor(
        since(parts=(PART, OTHER_PART), changes_us=None, count=0), counted=True
    ),
    "YO1DgTHhl-vloyd-YgDN4gIAAaGWOtNAAAAADvjxAAZgxmx6KAAAAAAAABnwoAAAAAAEo2NjY2NjY2NjY2NjY2NjY2MAAACYloAAAAADDUAABm"
    "DFleaEAA": Cursor(since(content=b"c" * 16)),
}
"""Cursors of version 1, as written before there was another, and one of version 2."""


@pytest.mark.parametrize(("text", "cursor"), RECORDED.items(), ids=["1", "1-counted", "2"])
def test_cursor_that_was_recorded_means_what_it_meant(text, cursor):
    """A client may hold it for years: it is read as long as its version is, and written so today."""
    assert cursor == read_cursor(TOKENS, QUERY, text)
    assert text == sign_cursor(TOKENS, QUERY, cursor)


def test_cursor_of_a_version_to_come_is_none():
    """What a later version signs is not misread by this one."""
    text = TOKENS.sign_bytes(f"cursor {QUERY}", b"\x03" + bytes(60))
    assert None is read_cursor(TOKENS, QUERY, text)
    assert None is read_cursor(TOKENS, QUERY, TOKENS.sign_bytes(f"cursor {QUERY}", b""))


@pytest.mark.parametrize("place", [0, 10, 21, 22, 40, 60, 95])
def test_cursor_with_one_character_changed_is_none(place):
    """Every character counts, of the signature and of the position."""
    text = sign_cursor(TOKENS, QUERY, Cursor(since()))
    other = "A" if text[place] != "A" else "B"
    assert None is read_cursor(TOKENS, QUERY, text[:place] + other + text[place + 1 :])


@given(
    st.text(max_size=200)
    | st.binary(max_size=100).map(lambda raw: base64.urlsafe_b64encode(raw).decode())
)
def test_cursor_that_nobody_signed_is_none(text):
    """Whatever a client sends, reading it raises nothing."""
    assert None is read_cursor(TOKENS, QUERY, text)
