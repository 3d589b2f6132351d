"""A second story, told to a service that asks for keys and takes one stream: how it refuses."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import httpx2

from psoup.app.admission.rates import RATES
from psoup.app.openapi.examples import Example
from psoup.app.settings import Settings
from tests.app.openapi.story import UNKNOWN, Step, declaration, told
from tests.app.support import SETTINGS, Api, fill_no_more

KEYS: Final = {"everything": ["admin", "register", "read", "ingest:*"], "looks": ["read"]}


def _key(name: str) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {name}"}


KEYED: Final = (
    Step("list_streams", "stranger", "", "GET", "/v1/streams", 401),
    Step("declare_stream", "reader", "", "PUT", "/v1/streams/trades", 403, headers=_key("looks"),
         body=declaration()),
    Step("declare_stream", "first", "", "PUT", "/v1/streams/trades", 201, headers=_key("everything"),
         body=declaration(), is_shown=False),
    Step("declare_stream", "second", "", "PUT", "/v1/streams/quotes", 429, headers=_key("everything"),
         body=declaration()),
)  # fmt: skip
OVER_ITS_RATE: Final = (
    Step(
        "remove_query",
        "one more",
        "",
        "DELETE",
        f"/v1/queries/{UNKNOWN}",
        429,
        headers=_key("everything"),
    ),
)


async def told_with_keys(api: Api) -> list[tuple[Step, httpx2.Response, Example]]:
    """Tell it; the last step is told when the key's registrations and removals are used up."""
    found = await told(api, KEYED)
    fill_no_more(api)
    api.app.state.context.rates.take("everything", "register", RATES["register"].burst)
    return found + await told(api, OVER_ITS_RATE)


def keyed_settings(folder: Path) -> Settings:
    """Return the settings of such a service, whose keys lie in `folder`."""
    path = folder / "keys"
    lines = [
        {"id": name, "sha256": hashlib.sha256(name.encode()).hexdigest(), "scopes": scopes}
        for name, scopes in KEYS.items()
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return dataclasses.replace(
        SETTINGS, keys_file=path, host="0.0.0.0", behind_proxy=True, streams=1
    )
