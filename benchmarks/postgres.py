"""PostgreSQL as a peer: a server of its own in a temporary folder, and a table with the stream's tuples.

As a process of an unprivileged user (PostgreSQL refuses root), on a Unix socket alone. Everything fits into its
buffers; nothing is written while it is asked, so syncing is off and costs neither side.
"""

import contextlib
import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.workloads import ATTRIBUTES, EPOCH_US, SECOND_US, Columns

TABLE = "readings"
USERS = ("postgres", "nobody")
"""Who runs the server where the benchmark runs as root."""
START_S_MAX = 30.0
COPIED_ROWS = 8_192
SETTINGS = {
    "listen_addresses": "",
    "shared_buffers": "512MB",
    "effective_cache_size": "4GB",
    "work_mem": "64MB",
    "maintenance_work_mem": "256MB",
    "random_page_cost": "1.1",
    "max_connections": "32",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    "fsync": "off",
    "synchronous_commit": "off",
    "autovacuum": "off",
    "plan_cache_mode": "force_generic_plan",
}
"""A warm cache, no plan made twice. Plans in parallel and compiled ones were slower here: answers take milliseconds."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: its connection string and its main process."""

    dsn: str
    pid: int


def lacking() -> str:
    """Return what is missing for this peer to take part, "" = nothing."""
    if importlib.util.find_spec("psycopg") is None:
        return "psycopg"
    if programs() is None:
        return "PostgreSQL"
    if os.geteuid() == 0 and _user() is None:
        return "an unprivileged user for PostgreSQL"
    return ""


def programs() -> Path | None:
    """Return the folder of the newest `postgres` and `initdb`, None = there are none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)
    on_path = shutil.which("initdb")
    found += [] if on_path is None else [Path(on_path)]
    return next((one.parent for one in found if (one.parent / "postgres").exists()), None)


@contextlib.contextmanager
def running() -> Iterator[Server]:
    """Yield a server with an empty database; ends it and removes its files."""
    folder = programs()
    assert folder is not None, "whoever starts a server has asked `lacking`"
    user = _user()
    with tempfile.TemporaryDirectory(prefix="psoup-pg-") as place:
        if user is not None:
            os.chown(place, user.pw_uid, user.pw_gid)
        data = Path(place) / "data"
        made = [str(folder / "initdb"), "-D", str(data), "-A", "trust", "-U", "bench", "-N"]
        made += ["--locale=C", "--encoding=UTF8"]
        _child(made, place, user).communicate(timeout=START_S_MAX)
        settings = SETTINGS | {"unix_socket_directories": place}
        options = [text for name, value in settings.items() for text in ("-c", f"{name}={value}")]
        child = _child([str(folder / "postgres"), "-D", str(data), *options], place, user)
        try:
            _await_ready(folder, place, child)
            yield Server(f"host={place} user=bench dbname=postgres", child.pid)
        finally:
            child.terminate()  # "smart": by now nobody is connected
            try:
                child.wait(START_S_MAX)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def fill(server: Server, columns: Columns, *, first: int) -> None:
    """Make the table of these tuples, tuple `first + i` dated so many seconds, with its indexes and statistics."""
    import psycopg

    length = len(columns[ATTRIBUTES[0]])
    ids = np.arange(first + 1, first + 1 + length, dtype=np.int64)
    times_us = EPOCH_US + SECOND_US * (ids - 1)
    values = np.column_stack([ids, times_us, *(columns[name] for name in ATTRIBUTES)]).tolist()
    attributes = ", ".join(f"{name} smallint NOT NULL" for name in ATTRIBUTES)
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {TABLE} (id bigint, ts bigint, {attributes})")
        with (
            connection.cursor() as cursor,
            cursor.copy(f"COPY {TABLE} FROM STDIN (FORMAT BINARY)") as copy,
        ):
            copy.set_types(["int8", "int8", *["int2"] * len(ATTRIBUTES)])
            for row in values:
                copy.write_row(row)
        connection.execute(f"ALTER TABLE {TABLE} ADD PRIMARY KEY (id)")
        connection.execute(f"CREATE INDEX ON {TABLE} (ts, id)")
        for name in ATTRIBUTES:
            connection.execute(f"CREATE INDEX ON {TABLE} ({name}, ts, id)")
        connection.execute(f"VACUUM (ANALYZE, FREEZE) {TABLE}")


def page_sql(where: str, *, limit: int) -> str:
    """Return the statement for a page of the oldest rows and, with each, how many rows there are in all.

    The count is a subquery that is evaluated once; beside a window function it need not sort, and the page
    may stop early. One statement is one round trip.
    """
    shown = ", ".join(("id", "ts", *ATTRIBUTES))
    return (
        f"SELECT (SELECT count(*) FROM {TABLE} WHERE {where}), {shown} FROM {TABLE} WHERE {where}"
        f" ORDER BY ts, id LIMIT {limit}"
    )


def count_sql(where: str) -> str:
    """Return the statement for the number of rows alone."""
    return f"SELECT count(*) FROM {TABLE} WHERE {where}"


def _user() -> pwd.struct_passwd | None:
    """Return who the server is run as where the benchmark is root; None = as the benchmark itself."""
    if os.geteuid() != 0:
        return None
    for name in USERS:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    return None


def _child(
    command: Sequence[str], place: str, user: pwd.struct_passwd | None
) -> subprocess.Popen[bytes]:
    owner = None if user is None else user.pw_uid
    group = None if user is None else user.pw_gid
    return subprocess.Popen(
        command,
        cwd=place,
        user=owner,
        group=group,
        extra_groups=None if user is None else [],
        env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _await_ready(folder: Path, place: str, child: subprocess.Popen[bytes]) -> None:
    latest = time.monotonic() + START_S_MAX
    asks = [str(folder / "pg_isready"), "-q", "-h", place]
    while subprocess.run(asks, check=False).returncode != 0:
        if child.poll() is not None or time.monotonic() > latest:
            message = "PostgreSQL does not start"
            raise RuntimeError(message)
        time.sleep(0.05)
