"""Every verb in any order, against the naive twin: one state machine for any store.

Operations go the way of the service: `Log.append`, then the fold, then publish, then invoke. The twin
folds the log's own entries; what the log has to refuse is predicted from a handful of dicts.
"""

from collections import Counter
from dataclasses import replace
from typing import ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from psoup.engine.errors import (
    HasQueriesError,
    NameTakenError,
    NotFoundError,
    StreamDiffersError,
    TxnContentDiffersError,
)
from psoup.engine.invocation.position.answer import Request
from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import QueryId
from psoup.engine.tuples.schema import ColumnSchema, ColumnType, StreamSchema
from tests import strategies, strategies_join, strategies_sql, strategies_windows
from tests.agreement.comparison import Paging, compare
from tests.reference import Reference
from tests.world import World

STREAMS = ("s", "t")
APPS = ("app-1", "app-2")


class ServiceMachine(RuleBasedStateMachine):
    """One history of a service. Subclasses say over which store."""

    counts: ClassVar[Counter[str]] = Counter()
    """How often each verb did its work over all runs."""

    def __init__(self) -> None:
        super().__init__()
        self.world = self.open_world()
        self.reference = Reference()
        self.schemas: dict[str, StreamSchema] = {}
        self.queries: dict[QueryId, tuple[tuple[str, ...], strategies_sql.DrawnQuery]] = {}
        """Standing queries: their streams, and what they were drawn as."""
        self.names: dict[str, QueryId] = {}
        self.versions: dict[tuple[str, str], int] = {}
        """Last version committed, by stream and app."""
        self.pagings: list[Paging] = []

    def open_world(self) -> World:
        """Return a world over an empty store."""
        raise AssertionError("a subclass opens the store")

    def count(self, verb: str) -> None:
        """Note that a verb has done its work."""
        type(self).counts[verb] += 1

    def settle(self) -> None:
        """Fold what is committed, here and in the twin."""
        self.world.fold()
        for operation in self.world.history[self.reference.seq :]:
            self.reference.apply(operation)

    @initialize(data=st.data())
    def begin(self, data):
        """A stream with a few tuples and a query that shows them all: most rules need as much."""
        schema = data.draw(strategies.schemas("s", event_time=True))
        self.world.declare(schema, fold=False)
        self.schemas["s"] = schema
        rows = data.draw(st.lists(strategies.rows(schema), min_size=3, max_size=6))
        self.world.append("s", rows, fold=False)
        everything = strategies_sql.everything(schema)
        self.queries[self.world.register(everything.sql, fold=False)] = (("s",), everything)
        self.settle()

    # --- Streams ----------------------------------------------------------------------------------

    @rule(data=st.data(), name=st.sampled_from(STREAMS))
    def declare(self, data, name):
        """A new stream is there; the same declaration again changes nothing; another is refused, but more columns."""
        schema = data.draw(strategies.schemas(name, retention=strategies.retentions()))
        held = self.schemas.get(name)
        if held is None:
            assert not self.world.declare(schema).duplicate
            self.schemas[name] = schema
            self.count("declare")
        else:
            assert self.world.declare(held).duplicate
            self.count("declare-again")
            if schema != held:
                with pytest.raises(StreamDiffersError):
                    self.world.declare(schema)
                self.count("declare-otherwise")
            self._add_column(name, schema.columns[0].type)
        self.settle()

    def _add_column(self, name: str, kind: ColumnType) -> None:
        """A stream has a column more, NULL in the tuples there are; the same again changes nothing."""
        held = self.schemas[name]
        column = ColumnSchema(f"more {len(held.columns)}", kind)
        self.schemas[name] = schema = replace(held, columns=(*held.columns, column))
        assert not self.world.alter(schema, fold=False).duplicate
        assert self.world.alter(schema, fold=False).duplicate
        self.count("add-column")

    @precondition(lambda self: self.schemas)
    @rule(data=st.data())
    def drop(self, data):
        """A stream goes alone if nothing reads it, else only with all that do."""
        name = data.draw(st.sampled_from(sorted(self.schemas)))
        readers = [query_id for query_id, (streams, _) in self.queries.items() if name in streams]
        if readers:
            with pytest.raises(HasQueriesError):
                self.world.drop(name, fold=False)
        self.world.drop(name, queries=readers, fold=False)
        del self.schemas[name]
        for query_id in readers:
            self._forget_query(query_id)
        self.versions = {key: kept for key, kept in self.versions.items() if key[0] != name}
        self.count("cascade" if readers else "drop")
        self.settle()

    # --- Tuples -----------------------------------------------------------------------------------

    @precondition(lambda self: self.schemas)
    @rule(data=st.data(), settle=st.booleans())
    def append(self, data, settle):
        """A batch is committed; it is visible once it is folded, not before."""
        name = data.draw(st.sampled_from(sorted(self.schemas)))
        self.world.append(name, data.draw(strategies.batches(self.schemas[name])), fold=False)
        self.count("append")
        if settle:
            self.settle()

    @precondition(lambda self: self.schemas)
    @rule(data=st.data(), app=st.sampled_from(APPS), step=st.integers(1, 3))
    def append_version(self, data, app, step):
        """A producer's version is committed once: again it is a duplicate, in any order of its rows.

        A lower version is one too; the same version with other rows is refused. A batch without rows is a
        version like any other.
        """
        name = data.draw(st.sampled_from(sorted(self.schemas)))
        rows = data.draw(strategies.batches(self.schemas[name]))
        version = self.versions.get((name, app), 0) + step
        assert not self.world.append(name, rows, app=app, version=version, fold=False).duplicate
        self.versions[name, app] = version
        for old in (version, 0):
            assert self.world.append(name, rows[::-1], app=app, version=old, fold=False).duplicate
        other = [*rows, data.draw(strategies.rows(self.schemas[name]))]
        with pytest.raises(TxnContentDiffersError):
            self.world.append(name, other, app=app, version=version, fold=False)
        self.count("append-version")
        self.settle()

    @rule()
    def fold(self):
        """What was committed and not folded becomes visible, some operations at a time."""
        self.settle()
        self.count("fold")

    # --- Queries ----------------------------------------------------------------------------------

    @precondition(lambda self: self.schemas)
    @rule(data=st.data(), name=st.sampled_from([None, None, "n1", "n2"]))
    def register(self, data, name):
        """A query is registered over old data; its name then is that query's, and no other's, until it goes."""
        stream = data.draw(st.sampled_from(sorted(self.schemas)))
        self._register((stream,), data.draw(strategies_sql.queries(self.schemas[stream])), name)
        self.count("register")

    @precondition(lambda self: self.schemas)
    @rule(data=st.data())
    def register_join(self, data):
        """A query over two streams of one clock, or over one of them twice."""
        one = self.schemas[data.draw(st.sampled_from(sorted(self.schemas)))]
        alike = [name for name in sorted(self.schemas) if self.schemas[name].clock is one.clock]
        other = self.schemas[data.draw(st.sampled_from(alike))]
        query = data.draw(strategies_join.pairs(one, other))
        self._register((one.name, other.name), query, None)
        self.count("register-join")

    @precondition(lambda self: self.queries)
    @rule(data=st.data())
    def register_shared(self, data):
        """A clause that stands already is registered again under another window: one result, two handles."""
        streams, query = self.queries[data.draw(st.sampled_from(sorted(self.queries)))]
        window = data.draw(strategies_windows.windows())
        self._register(streams, strategies_sql.with_window(query, window), None)
        self.count("register-shared")

    def _register(
        self, streams: tuple[str, ...], query: strategies_sql.DrawnQuery, name: str | None
    ) -> None:
        if name in self.names:
            self.world.remove(self.names[name], fold=False)
            self._forget_query(self.names[name])
        query_id = self.world.register(query.sql, name=name, fold=False)
        self.queries[query_id] = (streams, query)
        if name is not None:
            self.names[name] = query_id
            assert query_id == self.world.register(query.sql, name=name, fold=False)
            with pytest.raises(NameTakenError):
                self.world.register(
                    f"SELECT * FROM {streams[0]} BEGIN (NOW - 7) END (NOW)", name=name
                )
            self.count("register-named")
        self.settle()

    @precondition(lambda self: self.queries)
    @rule(data=st.data())
    def remove(self, data):
        """A removed query is gone, also for a second removal; its clause stays for other handles."""
        query_id = data.draw(st.sampled_from(sorted(self.queries)))
        self.world.remove(query_id)
        self._forget_query(query_id)
        self.settle()
        with pytest.raises(NotFoundError):
            self.world.remove(query_id)
        with pytest.raises(NotFoundError):
            self.world.invoke(query_id)
        self.count("remove")

    def _forget_query(self, query_id: QueryId) -> None:
        del self.queries[query_id]
        self.names = {name: held for name, held in self.names.items() if held != query_id}
        self.pagings = [paging for paging in self.pagings if paging.query_id != query_id]

    # --- Invocations ------------------------------------------------------------------------------

    def _a_query(self, data: st.DataObject) -> QueryId:
        return data.draw(st.sampled_from(sorted(self.queries)))

    @precondition(lambda self: self.queries)
    @rule(data=st.data(), limit=st.sampled_from([1, 2, 1_000]))
    def invoke(self, data, limit):
        """An invocation answers from scratch at one position, read in pages of any size."""
        self.settle()
        query_id = self._a_query(data)
        answer = compare(self.world, self.reference, query_id, limit=limit)
        if answer is not None and len(answer.rows) > 1:
            # Another reader begins, and takes a page after each step from now on.
            self.pagings.append(Paging(self.world, self.reference, query_id, limit=1))
        self.count("invoke" if answer is not None and answer.rows else "invoke-for-nothing")

    @precondition(lambda self: self.queries)
    @rule(
        data=st.data(), back=st.sampled_from([-1, 0, 1, 5, 20, 60, 3_600]), odd=st.integers(-1, 1)
    )
    def invoke_at(self, data, back, odd):
        """`now=` answers for another instant, or refuses one outside what is kept."""
        self.settle()
        query_id = self._a_query(data)
        newest_us = self.reference.now_us(query_id, self.world.store.results.cut().server_now_us)
        if newest_us is None:
            return
        at_us = newest_us - back * SECOND_US + odd
        answer = compare(self.world, self.reference, query_id, at_us=at_us)
        self.count("invoke-at" if answer is not None else "invoke-at-refused")

    @precondition(lambda self: self.queries)
    @rule(data=st.data())
    def count_only(self, data):
        """A count is that of all rows, without them."""
        self.settle()
        query_id = self._a_query(data)
        page = self.world.page(query_id, Request(limit=1, count_only=True))
        now_us = self.world.clock.now_us() if page.now_us is None else page.now_us
        expected = self.reference.invoke(query_id, server_now_us=now_us)
        assert (len(expected.rows), None) == (page.count, page.next)
        assert () == page.columns
        self.count("count-only")

    # --- Time and faults --------------------------------------------------------------------------

    @rule()
    def tick(self):
        """Nothing but time passes."""
        self.world.tick(fold=False)
        self.settle()
        self.count("tick")

    @rule(seconds=st.sampled_from([-10, 1, 5, 30, 90]))
    def advance(self, seconds):
        """The server's clock moves, also back."""
        self.world.clock.advance(seconds * SECOND_US)
        self.count("advance")

    @rule(committed_only=st.booleans(), data=st.data())
    def restart(self, committed_only, data):
        """The engine dies and another begins at the published position; committed work is not lost."""
        if committed_only and self.schemas:
            name = data.draw(st.sampled_from(sorted(self.schemas)))
            rows = data.draw(strategies.batches(self.schemas[name]))
            self.world.append(name, rows, fold=False)
        self.world.lose_engine()
        self.settle()
        self.count("restart")

    @invariant()
    def readers_read_on(self):
        """A later page belongs to the answer's own position, whatever has happened since."""
        for paging in self.pagings:
            paging.next(self.world)
            self.count("next-page")
        self.pagings = [paging for paging in self.pagings if paging.position is not None]

    @invariant()
    def consistent(self):
        """Log, results and engine keep their invariants, and every query answers as the twin does."""
        self.world.check()
        for query_id in self.reference.queries:
            if self.reference.seq == self.world.store.results.cut().seq:
                compare(self.world, self.reference, query_id)

    def teardown(self) -> None:
        """Let go of the store."""
        self.world.store.close()
