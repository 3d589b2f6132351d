"""A byte that changes at rest: whatever it is of, the damage is named or all answers are as before, never others."""

import random
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from psoup.engine.errors import IntegrityError
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.store.errors import RecoveringError, StoreUnavailableError, StoreUnsuitableError
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from psoup.storage.redis.store import RedisStore
from tests.attack.store.filling import HISTORY, filled, schema, tuples
from tests.stores import SharedServer
from tests.world import World

pytestmark = pytest.mark.redis

FLIPS = 40
FLIPS_OF_TORTURE = 1_500
NAMES_A_PLACE = re.compile(r"\{ps\}:|[Oo]peration \d+|Part \d+ of history")
Answers = Mapping[str, object]


def asked_all(store: RedisStore) -> Answers:
    """Return all that can be asked of a store, after its engine has begun anew. Raises what is raised for damage."""
    answers: dict[str, object] = {"key": store.page_key, "gen": store.results.cut().gen}
    world = World(store)
    folded = [operation.content for operation in world.fold()] if store.log.head() else []
    answers["head"] = store.log.head() - len(folded)
    for query in store.results.queries():
        answers[query.query_id] = (query, world.invoke(query.query_id, limit=100_000).rows)
    for stream in store.results.streams():
        answers[stream.schema.name] = (stream.schema, stream.rows, stream.queries)
        batches = store.log.batches_of(stream.stream_id, after=Seq(0), up_to=store.log.head())
        answers[f"batches of {stream.schema.name}"] = [
            (one.first_tuple_id, one.content)
            for one in store.log.read_at([batch.seq for batch in batches])
        ]
    answers["holds"] = store.log.holds()
    answers["trimmed"] = [store.log.trimmed_through(StreamId(n)) for n in (1, 2)]
    answers["staged"] = store.log.statistics().staged_bytes
    answers["history"] = store.histories.get(HISTORY) and store.histories.body(HISTORY, 0)
    world.streams = {"b": (StreamId(2), schema("b"))}
    rows = tuples(0, CHUNK_ROWS + 10)
    answers["version"] = world.append("b", rows, app="producer", version=3).seq
    return answers


class AtRest:
    """The files of a store that was stopped, to be damaged and started again."""

    def __init__(self, folder: Path) -> None:
        self.server = SharedServer(folder / "server")
        try:
            self._fill(folder)
        except BaseException:
            self.stop()
            raise

    def _fill(self, folder: Path) -> None:
        self._data = folder / "data"
        self._saved = folder / "saved"
        self._trials = 0
        store = self.server.empty_store(self._data)
        filled(store)
        store.close()
        self._stop()
        shutil.copytree(self.server.files, self._saved)
        self.before = self.asked({})

    def sizes(self) -> dict[str, int]:
        """Return the files with what is kept, and their bytes."""
        found = {path.name: path.stat().st_size for path in self._saved.iterdir()}
        return {name: size for name, size in found.items() if "manifest" not in name and size}

    def bytes_of(self, name: str) -> bytes:
        """Return a file as it was."""
        return (self._saved / name).read_bytes()

    def asked(self, flips: Mapping[str, tuple[int, int]]) -> Answers:
        """Return all answers of the files with these bytes flipped: by file where, and by what."""
        self._trials += 1
        shutil.rmtree(self.server.files)
        shutil.copytree(self._saved, self.server.files)
        for name, (at, mask) in flips.items():
            path = self.server.files / name
            damaged = bytearray(path.read_bytes())
            damaged[at] ^= mask
            path.write_bytes(bytes(damaged))
        data = self._data.with_name(f"data{self._trials}")
        shutil.copytree(self._data, data)
        store = None
        try:
            self.server.start()
            store = self.server.store(data)
            return asked_all(store)
        finally:
            if store is not None:
                store.close()
            self._stop()
            shutil.rmtree(data)

    def stop(self) -> None:
        """End the server."""
        self.server.stop()

    def _stop(self) -> None:
        self.server.client.close()
        self.server._server.stop()


@pytest.fixture(scope="module")
def at_rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtRest]:
    found = AtRest(tmp_path_factory.mktemp("at-rest"))
    yield found
    found.stop()


def judge(at_rest: AtRest, name: str, at: int, mask: int) -> str:
    """Return what became of a flipped byte: `named`, `refused`, `lost` (another generation), `superseded`.

    `unnamed` where psoup found damage and does not say where. Fails where something was answered otherwise.
    """
    try:
        after = at_rest.asked({name: (at, mask)})
    except IntegrityError as error:
        return "named" if NAMES_A_PLACE.search(error.detail) else f"unnamed: {error.detail}"
    except (StoreUnsuitableError, StoreUnavailableError, RecoveringError):
        return "refused"  # by the server, or as another layout's or folder's
    if after["gen"] != at_rest.before["gen"]:
        return "lost"
    around = at_rest.bytes_of(name)[max(0, at - 60) : at + 30]
    differing = [key for key in at_rest.before if at_rest.before[key] != after.get(key)]
    assert not differing, (name, at, mask, around, differing)
    return "superseded"


def drawn(at_rest: AtRest, seed: int) -> tuple[str, int, int]:
    """Return a file, a place in it, and what is flipped there; seldom in a small file."""
    chance = random.Random(seed)
    sizes = at_rest.sizes()
    (name,) = chance.choices(sorted(sizes), [min(sizes[one], 1_000) for one in sorted(sizes)])
    mask = chance.choice([1 << chance.randrange(8), chance.randrange(1, 256)])
    return name, chance.randrange(sizes[name]), mask


def test_flipped_bytes_of_the_files_are_named_or_change_nothing(at_rest):
    """Bytes anywhere in the append-only files: values of every kind, keys, lengths, commands."""
    found = [judge(at_rest, *drawn(at_rest, seed)) for seed in range(FLIPS)]
    assert found.count("named") > FLIPS // 2, found
    assert not [one for one in found if one.startswith("unnamed")]


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_many_flipped_bytes_of_the_files_are_named_or_change_nothing(at_rest):
    """The same, so often that every part of the files is met."""
    for seed in range(1_000, 1_000 + FLIPS_OF_TORTURE):
        assert not judge(at_rest, *drawn(at_rest, seed)).startswith("unnamed"), seed
