"""What a step answers on a store, in a form in which two stores can be compared."""

from collections.abc import Callable
from typing import Any

from psoup.engine.errors import EngineError
from psoup.engine.results.contract import Snapshot
from psoup.engine.store.contract import Store
from tests.storage.samples import query_id


def outcome(step: Callable[[Store], Any], store: Store) -> Any:
    try:
        return step(store)
    except EngineError as error:
        return type(error).__name__, error.detail, dict(error.extras)
    except KeyError as error:
        return "KeyError", error.args


def plain_read(store: Store, after, operations: int) -> list[Any]:
    return list(store.log.read(after, operations_max=operations, bytes_max=1 << 30))


def plain_snapshot(store: Store, number: int) -> tuple[Any, ...]:
    return plain(store.results.snapshot(query_id(number)))


def plain_snapshots(store: Store, handles: list[int]) -> list[tuple[Any, ...] | None]:
    found = store.results.snapshots([query_id(number) for number in handles])
    assert len({snapshot.cut for snapshot in found if snapshot is not None}) <= 1, "one cut"
    return [None if snapshot is None else plain(snapshot) for snapshot in found]


def plain(snapshot: Snapshot) -> tuple[Any, ...]:
    return snapshot.cut.seq, snapshot.query, snapshot.clause, snapshot.streams
