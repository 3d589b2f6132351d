"""`psoup key`: what it prints opens a service that has read what it wrote."""

import hashlib
import stat

import orjson
import pytest

from psoup.app.cli.common import ExitCode
from psoup.app.http.access.keys import REGISTER, load_keys, new_key


def test_key_is_printed_with_the_line_of_its_hash(psoup):
    """The key in its own line, below it what the service is to know; no two are the same."""
    first, second = (
        psoup("key", "spark", "--scope", "ingest:trades", "--scope", "read").stdout.splitlines()
        for _ in range(2)
    )
    key, line = first
    found = orjson.loads(line)
    assert hashlib.sha256(key.encode()).hexdigest() == found["sha256"]
    assert ("spark", ["ingest:trades", "read"]) == (found["id"], found["scopes"])
    assert key not in line
    assert first[0] != second[0]


def test_key_added_to_a_file_is_known_to_a_service_that_reads_it(psoup, tmp_path):
    """The file is its owner's alone; keys that stand there stay, also behind a last line without an end."""
    path = tmp_path / "keys"
    keys = {}
    for name in ("one", "two"):
        result = psoup("key", name, "--scope", "read", "--keys-file", path)
        keys[name] = result.stdout.strip()
        assert "a service reads it when it starts" in result.stderr
        path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)
    known = load_keys(path)
    for name, key in keys.items():
        assert name == known.caller(f"Bearer {key}", address="").key_id
        assert key not in path.read_text()


def test_key_of_a_name_that_is_taken_is_refused(psoup, tmp_path):
    """Nothing is printed that the file does not know."""
    path = tmp_path / "keys"
    psoup("key", "one", "--scope", "read", "--keys-file", path)
    before = path.read_bytes()
    result = psoup("key", "one", "--scope", "read", "--keys-file", path, code=ExitCode.USAGE)
    assert "has a key of 'one'" in result.stderr
    assert ("", before) == (result.stdout, path.read_bytes())


@pytest.mark.parametrize(
    "arguments",
    [
        ("one",),
        ("one", "--scope", "write"),
        ("one", "--scope", "ingest"),
        ("x" * 300, "--scope", "read"),
        ("one", "--scope", "read", "--keys-file", "/dev/null/keys"),
    ],
)
def test_key_that_cannot_be_ends_with_2(psoup, arguments):
    """The scopes that there are, and the file, are named; no key is printed."""
    result = psoup("key", *arguments, code=ExitCode.USAGE)
    assert "" == result.stdout
    assert "" != result.stderr


def test_key_file_of_something_else_is_left_as_it_is(psoup, tmp_path):
    """A line that is no key is named with its place."""
    path = tmp_path / "keys"
    path.write_text("hello\n")
    result = psoup("key", "one", "--scope", "read", "--keys-file", path, code=ExitCode.USAGE)
    assert "keys:1 is not a key" in result.stderr
    assert "hello\n" == path.read_text()


def test_new_key_holds_all_random_bits_that_it_asked_for():
    """256 of them, told apart by the prefix from what else is secret."""
    asked = []

    def random(count):
        asked.append(count)
        return b"\xff" * count

    key, _ = new_key("one", [REGISTER], random)
    assert [32] == asked
    assert f"psoup_{'_' * 42}8" == key
