"""What tests of stages and commits share: staging rows, committing parts."""

from collections.abc import Sequence
from typing import Any

import httpx2

from tests.app.support import Api


async def stage(api: Api, rows: Any, *, name: str = "trades") -> str:
    """Stage rows; return the part's handle."""
    answer = await api.send("POST", f"/v1/streams/{name}/stages", json=rows)
    assert 201 == answer.status_code, answer.text
    return str(answer.json()["stage"])


async def commit(
    api: Api, stages: Sequence[str], *, version: object = 1, app: str = "spark-1"
) -> httpx2.Response:
    """Commit parts."""
    body = {"app": app, "version": version, "stages": list(stages)}
    return await api.send("POST", "/v1/commits", json=body)


async def staged_commit(
    api: Api, parts: Sequence[Any], *, version: int, name: str = "trades"
) -> dict[str, Any]:
    """Stage each of `parts` and commit all of them; return the receipt."""
    stages = [await stage(api, rows, name=name) for rows in parts]
    answer = await commit(api, stages, version=version)
    assert 200 == answer.status_code, answer.text
    return dict(answer.json())
