"""Answers keep to their budget, and say what they leave out: never over, never silent, whatever the answer."""

import copy

import pytest
from hypothesis import given, strategies as st

from psoup.agents.arguments import TOKENS_MIN
from psoup.agents.fitting import CELL_CHARACTERS_MAX, BudgetError, Part, as_text, fit
from psoup.agents.refusals import fitted
from psoup.agents.tokens import count_tokens

ROWS = Part("rows", "rows", "Narrow it.")
STREAMS = Part("streams", "streams", "Ask about one.")
KEPT = Part("keep", "ids", "Forget all.", is_whole=True)
CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8"), max_size=40),
    st.builds(str.__mul__, st.sampled_from("aé☃😀 "), st.integers(0, 3 * CELL_CHARACTERS_MAX)),
)
TABLES = st.lists(st.lists(CELLS, max_size=4), max_size=60)


def sized(answer) -> int:
    return count_tokens(as_text(answer))


@given(TABLES, st.integers(TOKENS_MIN, 1_500), st.integers(0, 2_000))
def test_rows_keep_to_the_budget_and_are_all_shown_or_counted(rows, budget, hidden):
    """What is shown is the beginning, as much as fits; shown and left out make the whole."""
    total = len(rows) + hidden
    answer = {"query": "q", "count": total, "rows": rows}
    part = Part("rows", "rows", "Narrow it.", total=total)
    before = copy.deepcopy(answer)
    fitted = fit(answer, [part], budget)
    assert before == answer
    assert sized(fitted) <= budget
    shown = fitted["rows"]
    left_out = fitted.get("left_out", {}).get("rows", 0)
    assert total == len(shown) + left_out
    sentence = f"Left out here: {left_out} of {total} rows. Narrow it."
    assert (left_out > 0) is (sentence in fitted.get("notes", []))
    for row, given_row in zip(shown, rows, strict=False):
        assert len(row) == len(given_row)
        for cell, whole in zip(row, given_row, strict=True):
            assert cell == whole or is_told_to_be_cut(cell, whole, fitted)


def is_told_to_be_cut(cell: str, whole: str, fitted) -> bool:
    rest = len(whole) - CELL_CHARACTERS_MAX
    cut = f"{whole[:CELL_CHARACTERS_MAX]}… ({rest} more characters)"
    return cell == cut and any("each says by how much" in one for one in fitted["notes"])


@given(
    st.lists(
        st.tuples(st.integers(0, 10**9), st.text("ab ", max_size=20)), min_size=60, max_size=90
    )
)
def test_no_row_is_left_out_that_would_fit(rows):
    """One more row would be over the budget, but for a digit of the numbers that are left out."""
    fitted = fit({"rows": [list(row) for row in rows]}, [ROWS], TOKENS_MIN)
    shown = len(fitted["rows"])
    assert shown < len(rows)
    longer = {**fitted, "rows": [*fitted["rows"], list(rows[shown])]}
    assert sized(longer) >= TOKENS_MIN - 1


@given(st.lists(TABLES, max_size=8), st.integers(TOKENS_MIN, 1_200))
def test_lists_in_lists_keep_to_the_budget(tables, budget):
    """Rows of all streams go first; streams only when no row is left. Each is shown or counted."""
    streams = [{"name": f"s{n}", "sample": {"rows": rows}} for n, rows in enumerate(tables)]
    fitted = fit({"streams": streams}, [ROWS, STREAMS], budget)
    assert sized(fitted) <= budget
    shown = fitted["streams"]
    left_out = fitted.get("left_out", {})
    assert len(streams) == len(shown) + left_out.get("streams", 0)
    assert sum(len(rows) for rows in tables[: len(shown)]) == left_out.get("rows", 0) + sum(
        len(one["sample"]["rows"]) for one in shown
    )
    if "streams" in left_out:
        assert all(not one["sample"]["rows"] for one in shown)
    assert len(left_out) == sum("Left out here" in note for note in fitted.get("notes", []))


@given(st.lists(st.integers(0, 10**9).map(str), min_size=1, max_size=400))
def test_ids_of_rows_that_stay_are_all_there_or_none(ids):
    """Some of them would say of the others that their rows have gone."""
    fitted = fit({"keep": ids}, [KEPT], TOKENS_MIN)
    assert sized(fitted) <= TOKENS_MIN
    if "keep" in fitted:
        assert ids == fitted["keep"]
        assert "left_out" not in fitted
    else:
        assert {"keep": len(ids)} == fitted["left_out"]


def test_an_answer_that_cannot_fit_says_what_would_do():
    """The budget that it names is enough."""
    answer = {"columns": [f"column_{n}" for n in range(400)], "rows": [[1]] * 50}
    with pytest.raises(BudgetError, match="max_tokens of") as refused:
        fit(answer, [ROWS], TOKENS_MIN)
    fitted = fit(answer, [ROWS], refused.value.needed)
    assert sized(fitted) <= refused.value.needed


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("the quick brown fox", 4, 8),
        ("2026-01-05T10:00:00.000000Z", 10, 20),
        ("q_7HcT0u9XbK2mPq4sVw1zRd", 10, 24),
        ('{"a":[1,null,true]}', 8, 16),
        ("größer", 2, 6),
        ("日本語", 3, 6),
        ("😀", 1, 3),
    ],
)
def test_tokens_are_about_those_of_models(text, least, most):
    """Between what common models count and twice that."""
    assert least <= count_tokens(text) <= most


@given(
    st.lists(st.text(st.characters(codec="utf-8")), min_size=1, max_size=20),
    st.integers(TOKENS_MIN, 600),
)
def test_refusals_keep_to_the_budget(lines, budget):
    """However many lines there are, and whatever is in them."""
    said = fitted([lines[0] * 50, *lines], budget)
    assert count_tokens(said) <= budget


def test_a_refusal_of_one_long_line_keeps_to_the_budget():
    """The beginning of it is told."""
    assert "😀" == fitted(["😀" * 2_000], TOKENS_MIN)[0]
    assert count_tokens(fitted(["😀" * 2_000], TOKENS_MIN)) <= TOKENS_MIN
