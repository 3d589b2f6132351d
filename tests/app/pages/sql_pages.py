"""Pages whose tables are streams: each is sent as it stands, and answers are asked for as the page shows them."""

from tests.app.support import Api

TYPES = {"ts": "timestamp", "px": "float64", "bid": "float64", "qty": "int64"}
"""Of the columns of these pages; all others are text."""


async def send_table(api: Api, name: str, rows: str) -> None:
    """Send a table of a page, in CSV; declare its stream by its first line."""
    columns = [
        {"name": column, "type": TYPES.get(column, "string")}
        for column in rows.partition("\n")[0].split(",")
    ]
    declared = await api.send("PUT", f"/v1/streams/{name}", json={"columns": columns, "time": "ts"})
    assert declared.status_code in {200, 201}, declared.text
    sent = await api.body(rows.encode(), "text/csv", name=name)
    assert 200 == sent.status_code, sent.text


async def shown_answer(api: Api, query_id: str, **parameters: str) -> str:
    """Return an answer as a page shows it: CSV, without `_id` and `_x` unless `meta` says otherwise."""
    answer = await api.get(
        f"/v1/queries/{query_id}/results", params={"format": "csv", "meta": "0", **parameters}
    )
    assert 200 == answer.status_code, answer.text
    return answer.text.replace("\r\n", "\n")
