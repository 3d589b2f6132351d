"""The installed psoup works in a user's folder, and none of its code comes from the project's tree."""

import json

import httpx2
import orjson
import pytest

from tests.commands import address_of
from tests.house import tree
from tests.house.deployment import dockerfile
from tests.patience import WAIT_S, wait_until

pytestmark = [pytest.mark.service, pytest.mark.redis]

LOADED = """
import importlib, json, pkgutil, sys
for package in {packages!r}:
    module = importlib.import_module(package)
    for found in pkgutil.walk_packages(module.__path__, package + "."):
        importlib.import_module(found.name)
print(json.dumps([sys.path, {{n: m.__file__ for n, m in sys.modules.items() if getattr(m, "__file__", None)}}]))
"""
"""Imports all modules of all packages, and prints where each has come from."""


def test_every_module_comes_from_the_wheel(psoup_with_spark, spark_environment):
    """All of psoup's lie in the environment, and nothing else does; the tree is not on the path."""
    program = LOADED.format(packages=tree.PACKAGES)
    path, files = orjson.loads(psoup_with_spark.run("-P", "-c", program, program="python"))
    assert str(tree.ROOT) not in path
    own = {name: file for name, file in files.items() if name.split(".")[0] in tree.PACKAGES}
    assert set(tree.PACKAGES) <= set(own)
    assert len(own) == len(tree.python_files(*tree.SOURCES))
    assert {} == {
        name: file for name, file in own.items() if not file.startswith(str(spark_environment))
    }


def test_environment_has_what_the_wheel_requires_alone(psoup):
    """`import psoup` and the command need nothing of what the tests have: neither Spark nor pandas nor pytest."""
    program = (
        "import importlib.util as u, psoup, psoup.__main__; print([u.find_spec(n) for n in {!r}])"
    )
    others = ("pyspark", "pandas", "duckdb", "pytest", "hypothesis", "zensical")
    assert str([None] * len(others)) in psoup.run(
        "-P", "-c", program.format(others), program="python"
    )
    done = psoup.ended("pipeline", "demo")
    assert 5 == done.returncode
    assert "pip install 'psoup[spark]'" in done.stderr


def test_help_names_the_commands(psoup):
    """`psoup --help` needs no service."""
    shown = psoup.run("--help")
    for command in ("serve", "load", "demo", "pipeline"):
        assert command in shown


def test_service_of_the_image_takes_a_file_and_shows_its_documentation(psoup):
    """The service as the image starts it, at a free port of this machine alone, answers what the image asks it.

    It has the store's functions, and takes a CSV and a query; the page of the docs and its files are there.
    """
    instructions = dict(dockerfile())
    program, *arguments = json.loads(instructions["CMD"])
    assert "psoup" == program
    here = {"0.0.0.0": "127.0.0.1", "8000": "0", "/data": "kept"}
    python, *probe = json.loads(instructions["HEALTHCHECK"].partition(" CMD ")[2])
    (psoup.folder / "prices.csv").write_text("date,name,close\n2024-01-02,A,7\n2024-01-03,B,9\n")
    with psoup.started(*(here.get(word, word) for word in arguments)) as events:
        url = address_of(events)
        probe = [word.replace("http://127.0.0.1:8000", url) for word in probe]
        assert url in probe[-1]
        assert "" == psoup.run(*probe, program=python)
        psoup.run("load", "prices.csv", "--stream", "prices", "--time", "date", "--url", url)
        answer = psoup.run("query", "SELECT name FROM prices WHERE close > 8", "--url", url)
        assert '"name":"B"' in answer
        page = httpx2.get(f"{url}/docs", timeout=WAIT_S)
        assert 200 == page.status_code
        scripts = [part.split('"')[0] for part in page.text.split('src="')[1:]]
        assert scripts
        for script in scripts:
            assert 200 == httpx2.get(f"{url}{script}", timeout=WAIT_S).status_code
        assert httpx2.get(f"{url}/llms.txt", timeout=WAIT_S).text.startswith("# psoup\n")
    psoup.run("fsck", "--data", "kept")


def test_demo_runs_and_ends(psoup):
    """A service, a feeder and queries, each a process of the installed psoup."""
    assert "the service is stopped" in psoup.run("demo", "--seconds", "1", "--data", "kept")


def test_worker_beside_an_engine_answers(psoup, server):
    """An engine over a store and a worker beside it, each a process of the installed psoup."""
    store = ("--store", server.url)
    with (
        psoup.started("engine", *store, "--data", "kept"),
        psoup.started("api", *store, "--port", "0") as events,
        httpx2.Client(base_url=address_of(events), timeout=WAIT_S) as client,
    ):
        wait_until(lambda: 200 == client.get("/readyz").status_code, "it is ready")
        columns = {"columns": [{"name": "n", "type": "int64"}]}
        assert 201 == client.put("/v1/streams/s", json=columns).status_code
        assert 200 == client.post("/v1/streams/s/rows", json=[{"n": 7}]).status_code
        query = client.post("/v1/queries", json={"sql": "SELECT n FROM s"}).json()
        answer = client.get(f"/v1/queries/{query['id']}/results").json()
        assert [7] == [row["n"] for row in answer["rows"]]
