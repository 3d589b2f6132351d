"""Every member of every control body: whatever is wrong with it, the reason is one of ours."""

import itertools

import pytest
from pydantic import BaseModel, ValidationError

from psoup.app.routes.batches import HoldBody
from psoup.app.routes.rows.staging import CommitBody
from psoup.app.wire.models.queries import QueryBody
from psoup.app.wire.models.results.archive_answers import HistoryBody
from psoup.app.wire.models.results.invoke_many import InvokeBody
from psoup.app.wire.models.streams import StreamBody
from psoup.app.wire.reasons import reason_of

MODELS = [StreamBody, QueryBody, InvokeBody, CommitBody, HistoryBody, HoldBody]
WRONG: list[object] = [
    None, True, -1, 0, 1.5, 10**30, "", "?", "x" * 2_000, [], [None], ["?"], [{}], ["a"] * 2_000,
    [{"name": 1, "type": 1, "unit": 1}], {}, {"": ""}, {"a": 1}, {"time": 1, "rows": "", "bytes": []},
]  # fmt: skip
OURS = ("is missing", "expected ", "is no ", "two ")


@pytest.mark.parametrize("model", MODELS)
def test_no_reason_is_pydantics(model: type[BaseModel]):
    """Each member with each wrong value, alone: what is refused is refused in words of our own."""
    refused = 0
    for member, value in itertools.product(model.model_fields, WRONG):
        try:
            model.model_validate({member: value}, strict=True)
        except ValidationError as error:
            for one in error.errors(include_url=False):
                if one["type"] == "extra_forbidden":  # answered as `unknown-field`
                    continue
                refused += 1
                reason = reason_of(one)
                assert "cannot be so" != reason, one
                assert reason.startswith(OURS), (one["type"], reason)
                assert "nput should" not in reason
    assert refused > 5


def test_reason_of_what_nobody_foresaw_says_little_and_quotes_nothing():
    """Another version of the library may know further types of errors."""
    error = {"type": "new_type", "loc": ("a",), "msg": "Input 'secret' is bad", "input": "secret"}
    assert "cannot be so" == reason_of(error)
