"""The console's files: what browsers are told about them, and what is said where they are not built."""

import gzip

import httpx2
import pytest

from psoup.app.console import serving
from psoup.app.settings import Settings
from tests.app.support import application, assert_problem

SETTINGS = Settings(store="memory://", port=0)
FILES = {
    "page.html": b"<!doctype html><title>psoup console</title>",
    "main.js": b"export {};" * 100,
    "plot-A1B2C3D4.js": b"export const plot = 1;",
    "icon.svg": b"<svg/>",
}
POLICY = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


@pytest.fixture
def built(tmp_path, monkeypatch):
    """Stand some files in the place of the built ones; return their folder."""
    for name, body in FILES.items():
        (tmp_path / name).write_bytes(body)
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(body))
    (tmp_path / "secret.key").write_bytes(b"no part of the console")
    monkeypatch.setattr(serving, "BUILT", tmp_path)
    return tmp_path


async def asked(path: str, settings: Settings = SETTINGS, **headers: str) -> httpx2.Response:
    with application(settings) as app:
        transport = httpx2.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client,
        ):
            return await client.get(
                path, headers={one.replace("_", "-"): headers[one] for one in headers}
            )


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("path", "name", "media_type"),
    [
        ("/console", "page.html", "text/html; charset=utf-8"),
        ("/console/main.js", "main.js", "text/javascript; charset=utf-8"),
        ("/console/icon.svg", "icon.svg", "image/svg+xml"),
    ],
)
async def test_a_file_comes_with_its_policy_and_is_asked_for_each_time(
    built, path, name, media_type
):
    """Nothing inline and nobody else: the policy has no exception."""
    answer = await asked(path, accept_encoding="identity")
    assert (200, FILES[name]) == (answer.status_code, answer.content)
    assert media_type == answer.headers["content-type"]
    assert POLICY == answer.headers["content-security-policy"]
    assert "no-cache" == answer.headers["cache-control"]
    assert "nosniff" == answer.headers["x-content-type-options"]


@pytest.mark.anyio
async def test_a_file_with_a_digest_in_its_name_is_kept_for_ever(built):
    """Another content would have another name."""
    answer = await asked("/console/plot-A1B2C3D4.js")
    assert "public, max-age=31536000, immutable" == answer.headers["cache-control"]


@pytest.mark.anyio
async def test_a_client_that_takes_gzip_gets_the_compressed_file(built):
    """One that refuses it does not, and caches tell the two apart."""
    answer = await asked("/console/main.js", accept_encoding="br, gzip")
    assert "gzip" == answer.headers["content-encoding"]
    assert FILES["main.js"] == answer.content
    assert int(answer.headers["content-length"]) < len(FILES["main.js"])
    plain = await asked("/console/main.js", accept_encoding="gzip;q=0, br")
    assert "content-encoding" not in plain.headers
    assert "Accept-Encoding" == answer.headers["vary"] == plain.headers["vary"]
    assert answer.headers["etag"] != plain.headers["etag"]


@pytest.mark.anyio
async def test_a_client_that_has_the_file_gets_304_until_it_is_built_anew(built):
    """The tag stands for the bytes."""
    tag = (await asked("/console/main.js")).headers["etag"]
    known = await asked("/console/main.js", if_none_match=tag)
    assert (304, b"") == (known.status_code, known.content)
    (built / "main.js.gz").write_bytes(gzip.compress(b"export const other = 1;"))
    assert 200 == (await asked("/console/main.js", if_none_match=tag)).status_code


@pytest.mark.anyio
@pytest.mark.parametrize(
    "name",
    [
        "secret.key",
        "other.js",
        "main.js.gz",
        "page.html",
        "..%2Fserving.py",
        "%2e%2e%2fserving.py",
        "x/main.js",
    ],
)
async def test_nothing_else_is_served(built, name):
    """Neither other files of the folder nor files outside of it."""
    assert_problem(await asked(f"/console/{name}"), "not-found")


@pytest.mark.anyio
async def test_where_it_is_not_built_the_page_says_how(tmp_path, monkeypatch):
    """One sentence, with the policy of the page."""
    monkeypatch.setattr(serving, "BUILT", tmp_path)
    answer = await asked("/console")
    assert 404 == answer.status_code
    assert "<code>make console</code>" in answer.text
    assert POLICY == answer.headers["content-security-policy"]
    assert "no-store" == answer.headers["cache-control"]


@pytest.mark.anyio
async def test_it_can_be_switched_off(built):
    """Then there is nothing at its path, and the API pages stay."""
    off = Settings(store="memory://", port=0, console=False)
    assert_problem(await asked("/console", off), "not-found")
    assert 200 == (await asked("/docs", off)).status_code
