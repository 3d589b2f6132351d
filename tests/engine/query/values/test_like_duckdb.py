"""LIKE as another database answers it: seeded patterns and texts of few letters, so that many nearly match."""

import random

import duckdb
import pyarrow as pa
import pytest

from psoup.engine.query.values.like import like_matcher, parse_like

ALPHABETS = ("ab", "ab\n.", "aé", "a漢𝄞", "aA*[\\")
PATTERNS = 120
TEXTS = 60


def random_text(source: random.Random, letters: str, length_max: int) -> str:
    return "".join(source.choices(letters, k=source.randrange(length_max + 1)))


def random_pattern(source: random.Random, letters: str, texts: list[str]) -> str:
    """Return pieces of which some are cut from texts, with some of their characters made `_`; an escape is `!`."""
    pieces = []
    for _ in range(source.randrange(1, 5)):
        piece = random_text(source, letters, 6)
        if source.random() < 0.4:
            text = source.choice(texts)
            begin = source.randrange(len(text) + 1)
            piece = text[begin : begin + source.randrange(40)]
        rate = source.choice([0, 0, 0.1, 0.5])
        pieces.append("".join("_" if source.random() < rate else character for character in piece))
    return source.choice(["%", "%", "%", "!%", "!_", "!!", "%%"]).join(pieces)


@pytest.mark.parametrize("letters", ALPHABETS)
def test_oracle_like_is_what_duckdb_answers(letters):
    """Short texts and long ones together: what the kernel decides, and what is searched."""
    source = random.Random(f"like {letters}")
    texts = [random_text(source, letters, 12) for _ in range(TEXTS // 2)]
    texts += [random_text(source, letters, 900) for _ in range(TEXTS // 2)]
    compared = matched = 0
    with duckdb.connect() as connection:
        connection.register("texts", pa.table({"i": range(len(texts)), "t": texts}))
        for _ in range(PATTERNS):
            pattern = random_pattern(source, letters, texts)
            escape = source.choice(["!", None])
            parts = parse_like(pattern, escape)
            assert parts is not None
            escaped = "" if escape is None else "ESCAPE '!'"
            answer = connection.execute(
                f"SELECT t LIKE ? {escaped} FROM texts ORDER BY i", [pattern]
            )
            expected = [found for (found,) in answer.fetchall()]
            assert expected == like_matcher(parts)(texts).tolist(), (pattern, escape)
            compared += len(texts)
            matched += sum(expected)
    assert matched > compared // 200
