"""What caches are told: a tag that stands for rows while windows move, and how long an answer is right unasked."""

import random

import httpx2
import pytest

from psoup.app.http.page_tokens import KEY_BYTES, PageTokens
from psoup.app.routes.results.caching import entity_tag
from psoup.app.wire.models.results.invocations import Presentation
from psoup.engine.invoke import InvocationCache, Request, invoke
from psoup.engine.limits import SECOND_US
from psoup.engine.query.bind.bound_queries import BoundQueries
from tests.app.routes.results.client import read
from tests.app.support import MOVES_THE_CLOCK, WINDOW, Api, assert_problem, row

pytestmark = pytest.mark.anyio

SQL = f"SELECT qty FROM trades WHERE qty >= 0 {WINDOW}"
NO_CACHE = "private, no-cache"
FOR_EVER = "private, max-age=31536000, immutable"
ARRIVING = {"columns": [{"name": "qty", "type": "int64"}]}
MINUTE_US = 60 * SECOND_US
VARY = "Authorization, Accept, Accept-Encoding"


async def filled(api: Api, rows: int = 3, sql: str = SQL) -> str:
    await api.declare()
    query_id = await api.register(sql)
    await api.rows([row(i, qty=i) for i in range(rows)])
    return f"/v1/queries/{query_id}/results"


async def arriving(api: Api, window: str) -> str:
    """Return the path of a query over a stream that dates rows by their arrival, and has one."""
    await api.send("PUT", "/v1/streams/arriving", json=ARRIVING)
    query_id = await api.register(f"SELECT qty FROM arriving {window}")
    await api.rows([{"qty": 1}], name="arriving")
    return f"/v1/queries/{query_id}/results"


async def conditional(api: Api, path: str, tag: str, **parameters: str) -> httpx2.Response:
    return await api.get(path, params=parameters, headers={"If-None-Match": tag})


@pytest.mark.services
@pytest.mark.parametrize("form", ["json", "ndjson", "csv", "arrow"])
async def test_answer_that_the_client_has_is_not_sent(api: Api, form):
    """`304` without a body; it carries the tag, how long it is right, and what it depends on, and no position."""
    path = await filled(api)
    for parameters in ({"format": form}, {"format": form, "cursor": ""}):
        first = await api.get(path, params=parameters)
        tag = first.headers["etag"]
        assert tag.startswith('W/"')
        assert (NO_CACHE, VARY) == (first.headers["cache-control"], first.headers["vary"])
        again = await conditional(api, path, tag, **parameters)
        assert (304, b"") == (again.status_code, again.content)
        assert {"etag": tag, "cache-control": NO_CACHE, "vary": VARY} == {
            name: again.headers[name] for name in ("etag", "cache-control", "vary")
        }
        assert not [name for name in again.headers if name.startswith("psoup-")]


@pytest.mark.services
async def test_condition_is_read_as_http_has_it(api: Api):
    """Lists, strong forms of the tag and `*` hold; other tags, and what is no tag, do not."""
    path = await filled(api)
    tag = (await api.get(path)).headers["etag"]
    for holds in (tag, tag.removeprefix("W/"), f'"a", {tag} , W/"b"', "*"):
        assert 304 == (await conditional(api, path, holds)).status_code, holds
    for fails in ('"a"', "a", "", tag[:-2] + '"', tag.strip('W/"')):
        assert 200 == (await conditional(api, path, fails)).status_code, fails


@pytest.mark.services
async def test_tag_of_each_representation_is_its_own(api: Api):
    """Formats, shapes and pages of one answer have other bodies, and other tags."""
    path = await filled(api)
    asked = [
        {},
        {"format": "ndjson"},
        {"format": "ndjson", "cursor": ""},
        {"format": "csv"},
        {"shape": "columns"},
        {"meta": "0"},
        {"count": "only"},
        {"limit": "1"},
        {"limit": "2"},
    ]
    tags = {(await api.get(path, params=parameters)).headers["etag"] for parameters in asked}
    assert len(asked) == len(tags)


@pytest.mark.services
async def test_cursor_that_brings_nothing_new_is_not_answered_twice(api: Api):
    """The cursor is the same, so is the URL, and a cache's question for it is `304` until something enters."""
    path = await filled(api)
    cursor = (await api.get(path)).json()["cursor"]
    first = await api.get(path, params={"cursor": cursor})
    assert cursor == first.json()["cursor"]
    await api.rows([row(2, qty=-1)])
    assert 304 == (await conditional(api, path, first.headers["etag"], cursor=cursor)).status_code
    await api.rows([row(2, qty=1)])
    later = await conditional(api, path, first.headers["etag"], cursor=cursor)
    assert (200, 1) == (later.status_code, len(later.json()["rows"]))


@MOVES_THE_CLOCK
async def test_tag_lasts_while_a_window_moves_over_the_same_rows(api: Api):
    """As long as no row leaves: then the kept answer is not right any more, though nothing arrived."""
    path = await arriving(api, "BEGIN (NOW - INTERVAL '2' MINUTE) END (NOW)")
    tag = (await api.get(path)).headers["etag"]
    api.clock.advance(2 * MINUTE_US)
    assert 304 == (await conditional(api, path, tag)).status_code
    api.clock.advance(1)
    later = await conditional(api, path, tag)
    assert (200, []) == (later.status_code, later.json()["rows"])


@pytest.mark.services
async def test_equal_tags_stand_for_equal_rows(api: Api):
    """Of one request, whatever arrives, late or not, and is dropped."""
    rng = random.Random(11)
    await api.declare(retention={"rows": 9})
    texts = (SQL, f"SELECT DISTINCT sym FROM trades {WINDOW}", "SELECT qty FROM trades")
    paths = [f"/v1/queries/{await api.register(text)}/results" for text in texts]
    cursors = dict.fromkeys(paths, "")
    seen: dict[tuple[str, str, str], list[object]] = {}
    repeated, high = 0, 0
    for _ in range(60):
        high += rng.choice([0, 0, 1, 90, 400])
        late = rng.choice([0, 0, -30, -500])
        quantity = rng.choice([-1, rng.randrange(3)])
        if rng.random() < 0.6:
            await api.rows([row(high + late, qty=quantity, sym=f"s{rng.randrange(3)}")])
        for path in paths:
            for cursor in ("", cursors[path]):
                answer = await api.get(path, params={"cursor": cursor, "limit": 1_000})
                envelope = read(answer)
                key = (path, cursor, answer.headers["etag"])
                repeated += key in seen
                assert seen.setdefault(key, envelope["rows"]) == envelope["rows"]
                if rng.random() < 0.2:
                    cursors[path] = envelope["cursor"]
    assert repeated > 60


@MOVES_THE_CLOCK
async def test_rows_yet_to_arrive_decide_how_long_an_answer_is_right(api: Api):
    """Dated by arrival: a window up to NOW is asked for each time, a delayed one not before its delay is over."""
    sliding = await arriving(api, "BEGIN (NOW - INTERVAL '9' MINUTE) END (NOW)")
    delayed = "BEGIN (NOW - INTERVAL '9' MINUTE) END (NOW - INTERVAL '1' MINUTE)"
    path = f"/v1/queries/{await api.register(f'SELECT qty FROM arriving {delayed}')}/results"
    assert NO_CACHE == (await api.get(sliding)).headers["cache-control"]
    assert "private, max-age=60" == (await api.get(path)).headers["cache-control"]
    api.clock.advance(20 * SECOND_US)
    assert "private, max-age=40" == (await api.get(path)).headers["cache-control"]
    tag = (await api.get(path)).headers["etag"]
    assert "private, max-age=40" == (await conditional(api, path, tag)).headers["cache-control"]
    api.clock.advance(40 * SECOND_US)
    assert NO_CACHE == (await api.get(path)).headers["cache-control"]


@MOVES_THE_CLOCK
async def test_window_that_is_over_may_be_kept_for_ever(api: Api):
    """Once a later time has arrived; what a page's link may lose is asked for each time all the same."""
    path = await arriving(api, "BEGIN ('2026-11-21 10:00:00') END ('2026-11-21 10:00:30')")
    await api.rows([{"qty": 2}], name="arriving")
    api.clock.advance(MINUTE_US)
    assert NO_CACHE == (await api.get(path)).headers["cache-control"]
    await api.rows([{"qty": 3}], name="arriving")
    assert FOR_EVER == (await api.get(path)).headers["cache-control"]
    first = await api.get(path, params={"limit": "1"})
    assert NO_CACHE == first.headers["cache-control"]
    assert NO_CACHE == (await api.get(first.json()["next"])).headers["cache-control"]
    listed = await api.get(path, params={"count": "only", "pages": "all"})
    assert NO_CACHE == listed.headers["cache-control"]


@MOVES_THE_CLOCK
async def test_instant_that_is_over_may_be_kept_for_ever(api: Api):
    """Where rows are dated by their arrival, and one has arrived since; a late row changes every other past."""
    path = await arriving(api, "BEGIN (NOW - INTERVAL '9' MINUTE) END (NOW)")
    instant = "2026-11-21T10:00:10Z"
    api.clock.advance(MINUTE_US)
    assert NO_CACHE == (await api.get(path, params={"now": instant})).headers["cache-control"]
    await api.rows([{"qty": 2}], name="arriving")
    assert FOR_EVER == (await api.get(path, params={"now": instant})).headers["cache-control"]
    dated = await filled(api)
    answer = await api.get(dated, params={"now": "2026-11-21T10:00:01Z"})
    assert NO_CACHE == answer.headers["cache-control"]


@pytest.mark.services
async def test_refusals_are_never_kept(api: Api):
    """A condition does not make one `304` either."""
    path = await filled(api)
    for refused in (path + "x", path + "?limit=0"):
        answer = await api.get(refused, headers={"If-None-Match": "*"})
        assert_problem(answer, "not-found" if refused.endswith("x") else "invalid-field")


async def test_tag_belongs_to_the_key_of_its_tokens(api: Api):
    """With another key the links of a kept answer are dead: it must not be called right."""
    path = await filled(api)
    service = api.service
    answer = invoke(
        service.results,
        service.backend.source,
        query_id=service.results.queries()[0].query_id,
        request=Request(limit=1),
        cache=InvocationCache(BoundQueries(bind=service.bound.bind)),
    )
    assert path.split("/")[3] == answer.query.query_id
    one, same, other = (
        entity_tag(PageTokens(key), answer, Request(limit=1), Presentation(), None)
        for key in (lambda: b"k" * KEY_BYTES, lambda: b"k" * KEY_BYTES, lambda: b"o" * KEY_BYTES)
    )
    assert one == same != other
