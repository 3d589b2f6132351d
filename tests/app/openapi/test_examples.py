"""The examples of the OpenAPI: told to a service anew, they are true, and they are what the document describes."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
import schemathesis

from psoup.app.http.problems import PROBLEM_TYPES
from psoup.app.openapi.examples import Example, examples_of, load_examples, problem_examples
from psoup.app.openapi.operations import OPERATIONS, TAGS
from psoup.app.openapi.problem_bodies import CODES, PROBLEM_BODIES
from psoup.app.wire.rows.body import ARROW, JSON
from tests.app.openapi.keyed_story import keyed_settings, told_with_keys
from tests.app.openapi.story import FIGURES, STORY, Step, told
from tests.app.support import SETTINGS, Api, application, running

pytestmark = pytest.mark.anyio
EXAMPLES = load_examples()
EVERYWHERE = frozenset({"content-length", "content-type", "request-id", "x-content-type-options"})
"""Headers that are described once for all answers, or belong to HTTP."""
OF_HTTP = frozenset({"cache-control", "vary", "server-timing", "content-encoding", "connection"})


READ_BY_CLIENTS = (
    "IngestAnswer",
    "ResultsAnswer",
    "WindowAt",
    "SeriesAnswer",
    "PointAnswer",
    "InvokeAnswer",
    "RefusedAnswer",
    "SyncAnswer",
    "WarningAnswer",
    "PositionAnswer",
    "WrongRow",
)
OF_BYTES = frozenset({ARROW})
OF_THE_MOMENT = frozenset(
    {
        *(
            (name, "202", JSON)
            for name in (
                *("declare_stream", "change_stream", "append_rows", "commit_stages"),
                *("register_query", "put_query", "remove_queries"),
            )
        ),
        ("ready", "503", JSON),
        ("metrics", "200", "text/plain; version=0.0.4; charset=utf-8"),
        ("llms", "200", "text/plain"),
    }
)


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    """Return the document of a service."""
    with application(SETTINGS) as app:
        return app.openapi()


async def test_examples_are_true(api: Api, described):
    """Each request of the story is answered as its example says, and as the document describes it."""
    steps = await told(api)
    number = sum(step.is_shown for step, *_ in steps)
    compare(described, steps, EXAMPLES[:number])


async def test_examples_of_a_service_with_keys_are_true(tmp_path, described):
    """The same for the second story: none is left that nobody tells."""
    async with running(keyed_settings(tmp_path)) as api:
        steps = await told_with_keys(api)
    number = sum(step.is_shown for step in STORY)
    compare(described, steps, EXAMPLES[number:])


def compare(described, steps, examples):
    """Assert that the steps which are shown are the examples, and that the document describes them."""
    schema = schemathesis.openapi.from_dict(described)
    shown = [one for one in steps if one[0].is_shown]
    for (step, answer, found), kept in zip(shown, examples, strict=True):
        assert (found.operation, found.name, found.summary) == (
            kept.operation,
            kept.name,
            kept.summary,
        )
        assert shape([found.path, found.query, found.headers, found.body]) == shape(
            [kept.path, kept.query, kept.headers, kept.body]
        )
        assert (found.media, found.answer_media) == (kept.media, kept.answer_media)
        if found.operation not in FIGURES:
            assert shape(found.answer) == shape(kept.answer), step
        operation = schema.find_operation_by_id(step.operation)
        operation.validate_response(answer)
        operation.validate_response(as_answer(kept, answer))
        assert undescribed(described, step, answer) == set(), step


def test_examples_are_there_for_every_operation():
    """Each operation has a tag that is described, a text, and a request that was answered."""
    assert set(OPERATIONS) == {step.operation for step in STORY}
    for name, operation in OPERATIONS.items():
        assert operation.tag in TAGS
        assert operation.text.endswith(".")
        assert examples_of(EXAMPLES, name), name


def test_bodies_are_described_with_examples(described):
    """What is sent and what is answered as text has a description, and a request that was sent or an answer that came.

    Not what depends on the moment: a commit that waits, a service that is not ready; nor a page of text, which shows
    itself.
    """
    bare = []
    for path, method, operation in operations(described):
        sent = [("request", operation["requestBody"])] if "requestBody" in operation else []
        told = [
            (status, one) for status, one in operation["responses"].items() if "$ref" not in one
        ]
        for status, one in sent + told:
            assert one["description"].endswith("."), (method, path, status)
            bare += [
                (operation["operationId"], status, media)
                for media, content in one.get("content", {}).items()
                if "examples" not in content and media not in OF_BYTES
            ]
    assert [] == [one for one in bare if one not in OF_THE_MOMENT]


@pytest.mark.parametrize("name", [*READ_BY_CLIENTS, *(model.__name__ for model in CODES)])
def test_members_that_clients_read_are_described(described, name):
    """What comes with each answer, and with each refusal."""
    members = described["components"]["schemas"][name]["properties"]
    assert [] == [member for member, schema in members.items() if not schema.get("description")]


def test_examples_of_problems_are_bodies_of_their_codes():
    """Each problem shown has the members that its code is described with, and no others."""
    shown = problem_examples(EXAMPLES)
    assert len(shown) >= 31
    for code, body in shown.items():
        model = PROBLEM_BODIES[code]
        assert set(body) <= set(model.model_fields)
        assert PROBLEM_TYPES[code].status == model.model_validate(body).status


def test_document_is_a_valid_openapi(described):
    """It is one by the schema of OpenAPI 3.1, and every reference in it leads somewhere."""
    schemathesis.openapi.from_dict(described).validate()
    assert "3.1.0" == described["openapi"]
    for reference in references(described):
        at: Any = described
        for name in reference.removeprefix("#/").split("/"):
            assert name in at, reference
            at = at[name]


def test_document_says_a_problem_once(described):
    """A failure of any operation is a reference to the one response of its status."""
    for path, _, operation in operations(described):
        for status, response in operation["responses"].items():
            if int(status) >= 400 and path != "/readyz":
                assert {"$ref": f"#/components/responses/Problem{status}"} == response


def shape(value: Any) -> Any:
    """Return what kind of value it is: members and their kinds, the kinds of entries, the lines of a text."""
    if isinstance(value, dict):
        return {name: shape(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [shape(one) for one in value]
    if isinstance(value, str):
        return value.count("\n")
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else value


def as_answer(kept: Example, answer: httpx2.Response) -> httpx2.Response:
    """Return the example as an answer of its kind."""
    if kept.answer is None:
        return answer
    text = {"text": kept.answer} if isinstance(kept.answer, str) else {"json": kept.answer}
    length = {"content-length", "content-encoding", "content-type"}
    headers = {name: value for name, value in answer.headers.items() if name not in length}
    headers["content-type"] = answer.headers["content-type"]
    made = httpx2.Response(kept.status, headers=headers, request=answer.request, **text)
    made.elapsed = answer.elapsed
    return made


def undescribed(described: dict[str, Any], step: Step, answer: httpx2.Response) -> set[str]:
    """Return the headers of an answer that the document does not name."""
    responses = next(
        operation["responses"]
        for *_, operation in operations(described)
        if operation["operationId"] == step.operation
    )
    response = responses[str(step.status)]
    if "$ref" in response:
        response = described["components"]["responses"][response["$ref"].rpartition("/")[2]]
    named = {name.lower() for name in response.get("headers", {})}
    return set(answer.headers) - named - EVERYWHERE - OF_HTTP


def operations(described: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield path, method and description of each operation."""
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def references(value: Any) -> list[str]:
    if isinstance(value, dict):
        here = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return here + [one for inner in value.values() for one in references(inner)]
    if isinstance(value, list):
        return [one for inner in value for one in references(inner)]
    return []
