"""The console in headless Chromium: a new user's whole way, on a phone and on a desk, by keyboard and screen reader."""

import hashlib
import json
import re
from dataclasses import replace

import pytest

from tests.app.serving import served_application
from tests.app.support import SETTINGS
from tests.clients.desk import (
    DESK,
    NEEDS,
    PHONE,
    SELECTED,
    Desk,
    cells,
    fits,
    run,
    shows,
    url,
    violations,
    write,
)
from tests.patience import wait_until

pytestmark = list(NEEDS)
SIZES = pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
DROP = """([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  const drop = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
  document.body.dispatchEvent(drop);
}"""
CSV = "time,sensor,celsius\n" + "".join(
    f"2026-01-05 10:{minute:02}:00,{sensor},{20 + minute / 10 + step}\n"
    for minute in range(30)
    for step, sensor in enumerate(("north", "south"))
)


@SIZES
def test_a_new_users_whole_way(desk, size):
    """Drops a file, writes a mistake and mends it by the caret, watches rows come, looks back, saves, comes back."""
    stream = f"sensors_{size['width']}"
    page = desk.open("/console", size)
    page.evaluate(DROP, [f"{stream}.csv", CSV])
    assert shows(page, "60 rows. The columns are inferred from all of them.")
    assert ["timestamp", "string", "float64"] == [
        page.get_by_label(f"Type of {name}").input_value() for name in ("time", "sensor", "celsius")
    ]
    assert "time" == page.get_by_label("Dated by").input_value()
    assert fits(page)
    page.get_by_role("button", name="Load 60 rows").click()
    wait_until(lambda: "2026-01-05 10:29:00" in cells(page)[:1], "the newest row comes first")
    assert "60 rows" == page.locator(".counted").inner_text()

    write(
        page,
        f"SELECT sensor, celsiu FROM {stream} WHERE celsius > 21 BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)",
    )
    run(page)
    assert shows(page, "Did you mean celsius?", "Line 1, column 16")
    wait_until(lambda: "celsiu" == page.evaluate(SELECTED), "what is wrong is selected")
    assert fits(page)
    page.keyboard.insert_text("celsius")
    run(page)
    assert shows(page, "Draft", "22 rows")
    assert "sql=SELECT" in url(page)

    rows = [{"time": "2026-01-05T10:30:00Z", "sensor": "roof", "celsius": 40.5}]
    desk.call("POST", f"/v1/streams/{stream}/rows", rows)
    page.locator("tr.entered").first.wait_for()
    assert ("roof", "40.5") == (cells(page)[0], cells(page, 1)[0])
    assert fits(page)

    page.get_by_label("Instant that is looked at").fill("0")
    assert shows(page, "Back to now")
    wait_until(lambda: "roof" not in cells(page), "the row was not there then")
    assert re.search(r"now=2026-01-05T10%3A0", url(page))
    assert fits(page)
    page.get_by_role("button", name="Back to now").click()
    wait_until(lambda: "roof" in cells(page), "the row is there now")

    page.get_by_role("button", name="Save as…").click()
    page.get_by_label("Name").fill(f"warm {size['width']}")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=f"warm {size['width']}").wait_for()
    again = desk.open(url(page).removeprefix(desk.url), size)
    again.get_by_role("heading", name=f"warm {size['width']}").wait_for()
    wait_until(lambda: "roof" in cells(again), "the answer is there again")
    assert f"name=warm+{size['width']}" in url(again)


@pytest.mark.parametrize(
    ("size", "scheme"), [(PHONE, "dark"), (DESK, "light")], ids=["phone-dark", "desk-light"]
)
def test_every_page_is_usable_by_keyboard_and_screen_reader(desk, size, scheme):
    """axe-core finds nothing on any view, in either colours; nothing is wider than the window, or needs a pointer."""
    stream = f"seen_{scheme}"
    desk.declare(stream, ("ts", "timestamp"), ("room", "string"), ("noise", "float64"))
    rows = [
        {
            "ts": f"2026-01-05T10:{n:02}:00Z",
            "room": f"lab {n % 3}",
            "noise": None if n == 7 else 60 + n,
        }
        for n in range(30)
    ]
    desk.call("POST", f"/v1/streams/{stream}/rows", rows)
    query = desk.register(
        f"SELECT ts, room, noise FROM {stream} WHERE noise > 62 BEGIN (NOW - INTERVAL '20' MINUTE) END (NOW)"
    )
    page = desk.open(f"/console?q={query}", size, color_scheme=scheme, reduced_motion="reduce")
    found = {}
    for view, awaited in VIEWS.items():
        page.goto(desk.url + "/console?" + view.format(q=query, stream=stream))
        page.locator(awaited).first.wait_for()
        found[view] = violations(page)
        assert fits(page), view
        if awaited == ".rows td":
            leaves = page.get_by_role("columnheader", name="leaves in").bounding_box()
            assert leaves["x"] + leaves["width"] <= size["width"], view
        if awaited == ".u-legend":
            page.locator(awaited, has_text="2026-01-05 10:28").wait_for()  # the newest values
    assert {view: [] for view in VIEWS} == found


VIEWS = {
    "q={q}": ".rows td",
    "q={q}&now=2026-01-05T10:12:00.000000Z": ".rows td",
    "q={q}&view=chart&y=noise": ".u-legend",
    "q={q}&view=plan": ".plan dd",
    "q={q}&row=3": ".panel h2",
    "stream={stream}": ".figures dd",
    "top=bytes": "#main h1",
    "": ".welcome.wide",
}


def test_cards_are_as_wide_as_a_phone(desk):
    """Each, however little it says."""
    desk.declare("carded", ("n", "int64"), time=None)
    desk.register("SELECT n FROM carded", name="n")
    page = desk.open("/console", PHONE)
    page.locator(".narrow-only").wait_for()
    widths = [card.bounding_box()["width"] for card in page.locator("#main .card").all()]
    assert {widths[0]} == set(widths)
    assert 3 == len(widths)


def test_a_hundred_thousand_rows_scroll(desk):
    """Only those that can be seen are drawn, and each can be."""
    desk.declare("many", ("n", "int64"), time=None)
    for begin in range(0, 100_000, 50_000):
        rows = [{"n": number} for number in range(begin, begin + 50_000)]
        desk.call("POST", "/v1/streams/many/rows", rows)
    page = desk.open(f"/console?q={desk.register('SELECT n FROM many')}&sort=n")
    assert shows(page, "100,000 rows")
    wait_until(lambda: ["0"] == cells(page)[:1], "the first one is drawn")
    assert page.locator(".rows tr").count() < 100
    box = page.locator(".rows")
    box.evaluate("(box) => { box.scrollTop = box.scrollHeight / 2 }")
    wait_until(lambda: "50000" in cells(page), "the middle is drawn")
    box.evaluate("(box) => { box.scrollTop = box.scrollHeight }")
    wait_until(lambda: "99999" == cells(page)[-1], "the last one is drawn")
    assert page.locator(".rows tr").count() < 100


def test_completion_offers_columns_of_the_stream(desk):
    """By the keyboard alone, a column is written that the stream has."""
    desk.declare("offered", ("ts", "timestamp"), ("temperature", "float64"))
    page = desk.open("/console")
    page.locator(".cm-content").click()
    page.keyboard.insert_text("SELECT  FROM offered")
    for _ in " FROM offered":
        page.keyboard.press("ArrowLeft")
    page.keyboard.type("temp", delay=30)
    page.locator(".cm-tooltip-autocomplete li[aria-selected]").filter(
        has_text="temperature"
    ).wait_for()
    page.wait_for_timeout(100)  # a moment after it opens it takes no key
    page.keyboard.press("Tab")
    assert "SELECT temperature FROM offered" == page.locator(".cm-line").inner_text()


def test_a_service_with_keys_is_asked_with_the_one_given(chromium, tmp_path):
    """The page asks for it, keeps it for this tab alone, and sends it to nobody else."""
    key = "open sesame, for the tests"
    keys = tmp_path / "keys"
    digest = hashlib.sha256(key.encode()).hexdigest()
    keys.write_text(
        json.dumps(
            {"id": "all", "sha256": digest, "scopes": ["admin", "read", "register", "ingest:*"]}
        )
    )
    with served_application(replace(SETTINGS, keys_file=keys)) as (address, _):
        desk = Desk(chromium, f"http://{address[0]}:{address[1]}")
        page = desk.open("/console")
        page.get_by_label("Key").fill(key)
        page.get_by_role("button", name="Use").click()
        page.get_by_role("button", name="Forget key").wait_for()
        assert shows(page, "No stream yet")
        other = page.context.new_page()
        other.goto(desk.url + "/console")
        other.get_by_label("Key").wait_for()
        assert key not in page.evaluate("JSON.stringify(localStorage) + document.cookie")
        page.context.close()
    assert [] == [url for url in desk.asked if not url.startswith(desk.url) or "sesame" in url]
