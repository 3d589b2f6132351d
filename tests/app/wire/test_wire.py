"""Small parts of the wire: scalars, digests, tokens, instants, the first errors of many."""

import gzip
import random

import numpy as np
import orjson
import pytest
import zstandard
from hypothesis import given, settings, strategies as st

from psoup.app.errors import BodyTooLargeError, UnknownFieldError
from psoup.app.http.page_tokens import PageTokens, page_key
from psoup.app.wire.answers.encoding import RowSet, meta_columns, row_objects
from psoup.app.wire.answers.negotiation import choose_format, encode_content
from psoup.app.wire.arguments_reader import KEPT_COUNT_MAX, ArgumentsReader
from psoup.app.wire.content import decode_body
from psoup.app.wire.models.results.invocations import position_from_json, position_to_json
from psoup.app.wire.parameters import COUNT, MIN_SEQ
from psoup.app.wire.rows.body import CSV, JSON, NDJSON, read_rows
from psoup.app.wire.rows.errors import RowError, RowErrors
from psoup.app.wire.rows.json_text import find_long_number
from psoup.app.wire.scalars import (
    format_duration,
    format_instant,
    parse_duration,
    parse_rfc3339,
    parse_size,
)
from psoup.engine import limits
from psoup.engine.errors import BadPageError, RowsRejectedError
from psoup.engine.invocation.position.answer import PagePosition, PartPosition
from psoup.engine.results.contract import Gen
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.digest import digest_rows
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema

SCHEMA = StreamSchema(
    "s",
    tuple(ColumnSchema(kind.value, kind) for kind in ColumnType),
    time=None,
    clock=ClockKind.SERVER,
)
INSTANTS = st.integers(limits.TIMESTAMP_US_MIN, limits.TIMESTAMP_US_MAX)
ROW_NUMBERS = st.integers(0, 2**40)
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
ROWS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "int64": st.integers(-(2**63), 2**63 - 1) | st.none(),
            "float64": st.floats(allow_nan=False, allow_infinity=False) | st.none(),
            "bool": st.booleans() | st.none(),
            "string": TEXTS | st.none(),
            "timestamp": INSTANTS | st.none(),
        },
    ),
    max_size=6,
)


@pytest.mark.parametrize(
    ("text", "us"),
    [("250ms", 250_000), ("30s", 30 * 10**6), ("1.5h", 5_400 * 10**6), ("7d", 7 * limits.DAY_US),
     ("P1DT1S", limits.DAY_US + 10**6), ("PT0.5S", 500_000), ("P2W", 14 * limits.DAY_US),
     ("", None), ("P", None), ("PT", None), ("1", None), ("-1s", None), ("1y", None), ("0.1us", None)],
)  # fmt: skip
def test_durations_are_read_as_people_write_them(text, us):
    """Short and ISO 8601 forms are whole microseconds; anything else is none."""
    assert us == parse_duration(text)


@given(us=st.integers(0, 2**53))
def test_durations_written_are_read_back(us):
    """What is answered can be sent."""
    assert us == parse_duration(format_duration(us))


@given(us=INSTANTS)
def test_instants_written_are_read_back_and_sort_like_their_times(us):
    """Instants have one form: 27 characters, and the order of the texts is that of the times."""
    text = format_instant(us)
    assert text is not None
    assert (27, us) == (len(text), parse_rfc3339(text))
    earlier = format_instant(us - 1)
    assert earlier is not None
    assert earlier < text or us == limits.TIMESTAMP_US_MIN


@pytest.mark.parametrize(
    ("text", "size"), [("2GiB", 2 * limits.GIB), ("5 kB", 5_000), ("2", None), ("1TB", None)]
)
def test_sizes_are_read_with_their_unit(text, size):
    """Sizes are bytes; a text needs a unit."""
    assert size == parse_size(text)


@given(rows=ROWS, seed=st.integers(0, 2**32))
def test_digest_order_and_format_do_not_matter(rows, seed):
    """The digest is that of the bag of typed rows: shuffled, by line, with NULL spelled out or left out."""
    lines = [orjson.dumps(one) for one in rows]
    one = read_rows(b"[" + b",".join(lines) + b"]", JSON, SCHEMA, now_us=0)
    whole = [dict.fromkeys(map(str, ColumnType)) | one for one in rows]
    random.Random(seed).shuffle(whole)
    other = read_rows(b"\n".join(map(orjson.dumps, whole)) + b"\n", NDJSON, SCHEMA, now_us=0)
    assert digest_rows(SCHEMA, one) == digest_rows(SCHEMA, other), f"seed {seed}"


def test_digest_of_other_rows_is_another():
    """A value, a NULL, a repetition or a shifted cell changes the digest."""
    bodies = ["int64,string\n1,a\n", "int64,string\n2,a\n", "int64,string\n,a\n", "int64,string\n1,\n",
              'int64,string\n1,""\n', "int64,string\n1,a\n1,a\n", "int64,float64,string\n1,0,a\n"]  # fmt: skip
    digests = [
        digest_rows(SCHEMA, read_rows(body.encode(), CSV, SCHEMA, now_us=0)) for body in bodies
    ]
    assert len(bodies) == len(set(digests))


@given(errors=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 3)), max_size=250))
@settings(deadline=None)
def test_row_errors_shown_are_the_first(errors):
    """However they are found, the errors shown are the first by row and column, and all are counted."""
    found = RowErrors()
    for index, place in errors:
        found.add(RowError(index, f"/{place}", "missing", None, None), place=place)
    if not errors:
        found.raise_if_any(None)
        return
    with pytest.raises(RowsRejectedError) as refused:
        found.raise_if_any(lambda indices: [index + 1 for index in indices])
    shown = refused.value.extras["errors"]
    assert isinstance(shown, list)
    expected = sorted(errors)[: limits.ROW_ERRORS_SHOWN_MAX]
    assert [(index, index + 1, place) for index, place in expected] == [
        (one["index"], one["line"], int(one["pointer"][1:])) for one in shown
    ]
    assert len(errors) == refused.value.extras["errors_total"]


def test_page_tokens_open_only_what_they_were_signed_for(tmp_path):
    """A token is read with the same key and subject; every changed character is refused."""
    tokens = PageTokens(lambda: page_key(tmp_path / "key"))
    token = tokens.sign("q", [1, None])
    assert [1, None] == PageTokens(lambda: page_key(tmp_path / "key")).read("q", token)
    assert 0o600 == (tmp_path / "key").stat().st_mode & 0o777
    wrong = [
        token[:i] + ("A" if token[i] != "A" else "B") + token[i + 1 :]
        for i in range(0, len(token) - 1, 3)
    ]
    for one in [*wrong, "", "é", token + "=", token[1:]]:
        with pytest.raises(BadPageError):
            tokens.read("q", one)
    for reader, subject in ((tokens, "p"), (PageTokens(lambda: page_key(None)), "q")):
        with pytest.raises(BadPageError):
            reader.read(subject, token)


@given(
    parts=st.lists(
        st.tuples(ROW_NUMBERS, ROW_NUMBERS, st.none() | INSTANTS), min_size=1, max_size=4
    ),
    complete_from_us=st.none() | INSTANTS,
    offset=ROW_NUMBERS,
)
def test_positions_of_pages_travel_unchanged(parts, complete_from_us, offset):
    """A position of any number of streams is read from its token as it was, and finds its order again."""
    position = PagePosition(
        Gen(7),
        Seq(9),
        5,
        tuple(PartPosition(*one) for one in parts),
        complete_from_us,
        tuple(past_row for past_row, *_ in parts),
        offset,
    )
    read = position_from_json(orjson.loads(orjson.dumps(position_to_json(position))))
    assert (position, hash(position)) == (read, hash(read))


@pytest.mark.parametrize(
    "values",
    [
        None,
        {},
        7,
        [],
        [1, 2, 3, 10, 0, None, None, 0, 0],
        [1, 2, 3, 4, None, [0], 0],
        [1, 2, 3, [[4, 0]], None, [0], 0],
        [1, 2, 3, [4], None, [0], 0],
        [1, 2, 3, [[4, 0, None]], None, 0, 0],
    ],
)
def test_positions_of_another_version_are_refused(values):
    """What another release signed, one of a single stream among it, is a bad page and never a bug."""
    with pytest.raises(BadPageError, match="another version"):
        position_from_json(values)


def test_expiry_that_cannot_be_written_is_never():
    """A row that leaves after the year 9999 never leaves, as far as an instant can tell."""
    leaves = np.array([0, limits.TIMESTAMP_US_MAX, limits.TIMESTAMP_US_MAX + 1])
    rows = row_objects(RowSet(meta_columns(np.arange(3), leaves), 3))
    assert ["1970-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z", None] == [
        one["_x"] for one in rows
    ]


@pytest.mark.parametrize(
    ("accept", "name"),
    [(None, "json"), ("*/*", "json"), ("text/csv", "csv"), ("text/*", "csv"), ("application/*;q=0.2,text/csv;q=0.1", "json"),
     ("application/json;q=0, */*", "ndjson"), ("application/x-ndjson, application/json", "json"),
     ("application/jsonl", "ndjson"), ("Application/JSONL;q=0.9, text/csv;q=0.8", "ndjson"),
     ("application/jsonl;q=0, text/csv;q=0.1", "csv")],
)  # fmt: skip
def test_accept_chooses_the_representation_of_most_weight(accept, name):
    """Ranges count by their weight, the more specific one first."""
    assert name == choose_format(None, accept)


@pytest.mark.parametrize(
    ("accept", "encoding"),
    [("zstd, gzip", "zstd"), ("gzip;q=0.5", "gzip"), ("zstd;q=0", None), ("br", None), ("", None), (None, None),
     ("gzip;q=0", None), ("GZIP; Q=0.000", None), ("gzip;q=0, *", "zstd"), ("*", "zstd"), ("*;q=0", None),
     ("zstd;q=0, *;q=0.5", "gzip"), ("gzip, zstd;q=0.5", "gzip"), ("identity", None), ("identity, gzip", "gzip"),
     ("identity, gzip;q=0.5", None), ("identity;q=0, gzip;q=0.1", "gzip"), ("identity;q=0", None),
     ("*;q=0.1, identity;q=0.2", None), ("gzip;q=nan", None), ("gzip;q=x", None)],
)  # fmt: skip
def test_content_is_encoded_as_accepted(accept, encoding):
    """Only what the client takes is used, and it decodes to the same."""
    body = bytes(range(256)) * 40
    encoded, used = encode_content(body, accept)
    assert encoding == used
    assert body == decode_body(encoded, used or "identity", bytes_max=len(body))


@pytest.mark.parametrize(
    ("accept", "encoding"), [("gzip", None), ("gzip, identity;q=0", "gzip"), ("*, identity;q=0", "zstd")]
)  # fmt: skip
def test_small_content_is_encoded_only_where_it_may_not_stay_as_it_is(accept, encoding):
    """Below a size that is worth it, the body stays as it is, unless the client refuses that."""
    encoded, used = encode_content(b"{}", accept)
    assert encoding == used
    assert b"{}" == decode_body(encoded, used or "identity", bytes_max=2)


@pytest.mark.parametrize("used", ["gzip", "zstd"])
def test_body_that_begins_with_what_repeats_is_judged_as_a_whole(used):
    """A column of one value ahead of columns of many: its first megabytes pack a thousandfold, the body does not."""
    body = bytes(2 * limits.BODY_RATIO_FREE_BYTES) + random.Random(7).randbytes(limits.MIB)
    pack = gzip.compress if used == "gzip" else zstandard.ZstdCompressor().compress
    assert body == decode_body(pack(body), used, bytes_max=len(body))
    with pytest.raises(BodyTooLargeError, match="50 times"):
        decode_body(pack(bytes(4 * limits.MIB)), used, bytes_max=4 * limits.MIB)


def test_numbers_written_too_long_are_found_wherever_they_stand():
    """A literal over the limit is found where it begins, whatever stands around it; one at the limit not."""
    limit = limits.JSON_NUMBER_LENGTH_MAX
    for before in range(40):
        for after in range(0, 40, 3):
            body = b" " * before + b"1" * (limit + 1) + b" " * after
            assert before == find_long_number(body), (before, after)
            assert find_long_number(body.replace(b"1", b"", 1)) is None, (before, after)
    assert find_long_number(b"1795255200000000, 0.1234567890123456, " * 50) is None


@pytest.mark.parametrize(
    "text",
    [
        b"1" * 60,
        b'\\"' + b"1" * 60,
        b"\\\\" + b"1" * 60,
        b"1" * 60 + b"\\\\",
        b", " + b"1" * 60 + b" ,",
    ],
)
def test_numbers_within_texts_are_none(text):
    """Digits in a text are no number, whatever is escaped around them; a number behind it is found."""
    for before in range(12):
        body = b" " * before + b'["' + text + b'", %s]'
        assert find_long_number(body % b"1") is None
        assert len(body) - 3 == find_long_number(body % (b"2" * 33))


def test_a_query_string_that_comes_again_is_read_once():
    """What is kept of it is bounded, and a refusal is made anew."""
    reader = ArgumentsReader([COUNT, MIN_SEQ])
    first = reader.read(b"min_seq=7&count=only")
    assert {"min_seq": 7, "count": "only"} == first.values
    assert first is reader.read(b"min_seq=7&count=only")
    for number in range(KEPT_COUNT_MAX + 1):
        assert {"min_seq": number} == reader.read(b"min_seq=%d" % number).values
    assert first is not reader.read(b"min_seq=7&count=only")
    for _ in range(2):
        with pytest.raises(UnknownFieldError):
            reader.read(b"x=1")
    long = b"min_seq=1" + b"&" * 300
    assert reader.read(long) is not reader.read(long)
