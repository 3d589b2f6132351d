"""What tests of histories share: streams whose retention is short, and a worker that computes answers elsewhere."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import httpx2
import pyarrow as pa

from psoup.app.wire.rows.body import ARROW
from tests.app.support import START_US, Api, row

WORKER = "worker-one"
OTHER = "worker-two"
LEADING = [("_time", pa.timestamp("us", tz="UTC")), ("_id", pa.string())]
LEADING += [("_x", pa.timestamp("us", tz="UTC"))]
"""Columns that stand in front of a query's outputs."""
PX = [("px", pa.float64())]
SECOND_US = 1_000_000


@dataclasses.dataclass(frozen=True)
class Forgetting:
    """A stream of `sent` rows, of which retention has kept the last few, and a query over all of them."""

    query_id: str
    sent: Sequence[dict[str, Any]]


async def forgetting(
    api: Api, *, rows: int = 10, kept: int = 4, sql: str = "SELECT px FROM trades"
) -> Forgetting:
    """Declare a stream that forgets, send it rows, and register a query over it."""
    assert (await api.declare(retention={"rows": kept})).status_code == 201
    sent = [row(i, px=float(i), sym=f"s{i % 3}") for i in range(rows)]
    assert (await api.rows(sent)).status_code == 200
    return Forgetting(await api.register(sql), sent)


def part(
    rows: Sequence[tuple[Any, ...]],
    outputs: Sequence[tuple[str, pa.DataType]] = PX,
    *,
    leading: Sequence[tuple[str, pa.DataType]] = LEADING,
) -> bytes:
    """Return rows (time in microseconds, id, leaves, outputs...) as an Arrow stream."""
    schema = pa.schema([*leading, *outputs])
    columns: list[Any] = list(zip(*rows, strict=True)) or [[] for _ in schema]
    arrays = [pa.array(values, kind) for values, kind in zip(columns, schema.types, strict=True)]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
    return bytes(sink.getvalue().to_pybytes())


def prices(first: int, past: int) -> bytes:
    """Return the rows of `SELECT px FROM trades` that `forgetting` has sent from `first` on, before `past`."""
    return part(
        [(START_US + i * SECOND_US, str(i + 1), None, float(i)) for i in range(first, past)]
    )


async def ask(api: Api, query_id: str, **parameters: Any) -> httpx2.Response:
    """Ask for an answer past memory."""
    asked = {"history": "true", **parameters}
    return await api.get(f"/v1/queries/{query_id}/results", params=asked)


async def queued(api: Api) -> list[dict[str, Any]]:
    """Return the histories that wait for a worker."""
    answer = await api.get("/v1/histories", params={"state": "queued"})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["histories"])


async def tell(api: Api, history_id: str, **members: Any) -> httpx2.Response:
    """Say what a worker says of a history."""
    body = {"worker": WORKER, **members}
    return await api.send("POST", f"/v1/histories/{history_id}", json=body)


async def claim(api: Api, history_id: str, **members: Any) -> httpx2.Response:
    """Claim a history, or renew the claim."""
    return await tell(api, history_id, **{"state": "running", "done": 0, **members})


async def put(
    api: Api, history_id: str, number: object, body: bytes, **headers: str
) -> httpx2.Response:
    """Send a part."""
    given = {"Content-Type": ARROW, "Psoup-Worker": WORKER, **headers}
    path = f"/v1/histories/{history_id}/parts/{number}"
    return await api.send("PUT", path, content=body, headers=given)


async def compute(
    api: Api, bodies: Sequence[bytes], *, rows: int, complete_from: object = None
) -> str:
    """Do what a job does with the only history that waits; return its handle."""
    (record,) = await queued(api)
    history_id = str(record["id"])
    assert (await claim(api, history_id)).status_code == 200
    for number, body in enumerate(bodies):
        sent = await put(api, history_id, number, body)
        assert sent.status_code == 204, sent.text
    done = await tell(
        api,
        history_id,
        state="done",
        parts=len(bodies),
        rows=rows,
        complete_from=complete_from,
    )
    assert done.status_code == 200, done.text
    return history_id
