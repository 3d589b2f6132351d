"""The layout as documented: the keys of a live store are those of the table, and no name is in one."""

import re

import pytest

from psoup.engine import limits
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Expire, Remove
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from psoup.storage import keys
from psoup.storage.redis.calls.client import RULES, WORKER_RULES
from tests.house import tree
from tests.storage.driver import do
from tests.storage.fold import Fold
from tests.storage.histories import finished, history_id, with_queries
from tests.storage.samples import (
    commit,
    declare,
    join,
    query_id,
    register,
    request_key,
    rows,
    staged,
    txn,
)

DOCUMENT = tree.ROOT / "docs" / "storage_layout.md"


def documented() -> dict[str, str]:
    """Return key pattern -> type of the first table."""
    table = re.findall(
        r"^\| `(\{ps\}[^`]*)` \| (\w+) \|", DOCUMENT.read_text("utf-8"), re.MULTILINE
    )
    return dict(table)


def test_layout_document_names_every_key_and_the_version():
    """What `storage/keys.py` can build is in the table, and nothing else."""
    built = {value for name, value in vars(keys).items() if name.isupper() and "{ps}" in str(value)}
    apart = ("_PATTERN", "_PREFIX", "_CHANNEL", "TAG")
    built -= {value for name, value in vars(keys).items() if name.endswith(apart)}
    built |= {
        "{ps}:log:p:<stream>",
        "{ps}:log:p:<stream>:e",
        "{ps}:log:g:<id>",
        "{ps}:log:g:<id>:b",
        "{ps}:x:<stream>",
    }
    built |= {"{ps}:h:<id>", "{ps}:h:<id>:b", "{ps}:h:<id>:p"}
    built |= {"{ps}:r:<clause>:<segment>", "{ps}:b:<stream>:<segment>", "{ps}:j:<group>"}
    assert built == documented().keys()
    text = DOCUMENT.read_text("utf-8")
    assert f"Layout version: **{keys.LAYOUT_VERSION}**" in text
    assert f"channel `{keys.NOTICES_CHANNEL}`" in text


def test_layout_document_has_the_rules_of_both_users():
    """Who sets up an ACL finds them there, word for word."""
    blocks = re.findall(r"```\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
    assert [RULES, WORKER_RULES] == [" ".join(block.split()) for block in blocks]


@pytest.mark.redis
def test_layout_of_the_logs_head_is_the_documented_one(embedded_store, server):
    """Every field of the head is named in its row."""
    (row,) = re.findall(r"^\| `\{ps\}:log:h` .*$", DOCUMENT.read_text("utf-8"), re.MULTILINE)
    named = set(re.findall(r"`([a-z_]+)`", row))
    assert named == {name.decode() for name in server.client.fetch_one("HKEYS", keys.HEAD)}


@pytest.mark.redis
def test_layout_of_a_history_is_the_documented_one(embedded_store, server):
    """Every field of a record is named in its row, of one that is done or has failed."""
    (row,) = re.findall(r"^\| `\{ps\}:h:<id>` .*$", DOCUMENT.read_text("utf-8"), re.MULTILINE)
    named = set(re.findall(r"`([a-z]|sum)`", row))
    finished(with_queries(embedded_store))
    record = server.client.fetch_one("HKEYS", keys.history(history_id(1)))
    assert named == {name.decode() for name in record}


@pytest.mark.redis
def test_layout_of_meta_is_the_documented_one(embedded_store, server):
    """Every field of META is named in its row."""
    (row,) = re.findall(r"^\| `\{ps\}:m` .*$", DOCUMENT.read_text("utf-8"), re.MULTILINE)
    named = set(re.findall(r"`([a-z_]+)`", row)) - {
        "untidy",
        "full",
        "lost",
    }  # there only while they say something
    assert named == {name.decode() for name in server.client.fetch_one("HKEYS", keys.META)}


@pytest.mark.redis
def test_layout_of_a_live_store_is_the_documented_one(server, tmp_path, monkeypatch):
    """Every key of a store in use is in the table with its type, and every key of the table is met."""
    seen: dict[str, str] = {}

    def look() -> None:
        for key in server.client.fetch_one("KEYS", "*"):
            pattern = re.sub(r"^(\{ps\}:r):\d+:\d+$", r"\1:<clause>:<segment>", key.decode())
            pattern = re.sub(r"^(\{ps\}:b):\d+:\d+$", r"\1:<stream>:<segment>", pattern)
            pattern = re.sub(r"^(\{ps\}:(?:log:p|x)):\d+", r"\1:<stream>", pattern)
            pattern = re.sub(r"^(\{ps\}:j):\d+$", r"\1:<group>", pattern)
            pattern = re.sub(r"^(\{ps\}:log:g):st_\d{22}", r"\1:<id>", pattern)
            pattern = re.sub(r"^(\{ps\}:h):h_\d{22}", r"\1:<id>", pattern)
            seen[pattern] = server.client.fetch_one("TYPE", key).decode()
            assert -1 == server.client.fetch_one("PTTL", key), "no key has a time to live"

    store, fold = server.empty_store(tmp_path), Fold()
    batch = rows(1, "stream_name", count=CHUNK_ROWS, txn=txn("app name"))
    do(store, fold, [declare("stream_name"), batch])
    do(store, fold, [register(n, 1, "stream_name", sql=f"{n}", name=f"{n} name") for n in (1, 2)])
    do(store, fold, [join(3, {"stream_name": 1}, "self x p")])
    do(store, fold, [rows(1, "stream_name", count=CHUNK_ROWS)] * 4)
    assert fold.composites
    store.tell(b"figures")
    store.log.stage(staged(1, 1, "stream_name"))
    store.log.stage(staged(2, 1, "stream_name"))
    store.log.commit(commit(2, app="app name", version=1))
    store.log.hold(StreamId(1), Seq(2))
    store.log.trim(batches=[Seq(2)], below=Seq(1))
    store.log.append(rows(1, "stream_name", count=0, txn=txn("idle name")))
    store.log.append(rows(1, "stream_name", count=0, key=request_key("key name")))
    finished(store)
    look()
    monkeypatch.setattr(limits, "PUBLISH_WRITES_MAX", 1)
    monkeypatch.setattr("psoup.storage.redis.calls.writes.Garbage.forgotten", lambda _: [])
    do(store, fold, [register(4, 1, "stream_name", ttl_us=0), Expire(query_id(4))])
    do(store, fold, [Remove(query_id(1))])
    look()
    assert documented() == seen
    assert [] == [key for key in seen if "name" in key]
