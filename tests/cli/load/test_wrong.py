"""Files that are none: each ends with a sentence and the code for data files, and declares nothing."""

import errno
import os
import socket
from pathlib import Path

import pytest

from psoup.app.cli.actions import load as load_command
from psoup.app.cli.common import ExitCode
from psoup.pipeline.load.transfer import run_load
from tests.forked import ended

JUNK = bytes(range(256)) * 64
DEEP = 100_000
CONTENTS = {
    "junk.csv": JUNK,
    "junk.tsv": JUNK,
    "junk.json": b"\xab" + JUNK,
    "junk.ndjson": JUNK,
    "junk.parquet": JUNK,
    "junk.csv.gz": b"\x1f\x8b" + JUNK,
    "junk.csv.xz": b"\xfd7zXZ\x00" + JUNK,
    "junk.csv.bz2": b"BZh9" + JUNK,
    "junk.csv.zst": b"\x28\xb5\x2f\xfd" + JUNK,
    "magic.parquet": b"PAR1" + b"a" * 8 + b"PAR1",
    "junk": JUNK,
    "a.xlsx": JUNK,
    "empty.csv": b"",
    "empty.json": b"",
    "empty.ndjson": b"",
    "empty.parquet": b"",
    "empty.csv.gz": b"",
    "blank.csv": b"\n\n\n",
    "header.csv": b"a,b\n",
    "twice.csv": b"a,a\n1,2\n",
    "unnamed.csv": b",b\n1,2\n",
    "short.csv": b"a,b\n1\n",
    "long.csv": b"a,b\n1,2,3\n",
    "later.csv": b"a,b\n1,2\n1,2,3\n",
    "nul.csv": b"a\n\x00\n",
    "latin.csv": b"a\n\xff\xfe\n",
    "huge-header.csv": b"x" * 200_000 + b"\n1\n",
    "long-text.csv": b"a\n" + b"x" * 9_000 + b"\n",
    "scalars.json": b"[1, 2]",
    "half.json": b'{"a":',
    "half-array.json": b'[{"a": 1},',
    "text.json": b'"x"',
    "after.json": b'[{"a": 1}] {"a": 2}',
    "deep.json": b"[" * DEEP,
    "deep-objects.json": b'{"a":' * DEEP,
    "deep.ndjson": b'{"a":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "nan.ndjson": b'{"a": NaN}\n',
    "two.ndjson": b'{"a": 1}{"a": 2}\n',
    "null.ndjson": b"null\n",
    "latin.ndjson": b'{"a": "\xff"}\n',
}


@pytest.mark.parametrize("name", CONTENTS)
def test_content_that_is_no_rows_ends_with_4(psoup, tmp_path, name):
    """Binary junk, damage, nothing at all: the sentence begins with the file's name."""
    path = tmp_path / name
    path.write_bytes(CONTENTS[name])
    result = psoup("load", path, "--stream", "s", code=ExitCode.DATA_FILE)
    assert f"error {path}" in result.stderr
    assert 500 > len(result.stderr)
    with psoup.service() as service:
        assert [] == list(service.streams())


def place(folder, kind):
    """Return the path of something that is no file to read."""
    path = folder / "a.csv"
    match kind:
        case "a folder":
            path.mkdir()
        case "a link to nothing":
            path.symlink_to("nowhere")
        case "a link to itself":
            path.symlink_to(path)
        case "a socket":
            with socket.socket(socket.AF_UNIX) as bound:
                bound.bind(str(path))
        case "too long":
            return "x" * 5_000
        case _:
            return {"nothing": "", "a pattern of nothing": f"{folder}/*.csv"}.get(kind, kind)
    return path


@pytest.mark.parametrize(
    "kind",
    [
        *("a folder", "a link to nothing", "a link to itself", "a socket", "too long", "nothing"),
        *("a pattern of nothing", "/dev/null", "/dev/zero", "/", ".", "none.csv", "none.csv/a"),
    ],
)
def test_place_that_is_no_file_ends_with_4(psoup, tmp_path, kind):
    """Whatever it is instead is said; a device is not read without end."""
    result = psoup("load", place(tmp_path, kind), "--stream", "s", code=ExitCode.DATA_FILE)
    assert "error " in result.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--delimiter", ""),
        ("--delimiter", "é"),
        ("--delimiter", '"'),
        ("--producer", ""),
        ("--schema", ""),
        ("--schema", "none.json"),
        ("--time", "none"),
        ("--sort",),
        ("--batch-rows", "200001"),
        ("--stream", ""),
        ("--stream", "a/b"),
        ("--stream", "../v1"),
        ("--stream", "x" * 65),
    ],
)
def test_option_that_cannot_be_ends_with_2(psoup, tmp_path, options):
    """Said before anything is asked of the service, or before anything is changed."""
    path = tmp_path / "a.csv"
    path.write_text("n\n1\n")
    result = psoup("load", path, "--stream", "s", *options, code=ExitCode.USAGE)
    assert "" != result.stderr
    with psoup.service() as service:
        assert [] == list(service.streams())


def test_file_that_may_not_be_read_ends_with_4(psoup, tmp_path, monkeypatch):
    """The reason is the system's. Root may read every file: so the system's refusal is put in the place of a mode."""
    path = tmp_path / "a.csv"
    path.write_text("n\n1\n")
    opened = Path.open

    def open_others(one, *how, **more):
        if one == path:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(one))
        return opened(one, *how, **more)

    monkeypatch.setattr(Path, "open", open_others)
    result = psoup("load", path, "--stream", "s", code=ExitCode.DATA_FILE)
    assert "Permission denied" in result.stderr


@pytest.mark.parametrize("name", ["junk.json", "deep.json", "huge-header.csv", "junk.parquet"])
def test_process_that_meets_junk_shows_no_traceback(psoup, tmp_path, name):
    """As a process of its own: nothing of Python is on the screen."""
    path = tmp_path / name
    path.write_bytes(CONTENTS[name])
    done = ended("psoup", ["load", str(path), "--stream", "s", "--url", psoup.url])
    assert ExitCode.DATA_FILE == done.returncode, done.stderr
    assert done.stderr.startswith("error ")
    assert "Traceback" not in done.stderr
    assert 1 == done.stderr.count("\n")


def test_file_that_vanishes_between_two_passes_ends_with_4(psoup, tmp_path, monkeypatch):
    """It was looked at and is gone when its rows are to be read."""
    path = tmp_path / "a.csv"
    path.write_text("n\n1\n")

    def after_removal(*arguments):
        path.unlink()
        return run_load(*arguments)

    monkeypatch.setattr(load_command, "run_load", after_removal)
    result = psoup("load", path, "--stream", "s", code=ExitCode.DATA_FILE)
    assert f"{path}: it cannot be read: No such file or directory" in result.stderr
    with psoup.service() as service:
        assert service.stream("s") is None
