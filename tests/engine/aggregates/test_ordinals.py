"""Texts as whole numbers in the same order, few of them or many."""

from random import Random

import pytest

from psoup.engine.aggregates import ordinals as module
from psoup.engine.aggregates.ordinals import ordinals
from psoup.engine.tuples.schema import ColumnType
from tests.engine.columns import column_of

SOME = ["", "a", "B", "ab", "é", "ü", "\uffff", "𝄞", "日本", "\x7f", "\x80"]
"""Those behind U+FFFF come before it in UTF-16, and behind it by code point."""


@pytest.mark.parametrize("many", [0, 10**9], ids=["as many", "as few"])
def test_texts_are_in_the_order_of_their_code_points(many, monkeypatch):
    """However they are sorted: equal texts have one number, and a smaller one where they come before."""
    monkeypatch.setattr(module, "_TEXTS_MANY", many)
    rng = Random(3)
    texts = [rng.choice(SOME) + rng.choice(SOME) for _ in range(500)]
    found = ordinals(column_of(ColumnType.STRING, texts))
    assert found.texts is not None
    assert sorted(set(texts)) == list(found.texts)
    assert texts == [found.texts[key] for key in found.keys.tolist()]
