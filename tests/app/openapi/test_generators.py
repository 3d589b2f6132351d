"""What others make of the OpenAPI: types for TypeScript and models for Python, by the generators that people use.

Every example of the document, which `test_examples.py` holds against the service, fits what is made.
"""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx2
import orjson
import pytest
from pydantic import ValidationError

from psoup.app.http.problems import MEDIA_TYPE
from psoup.app.openapi.examples import load_examples, problem_examples
from psoup.app.openapi.problem_bodies import PROBLEM_BODIES
from psoup.app.wire.rows.body import JSON
from tests.app.serving import served
from tests.app.support import SETTINGS, STREAM, application
from tests.clients import nodes

PACKAGE = Path(__file__).parent / "typescript"
MODELS = ("--output-model-type", "pydantic_v2.BaseModel", "--target-python-version", "3.11")
READABLE = ("--enum-field-as-literal", "all", "--formatters", "builtin", "--disable-timestamp")
PROBLEMS = problem_examples(load_examples())


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the document as a file."""
    path = tmp_path_factory.mktemp("openapi") / "openapi.json"
    with application(SETTINGS) as app:
        path.write_bytes(orjson.dumps(app.openapi()))
    return path


@pytest.fixture(scope="module")
def models(described: Path) -> Iterator[ModuleType]:
    """Yield the models that datamodel-code-generator makes of it."""
    path = described.with_name("models.py")
    of_files = ("--input", str(described), "--input-file-type", "openapi", "--output", str(path))
    command = [sys.executable, "-m", "datamodel_code_generator", *of_files, *MODELS, *READABLE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (0, "") == (done.returncode, done.stderr)
    found = importlib.util.spec_from_file_location("generated_models", path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[module.__name__] = module
    found.loader.exec_module(module)
    yield module
    del sys.modules[module.__name__]


def test_python_models_take_real_answers(models: ModuleType):
    """A service's answers are parsed: a stream, a query, its rows, and a refusal with its place in the text."""
    with (
        served(SETTINGS) as (host, port),
        httpx2.Client(base_url=f"http://{host}:{port}") as client,
    ):
        stream = models.StreamChanged.model_validate_json(
            client.put("/v1/streams/trades", json=STREAM).content
        )
        client.post("/v1/streams/trades/rows", json=[{"ts": 7, "px": 41.5}])
        body = models.QueryBody(sql="SELECT px FROM trades WHERE px > 40", name="dear")
        query = models.QueryAnswer.model_validate_json(
            client.post("/v1/queries", json=body.model_dump(exclude_unset=True)).content
        )
        answer = models.ResultsAnswer.model_validate_json(
            client.get(query.links["results"]).content
        )
        refused = models.Problem.model_validate_json(
            client.post("/v1/queries", json={"sql": "SELECT price FROM trades"}).content
        )
    assert "trades" == stream.name
    assert [41.5] == [row["px"] for row in answer.rows]
    assert isinstance(refused.root, models.SqlProblem)
    assert ("unknown-column", 8) == (refused.root.code, refused.root.position.column)


def test_python_models_know_each_problem_by_its_code(models: ModuleType):
    """Every problem that is shown becomes the model of its code; a code that does not exist becomes none."""
    for code, body in PROBLEMS.items():
        assert (
            PROBLEM_BODIES[code].__name__ == type(models.Problem.model_validate(body).root).__name__
        )
    with pytest.raises(ValidationError):
        models.Problem.model_validate({**PROBLEMS["not-found"], "code": "no-such-code"})


@pytest.mark.timeout(300)  # npm may have to fetch
def test_typescript_types_fit_every_example(described: Path, tmp_path: Path):
    """The types compile with the TypeScript of clients/js, as do a program over them and every example as a value."""
    nodes.install(PACKAGE, tmp_path)
    generator = tmp_path / "node_modules" / "openapi-typescript" / "bin" / "cli.js"
    made = ("--output", str(tmp_path / "schema.ts"), "--default-non-nullable=false")
    nodes.run([str(generator), str(described), *made])
    lines = list(constants(json.loads(described.read_text(encoding="utf-8"))))
    assert len(lines) > 70
    header = 'import type { components, paths } from "./schema.ts";\n'
    (tmp_path / "examples.ts").write_text(header + "\n".join(lines), encoding="utf-8")
    compiler = tmp_path / "node_modules" / "typescript-of-clients" / "bin" / "tsc"
    nodes.run([str(compiler), "--project", str(tmp_path / "tsconfig.json")])


def test_typescript_is_that_of_the_client():
    """The types are checked by the compiler, to the version, that the JavaScript client is built with."""
    ours, theirs = (
        json.loads((folder / "package.json").read_text(encoding="utf-8"))["devDependencies"]
        for folder in (PACKAGE, nodes.CLIENT)
    )
    assert f"npm:typescript@{theirs['typescript']}" == ours["typescript-of-clients"]


def test_typescript_packages_are_locked_without_addresses():
    """Each has a version and a checksum, and comes from whatever registry the machine has."""
    lock = json.loads((PACKAGE / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    locked = [one for name, one in lock.items() if name]
    assert len(locked) > 30
    assert [] == [one for one in locked if "resolved" in one or "integrity" not in one]


def constants(described: dict[str, Any]) -> Iterator[str]:
    """Yield a typed constant for each JSON example: bodies that are sent, answers, and problems."""
    number = 0
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            at = f'paths["{path}"]["{method}"]'
            bodies = [(f'NonNullable<{at}["requestBody"]>', operation.get("requestBody", {}))]
            bodies += [
                (f'{at}["responses"][{status}]', one)
                for status, one in operation["responses"].items()
            ]
            for kind, body in bodies:
                for shown in body.get("content", {}).get(JSON, {}).get("examples", {}).values():
                    number += 1
                    value = json.dumps(shown["value"])
                    yield f'export const e{number}: {kind}["content"]["{JSON}"] = {value};'
    for name, response in described["components"]["responses"].items():
        for shown in response["content"][MEDIA_TYPE].get("examples", {}).values():
            number += 1
            kind = f'components["responses"]["{name}"]["content"]["{MEDIA_TYPE}"]'
            yield f"export const e{number}: {kind} = {json.dumps(shown['value'])};"
