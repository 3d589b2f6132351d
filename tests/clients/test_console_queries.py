"""Queries in the console: charts, drafts and names, the past, why a row is there, what is copied and what it costs."""

import functools
import json
import re
import subprocess

from tests.clients.desk import NEEDS, cells, run, shows, standing, url, write
from tests.patience import wait_until

pytestmark = list(NEEDS)


def test_a_chart_survives_edits_of_its_query(desk):
    """What it draws stands in the URL: another condition, and it draws the same column."""
    desk.declare("drawn", ("ts", "timestamp"), ("room", "string"), ("noise", "float64"))
    rows = [
        {"ts": f"2026-01-05T10:{n:02}:00Z", "room": f"lab {n % 2}", "noise": 60 + n}
        for n in range(30)
    ]
    desk.call("POST", "/v1/streams/drawn/rows", rows)
    page = desk.open("/console?" + "sql=" + AVERAGES.format(least=0).replace(" ", "+"))
    page.get_by_role("button", name="Run").click()
    page.get_by_role("link", name="Chart").click()
    page.get_by_label("Draw").select_option("quietest")
    page.locator(".plot canvas").wait_for()
    legend = page.locator(".u-legend")
    wait_until(
        lambda: {"lab 0", "lab 1"} <= set(re.findall(r"lab \d", legend.inner_text())), "two lines"
    )
    write(page, AVERAGES.format(least=70))
    run(page)
    assert shows(page, "Draft")
    wait_until(lambda: "least" not in url(page) and "70" in url(page), "the other query is shown")
    page.locator(".plot canvas").wait_for()
    assert "quietest" == page.get_by_label("Draw").input_value()
    assert "y=quietest" in url(page)
    assert "quietest" not in page.locator("figcaption").inner_text()


AVERAGES = (
    "SELECT room, AVG(noise) AS mean, MIN(noise) AS quietest FROM drawn WHERE noise > {least} GROUP BY room"
    " BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)"
)


def test_a_link_alone_registers_nothing(desk):
    """Its text is shown, and run by whoever wants to; one's own draft is there again when the page is loaded anew."""
    desk.declare("linked", ("ts", "timestamp"), ("n", "int64"))
    before = desk.call("GET", "/v1/status")["queries"]
    page = desk.open("/console?sql=SELECT+n+FROM+linked")
    assert shows(page, "Run the query to see its answer")
    assert before == desk.call("GET", "/v1/status")["queries"]
    page.get_by_role("button", name="Run").click()
    assert shows(page, "Draft", "0 rows")
    standing(desk, before + 1, "the draft stands")
    page.reload()
    assert shows(page, "Draft", "0 rows")
    standing(desk, before + 1, "the draft of before is gone")
    write(page, "SELECT n FROM linked WHERE n > 1")
    run(page)
    wait_until(lambda: "n+%3E+1" in url(page), "the other text is shown")
    standing(desk, before + 1, "the other draft is gone")
    page.go_back()
    wait_until(lambda: "n+%3E+1" not in url(page), "the text of before is shown")
    assert shows(page, "Draft", "0 rows")
    page.close()
    standing(desk, before, "nothing is left")


def test_parameters_get_their_values_below_the_text(desk):
    """A number is a number and a text a text; a page that is loaded anew has them again."""
    desk.declare("given", ("ts", "timestamp"), ("n", "int64"), ("s", "string"))
    rows = [{"ts": "2026-01-05T10:00:00Z", "n": n, "s": "x"} for n in (1, 2, 3)]
    desk.call("POST", "/v1/streams/given/rows", rows)
    page = desk.open("/console")
    write(page, "SELECT n FROM given WHERE n > :min AND s = :word")
    page.get_by_label(":min").fill("1")
    page.get_by_label(":word").fill("x")
    run(page)
    assert shows(page, "2 rows")
    page.reload()
    assert shows(page, "Draft", "2 rows")
    assert "1" == page.get_by_label(":min").input_value()
    page.get_by_label(":min").fill("2")
    run(page)
    assert shows(page, "1 row")


def test_the_plan_tells_how_long_a_query_stands_and_how_many_rows_there_are_at_most(desk):
    """Of groups values decide the number, and a query with a time to live does not stand for ever."""
    desk.declare("counted", ("ts", "timestamp"), ("n", "int64"))
    desk.call("POST", "/v1/streams/counted/rows", [second(n) for n in range(5)])
    sql = "SELECT n, COUNT(*) AS c FROM counted GROUP BY n"
    lasting, passing = desk.register(sql), desk.register(sql, ttl="7d")
    page = desk.open(f"/console?q={lasting}&view=plan")
    assert shows(page, "at most 5 rows", "how many groups these make is not estimated")
    assert "Time to live" not in page.locator(".plan").inner_text()
    page = desk.open(f"/console?q={passing}&view=plan")
    assert shows(page, "Time to live", "7d after its last use")


def test_a_column_that_is_added_is_there_for_the_next_query(desk):
    """The page of the stream has it by itself; the query that is shown stays what it was."""
    desk.declare("wider", ("ts", "timestamp"), ("n", "int64"))
    desk.call("POST", "/v1/streams/wider/rows", [second(1)])
    query = desk.register("SELECT * FROM wider")
    page, shown = desk.open("/console?stream=wider"), desk.open(f"/console?q={query}")
    assert shows(shown, "1 row")
    desk.call("PATCH", "/v1/streams/wider", {"add_columns": [{"name": "note", "type": "string"}]})
    desk.call("POST", "/v1/streams/wider/rows", [{**second(2), "note": "first note"}])
    assert shows(page, "note", "first note")
    assert shows(shown, "2 rows")
    assert "first note" not in shown.locator("#main").inner_text()
    page = desk.open("/console")
    write(page, "SELECT note FROM wider")
    run(page)
    assert shows(page, "2 rows", "first note")


def test_a_late_row_stands_where_its_time_puts_it(desk):
    """Seen as it comes or asked for anew: newest first, by the time of a row and not by when it came."""
    desk.declare("late", ("ts", "timestamp"), ("n", "int64"))
    desk.call("POST", "/v1/streams/late/rows", [second(n) for n in (10, 30)])
    sliding = "SELECT n FROM late BEGIN (NOW - INTERVAL '5' MINUTE) END (NOW)"
    pages = [
        desk.open(f"/console?q={desk.register(sql)}") for sql in (sliding, "SELECT n, ts FROM late")
    ]
    for page in pages:
        first_column(page, ["30", "10"])
    desk.call("POST", "/v1/streams/late/rows", [second(20), second(30)])
    for page in pages:
        first_column(page, ["30", "30", "20", "10"])
        page.reload()
        wait_until(functools.partial(cells, page), "the rows are shown again")
        assert ["30", "30", "20", "10"] == cells(page)


def first_column(page, expected):
    """Return once these are the values of the first column, from above."""
    wait_until(lambda: expected == cells(page), f"{expected} are shown")


def second(n):
    """Return a row of that second."""
    return {"ts": f"2026-01-05T10:00:{n:02}Z", "n": n}


def test_playing_the_past_ends_in_the_present(desk):
    """Play begins at the oldest instant and moves on by itself; pressed again it stays where it is."""
    desk.declare("played", ("ts", "timestamp"), ("n", "int64"))
    desk.call("POST", "/v1/streams/played/rows", [second(n) for n in range(60)])
    query = desk.register("SELECT n FROM played BEGIN (NOW - INTERVAL '5' SECOND) END (NOW)")
    page = desk.open(f"/console?q={query}&sort=n")
    assert shows(page, "6 rows")
    page.get_by_label("Play the past").click()
    wait_until(
        lambda: "now=" in url(page) and cells(page) and int(cells(page)[0]) < 50, "it has begun"
    )
    page.locator("tr.entered").first.wait_for()
    page.get_by_label("Pause").click()
    stays = url(page)
    assert int(cells(page)[0]) < 55
    page.wait_for_timeout(300)
    assert stays == url(page)
    page.get_by_role("button", name="Back to now").click()
    wait_until(lambda: "54" == cells(page)[0], "it is live again")


def test_what_was_answered_at_a_position(desk):
    """Without the rows that came later, whatever their times; back to the first position that retention has kept."""
    desk.declare("known", ("ts", "timestamp"), ("n", "int64"))
    first = sent(desk, "known", 10, 30)
    sent(desk, "known", 20)
    kept = sent(desk, "known", 40)
    sent(desk, "known", 45)
    query = desk.register("SELECT n FROM known BEGIN (NOW - INTERVAL '5' MINUTE) END (NOW)")
    page = desk.open(f"/console?q={query}&now=2026-01-05T10:00:30.000000Z")
    first_column(page, ["30", "20", "10"])
    page.get_by_role("button", name="As known then").click()
    wait_until(lambda: "seq=" in url(page), "positions are looked at")
    page.get_by_label("Instant that is looked at").fill("0")
    first_column(page, ["30", "10"])
    assert f"seq={first}" in url(page)
    assert "now=" not in url(page)
    assert shows(page, f"position {first} · 2026-01-05 10:00:30")
    page.get_by_role("button", name="As known then").click()
    first_column(page, ["30", "20", "10"])
    assert "now=2026-01-05T10%3A00%3A30" in url(page)

    desk.call("PATCH", "/v1/streams/known", {"retention": {"time": "10s"}})
    wait_until(lambda: 2 == held(desk, "known"), "retention has dropped rows")
    page = desk.open(f"/console?q={query}&seq={first}")
    assert shows(page, f"position {first}", "ask for a position from `oldest` on")
    page.get_by_label("Instant that is looked at").fill("0")
    first_column(page, ["40"])
    assert f"seq={kept}" in url(page)
    page.get_by_role("button", name="Back to now").click()
    assert shows(page, "live")
    assert "seq=" not in url(page)


def sent(desk, stream, *seconds):
    """Return the position of a batch with a row of each of these seconds."""
    return desk.call("POST", f"/v1/streams/{stream}/rows", [second(n) for n in seconds])["seq"]


def held(desk, stream):
    """Return how many rows of a stream are held."""
    return desk.call("GET", f"/v1/streams/{stream}")["rows"]


def test_why_a_row_is_there_and_why_another_is_not(desk):
    """Each condition with the value that it met; the panel is closed by Esc, and stands in the URL while it is open."""
    desk.declare("asked", ("ts", "timestamp"), ("sym", "string"), ("px", "float64"))
    rows = [
        {"ts": f"2026-01-05T10:00:0{second}Z", "sym": "ACME", "px": px}
        for second, px in ((1, 39), (2, 41))
    ]
    desk.call("POST", "/v1/streams/asked/rows", rows)
    low, high = (one["_id"] for one in desk.call("GET", "/v1/streams/asked/sample")["rows"])
    query = desk.register(
        "SELECT ts, sym, px FROM asked WHERE sym = 'ACME' AND px > 40 BEGIN (NOW - 10) END (NOW)"
    )
    page = desk.open(f"/console?q={query}")
    page.locator(".rows tbody td").first.wait_for()
    page.locator(".rows").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    panel = page.locator(".panel")
    panel.get_by_text("In the answer: in the window", exact=True).wait_for()
    assert {"px > 40.0", "sym = 'ACME'"} == set(panel.locator("li code").all_inner_texts())
    assert f"row={high}" in url(page)
    page.keyboard.press("Escape")
    panel.wait_for(state="detached")
    assert "row=" not in url(page)
    other = desk.open(f"/console?q={query}&row={low}")
    assert shows(other, "Not in the answer: a condition is not met", "false: the row has 39")
    assert shows(other, "The row is not in the answer of this instant")


def test_which_queries_a_row_would_hit(desk):
    """One of the latest rows, or one that is not stored; and why the query that was open does not show it."""
    desk.declare("hit", ("ts", "timestamp"), ("px", "float64"))
    desk.call("POST", "/v1/streams/hit/rows", [{"ts": "2026-01-05T10:00:00Z", "px": 41}])
    low = desk.register("SELECT px FROM hit WHERE px > 10", name="above 10")
    desk.register("SELECT px FROM hit WHERE px > 42", name="above 42")
    page = desk.open("/console?name=above+42")
    assert shows(page, "0 rows")
    page.get_by_role("link", name="hit 1 row", exact=True).click()
    page.get_by_role("button", name="hits of row").click()
    hits = page.locator(".hits a")
    hits.first.wait_for()
    assert ["above 10"] == hits.all_inner_texts()
    assert shows(page, "Why, or why not, above 42", "false: the row has 41")
    page.get_by_label("A row, as JSON").fill('{"ts": "2026-01-05T10:00:01Z", "px": 43}')
    page.get_by_role("button", name="Ask", exact=True).click()
    assert shows(page, "2 standing queries:")
    page.get_by_label("A row, as JSON").fill('{"ts": "2026-01-05T10:00:01Z", "px": "much"}')
    page.get_by_role("button", name="Ask", exact=True).click()
    assert shows(page, "/px: float64")
    assert 1 == desk.call("GET", f"/v1/queries/{low}/results")["count"]


def test_a_name_that_is_taken_is_replaced_when_one_says_so(desk):
    """Under the same handle, so that whoever follows it sees the new answer."""
    desk.declare("saved", ("ts", "timestamp"), ("n", "int64"))
    desk.call(
        "POST",
        "/v1/streams/saved/rows",
        [{"ts": "2026-01-05T10:00:00Z", "n": n} for n in (1, 2, 3)],
    )
    query = desk.register("SELECT n FROM saved", name="numbers")
    other = desk.open("/console?name=numbers")
    assert shows(other, "3 rows")
    page = desk.open("/console?name=numbers")
    assert shows(page, "3 rows")
    write(page, "SELECT n FROM saved WHERE n > 1")
    assert shows(page, "the answer below is that of the text before")
    page.keyboard.press("Control+s")
    assert "numbers" == page.get_by_label("Name").input_value()
    page.keyboard.press("Enter")
    assert shows(page, "Another query has this name. Replace it?")
    page.get_by_role("button", name="Replace").click()
    assert shows(page, "2 rows")
    assert shows(other, "2 rows")
    (named,) = desk.call("GET", "/v1/queries?name=numbers")["queries"]
    assert (query, "SELECT n FROM saved WHERE n > 1") == (named["id"], named["canonical"])


def test_what_is_copied_runs(desk):
    """The rows as CSV, the link, and a program for the shell that gives the answer that is shown."""
    desk.declare("copied", ("ts", "timestamp"), ("s", "string"))
    desk.call("POST", "/v1/streams/copied/rows", [{"ts": "2026-01-05T10:00:00Z", "s": "it's"}])
    query = desk.register("SELECT s FROM copied WHERE s = 'it''s'")
    page = desk.open(f"/console?q={query}", permissions=["clipboard-read", "clipboard-write"])
    assert shows(page, "it's")
    copied = {}
    for what in ("curl", "Link to this view", "Rows as CSV"):
        page.locator("summary").click()
        page.get_by_role("button", name=what).click()
        page.locator("summary", has_text="Copied").wait_for()
        copied[what] = page.evaluate("navigator.clipboard.readText()")
    assert url(page) == copied["Link to this view"]
    assert "s\nit's\n" == copied["Rows as CSV"]
    shell = ["bash", "-e"]
    done = subprocess.run(
        shell, input=copied["curl"], capture_output=True, text=True, check=True, timeout=90
    )
    registered, answer = (
        json.loads(part) for part in re.split(r"(?<=\})(?=\{\"query\")", done.stdout)
    )
    assert "SELECT s FROM copied WHERE s = 'it''s'" == registered["canonical"]
    assert (query, "it's") == (answer["query"], answer["rows"][0]["s"])


def test_what_costs_most(desk):
    """The largest first, by each measure, and each is a link to its query."""
    desk.declare("costly", ("n", "int64"), time=None)
    query = desk.register("SELECT n FROM costly", name="all numbers")
    for _ in range(3):
        desk.call("GET", f"/v1/queries/{query}/results")
    page = desk.open("/console?top=bytes")
    page.get_by_role("link", name="invocations").click()
    row = page.locator(".costs li").filter(has_text="all numbers")
    assert int(row.locator(".figure").inner_text()) >= 3
    row.get_by_role("link").click()
    page.get_by_role("heading", name="all numbers").wait_for()
