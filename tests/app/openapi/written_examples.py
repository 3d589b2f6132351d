"""Writes the examples of the OpenAPI: `make docs` (`python -m tests.app.openapi.written_examples`)."""

import asyncio
import dataclasses
import random
import tempfile
from pathlib import Path
from typing import Final

import orjson

from psoup.app.openapi.examples import FILE
from tests.app.openapi.keyed_story import keyed_settings, told_with_keys
from tests.app.openapi.story import told
from tests.app.support import running
from tests.house import tree

PAGE: Final = tree.ROOT / "app" / "openapi" / FILE
SEED: Final = 2002
INSTANCE: Final = "9f2c4e0d6a1b8c37"
"""A request id: each request has another one."""


async def written(folder: Path) -> bytes:
    """Return the examples as they are kept, told to services in memory; keys are written to `folder`."""
    handles = random.Random(SEED).getrandbits
    async with running(handle_bits=handles) as api:
        steps = await told(api)
    async with running(keyed_settings(folder), handle_bits=handles) as api:
        steps += await told_with_keys(api)
    shown = [dataclasses.asdict(one) for step, _, one in steps if step.is_shown]
    for one in shown:
        if one["status"] >= 400:
            one["answer"]["instance"] = INSTANCE
    return orjson.dumps(shown, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        PAGE.write_bytes(asyncio.run(written(Path(place))))
