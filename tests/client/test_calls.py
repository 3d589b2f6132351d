"""The client: what it repeats, how long it waits, what it does not repeat, how it says so."""

import httpx2
import orjson
import pytest

from psoup.client.calls import Txn
from psoup.client.errors import ServiceProblem, ServiceUnreachableError
from psoup.engine import limits
from tests.client.scripted import Script, ok, problem

TXN = Txn("app", 7)


def test_request_overloaded_is_repeated_after_retry_after():
    """A retryable problem is waited out as long as the service asks, then the answer is returned."""
    script = Script(problem(503, "overloaded", retry_after=3), ok(version="1"))
    with script.service() as service:
        assert {"version": "1"} == service.status()
    assert [3.0] == script.time.slept


def test_request_without_retry_after_waits_twice_as_long_each_time():
    """The pauses double from a tenth of a second."""
    script = Script(*[problem(503, "recovering")] * 4, ok())
    with script.service() as service:
        service.status()
    assert [0.1, 0.2, 0.4, 0.8] == script.time.slept


def test_request_still_overloaded_when_the_budget_is_spent_is_the_problem():
    """The client gives up before a pause that its budget does not cover, with the last problem."""
    script = Script(*[problem(507, "store-full", retry_after=4)] * 9)
    with script.service(budget_s=10) as service, pytest.raises(ServiceProblem) as caught:
        service.status()
    assert "store-full" == caught.value.problem
    assert [4.0, 4.0] == script.time.slept


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (422, "sql-syntax", False),
        (409, "txn-content-differs", False),
        (503, "integrity", False),
        (404, "not-found", None),
    ],
)
def test_request_refused_for_good_is_not_repeated(status, code, retryable):
    """What waiting does not cure is raised at once, with the whole problem body."""
    script = Script(problem(status, code, retryable=retryable))
    with script.service() as service, pytest.raises(ServiceProblem) as caught:
        service.append("s", b"", content_type="text/csv", txn=TXN)
    assert (status, code, f"it is {code}") == (
        caught.value.status,
        caught.value.problem,
        caught.value.detail,
    )
    assert [] == script.time.slept


@pytest.mark.parametrize("failure", ["commit-unknown", "reset"])
def test_append_with_txn_of_unknown_fate_is_sent_again_unchanged(failure):
    """Under a transaction the same bytes and headers go out until the fate is known."""
    broken = (
        problem(503, "commit-unknown", retryable=True)
        if failure == "commit-unknown"
        else httpx2.ReadError("reset")
    )
    script = Script(ok(accepted=1), broken, ok(accepted=0, duplicate=True))
    with script.service() as service:
        service.append("s", b"one", content_type="text/csv", txn=Txn("app", 6))
        receipt = service.append("s", b"two", content_type="text/csv", txn=TXN)
    assert {"accepted": 0, "duplicate": True} == receipt
    assert [b"one", b"two", b"two"] == [request.content for request in script.requests]
    assert ["6", "7", "7"] == [r.headers["Psoup-Txn-Version"] for r in script.requests]


@pytest.mark.parametrize(
    "failure", [problem(503, "commit-unknown", retryable=True), problem(500, "internal")]
)
def test_append_without_txn_of_unknown_fate_is_not_sent_again(failure):
    """Rows that might be stored already are not sent twice without a transaction."""
    script = Script(failure)
    with script.service() as service, pytest.raises(ServiceProblem):
        service.append("s", b"one", content_type="text/csv")
    assert 1 == len(script.requests)


def test_append_without_txn_surely_not_stored_is_sent_again():
    """An overload says that nothing was stored: sending again is safe."""
    script = Script(problem(503, "overloaded"), ok(accepted=1))
    with script.service() as service:
        assert {"accepted": 1} == service.append("s", b"one", content_type="text/csv")


def test_service_that_never_answered_is_not_waited_for():
    """A refused connection at first contact is an error at once: the address is likely wrong."""
    script = Script(httpx2.ConnectError("refused"))
    with script.service() as service, pytest.raises(ServiceUnreachableError) as caught:
        service.status()
    assert "http://psoup does not answer: refused" in str(caught.value)
    assert [] == script.time.slept


def test_service_that_never_answered_is_waited_for_by_a_job():
    """A job that begins while its service restarts waits for it, as long as its budget lasts."""
    gone = httpx2.ConnectError("refused")
    script = Script(gone, gone, ok(version="1"))
    with script.service(from_the_start=True) as service:
        assert {"version": "1"} == service.status()
    assert [0.1, 0.2] == script.time.slept
    script = Script(*[gone] * 9)
    service = script.service(budget_s=1, from_the_start=True)
    with service, pytest.raises(ServiceUnreachableError):
        service.status()
    assert [0.1, 0.2, 0.4] == script.time.slept


def test_service_that_goes_away_is_waited_for():
    """After a first answer a restart of the service is waited out within the budget."""
    gone = httpx2.ConnectError("refused")
    script = Script(ok(), gone, gone, ok(version="2"))
    with script.service() as service:
        service.status()
        assert {"version": "2"} == service.status()
    assert [0.1, 0.2] == script.time.slept


def test_service_of_another_kind_is_unreachable():
    """Something that answers 200 without JSON is not psoup."""
    script = Script(httpx2.Response(200, text="<html>"))
    with script.service() as service, pytest.raises(ServiceUnreachableError):
        service.status()


def test_stream_unknown_is_none():
    """Asking for a stream that is not there is no error."""
    script = Script(problem(404, "not-found"))
    with script.service() as service:
        assert service.stream("nowhere") is None


def test_lists_and_results_follow_their_pages():
    """All entries come out, whether the next page is named in the envelope or in `Link`."""
    script = Script(
        ok(streams=[{"name": "a"}], next="/v1/streams?page=2"),
        ok(streams=[{"name": "b"}], next=None),
        httpx2.Response(200, text="1\n", headers={"Link": '</v1/next?page=z>; rel="next"'}),
        httpx2.Response(200, text="2\n"),
    )
    with script.service() as service:
        assert ["a", "b"] == [one["name"] for one in service.streams()]
        pages = service.pages("q_1", format="ndjson", limit=1)
        assert [b"1\n", b"2\n"] == [page.content for page in pages]
    assert [
        "/v1/streams",
        "/v1/streams?page=2",
        "/v1/queries/q_1/results?format=ndjson&limit=1",
        "/v1/next?page=z",
    ] == [request.url.raw_path.decode() for request in script.requests]


def test_register_and_declare_send_what_the_contract_asks():
    """Bodies are JSON with only the members that were given; an idempotency key makes a registration repeatable."""
    script = Script(
        httpx2.Response(201, json={"name": "s"}),
        problem(503, "commit-unknown"),
        ok(id="q_1"),
    )
    with script.service() as service:
        assert ({"name": "s"}, True) == service.declare("s", {"columns": []})
        assert {"id": "q_1"} == service.register("SELECT 1", labels={"a": "b"})
    sent = [orjson.loads(request.content) for request in script.requests]
    assert [{"columns": []}, *[{"sql": "SELECT 1", "labels": {"a": "b"}}] * 2] == sent
    first, again = [request.headers["Idempotency-Key"] for request in script.requests[1:]]
    assert first == again


def lines(*outcomes):
    """Return an answer to a batch of registrations: statuses, or codes of problems with them."""
    found = []
    for index, outcome in enumerate(outcomes):
        line = {"index": index, "status": outcome, "id": f"q_{index}"}
        if isinstance(outcome, tuple):
            status, code = outcome
            line = {"index": index, "status": status, "problem": {"code": code}}
        found.append(orjson.dumps(line) + b"\n")
    return httpx2.Response(200, content=b"".join(found))


def registrations(count, **members):
    return [{"sql": f"SELECT {i}", **members} for i in range(count)]


def sent_sql(request):
    return [orjson.loads(line)["sql"] for line in request.content.splitlines()]


def test_registrations_travel_in_bodies_as_large_as_may_be(monkeypatch):
    """Lines and bytes of a body are bounded; indices go on over all of them."""
    monkeypatch.setattr(limits, "BATCH_QUERIES_MAX", 2)
    script = Script(lines(201, 200), lines(201, 202), lines(201))
    with script.service() as service:
        found = list(service.register_many(iter(registrations(5)), describe=False))
    assert [(0, 201), (1, 200), (2, 201), (3, 202), (4, 201)] == [
        (one["index"], one["status"]) for one in found
    ]
    assert [["SELECT 0", "SELECT 1"], ["SELECT 2", "SELECT 3"], ["SELECT 4"]] == [
        sent_sql(request) for request in script.requests
    ]
    assert {"/v1/batch/queries?describe=ids"} == {
        request.url.raw_path.decode() for request in script.requests
    }
    assert {"application/x-ndjson"} == {one.headers["Content-Type"] for one in script.requests}
    monkeypatch.setattr(limits, "BODY_INGEST_BYTES_MAX", 40)
    script = Script(lines(201), lines(201), lines(201))
    with script.service() as service:
        assert 3 == len(list(service.register_many(registrations(3, name="x" * 10))))
    with Script().service() as service:
        assert [] == list(service.register_many([]))


def test_registrations_turned_away_for_now_are_sent_again():
    """What surely was not registered goes out again, by itself; what is refused or unknown does not."""
    away, unknown = (503, "overloaded"), (503, "commit-unknown")
    script = Script(
        lines(201, away, (422, "sql-syntax"), away, unknown), lines(away, 201), lines(201)
    )
    with script.service() as service:
        found = list(service.register_many(registrations(5)))
    assert [201, 201, 422, 201, 503] == [one["status"] for one in found]
    assert [0, 1, 2, 3, 4] == [one["index"] for one in found]
    assert [["SELECT 1", "SELECT 3"], ["SELECT 1"]] == [
        sent_sql(request) for request in script.requests[1:]
    ]
    assert [0.1, 0.1] == script.time.slept


def test_registrations_turned_away_too_long_are_told_as_that():
    """Without progress the budget of waiting ends it, and the last answer stands."""
    script = Script(*[lines(201, (429, "quota-exceeded"))], *[lines((429, "quota-exceeded"))] * 9)
    with script.service(budget_s=1) as service:
        found = list(service.register_many(registrations(2)))
    assert [201, 429] == [one["status"] for one in found]
    assert [0.1, 0.2, 0.4] == script.time.slept


def test_registrations_of_unknown_fate_are_not_sent_again():
    """A connection that breaks leaves open what was registered: it is an error."""
    script = Script(ok(), httpx2.ReadError("reset"))
    with script.service() as service:
        service.status()
        with pytest.raises(ServiceUnreachableError):
            list(service.register_many(registrations(1)))
    assert 2 == len(script.requests)
