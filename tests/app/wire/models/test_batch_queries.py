"""Lines of a batch: the quick look and the close one agree on what a line says."""

import json

import pytest
from hypothesis import example, given, strategies as st

from psoup.app.errors import BadBodyError
from psoup.app.wire.control import read_model
from psoup.app.wire.models import batch_queries
from psoup.app.wire.models.batch_queries import Line, handle_line, read_registrations, split_lines
from psoup.app.wire.models.queries import QueryBody
from psoup.engine.errors import EngineError

texts = st.text(alphabet=st.sampled_from('ab"\\:{},é\u2603\x00\x07 '), max_size=6)
members = st.lists(
    st.tuples(
        st.sampled_from(["sql", "name", "labels", "materialize", "smq"]),
        texts
        | st.none()
        | st.integers()
        | st.sampled_from(["auto", "none"])
        | st.dictionaries(texts, texts, max_size=2),
    ),
    max_size=4,
)


def written(pairs: list[tuple[str, object]], *, ascii_only: bool) -> bytes:
    """Return the object of these members, whatever comes twice among them."""
    parts = [f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=ascii_only)}" for k, v in pairs]
    return ("{" + ", ".join(parts) + "}").encode()


def outcome(read):
    try:
        found = read()
    except EngineError as error:
        found = error
    if isinstance(found, EngineError):
        return found.code, found.detail, {k: v for k, v in found.extras.items() if k != "line"}
    return found, found.model_fields_set


@given(pairs=members, ascii_only=st.booleans())
@example(pairs=[("sql", "a"), ("sql", "b")], ascii_only=False)
@example(pairs=[("sql", "a"), ("labels", {"x": "y"}), ("labels", {})], ascii_only=False)
@example(pairs=[("sql", "a"), ("name", None), ("name", "b")], ascii_only=False)
@example(pairs=[("sql", "a"), ("materialize", "auto"), ("materialize", "none")], ascii_only=False)
def test_differential_line_is_read_as_a_body_by_itself(pairs, ascii_only):
    """Whatever an object has, its line is taken or refused as POST /v1/queries does."""
    text = written(pairs, ascii_only=ascii_only)
    alone = outcome(lambda: read_model(text, QueryBody))
    assert alone == outcome(lambda: read_registrations([Line(1, 0, text)])[0])


GOOD = b'{"sql": "SELECT 1", "labels": {"a": "b"}}'


@given(at=st.integers(0, len(GOOD)), piece=st.binary(max_size=3), gone=st.integers(0, 3))
@example(at=9, piece=b"\x00", gone=0)
@example(at=9, piece=b"\xed\xa0\x80", gone=0)
@example(at=0, piece=b"\xef\xbb\xbf", gone=0)
@example(at=0, piece=b"\x0c", gone=0)
def test_differential_line_that_is_damaged_is_read_as_a_body_by_itself(at, piece, gone):
    """A byte more or less anywhere changes both readings alike."""
    text = GOOD[:at] + piece + GOOD[at + gone :]
    alone = outcome(lambda: read_model(text, QueryBody))
    assert alone == outcome(lambda: read_registrations([Line(1, 0, text)])[0])


def test_line_without_escapes_is_read_quickly(monkeypatch):
    """The close look is not needed for what most lines are."""
    monkeypatch.delattr(batch_queries, "read_model")
    full = b'{"sql":"SELECT \'x\'","name":null,"labels":{"a":"b"},"materialize":"none"}'
    for text in (GOOD, full, b'{"name":"x","sql":"y"}'):
        assert isinstance(read_registrations([Line(1, 0, text)])[0], QueryBody)


def test_lines_know_their_place():
    """Numbers count blank lines, offsets count bytes."""
    assert [Line(1, 0, b"a"), Line(3, 4, b"b\r"), Line(4, 7, b"c")] == split_lines(b"a\n \nb\r\nc")


def test_line_that_is_no_json_says_where_in_the_body():
    """Line and offset are those of the body."""
    with pytest.raises(BadBodyError) as refused:
        read_registrations(split_lines(b'{"sql":"a"}\n\n{"sql" "b"}'))
    assert (3, 20) == (refused.value.extras["line"], refused.value.extras["offset"])


def test_short_line_is_json():
    """It is put together by hand."""
    line = handle_line(3, 202, "q_7", 12)
    assert {"index": 3, "status": 202, "id": "q_7", "seq": 12} == json.loads(line)
