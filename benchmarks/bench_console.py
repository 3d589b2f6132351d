"""The console in headless Chromium: what a first visit loads, when it first paints, and when one can write a query.

Each visit is that of a browser that has nothing of the console yet, on the machine of the service.
"""

import importlib.util
import shutil
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.bench import Figure, Size, Survey
from benchmarks.service import running
from psoup.app.console.serving import BUILT

STREAMS, QUERIES, ROWS = 8, 40, 2_000
"""What the console lists: as in the demo, and some more."""
BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
EDITOR: Final = "document.querySelector('.sql')?.shadowRoot?.querySelector('.cm-content')"
# Noted by the page itself: what drives the browser is told late.
NOTE_EDITOR: Final = f"""window.editorShown = new Promise((resolve) => {{
  const look = () => ({EDITOR} ? resolve(performance.now()) : requestAnimationFrame(look));
  look();
}})"""
PAINTED: Final = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
LOADED: Final = """[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
  .filter((one) => new URL(one.name).pathname.startsWith('/console'))
  .reduce((sum, one) => sum + one.encodedBodySize, 0)"""
TOLD: Final = f"""async () => {{
  const editorMs = await window.editorShown;
  while (!{PAINTED}) await new Promise(requestAnimationFrame);
  return [{PAINTED}, editorMs, {LOADED}];
}}"""


def contests(size: Size) -> Iterator[Survey]:
    """Yield the surveys, where the console is built and there is a browser to look at it."""
    if (BUILT / "page.html").exists():
        yield Survey("console-bytes", "the console as it is built", built_bytes)
        if browser() and importlib.util.find_spec("playwright"):
            yield visits(size.pick(smoke=1, full=15))


def browser() -> str | None:
    """Return the Chromium of this machine."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def built_bytes() -> Sequence[Figure]:
    """Return the bytes of all built files, as they travel."""
    total = sum(path.stat().st_size for path in BUILT.glob("*.gz"))
    return [Figure("console-bytes-all", "all files, compressed", total / 1_000, "kB")]


def visits(count: int) -> Survey:
    """Return so many first visits, after one that is not counted."""

    def run() -> Sequence[Figure]:
        from playwright.sync_api import sync_playwright

        with (
            tempfile.TemporaryDirectory(prefix="psoup-console-") as folder,
            running(Path(folder), store="memory://") as service,
            sync_playwright() as driver,
        ):
            fill(service.client.json)
            chromium = driver.chromium.launch(executable_path=browser(), args=["--no-sandbox"])
            url = f"http://127.0.0.1:{service.port}/console"
            seen = [visit(chromium, url) for _ in range(count + 1)][1:]
            chromium.close()
        paints, editors, loads = zip(*seen, strict=True)
        return [
            Figure("console-paint", "first paint: median", statistics.median(paints), "ms"),
            Figure("console-paint-most", "first paint: latest", max(paints), "ms"),
            Figure("console-editor", "one can write: median", statistics.median(editors), "ms"),
            Figure("console-editor-most", "one can write: latest", max(editors), "ms"),
            Figure(
                "console-bytes-first", "loaded until then", statistics.median(loads) / 1_000, "kB"
            ),
        ]

    return Survey("console", f"a first visit of {STREAMS} streams, {QUERIES} queries", run)


def fill(call: Any) -> None:  # noqa: ANN401 (Client.json)
    """Declare streams with rows, and register queries."""
    columns = [{"name": "ts", "type": "timestamp"}, {"name": "n", "type": "int64"}]
    rows = [{"ts": f"2026-01-05T10:00:00.{n:06}Z", "n": n} for n in range(ROWS)]
    for stream in range(STREAMS):
        call("PUT", f"/v1/streams/s{stream}", {"columns": columns, "time": "ts"})
        call("POST", f"/v1/streams/s{stream}/rows", rows)
    for query in range(QUERIES):
        sql = f"SELECT n FROM s{query % STREAMS} WHERE n > {query} BEGIN (NOW - 60) END (NOW)"
        call("POST", "/v1/queries", {"sql": sql, "name": f"query {query}"})


def visit(chromium: Any, url: str) -> tuple[float, float, float]:  # noqa: ANN401 (playwright's)
    """Return when a first visit painted, and when one could write, in ms; and the bytes it loaded until then."""
    context = chromium.new_context(viewport={"width": 1_400, "height": 900})
    context.add_init_script(NOTE_EDITOR)
    page = context.new_page()
    page.goto(url)
    paint_ms, editor_ms, loaded = page.evaluate(TOLD)
    context.close()
    return paint_ms, editor_ms, loaded
