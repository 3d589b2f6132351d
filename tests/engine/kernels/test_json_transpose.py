"""JSON columns to rows and instants to texts, compiled and plain, against Python's `json` and `datetime`."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from psoup.engine import limits
from psoup.engine.kernels import instant_text, json_transpose
from psoup.engine.kernels.addresses import address
from psoup.engine.kernels.instant_text import WIDTH
from psoup.engine.kernels.json_transpose import NULL, SLACK
from tests.engine.kernels import twins

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.text(
    '\\",]', max_size=9
)
VALUES = TEXTS | st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
CONSTANTS = st.binary(max_size=20)
NOT_WRITTEN = 0xEE
STEADY: Any = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture]}


@pytest.fixture(params=["compiled", "plain"])
def lend(request):
    """Run kernels as they are, with addresses, or as the Python functions they were compiled from, with arrays."""
    if request.param == "compiled":
        yield address
    else:
        with twins.all_plain(instant_text, json_transpose):
            yield lambda array: array


def transposed(lend, befores, arrays, flags, *, end, rows):
    """Return the rows that the kernel makes; nothing behind its room may be written."""
    text, columns = bytearray(NULL), []
    for before, array, valid in zip(befores, arrays, flags, strict=True):
        begin = len(text)
        text += before + array
        columns += [
            begin,
            begin + len(before),
            begin + len(before) + 1,
            0,
            len(text) if valid else 0,
        ]
        text += bytes(valid)
    columns += [len(text), len(text) + len(end)]
    text += end + bytes(SLACK)
    room = len(text) + rows * (len(end) + sum(len(before) + len(NULL) for before in befores))
    out = np.full(room + SLACK, NOT_WRITTEN, np.uint8)
    held = np.frombuffer(bytes(text), np.uint8), np.array(columns, np.int64)
    size = json_transpose.transpose(lend(held[0]), lend(held[1]), len(arrays), rows, lend(out))
    assert size <= room
    assert (out[size + SLACK :] == NOT_WRITTEN).all()
    return out[:size].tobytes()


@given(data=st.data())
@settings(**STEADY)
def test_differential_rows_are_the_values_of_columns_in_turn(lend, data):
    """Each value as its array has it, `null` where a flag says so, constants before and behind."""
    rows, width = data.draw(st.integers(0, 6)), data.draw(st.integers(0, 4))
    befores = [data.draw(CONSTANTS) for _ in range(width)]
    columns = [data.draw(st.lists(VALUES, min_size=rows, max_size=rows)) for _ in range(width)]
    flags = [data.draw(st.just([]) | st.lists(st.booleans(), min_size=rows, max_size=rows)) for _ in range(width)]  # fmt: skip
    end, ascii_only = data.draw(CONSTANTS), data.draw(st.booleans())
    texts = [[json.dumps(v, ensure_ascii=ascii_only) for v in column] for column in columns]
    arrays = [f"[{','.join(column)}]".encode() for column in texts]
    expected = b""
    for row in range(rows):
        for before, column, valid in zip(befores, texts, flags, strict=True):
            expected += before + (column[row].encode() if not valid or valid[row] else NULL)
        expected += end
    assert expected == transposed(lend, befores, arrays, flags, end=end, rows=rows)


def written(lend, us):
    """Return what the kernel writes for instants."""
    out = np.full(1 + (WIDTH + 1) * len(us) + 1, NOT_WRITTEN, np.uint8)
    held = np.array([*us, 0], np.int64)
    instant_text.write_instants(lend(held), len(us), lend(out))
    assert out[-1] == NOT_WRITTEN
    return out[:-1].tobytes().decode()


@given(
    us=st.lists(
        st.integers(limits.TIMESTAMP_US_MIN, limits.TIMESTAMP_US_MAX)
        | st.integers(0, limits.DAY_US + 10**9),
        max_size=8,
    )
)
@settings(**STEADY)
def test_differential_instants_are_those_of_datetime(lend, us):
    """Six decimals always, whether the day is that of the instant before or not."""
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    stamps = [
        (epoch + timedelta(microseconds=one)).isoformat(timespec="microseconds") for one in us
    ]
    assert "[" + "".join(f'"{one[:26]}Z",' for one in stamps) == written(lend, us)


def test_differential_every_day_of_eight_centuries_is_that_of_numpy():
    """Leap years and ends of months, from the first day that can be written, and the last ones."""
    first, last = limits.TIMESTAMP_US_MIN // limits.DAY_US, limits.TIMESTAMP_US_MAX // limits.DAY_US
    days = np.concatenate((np.arange(first, first + 146_097), np.arange(last - 146_097, last + 1)))
    texts = written(address, days * limits.DAY_US)[1:-1].split(",")
    assert [f'"{day}T00:00:00.000000Z"' for day in days.view("M8[D]").astype(str)] == texts


@pytest.mark.parametrize("under", [2**63 - 1, -(2**63), limits.TIMESTAMP_US_MAX + 1])
def test_what_lies_under_a_null_is_written_as_wide_as_any_other(lend, under):
    """In bytes that mean nothing, of which none could end a text."""
    text = written(lend, [under, 0])
    assert '"1970-01-01T00:00:00.000000Z",' == text[-WIDTH - 1 :]
    assert WIDTH * 2 + 3 == len(text)
    assert text[1 : WIDTH + 1] == f'"{text[2:WIDTH]}"'
    assert set(text[2:WIDTH]).isdisjoint('"\\')
