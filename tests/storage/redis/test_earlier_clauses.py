"""A store whose clauses an earlier version wrote, with select lists in their texts: it goes on, and nothing is lost."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import QueryId
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.canonical import sql_window
from psoup.engine.results.delta import Delta
from psoup.engine.verify.difference import Difference
from psoup.engine.verify.verification import Verification
from psoup.storage.inspection import Inspection
from tests.reference import Answer, Reference
from tests.storage.test_inspection import WINDOW, schema, table
from tests.stores import SharedServer
from tests.world import World

pytestmark = pytest.mark.redis

ONE = "SELECT k, v AS value FROM a WHERE k < 9"
OTHER = "SELECT DISTINCT s FROM a WHERE s LIKE 'x%' AND v > 0.9"
JOIN = "SELECT a.k, b.v FROM a, b WHERE a.k = b.k AND a.v > 0.99"


class EarlierWorld(World):
    """Publishes a clause under the text that its first query had before conditions stood apart."""

    rewrite: Callable[[str], str] | None = staticmethod(lambda text: text)
    """What is made of that text before it is published; None = clauses are published as they are."""
    handles: tuple[QueryId, ...] = ()
    """The queries that are registered while clauses are written so."""

    def publish(self, delta: Delta) -> None:
        """Publish the delta with other texts of clauses."""
        clauses = dict(delta.clauses)
        for query in delta.queries.values():
            if self.rewrite is not None and query.clause_id in clauses:
                bound = bind(query.canonical, self.streams)
                text = self.rewrite(query.canonical.removesuffix(sql_window(bound.window)))
                clauses[query.clause_id] = replace(clauses[query.clause_id], text=text)
        super().publish(replace(delta, clauses=clauses))


def differences(server: SharedServer) -> list[Difference]:
    """Return what `psoup fsck` finds."""
    inspection = Inspection(server.client, lambda: None)
    verification = Verification(inspection.checkpoint, inspection)
    found = list(inspection.structure())
    for some in verification.steps():
        found += some
    return found


def expected_of(world: World, handles) -> list[Answer]:
    twin = Reference.fold(world.history)
    return [twin.invoke(handle, server_now_us=world.clock.now_us()) for handle in handles]


@pytest.fixture
def world(server: SharedServer, tmp_path):
    """A world of this version over a store that the earlier one has filled; `handles` are its queries."""
    world = EarlierWorld(server.empty_store(tmp_path))
    world.declare(schema("a"))
    world.declare(schema("b"))
    world.handles = tuple(world.register(f"{text} {WINDOW}") for text in (ONE, OTHER, JOIN))
    chance = np.random.default_rng(5)
    world.append_table("a", table(chance, 0, CHUNK_ROWS + 700))
    world.append_table("b", table(chance, 0, CHUNK_ROWS + 30))
    world.rewrite = None
    world.lose_engine()
    return world


def texts_of(world: World, handles) -> list[str]:
    return [world.store.results.snapshot(handle).clause.text for handle in handles]


@pytest.mark.no_cover
def test_queries_of_an_earlier_store_answer_and_go_on(server, world):
    """Old clauses keep their hits and meet what comes; whoever comes now shares the clause of the condition alone."""
    assert [ONE, OTHER, JOIN] == texts_of(world, world.handles)
    assert [] == differences(server)
    later = [
        world.register(f"{text} {WINDOW}")
        for text in (ONE, ONE.replace("k, v AS value", "s"), JOIN.replace("a.k, b.v", "b.s"))
    ]
    one = "SELECT 1 FROM a WHERE k < 9"
    assert [one, one] == texts_of(world, later[:2])
    world.append_table("a", table(np.random.default_rng(6), 9_000, CHUNK_ROWS))
    handles = [*world.handles, *later]
    expected = expected_of(world, handles)
    assert expected == list(map(world.invoke, handles))
    assert [] == differences(server)
    world.lose_engine()
    assert expected == list(map(world.invoke, handles))
    for handle in handles:
        world.remove(handle)
    assert 0 == world.engine.statistics().query_stem.clauses
    world.check()


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("SELECT k FROM a WHERE k  <  9", ("clause", "Its text is not in canonical form.")),
        (
            "SELECT k FROM a WHERE k < 8",
            ("query", "its text says something else than its record"),
        ),
        ("SELECT k FROM a WHERE nowhere < 9", ("query", "its text does not bind")),
    ],
)
def test_clause_text_that_neither_version_writes_is_told(server, tmp_path, wrong, told):
    """It is the text of the condition, or of a query over it: canonical, and over the condition of its queries."""
    world = EarlierWorld(server.empty_store(tmp_path))
    world.rewrite = lambda _: wrong
    world.declare(schema("a"))
    world.register(f"{ONE} {WINDOW}")
    assert told in [(one.what, one.detail) for one in differences(server)]
