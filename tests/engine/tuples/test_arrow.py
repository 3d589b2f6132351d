"""Batches as Arrow: every value and every NULL comes back."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from psoup.engine.errors import IntegrityError
from psoup.engine.tuples.arrow import (
    arrow_schema,
    column_to_arrow,
    columns_from_arrow,
    decode_batch,
    encode_batch,
)
from tests import strategies
from tests.engine.batches import SCHEMA, body_of
from tests.world import record_batch


@st.composite
def drawn(draw):
    schema = draw(strategies.schemas())
    return schema, draw(strategies.batches(schema))


@given(drawn())
def test_columns_of_any_batch_oracle_hold_its_values(made):
    """Through bytes into columns and back into Arrow: the values, the NULLs, the types."""
    schema, rows = made
    batch = record_batch(schema, rows)
    decoded = decode_batch(schema, encode_batch(batch))
    assert decoded.equals(batch)
    for column, declared, array in zip(
        columns_from_arrow(schema, decoded), schema.columns, batch.columns, strict=True
    ):
        assert [row[declared.name] for row in rows] == column.to_list()
        assert column_to_arrow(column).equals(array)


@given(drawn(), st.integers(0, 12), st.integers(0, 12))
def test_column_part_and_take_of_any_batch_agree(made, begin, past):
    """A slice as a view and the same rows taken are the same values."""
    schema, rows = made
    for column in columns_from_arrow(schema, record_batch(schema, rows)):
        part = column.part(slice(begin, past))
        taken = column.take(np.arange(len(column))[begin:past])
        assert column.to_list()[begin:past] == part.to_list() == taken.to_list()
        assert len(part) == len(taken)


@pytest.mark.parametrize(
    "body",
    [b"", b"not Arrow", body_of([(1, 1, "x")])[:40], encode_batch(pa.record_batch({"a": [1]}))],
    ids=["empty", "text", "torn", "other columns"],
)
def test_decode_batch_of_other_bytes_is_refused(body):
    """Bytes that are not one batch of the stream are damage, said so by type."""
    with pytest.raises(IntegrityError):
        decode_batch(SCHEMA, body)


def test_decode_batch_of_two_batches_is_refused():
    """One operation holds one record batch."""
    sink = pa.BufferOutputStream()
    batch = decode_batch(SCHEMA, body_of([(1, 1, "x")]))
    with pa.ipc.new_stream(sink, arrow_schema(SCHEMA)) as writer:
        writer.write_batch(batch)
        writer.write_batch(batch)
    with pytest.raises(IntegrityError):
        decode_batch(SCHEMA, sink.getvalue().to_pybytes())
