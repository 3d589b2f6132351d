"""Files are read by the thread that asks for their rows: Arrow's threads must not be inside Python at its end."""

import functools
import io
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from psoup.pipeline.definition import parse_columns
from psoup.pipeline.errors import DataFileError
from psoup.pipeline.files.data_file import DataFile
from psoup.pipeline.files.options import ReadOptions
from psoup.pipeline.files.readers.csv_records import Dialect, whole_records
from tests.pipeline.files.conftest import PACKERS

NUMBERS = range(10_000_000, 10_120_000)
"""More than a block of each format: 1 MiB of a CSV, 65,536 rows of Parquet, and less of JSON."""
NAMES = ("a.csv", "a.ndjson", "a.parquet")


@functools.cache
def content(name):
    """Return what the file of this name holds."""
    if name == "a.csv":
        return "n\n" + "".join(f"{i}\n" for i in NUMBERS)
    if name == "a.ndjson":
        return "".join(f'{{"n":{i}}}\n' for i in NUMBERS)
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"n": NUMBERS}), sink, row_group_size=10_000)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("name", NAMES)
def test_file_is_read_in_the_thread_that_asks(write, monkeypatch, name, suffix):
    """Whatever its format and compression: no other thread calls the file."""
    callers = set()

    class Watched(io.BufferedReader):
        """A file that notes which threads read it."""

        def _note(self):
            callers.add(threading.get_ident())

        def read(self, *given):
            self._note()
            return super().read(*given)

        def read1(self, *given):
            self._note()
            return super().read1(*given)

        def readinto(self, *given):
            self._note()
            return super().readinto(*given)

        def readline(self, *given):
            self._note()
            return super().readline(*given)

    path = write(name + suffix, content(name))
    monkeypatch.setattr(io, "BufferedReader", Watched)
    batches = DataFile(path, ReadOptions()).batches(parse_columns("n int64"), rows=50_000)
    assert len(NUMBERS) == sum(batch.num_rows for batch in batches)
    assert callers <= {threading.get_ident()}


FIELDS = ["", "a", 'b"c', '"x,y"', '"p\nq"', '"d""e"', '"\r\n"', '""', '"z"k', 'l"']


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r", "\n\n"])
@pytest.mark.parametrize("block_bytes", [24, 40, 1_000])
def test_blocks_of_a_csv_end_where_records_end(line_end, block_bytes):
    """Quotes, line ends within them, and quotes that mean nothing: no block begins within a record."""
    records = [f"{a},{b}" for a in FIELDS for b in FIELDS]
    text = line_end.join(records).encode()
    blocks = list(whole_records(io.BytesIO(text), Dialect(","), block_bytes=block_bytes, file="a"))
    assert text == b"".join(blocks)
    begins = {0}
    for record in records:
        begins.add(max(begins) + len(record) + len(line_end))
    at = 0
    for block in blocks:
        # A line end of two characters may be halved: an empty line begins then, which is no record.
        assert at in begins or text[at - 1 : at + 1] in {b"\r\n", b"\n\n"}
        at += len(block)


def test_record_longer_than_a_block_is_refused_with_its_line():
    """A quote that is never closed does not pull the file into memory."""
    text = io.BytesIO(b'1,2\n3,4\n5,"' + b"6\n" * 1_000)
    with pytest.raises(DataFileError) as caught:
        list(whole_records(text, Dialect(","), block_bytes=100, file="a.csv"))
    assert 3 == caught.value.line
