"""LIKE: against the set-of-positions matcher of the twin, and where a prefix ends."""

import pytest
from hypothesis import given, strategies as st

from engine.query.like import like_matcher, parse_like, prefix_past
from tests.reference_values import _like

LETTERS = st.sampled_from(["a", "a", "b", "%", "_", "!", "\n", "é", "𝄞", "."])
PIECES = st.sampled_from(["%", "%", "%", "_", "_", "a", "b", "ab", "!", "!%", "\n", "é", "𝄞", "."])


@given(
    text=st.text(LETTERS, max_size=10),
    pattern=st.lists(PIECES, max_size=8).map("".join),
    escaped=st.booleans(),
)
def test_oracle_like_of_any_pattern_matches_as_the_twin_does(text, pattern, escaped):
    """Anchors, runs, single characters, escapes and characters special to regular expressions."""
    escape = "!" if escaped else None
    parts = parse_like(pattern, escape)
    if parts is None:
        assert (len(pattern) - len(pattern.rstrip("!"))) % 2 == 1
        return
    assert _like(text, pattern, escape) == like_matcher(parts)(text)
    if parts.literal is not None:
        assert _like(text, pattern, escape) == (text == parts.literal)
    if parts.prefix is not None:
        assert _like(text, pattern, escape) == text.startswith(parts.prefix)


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
    parts = parse_like("%a%a%a%a%a%a%a%a%a%a%a%a%b", None)
    assert parts is not None
    assert not like_matcher(parts)("a" * 8_000)
    parts = parse_like("%" + "a_" * 500 + "%c", None)
    assert parts is not None
    assert not like_matcher(parts)("a" * 8_000)
