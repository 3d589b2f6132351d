"""The client where there is no fcntl, as on Windows. What is there in its place a stub tells, so far as it is used."""

import subprocess
import sys

import psoup
from tests.patience import WAIT_S

PROGRAM = """
import asyncio, os, subprocess, sys, types  # those of the library that ask for msvcrt as well

held = set()

def locking(file, mode, count):
    assert (mode, count) == (1, 1)
    assert os.lseek(file, 0, os.SEEK_CUR) > 1_000, "what is locked nobody else can read"
    if os.fstat(file).st_ino in held:
        raise PermissionError(13, "locked")
    held.add(os.fstat(file).st_ino)

for name in ("fcntl", "resource", "termios"):
    sys.modules[name] = None
sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_NBLCK=1)
del os.pread, os.pwrite, os.fork, os.O_CLOEXEC

import psoup
from psoup.client.appends.writers import Writer

with psoup.connect(sys.argv[1]) as db:
    print(db.stream("s", {"n": "int64"}).append([{"n": 1}, {"n": 2}]).accepted)
    print(db.stream("s").append([{"n": 3}]).accepted)
    print(Writer().next().app, Writer().next().app)
"""


def test_client_without_fcntl_appends_under_names_of_its_own(memory_url, state):
    """Rows are stored, and writers at one time have names of their own, which are kept."""
    command = [sys.executable, "-c", PROGRAM, memory_url]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WAIT_S)
    assert done.returncode == 0, done.stderr
    first, second, names = done.stdout.splitlines()
    assert ("2", "1") == (first, second)
    kept = {path.read_text().split()[0] for path in state.glob("writer-*")}
    assert set(names.split()) < kept
    assert 3 == len(kept)
    with psoup.connect(memory_url) as db:
        assert 3 == db.query("SELECT n FROM s").count()
