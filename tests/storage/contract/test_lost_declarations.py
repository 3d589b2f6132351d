"""A stream that was lost and declared anew may have the same id: what was checked against the old one is refused."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from psoup.engine.errors import EngineError, NotFoundError, StaleDeclarationError
from psoup.engine.log.operation import Drop
from psoup.engine.store.contract import Store
from psoup.engine.tuples.schema import StreamId, StreamSchema
from tests.storage.samples import commit, declare, join, register, rows, staged, txn

Step = Callable[[Store, StreamSchema], Any]
"""Does something that was checked against a declaration of stream 1, `a`."""


def _append(store: Store, declared: StreamSchema) -> Any:
    return store.log.append(replace(rows(1), declared=declared))


def _append_version(store: Store, declared: StreamSchema) -> Any:
    return store.log.append(replace(rows(1, txn=txn()), declared=declared))


def _stage(store: Store, declared: StreamSchema) -> Any:
    return store.log.stage(replace(staged(1), declared=declared))


def _register(store: Store, declared: StreamSchema) -> Any:
    return store.log.append(replace(register(1, 1), declared={"a": declared}))


def _register_join(store: Store, declared: StreamSchema) -> Any:
    """Bind against two streams, the second of which is in doubt."""
    content = join(1, {"b": 2, "a": 1}, "SELECT * FROM b, a")
    return store.log.append(replace(content, declared={"b": declare("b").schema, "a": declared}))


def _drop(store: Store, declared: StreamSchema) -> Any:
    return store.log.append(Drop(StreamId(1), "a", declared=declared))


STEPS: tuple[tuple[Step, type[EngineError]], ...] = (
    (_append, StaleDeclarationError),
    (_append_version, StaleDeclarationError),
    (_stage, StaleDeclarationError),
    (_register, StaleDeclarationError),
    (_register_join, StaleDeclarationError),
    (_drop, NotFoundError),
)


@pytest.mark.parametrize(("step", "refusal"), STEPS)
def test_what_another_declaration_was_looked_at_for_is_refused(store, step, refusal):
    """Name and id are those in force: the columns are compared too. Against the declaration in force it is taken."""
    store.log.append(declare("a", 2))
    store.log.append(declare("b"))
    before = store.log.statistics()
    with pytest.raises(refusal):
        step(store, declare("a", 3).schema)
    assert before == store.log.statistics()
    step(store, declare("a", 2).schema)
    store.log.check()


@pytest.mark.parametrize(
    "other", [{"future_us": 1}, {"retention": replace(declare().schema.retention, rows=9)}]
)
def test_every_member_of_a_declaration_is_compared(store, other):
    """Columns are not all that rows are checked for."""
    schema = declare("a").schema
    store.log.append(declare("a"))
    with pytest.raises(StaleDeclarationError):
        store.log.append(replace(rows(1), declared=replace(schema, **other)))
    assert 2 == store.log.append(replace(rows(1), declared=replace(schema))).seq


def test_part_is_compared_when_it_comes(store):
    """Its commit names no declaration: what loses a declaration loses the parts that came after it."""
    store.log.append(declare("a"))
    _stage(store, declare("a").schema)
    assert 2 == store.log.commit(commit(1)).seq


@pytest.mark.redis
def test_what_was_checked_before_the_log_lost_its_end_is_refused(own_server, tmp_path):
    """The file ends before the declaration, another stream of that name gets its id: none of the old one's is taken.

    The engine that goes on has not heard of what was lost, so the generation is the same.
    """
    store = own_server.empty_store(tmp_path)
    (path,) = own_server.files.glob("*.incr.aof")
    before, gen = path.stat().st_size, store.results.cut().gen
    old, new = declare("a", 2), declare("a", 3)
    assert 1 == store.log.append(old).seq
    own_server.kill()
    path.write_bytes(path.read_bytes()[:before])
    (tmp_path / "cluster.json").unlink()
    own_server.start()
    store = own_server.store(tmp_path)
    assert (gen, 0) == (store.results.cut().gen, store.log.head())
    assert [1, 2] == [store.log.append(content).seq for content in (new, declare("b"))]
    for step, refusal in STEPS:
        with pytest.raises(refusal):
            step(store, old.schema)
    assert 2 == store.log.head()
    _append(store, new.schema)
    store.log.check()
