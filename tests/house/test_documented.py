"""A documented name is a tested name: settings, limits, error codes and endpoints."""

import importlib
import re

import pytest

from tests.house import settings_tables, tree

HTTP_API = tree.ROOT / "docs" / "http_api.md"
ERROR_MODULES = ("psoup.engine.errors", "psoup.engine.store.errors", "psoup.app.errors")
NEVER_TRAVELS = frozenset({"fenced", "setting", "store-url", "usage"})
"""Codes of errors that end a process or a command: no client meets them."""


def error_codes() -> dict[str, str]:
    """Return every code a client can meet, with the class or table it comes from."""
    from psoup.app.http.problems import PROBLEM_TYPES
    from psoup.engine.errors import EngineError

    codes = dict.fromkeys(PROBLEM_TYPES, "psoup.app.http.problems.PROBLEM_TYPES")
    for name in ERROR_MODULES:
        for value in vars(importlib.import_module(name)).values():
            if isinstance(value, type) and issubclass(value, EngineError):
                codes[value.code] = f"{value.__module__}.{value.__qualname__}"
    return {code: origin for code, origin in codes.items() if code not in NEVER_TRAVELS}


def test_settings_page_has_the_tables_of_the_code():
    """docs/settings.md lists every setting and limit with the values in force: else `make docs`."""
    page = settings_tables.PAGE.read_text(encoding="utf-8")
    assert settings_tables.rendered(page) == page


def test_settings_are_described_each():
    """Every field of Settings has its row in SETTINGS, in the same order, with unit and sentence."""
    import dataclasses

    from psoup.app.settings import SETTINGS, Settings

    assert [field.name for field in dataclasses.fields(Settings)] == list(SETTINGS)
    assert [] == [
        name for name, row in SETTINGS.items() if not (row.unit and row.text.endswith("."))
    ]


def test_limits_say_why_each():
    """Every limit has a reason beside it: a string below its value."""
    assert [] == [limit.name for limit in settings_tables.limits() if not limit.reason]


def test_error_codes_are_documented():
    """docs/http_api.md explains every code in one row of a table, and knows no others."""
    rows = re.findall(r"^\| *`([a-z0-9-]+)` *\|", _http_api(), flags=re.MULTILINE)
    missing = {code: origin for code, origin in error_codes().items() if code not in rows}
    assert {} == missing


def test_error_codes_of_errors_have_a_status():
    """Every error a client can meet has its row in the table of statuses."""
    from psoup.app.http.problems import PROBLEM_TYPES

    assert {} == {
        code: origin for code, origin in error_codes().items() if code not in PROBLEM_TYPES
    }


def test_members_of_problems_are_documented():
    """The table of problems in docs/http_api.md names the members that each code's body has, as the OpenAPI does."""
    from psoup.app.openapi.problem_bodies import PROBLEM_BODIES
    from psoup.app.wire.models.problem import Problem

    rows = re.findall(r"^\| `([a-z-]+)` \| \d{3} \|.*\| ?(.*) \|$", _http_api(), re.MULTILINE)
    assert set(PROBLEM_BODIES) == {code for code, _ in rows}
    for code, told in rows:
        named = set(re.findall(r"`(\w+)`", re.sub(r" of `pointer`, .*", "", told)))
        named |= {"position", "excerpt", "hint"} if told.startswith("the same") else set()
        assert named == set(PROBLEM_BODIES[code].model_fields) - set(Problem.model_fields), code


def test_endpoints_are_documented():
    """docs/http_api.md names every method and path of the OpenAPI description, in code."""
    page = _http_api()
    missing = [name for name in _endpoints() if f"`{name}`" not in page and f"`{name}?" not in page]
    assert [] == missing


def test_limits_answered_are_those_of_the_code():
    """What docs/settings.md shows is what the module holds: sections in order, no name twice."""
    names = [limit.name for limit in settings_tables.limits()]
    assert sorted(set(names)) == sorted(names)


def _http_api() -> str:
    assert HTTP_API.exists(), "docs/http_api.md is the contract: it has to exist"
    return HTTP_API.read_text(encoding="utf-8")


def _endpoints() -> list[str]:
    from psoup.app.main import create_app
    from psoup.app.settings import Settings

    description = create_app(Settings(store="memory://")).openapi()
    return [
        f"{method.upper()} {path}"
        for path, methods in description["paths"].items()
        for method in methods
    ]


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("BODY_BYTES_MAX", 32 << 20, "32 MiB"),
        ("ROW_BYTES_MAX", 1_500, "1,500 bytes"),
        ("WINDOW_US_MAX", 36_525 * 86_400 * 1_000_000, "36,525 days"),
        ("FUTURE_US_DEFAULT", 86_400 * 1_000_000, "1 day"),
        ("RETIRED_US", 600_000_000, "600 seconds"),
        ("INVOKE_DEADLINE_S", 2.0, "2 seconds"),
        ("COLUMNS_COUNT_MAX", 64, "64"),
        ("TIMESTAMP_US_MAX", 253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_shown_of_a_unit_reads_like_one(name, value, text):
    """A value is written in the unit its name ends in."""
    assert text == settings_tables.shown(name, value)
