"""What a stream holds, as its own answers tell."""

import pyarrow as pa

from psoup.client.calls import PsoupClient


def stored_rows(service: PsoupClient, stream: str) -> pa.Table:
    """Return all rows of a stream, in order of tuple time and tuple id."""
    handle = service.register(f"SELECT * FROM {stream}", materialize="none")["id"]
    tables = []
    for page in service.pages(handle, format="arrow", limit=100_000, meta=0):
        with pa.ipc.open_stream(page.content) as reader:
            tables.append(reader.read_all())
    service.remove(handle)
    return pa.concat_tables(tables)


def stored_numbers(service: PsoupClient, stream: str, column: str) -> list[int]:
    """Return one column's values, sorted: the same numbers as were written, each as often."""
    return sorted(stored_rows(service, stream)[column].to_pylist())
