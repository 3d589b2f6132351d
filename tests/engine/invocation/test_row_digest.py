"""Digests of rows: of their values alone, written down for ever."""

import hashlib
import weakref

import numpy as np
import pytest

from psoup.engine.invocation.row_digest import digests
from psoup.engine.limits import DIGESTED_CHARACTERS_MAX
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType


def column(kind, values, valid=None, dictionary=None):
    dtypes: dict[ColumnType, type] = {
        ColumnType.FLOAT64: np.float64,
        ColumnType.BOOL: np.bool_,
        ColumnType.STRING: np.int32,
    }
    array: np.ndarray = np.array(values, dtype=dtypes.get(kind, np.int64))
    return Column(kind, array, None if valid is None else np.array(valid), dictionary)


def test_digests_are_those_of_the_first_version():
    """A row keeps its digest for ever: whoever changes these takes all rows away from all clients."""
    found = digests(
        [
            column(ColumnType.INT64, [-1, 7]),
            column(ColumnType.STRING, [1, 0], [True, False], ("", "é")),
            column(ColumnType.TIMESTAMP, [0, 1]),
            column(ColumnType.FLOAT64, [0.5, -2.0]),
            column(ColumnType.BOOL, [True, False]),
        ]
    )
    assert found.tolist() == [b"4c6b056ae10eb80460ffbc6a", b"4c30a9e54a7e3c60573e1125"]


@pytest.mark.parametrize("text", ["", "x", "é" * 64, "é" * 65])
def test_digest_of_one_text_is_that_of_its_bytes(text):
    """Also where it is remembered, and beside NULL."""
    written = text.encode()
    bodies = [b"s" + len(written).to_bytes(8, "little") + written, b"\0"]
    expected = [hashlib.blake2b(body, digest_size=12).hexdigest().encode() for body in bodies]
    texts = column(ColumnType.STRING, [1, 0], [True, False], ("other", text))
    for _ in range(2):
        assert digests([texts]).tolist() == expected


def test_digests_of_a_dictionary_that_grows_are_those_of_its_texts():
    """They are remembered as a whole; a text that came since has its own, and so has one of another dictionary."""
    texts = ["a", "b"]
    for codes in ([1, 0, 1], [0, 1], [2, 0, 1]):
        if max(codes) == len(texts):
            texts.append("c")
        own = [
            digests([column(ColumnType.STRING, [0, 1], [True, False], (texts[code],))])[0]
            for code in codes
        ]
        assert digests([column(ColumnType.STRING, codes, None, texts)]).tolist() == own
    others = column(ColumnType.STRING, [1, 0, 1], None, ["b", "a"])
    assert (
        digests([others]).tolist()
        == digests([column(ColumnType.STRING, [0, 1, 0], None, texts)]).tolist()
    )


class Texts(list[str]):
    """A dictionary that says when it is let go."""


def test_digests_hold_no_dictionary_of_long_texts():
    """Nor one whose texts were short and have become long: a stream that lets it go frees it."""
    for begun in ([], ["a"]):
        texts = Texts(begun)
        if begun:
            digests([column(ColumnType.STRING, [0], None, texts)])
        texts.extend(["b" * DIGESTED_CHARACTERS_MAX, "c"])
        digests([column(ColumnType.STRING, [0, 1], None, texts)])
        held = weakref.ref(texts)
        del texts
        assert held() is None


def test_digests_do_not_see_how_values_are_kept():
    """Codes of another dictionary, bits under NULL, the sign of zero and the form of NaN are not values."""
    texts = [
        column(ColumnType.STRING, [0], None, ("x",)),
        column(ColumnType.STRING, [1], None, ("", "x")),
    ]
    nulls = [column(ColumnType.INT64, [bits], [False]) for bits in (0, 9)]
    floats = [column(ColumnType.FLOAT64, [value]) for value in (0.0, -0.0)]
    nans = [column(ColumnType.FLOAT64, [value]) for value in (np.nan, -np.nan)]
    for one, other in (texts, nulls, floats, nans):
        assert digests([one]).tolist() == digests([other]).tolist()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([column(ColumnType.INT64, [1])], [column(ColumnType.TIMESTAMP, [1])]),
        ([column(ColumnType.INT64, [1])], [column(ColumnType.FLOAT64, [1.0])]),
        ([column(ColumnType.INT64, [0])], [column(ColumnType.INT64, [0], [False])]),
        (
            [column(ColumnType.STRING, [0], None, (text,)) for text in ("ab", "c")],
            [column(ColumnType.STRING, [0], None, (text,)) for text in ("a", "bc")],
        ),
    ],
)
def test_digests_tell_rows_apart(one, other):
    """Types, NULL, and where one text ends and the next begins are part of a row."""
    assert digests(one).tolist() != digests(other).tolist()
