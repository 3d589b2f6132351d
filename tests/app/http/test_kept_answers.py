"""Answers that are kept: by what, how long, and how many."""

import httpx2
import pytest
from starlette.responses import Response

from psoup.app.http.kept_answers import KeptAnswers, Same
from psoup.engine.limits import KIB
from tests.app.support import WINDOW, Api, assert_problem, row

HERE = Same("key", (1, 5))


def answer(body: bytes = b"{}", **headers: str) -> Response:
    """Return an answer with headers, underscores standing for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(body, headers=named, media_type="application/json")


def test_answer_is_found_where_its_state_is_the_same():
    """Of another request, and of another state of the same, there is none."""
    kept = KeptAnswers()
    kept.keep(HERE, answer(b"[1]", etag='W/"x"', server_timing="eval;dur=3"))
    found = kept.find(HERE)
    assert found is not None
    assert (200, b"[1]", "application/json") == (
        found.status_code,
        found.body,
        found.media_type or found.headers["content-type"],
    )
    assert ('W/"x"', "kept", "3") == tuple(
        found.headers[n] for n in ("etag", "server-timing", "content-length")
    )
    assert [None, None] == [kept.find(Same("other", (1, 5))), kept.find(Same("key", (1, 6)))]
    kept.check()


def test_one_state_is_kept_of_a_request():
    """The next one takes the place of the one before it."""
    kept = KeptAnswers()
    kept.keep(HERE, answer(b"old"))
    kept.keep(Same("key", (1, 6)), answer(b"new"))
    assert kept.find(HERE) is None
    assert 1 == kept.statistics().entries


def test_answer_without_a_body_stays_without_one():
    """A 304 has no length, and none is made up."""
    kept = KeptAnswers()
    kept.keep(HERE, Response(status_code=304, headers={"etag": 'W/"x"'}))
    found = kept.find(HERE)
    assert found is not None
    assert (304, b"", False) == (found.status_code, found.body, "content-length" in found.headers)


def test_large_answers_are_not_kept_and_all_have_a_bound():
    """The least recently used go first."""
    kept = KeptAnswers(bytes_max=4 * KIB)
    kept.keep(HERE, answer(bytes(64 * KIB + 1)))
    assert kept.find(HERE) is None
    for number in range(3):
        kept.keep(Same(number, 0), answer(bytes(KIB)))
        kept.check()
    assert [False, True, True] == [kept.find(Same(number, 0)) is not None for number in range(3)]


def is_kept(answer: httpx2.Response) -> bool:
    """Return whether an answer was sent before."""
    assert 200 == answer.status_code, answer.text
    return "kept" == answer.headers["server-timing"]


@pytest.mark.anyio
@pytest.mark.services
async def test_equal_polls_are_sent_the_same_bytes_until_something_is_applied(api: Api):
    """Another representation is another answer; a row, also one that does not match, begins anew."""
    await api.declare()
    path = f"/v1/queries/{await api.register(f'SELECT qty FROM trades WHERE qty > 0 {WINDOW}')}/results"
    for number in range(3):
        await api.rows([row(number, qty=number)])
        first, again = [await api.get(path) for _ in range(2)]
        assert [False, True] == [is_kept(first), is_kept(again)]
        assert (first.content, number) == (again.content, first.json()["count"])
        assert not is_kept(await api.get(path, params={"format": "csv"}))
        assert not is_kept(await api.get(path, headers={"Accept": "text/csv"}))
        assert not is_kept(await api.get(path, headers={"Accept-Encoding": "text/csv"}))


@pytest.mark.anyio
async def test_condition_of_a_cache_is_part_of_what_is_asked(api: Api):
    """Whoever has the answer is told so, before and after others were sent it."""
    await api.declare()
    path = f"/v1/queries/{await api.register(f'SELECT qty FROM trades {WINDOW}')}/results"
    await api.rows([row(0, qty=1)])
    tag = (await api.get(path)).headers["etag"]
    for _ in range(2):
        conditional = await api.get(path, headers={"If-None-Match": tag})
        assert (304, b"") == (conditional.status_code, conditional.content)
        assert 200 == (await api.get(path, headers={"If-None-Match": 'W/"other"'})).status_code
        assert is_kept(await api.get(path))


@pytest.mark.anyio
async def test_answers_of_a_moving_clock_and_of_one_instant_are_made_each_time(api: Api):
    """NOW of a server's clock is another one; what is asked of an instant, a page or a wait is not kept."""
    await api.send(
        "PUT", "/v1/streams/arriving", json={"columns": [{"name": "qty", "type": "int64"}]}
    )
    moving = f"/v1/queries/{await api.register('SELECT qty FROM arriving')}/results"
    await api.declare()
    still = f"/v1/queries/{await api.register('SELECT qty FROM trades')}/results"
    await api.rows([row(0, qty=1), row(1, qty=2)])
    now = (await api.get(still)).json()["now"]
    for path, asked in ((moving, {}), (still, {"now": now}), (still, {"wait": "0"})):
        for _ in range(2):
            assert not is_kept(await api.get(path, params=asked)), (path, asked)


@pytest.mark.anyio
async def test_answer_of_a_query_that_is_gone_is_not_sent(api: Api):
    """Removing a query is an operation like any other."""
    await api.declare()
    handle = await api.register("SELECT qty FROM trades")
    await api.rows([row(0, qty=1)])
    path = f"/v1/queries/{handle}/results"
    assert [False, True] == [is_kept(await api.get(path)) for _ in range(2)]
    await api.send("DELETE", f"/v1/queries/{handle}")
    assert_problem(await api.get(path), "not-found")
