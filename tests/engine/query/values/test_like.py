"""LIKE: against the set-of-positions matcher of the twin, and where a prefix ends."""

import pytest
from hypothesis import example, given, strategies as st

from psoup.engine.kernels import like as kernels
from psoup.engine.query.values import like
from psoup.engine.query.values.like import LikePattern, like_matcher, parse_like, prefix_past
from tests.engine.kernels import twins
from tests.reference_values import _like

LETTERS = st.sampled_from(["a", "a", "b", "%", "_", "!", "\n", "é", "𝄞", "."])
PIECES = st.sampled_from(["%", "%", "%", "_", "_", "a", "b", "ab", "!", "!%", "\n", "é", "𝄞", "."])


MANY = 16
"""Texts that are handed to the kernel at once; fewer are searched one by one."""


def matches(pattern: LikePattern, text: str) -> bool:
    alone = bool(like_matcher(pattern)([text])[0])
    assert [alone] * MANY == like_matcher(pattern)([text] * MANY).tolist()
    return alone


@given(
    text=st.text(LETTERS, max_size=10),
    pattern=st.lists(PIECES, max_size=8).map("".join),
    escaped=st.booleans(),
)
@example(text="", pattern="%_%", escaped=False)
def test_oracle_like_of_any_pattern_matches_as_the_twin_does(text, pattern, escaped):
    """Anchors, runs, single characters, escapes and characters special to regular expressions."""
    escape = "!" if escaped else None
    parts = parse_like(pattern, escape)
    if parts is None:
        assert (len(pattern) - len(pattern.rstrip("!"))) % 2 == 1
        return
    assert _like(text, pattern, escape) == matches(parts, text)
    if parts.literal is not None:
        assert _like(text, pattern, escape) == (text == parts.literal)
    if parts.prefix is not None:
        assert _like(text, pattern, escape) == text.startswith(parts.prefix)


@given(data=st.data())
def test_oracle_like_of_long_pieces_matches_as_the_twin_does_compiled_or_not(data):
    """Pieces over several words, at any bit of them, in many texts together; characters of one byte and of more."""
    letters = data.draw(st.sampled_from(["ab", "aé", "a𝄞é", "abc"]))
    piece = st.text(st.sampled_from([*letters, "_"]), max_size=150)
    pieces = data.draw(st.lists(piece, min_size=1, max_size=4))
    filled = [one.replace("_", letters[0]) for one in pieces]
    joints = st.text(st.sampled_from(letters), max_size=70)
    texts = [data.draw(joints).join(filled) for _ in range(3)]
    texts += data.draw(st.lists(st.text(st.sampled_from(letters), max_size=200), max_size=3))
    parts = parse_like("%".join(pieces), None)
    assert parts is not None
    expected = [_like(text, "%".join(pieces), None) for text in texts]
    assert expected == like_matcher(parts)(texts).tolist()
    with twins.all_plain(kernels, like):
        assert expected == like_matcher(parts)(texts).tolist()


def test_texts_are_joined_some_at_a_time(monkeypatch):
    """Each text is matched by itself, wherever the calls of the kernel are parted, and however long one is."""
    monkeypatch.setattr(like, "_JOINED_LENGTH_MAX", 5)
    parts = parse_like("%a_c%", None)
    assert parts is not None
    texts = ["abc", "", "ab", "c", "xxxxxxabc", "aéc", "ac", "a", "bc"]
    assert ["abc", "xxxxxxabc", "aéc"] == [
        text for text, fits in zip(texts, like_matcher(parts)(texts), strict=True) if fits
    ]
    assert [] == like_matcher(parts)([]).tolist()


@pytest.mark.parametrize(
    ("prefix", "past"),
    [
        ("abc", "abd"),
        ("a\U0010ffff", "b"),
        ("\ud7ff", "\ue000"),
        ("\U0010ffff", None),
        ("z", "{"),
    ],
)
def test_prefix_past_is_the_least_text_above_all_with_the_prefix(prefix, past):
    """The last character moves on; the highest one falls away, surrogates are stepped over."""
    assert past == prefix_past(prefix)


def test_like_of_a_hostile_pattern_takes_a_bounded_number_of_steps():
    """Patterns that explode as regular expressions end, because nothing is tried twice."""
    for pattern in ("%a%a%a%a%a%a%a%a%a%a%a%a%b", "%" + "a_" * 500 + "%c", "%" + "_a" * 511 + "b%"):
        parts = parse_like(pattern, None)
        assert parts is not None
        assert not matches(parts, "a" * 8_000)
