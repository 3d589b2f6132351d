"""The requests of `/llms.txt`, pasted as they stand: a model that follows them gets an answer."""

import re
import subprocess

import httpx2
import orjson
import pytest

from tests.agents.conftest import Running

pytestmark = pytest.mark.service


def test_requests_of_the_page_lead_to_an_answer(service: Running):
    """Three calls of curl, and the address that the page names for the handle of the last one."""
    page = httpx2.get(f"{service.url}/llms.txt").text
    (block,) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    (header,) = re.findall(r"`(H='[^`]*')`", page)
    said = subprocess.run(
        ["bash", "-ec", f"curl() {{ command curl -sS --fail-with-body -w '\\n' \"$@\"; }}\n{header}\n"
         + block.replace("localhost:8000", service.url)],
        capture_output=True,
        check=True,
    )  # fmt: skip
    declared, stored, registered = map(orjson.loads, said.stdout.splitlines())
    assert ("trades", 1) == (declared["name"], stored["accepted"])
    assert "`GET /v1/queries/{id}/results`" in page
    answer = httpx2.get(f"{service.url}/v1/queries/{registered['id']}/results").json()
    assert [("ACME", 41.5)] == [(row["sym"], row["px"]) for row in answer["rows"]]
