"""`psoup pipeline demo`: files into psoup and back by Spark, and the same question put to Spark SQL.

Starts a service of its own and a Spark session, writes a building's readings into files, streams these into
psoup by the job that `psoup pipeline ingest` is, reads standing queries back as DataFrames, and compares them
with Spark SQL over the files. Nothing is left running and nothing on disk.
"""

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.text import Text

from psoup.app.cli.demo.readings import ROOMS, SCHEMA, STREAM, TICK_US, readings
from psoup.app.cli.terminal.output import ACCENT, QUIET, plain_table, standard_output
from psoup.app.cli.terminal.pipeline import micro_batch
from psoup.client.calls import PsoupClient
from psoup.client.own_service import service_process
from psoup.engine.limits import SECOND_US
from psoup.pipeline.definition import definition_body
from psoup.pipeline.spark.round_trip import ComparedQuery, RoundTrip, Verdict

START_US: Final = 1_767_607_200 * SECOND_US
"""2026-01-05T10:00:00Z: when the readings begin."""
FILES: Final = 4
"""As many micro-batches: one file each."""
SHOWN: Final = 6
SEED: Final = 1


QUESTIONS: Final = (
    ComparedQuery(
        "loud rooms, last 5 minutes",
        "SELECT ts, room, noise FROM readings WHERE noise > 72"
        " BEGIN (NOW - INTERVAL '5' MINUTE) END (NOW)",
        "SELECT ts, room, noise FROM readings WHERE noise > 72"
        " AND ts >= (SELECT max(ts) FROM readings) - INTERVAL 5 MINUTES",
    ),
    ComparedQuery(
        "doors that went with a bang",
        "SELECT d.ts, d.room, n.noise FROM readings AS d, readings AS n WHERE d.room = n.room AND d.door"
        " AND n.noise > 65 AND n.ts BETWEEN d.ts - INTERVAL '1' SECOND AND d.ts + INTERVAL '1' SECOND",
        "SELECT d.ts, d.room, n.noise FROM readings AS d JOIN readings AS n ON d.room = n.room AND d.door"
        " AND n.noise > 65 AND n.ts BETWEEN d.ts - INTERVAL 1 SECOND AND d.ts + INTERVAL 1 SECOND",
    ),
)


def run(rows: int) -> bool:
    """Run the demo over about so many readings and print to standard output; return whether all answers agree.

    Raises:
        PsoupError: Java is missing, the service did not start, or one of the two refused.
    """
    console = standard_output()
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="psoup-demo-")))
        folder = scratch / "readings"
        written = _write_files(folder, rows)
        with console.status("starting psoup and Spark"):
            own = service_process(scratch / "data", port=0, log=scratch / "service.log")
            url = stack.enter_context(own)
            trip = RoundTrip(folder=folder, stream=STREAM, url=url, scratch=scratch)
            stack.enter_context(closing(trip))
        console.print(f"{written:,} readings in {FILES} Parquet files; psoup at {url}")
        service = stack.enter_context(PsoupClient(url))
        service.declare(STREAM, definition_body(SCHEMA.columns, time=SCHEMA.time))
        before, after = QUESTIONS
        standing = [service.register(before.psoup)["id"]]
        console.print(Text("spark.readStream(files) -> writeStream.format('psoup')", style=QUIET))
        trip.write(lambda done: console.print(micro_batch(done)))
        standing.append(service.register(after.psoup)["id"])
        verdicts = [
            trip.compare(question, query_id, first=SHOWN)
            for question, query_id in zip(QUESTIONS, standing, strict=True)
        ]
    return _show(console, verdicts)


def _write_files(folder: Path, rows: int) -> int:
    """Write about so many readings, a file for each stretch of time; return how many they are."""
    folder.mkdir()
    span_us = rows * TICK_US // len(ROOMS) // FILES
    written = 0
    for number in range(FILES):
        begin_us = START_US + number * span_us
        batch = readings(SEED, begin_us, begin_us + span_us)
        pq.write_table(pa.Table.from_batches([batch]), folder / f"{number}.parquet")
        written += batch.num_rows
    return written


def _show(console: Console, verdicts: Sequence[Verdict]) -> bool:
    """Print the first rows of each answer and what differs; return whether nothing does."""
    lines = []
    for question, verdict in zip(QUESTIONS, verdicts, strict=True):
        console.print(Text.assemble("\n", (question.title, f"bold {ACCENT}")))
        console.print(Text(question.psoup, style=QUIET))
        rows = [[f"{ts:%H:%M:%S.%f}", *others] for ts, *others in verdict.first]
        console.print(plain_table(verdict.columns, rows, right="noise"))
        counts = (verdict.rows, verdict.rows_expected, verdict.rows_differing)
        lines.append((question.title, *(f"{count:,}" for count in counts)))
    console.print()
    headings = ("standing query", "psoup", "Spark", "differ")
    console.print(plain_table(headings, lines, right="psoup Spark differ"))
    agree = all(verdict.agrees for verdict in verdicts)
    said = (
        ("psoup and Spark SQL agree", "green") if agree else ("psoup and Spark SQL differ", "red")
    )
    console.print(Text(said[0], style=f"bold {said[1]}"))
    return agree
