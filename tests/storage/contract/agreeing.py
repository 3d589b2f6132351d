"""The machine that takes each step on `memory://` and on the embedded server, and compares the answers."""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from psoup.engine import limits
from psoup.engine.clock import ManualClock
from psoup.engine.limits import SECOND_US, SEGMENT_ROWS
from psoup.engine.log.operation import (
    Alter,
    Content,
    Drop,
    Expire,
    Materialize,
    Register,
    Remove,
    Renew,
    Replace,
    Rows,
    Tick,
)
from psoup.engine.store.contract import Store
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import Retention, StreamId
from psoup.storage.memory.store import MemoryStore
from tests.storage.contract.drawn import (
    DEFINED,
    declared,
    keys,
    lifetimes,
    lives,
    looked_at,
    names,
    numbers,
    offsets,
    parts,
    reads,
)
from tests.storage.contract.small_limits import SMALL_LIMITS
from tests.storage.driver import assert_shows, delta, merged, plain_pages, shown_hits, shown_pages
from tests.storage.fold import Fold
from tests.storage.outcomes import outcome, plain_read, plain_snapshot, plain_snapshots
from tests.storage.samples import (
    commit,
    declare,
    join,
    query_id,
    register,
    request_key,
    rows,
    stage_id,
    staged,
    txn,
)
from tests.stores import SharedServer

STREAMS_MAX = 2


class StoresAgree(RuleBasedStateMachine):
    """Two stores given the same steps. The server's answer comes first: its clock is the model's."""

    server: SharedServer
    compared = replaced = expired = replayed = 0
    """Of all examples: answers compared, queries replaced and expired, requests known by their key."""

    @initialize(data_at_first=st.booleans(), ttl_us=lifetimes)
    def open(self, data_at_first, ttl_us) -> None:
        self.patch = pytest.MonkeyPatch()
        for name, value in SMALL_LIMITS.items():
            self.patch.setattr(limits, name, value)
        self.folder = tempfile.TemporaryDirectory()
        self.redis: Store = self.server.empty_store(Path(self.folder.name), streams_max=STREAMS_MAX)
        self.clock = ManualClock(0)
        self.memory = MemoryStore(self.clock, streams_max=STREAMS_MAX)
        self.fold = Fold(rows_kept=SEGMENT_ROWS)
        self.in_force: dict[str, int] = {}
        self.keyed: Rows | Register | None = None
        self.handles = list(range(6))  # by number; a removed one is never used again
        self.declare("a", 1)
        stream_id = self.current("a", 0)
        first = register(self.handles[5], stream_id, sql="p of a", name="first", ttl_us=ttl_us)
        self.append_keyed(first, ("first", "u", True))
        self.apply(9)
        if data_at_first:
            self.declare("b", 1)
            for number, name in enumerate(("a", "b")):
                self.append(rows(self.current(name, 0), name, count=30_000))
                self.apply(9)
                self.join("ab" if number else "a", number, "x p", "auto")
                self.apply(9)

    def teardown(self) -> None:
        if hasattr(self, "patch"):
            assert_shows(self.redis, self.fold, chunks=80)
            assert_shows(self.memory, self.fold, chunks=80)
            self.memory.log.check()
            self.redis.log.check()
            self.patch.undo()
            self.folder.cleanup()

    def both(self, step: Callable[[Store], Any]) -> Any:
        """Return what the step answers on both stores, an error as its class, text and extras."""
        found = outcome(step, self.redis)
        if hasattr(found, "arrival_us"):
            self.clock.advance(found.arrival_us - self.clock.now_us())
        assert outcome(step, self.memory) == found
        StoresAgree.compared += 1
        return found

    def append(self, content: Content) -> Any:
        return self.both(lambda store: store.log.append(content))

    def append_keyed(self, content: Rows | Register, key: tuple[str, str, bool] | None) -> None:
        name, sent, lasting = key or ("", "", True)
        if key:
            self.keyed = content = replace(content, key=request_key(name, sent))
        with pytest.MonkeyPatch.context() as patch:
            if not lasting:
                patch.setattr(limits, "REQUEST_KEY_LIFE_S", 0)
            self.append(content)

    @rule()
    def repeat(self):
        """Send again what had a key, if anything did."""
        if self.keyed is not None:
            answer = self.append(self.keyed)
            StoresAgree.replayed += not isinstance(answer, tuple) and answer.replayed

    def current(self, name: str, offset: int) -> int:
        """Return the id in force under a name, or with an offset one that is not."""
        return self.in_force.get(name, 1) + offset

    @rule(name=names, columns=st.integers(1, 2))
    def declare_some(self, name, columns):
        self.declare(name, columns)

    def declare(self, name, columns):
        answer = self.append(declare(name, columns))
        if not isinstance(answer, tuple) and not answer.duplicate:
            self.in_force[name] = answer.seq

    @rule(name=names, offset=offsets, kept=st.integers(1, 4), columns=looked_at)
    def alter(self, name, offset, kept, columns):
        schema = replace(declare(name, 1 + kept % 2).schema, retention=Retention(rows=kept))
        stream_id = StreamId(self.current(name, offset))
        self.append(Alter(stream_id, schema, declared=declared(name, columns)))

    @rule(name=names, offset=offsets, listed=st.booleans(), more=st.booleans(), columns=looked_at)
    def drop(self, name, offset, listed, more, columns):
        stream_id = StreamId(self.current(name, offset))
        readers = [q.query_id for q in self.redis.results.queries() if reads(q, name)]
        queries = (readers if listed else []) + ([query_id(999)] if more else [])
        content = Drop(stream_id, name, tuple(queries), declared=declared(name, columns))
        answer = self.append(content)
        if not isinstance(answer, tuple):
            del self.in_force[name]
            self.handles = [handle + len(self.handles) for handle in self.handles]

    @rule(
        name=names,
        offset=offsets,
        count=st.sampled_from([0, 1, 300, 5_000, 30_000]),
        body=st.binary(max_size=20),
        version=st.none() | st.tuples(st.sampled_from("xxyz"), st.integers(0, 9), st.booleans()),
        columns=looked_at,
        key=keys,
    )
    def rows(self, name, offset, *, count, body, version, columns, key):
        made = version and txn(version[0], version[1], f"{version[2]}")
        content = rows(self.current(name, offset), name, count=count, body=body, txn=made)
        self.append_keyed(replace(content, declared=declared(name, columns)), key)

    @rule(
        name=names,
        offset=offsets,
        number=parts,
        rows=st.tuples(st.binary(max_size=20), st.sampled_from("xy")),
        lasting=lives,
        columns=looked_at,
    )
    def stage(self, name, offset, *, number, rows, lasting, columns):
        stream_id, (body, content) = self.current(name, offset), rows
        part = staged(number, stream_id, name, count=len(body), body=body, content=content)
        part = replace(part, declared=declared(name, columns))
        with pytest.MonkeyPatch.context() as patch:
            if not lasting:
                patch.setattr(limits, "STAGE_LIFE_S", 0)
            expires = outcome(lambda store: store.log.stage(part), self.redis)
            if not isinstance(expires, tuple) and not self.is_kept(part.stage_id):
                life_us = limits.STAGE_LIFE_S * SECOND_US
                self.clock.advance(expires - life_us - self.clock.now_us())
            assert expires == outcome(lambda store: store.log.stage(part), self.memory)

    def is_kept(self, stage_id) -> bool:
        """Return whether the model has the part: then it expires when it was to."""
        return self.memory.log._staged.known(stage_id) is not None

    @rule(
        listed=st.lists(parts, min_size=1, max_size=4, unique=True),
        any_of=st.booleans(),
        app=st.sampled_from("xxy"),
        version=st.integers(0, 9),
    )
    def commit(self, listed, any_of, app, version):
        """Commit some of the parts that there are, marks included, or of all that may be."""
        there = [n for n in range(10) if self.is_kept(stage_id(n))]
        if not any_of and there:
            listed = list(dict.fromkeys(there[n % len(there)] for n in listed))
        self.both(lambda store: store.log.commit(commit(*listed, app=app, version=version)))

    @rule(number=parts)
    def discard(self, number):
        self.both(lambda store: store.log.discard(stage_id(number)))

    @rule(name=names, offset=offsets, through=st.integers(0, 40))
    def hold(self, name, offset, through):
        stream_id = StreamId(self.current(name, offset))
        self.both(lambda store: store.log.hold(stream_id, through))

    @rule(name=names, offset=offsets)
    def unhold(self, name, offset):
        stream_id = StreamId(self.current(name, offset))
        self.both(lambda store: store.log.unhold(stream_id))

    @rule(name=names, offset=offsets)
    def trimmed_through(self, name, offset):
        stream_id = StreamId(self.current(name, offset))
        self.both(lambda store: store.log.trimmed_through(stream_id))

    @rule(
        name=names,
        offset=offsets,
        after=st.integers(0, 30),
        up_to=st.integers(0, 60),
        limit=st.none() | st.integers(0, 3),
    )
    def batches_of(self, name, offset, after, up_to, limit):
        stream_id = StreamId(self.current(name, offset))
        self.both(
            lambda store: list(
                store.log.batches_of(stream_id, after=after, up_to=up_to, limit=limit)
            )
        )

    @rule(**DEFINED, key=keys)
    def register(self, name, offset, *, number, sql, query_name, columns, ttl_us, key=None):
        stream_id, text = self.current(name, offset), f"{sql} of {name}"
        content = register(
            self.handles[number], stream_id, name, sql=text, name=query_name, ttl_us=ttl_us
        )
        schema = declared(name, columns)
        content = replace(content, declared={} if schema is None else {name: schema})
        self.append_keyed(content, key)

    @rule(**DEFINED, known=st.booleans())
    def replace(self, name, offset, *, number, sql, query_name, columns, ttl_us, known):
        """Replace a query, mostly one that has a name, or try to; `known`: only as it was seen."""
        named = self.redis.results.queries()
        stream_id, text = self.current(name, offset), f"{sql} of {name}"
        content = register(
            self.handles[number], stream_id, name, sql=text, name=query_name, ttl_us=ttl_us
        )
        changed_seq = Seq(1)
        if named and number:
            standing = named[number % len(named)]
            content = replace(content, query_id=standing.query_id, name=standing.name)
            changed_seq = standing.changed_seq
        schema = declared(name, columns)
        content = replace(content, declared={} if schema is None else {name: schema})
        answer = self.append(Replace(content, changed_seq if known else None))
        StoresAgree.replaced += not isinstance(answer, tuple) and not answer.duplicate

    @rule(
        listed=st.sampled_from(["a", "ab", "ba"]),
        number=numbers,
        sql=st.sampled_from(["x p", "x q", "y p"]),
        kept=st.sampled_from(["auto", "auto", "auto", "none"]),
    )
    def join_some(self, listed, number, sql, kept):
        self.join(listed, number, sql, kept)

    def join(self, listed, number, sql, kept):
        streams = {name: self.current(name, 0) for name in listed}
        kind = "join" if len(listed) > 1 else "self"
        text = f"{kind} {sql} of {' '.join(listed)}"
        self.append(join(self.handles[number], streams, text, Materialize(kept)))

    @rule(number=numbers)
    def remove(self, number):
        if not isinstance(self.append(Remove(query_id(self.handles[number]))), tuple):
            self.handles[number] += len(self.handles)

    def mortal(self, number, ttls=(0, 86_400 * SECOND_US)):
        """Return a handle, mostly of a query with one of these times to live."""
        queries = [one.query_id for one in self.redis.results.queries() if one.ttl_us in ttls]
        return queries[number % len(queries)] if queries and number else query_id(number)

    @rule(number=numbers)
    def renew(self, number):
        self.append(Renew(self.mortal(number)))

    @rule(number=numbers)
    def expire(self, number):
        if number and self.in_force:  # else there is seldom one that is over
            given = {"sql": "p", "query_name": None, "columns": None, "ttl_us": 0}
            self.register(min(self.in_force), 0, number=number, **given)
            self.apply_all()
        gone = self.mortal(number, ttls=(0,))
        if not isinstance(self.append(Expire(gone)), tuple):
            past = len(self.handles)
            self.handles = [one + past * (query_id(one) == gone) for one in self.handles]
            StoresAgree.expired += 1

    @rule()
    def tick(self):
        self.append(Tick())

    @rule(operations=st.integers(1, 9))
    def apply_some(self, operations):
        self.apply(operations)

    @rule()
    def apply_all(self):
        self.apply(100)

    def apply(self, operations):
        applied = self.memory.results.cut().seq
        read = self.both(lambda store: plain_read(store, applied, operations))
        if not read:
            return
        change = merged(self.fold, read)
        self.both(lambda store: store.results.publish(change))

    @rule(expect=st.sampled_from([-1, 0, 1]))
    def publish_wrongly(self, expect):
        applied, past = self.memory.results.cut().seq, self.memory.log.head() + 1
        self.both(lambda store: store.results.publish(delta(applied + expect, past, 1)))

    @rule(backs=st.lists(st.integers(-1, 30), max_size=4), back=st.integers(-2, 8))
    def trim(self, backs, back):
        applied = self.memory.results.cut().seq
        batches = [max(1, applied - n) for n in backs]
        below = max(1, applied + 1 - back)
        self.both(lambda store: store.log.trim(batches=batches, below=below))

    @rule(after=st.integers(0, 30), operations=st.integers(1, 9), size=st.integers(1, 90))
    def read(self, after, operations, size):
        self.both(
            lambda store: list(store.log.read(after, operations_max=operations, bytes_max=size))
        )

    @rule(seqs=st.lists(st.integers(1, 30), max_size=3))
    def read_at(self, seqs):
        self.both(lambda store: list(store.log.read_at(seqs)))

    @rule(up_to=st.integers(0, 60))
    def held_batches(self, up_to):
        self.both(lambda store: list(store.log.held_batches(up_to)))

    @rule(number=numbers)
    def snapshot(self, number):
        self.both(lambda store: plain_snapshot(store, self.handles[number]))

    @rule(numbers=st.lists(numbers, max_size=4))
    def snapshots(self, numbers):
        self.both(lambda store: plain_snapshots(store, [self.handles[n] for n in numbers]))

    @rule(at=numbers, chunks=st.integers(0, 40))
    def pages(self, at, chunks):
        clauses = list(self.fold.ever.values())[-6:]
        if clauses:
            clause = clauses[at % len(clauses)]
            self.both(lambda store: shown_pages(store, clause, chunks))
            self.both(lambda store: shown_hits(store, clause, chunks))
            self.both(lambda store: plain_pages(store.results.composites(clause)))

    @invariant()
    def positions_are_equal(self):
        if hasattr(self, "patch"):
            self.both(lambda store: (store.log.head(), store.log.statistics()))
            self.both(lambda store: dict(store.log.holds()))
            self.both(lambda store: store.results.cut().seq)
