"""The picture of the demo in the README: its screen after some seconds of a real run.

`python -m tests.docs.demo_picture` draws it anew, in a quarter of a minute; port 8000 has to be free. No two runs show
the same figures, so no test compares it.
"""

import io
import re
import tempfile
import time
from pathlib import Path

from rich.console import Console

from psoup.app.cli.demo.run import TURN_S, Demo
from psoup.app.cli.demo.screen import screen
from psoup.client.calls import PsoupClient
from psoup.client.own_service import service_process
from psoup.engine.clock import SystemClock
from tests.docs.blocks import ROOT

PICTURE = ROOT / "docs" / "images" / "demo.svg"
SECONDS = 12.0
"""Long enough for the query that is registered late to have its answer."""
DEMO_SECONDS = 60.0
COLUMNS, LINES = 112, 50
_FONT_OF_ANOTHER_HOST = re.compile(r"\s*@font-face \{.*?\}|<!--.*?-->", re.DOTALL)


def main() -> None:
    """Run the demo, and draw its last screen."""
    console = Console(
        file=io.StringIO(),
        record=True,
        force_terminal=True,
        color_system="truecolor",
        width=COLUMNS,
        height=LINES,
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            service_process(folder / "data", port=8000, log=folder / "log") as url,
            PsoupClient(url) as service,
        ):
            demo = Demo(service, seed=1, clock=SystemClock())
            until = time.monotonic() + SECONDS
            while time.monotonic() < until:
                demo.turn(DEMO_SECONDS)
                time.sleep(TURN_S)
            frame = demo.turn(DEMO_SECONDS)
            console.print(screen(frame, console))
    # A picture loads nothing: the viewer's own monospaced font serves.
    picture = _FONT_OF_ANOTHER_HOST.sub("", console.export_svg(title="psoup demo"))
    PICTURE.write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
