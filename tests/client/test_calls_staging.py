"""The client's stages, commits and archives: what is sent, what is repeated, what is not."""

import httpx2
import orjson
import pytest

from psoup.client.calls import ARROW_STREAM, PsoupClient, Txn
from psoup.client.errors import GenerationChangedError, ServiceProblem, ServiceUnreachableError
from tests.client.scripted import Script, ok, problem

TXN = Txn("spark-1", 7)
LOST = httpx2.ReadError("reset")
STAGED = httpx2.Response(201, json={"stage": "st_2"})


def stage(service: PsoupClient) -> str:
    receipt = service.stage("s", b"rows", content_type=ARROW_STREAM, encoding="zstd")
    return str(receipt["stage"])


def test_stage_sends_the_rows_as_they_are():
    """The body, its type and its encoding go to the stream's stages; the receipt comes back."""
    script = Script(STAGED)
    with script.service() as service:
        assert "st_2" == stage(service)
    (sent,) = script.requests
    assert ("POST", "/v1/streams/s/stages", b"rows") == (sent.method, sent.url.path, sent.content)
    assert ARROW_STREAM == sent.headers["Content-Type"]
    assert "zstd" == sent.headers["Content-Encoding"]


@pytest.mark.parametrize(
    ("failure", "pause_s"),
    [
        (problem(503, "overloaded", retryable=True, retry_after=6), 6.0),
        (problem(503, "commit-unknown", retryable=True), 0.1),
        (problem(429, "rate-limited", retryable=True, retry_after=2), 2.0),
        (problem(507, "store-full", retryable=True, retry_after=30), 30.0),
        (LOST, 0.1),
    ],
)
def test_stage_is_sent_again_whatever_became_of_it(failure, pause_s):
    """An orphan harms nobody: the same rows go out again after the pause that was asked for."""
    script = Script(ok(), failure, STAGED)
    with script.service(budget_s=60) as service:
        service.status()
        assert "st_2" == stage(service)
    assert [pause_s] == script.time.slept
    assert [b"rows", b"rows"] == [one.content for one in script.requests[1:]]


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (404, "not-found"),
        (413, "body-too-large"),
        (409, "stage-missing"),
        (409, "txn-content-differs"),
        (413, "commit-too-large"),
        (422, "rows-rejected"),
        (422, "invalid-field"),
    ],
)
def test_stages_and_commits_refused_for_good_are_not_sent_again(status, code):
    """What waiting does not cure is told at once, with the code."""
    for call in (stage, lambda service: service.commit(TXN, ["st_1"])):
        script = Script(problem(status, code, retryable=False))
        with script.service() as service, pytest.raises(ServiceProblem) as caught:
            call(service)
        assert (code, [], 1) == (caught.value.problem, script.time.slept, len(script.requests))


@pytest.mark.parametrize("failure", [problem(503, "commit-unknown", retryable=True), LOST])
def test_commit_is_sent_again_unchanged_until_its_fate_is_known(failure):
    """The same parts under the same version: the service says whether they were committed before."""
    told = {"accepted": 0, "seq": 9, "duplicate": True}
    script = Script(ok(), failure, failure, ok(**told))
    with script.service() as service:
        service.status()
        assert told == service.commit(TXN, ["st_1", "st_2"])
    body = {"app": "spark-1", "version": 7, "stages": ["st_1", "st_2"]}
    sent = script.requests[1:]
    assert [("POST", "/v1/commits")] * 3 == [(one.method, one.url.path) for one in sent]
    assert [body] * 3 == [orjson.loads(one.content) for one in sent]


def test_commit_is_given_up_when_the_budget_is_spent():
    """A job says how long it can wait: minutes of overload are waited out, and no more than those."""
    full = problem(503, "overloaded", retryable=True, retry_after=50)
    script = Script(*[full] * 9)
    service = script.service(budget_s=180, from_the_start=True)
    with service, pytest.raises(ServiceProblem) as caught:
        service.commit(TXN, ["st_1"])
    assert "overloaded" == caught.value.problem
    assert [50.0, 50.0, 50.0] == script.time.slept


def test_discard_names_the_part_and_may_be_repeated():
    """It is harmless twice, so that a lost answer is no matter."""
    script = Script(ok(), LOST, httpx2.Response(204))
    with script.service() as service:
        service.status()
        service.discard("st_1")
    assert [("DELETE", "/v1/stages/st_1")] * 2 == [
        (one.method, one.url.path) for one in script.requests[1:]
    ]


def test_hold_and_what_is_held():
    """Holding, asking, and holding no longer; a stream that is not held has nothing to tell."""
    held = {"through": 5, "held_batches": 2, "held_bytes": 99}
    script = Script(
        ok(**held), ok(**held), problem(404, "not-found"), problem(403, "scope-missing"), ok()
    )
    with script.service() as service:
        assert held == service.hold("s", 5)
        assert held == service.held("s")
        assert service.held("s") is None
        with pytest.raises(ServiceProblem):
            service.held("s")
        service.unhold("s")
    sent = script.requests
    assert {"/v1/streams/s/archive"} == {one.url.path for one in sent}
    assert ["PUT", "GET", "GET", "GET", "DELETE"] == [one.method for one in sent]
    assert {"through": 5} == orjson.loads(sent[0].content)


def test_hold_names_the_history_that_its_position_is_of():
    """Where the service's is another one the caller is told so, as for batches."""
    other = problem(409, "gen-differs")
    script = Script(ok(through=5), other)
    with script.service() as service:
        service.hold("s", 5, gen=7)
        with pytest.raises(GenerationChangedError):
            service.hold("s", 5, gen=7)
    assert {"through": 5, "gen": 7} == orjson.loads(script.requests[0].content)


def test_batches_follow_their_pages():
    """All batches come out, page by page; one that is gone is none, and one of another history is refused."""
    script = Script(
        ok(batches=[{"seq": 3, "bytes": 9}], next="/v1/streams/s/batches?after=3&limit=1"),
        ok(batches=[{"seq": 7, "bytes": 8}], next=None),
        *[httpx2.Response(200, content=b"arrow", headers={"Psoup-Gen": "8"})] * 3,
        problem(404, "not-found"),
        problem(503, "integrity", retryable=False),
        ok(gen=1, seq=9, batches=[]),
    )
    with script.service() as service:
        assert [3, 7] == [one["seq"] for one in service.batches("s", after=2)]
        assert b"arrow" == service.batch("s", 3)
        assert b"arrow" == service.batch("s", 3, gen=8)
        with pytest.raises(GenerationChangedError):
            service.batch("s", 3, gen=7)
        assert service.batch("s", 4) is None
        with pytest.raises(ServiceProblem):
            service.batch("s", 5)
        assert 9 == service.batch_list("s", after=7, limit=5)["seq"]
    assert [
        "/v1/streams/s/batches?after=2&limit=1000",
        "/v1/streams/s/batches?after=3&limit=1",
        *["/v1/streams/s/batches/3"] * 3,
        "/v1/streams/s/batches/4",
        "/v1/streams/s/batches/5",
        "/v1/streams/s/batches?after=7&limit=5",
    ] == [one.url.raw_path.decode() for one in script.requests]


def test_pages_of_an_answer_are_listed_and_read_as_arrow():
    """Any page is read by its address alone, as Arrow; one that was cut goes on under its own link."""
    listed = ok(count=3, pages=["/v1/p?page=a", "/v1/p?page=b"])
    cut = httpx2.Response(200, content=b"1", headers={"Link": '</v1/p?page=c>; rel="next"'})
    script = Script(listed, cut, httpx2.Response(200, content=b"2"), LOST)
    with script.service(budget_s=0) as service:
        envelope = service.answer_pages("q_1", limit=2, now=5)
        assert [b"1", b"2"] == list(service.arrow_page(envelope["pages"][0]))
        with pytest.raises(ServiceUnreachableError):
            list(service.arrow_page(envelope["pages"][1]))
    assert [
        "/v1/queries/q_1/results?limit=2&now=5&count=only&pages=all",
        "/v1/p?page=a",
        "/v1/p?page=c",
        "/v1/p?page=b",
    ] == [one.url.raw_path.decode() for one in script.requests]
    assert {ARROW_STREAM} == {one.headers["Accept"] for one in script.requests[1:]}
