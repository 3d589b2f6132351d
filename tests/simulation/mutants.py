"""Bugs that a simulated run has to find: those of the catalogue (S-03), and later ones.

A mutant is one change of the service's own code: of the text of the Function library, or of one
function of a module, as long as its context lasts.
"""

import contextlib
import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any
from unittest import mock

from psoup.app.backend.applied import AppliedPosition
from psoup.app.fold import turns as fold
from psoup.app.fold.trimming import Trimming
from psoup.engine.engine import Engine
from psoup.engine.log.contract import Appended
from psoup.engine.log.operation import Content, Remove
from psoup.engine.query.window import Window
from psoup.engine.store.errors import CommitUnknownError
from psoup.engine.tuples.batch import Seq
from psoup.storage.redis import results as redis_results, store as redis_store
from psoup.storage.redis.calls import client as redis_client, commit as redis_commit
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.calls.library import library_text
from psoup.storage.redis.calls.tidy import Untidy, stage
from psoup.storage.redis.calls.writes import delta_writes, fit_one_call
from psoup.storage.redis.log import RedisLog
from psoup.storage.redis.results import RedisResults
from psoup.storage.redis.store import RedisStore

Applied = Callable[[], contextlib.AbstractContextManager[Any]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A bug: `name` as in the catalogue; `applied()` has it in the code as long as the context lasts."""

    name: str
    applied: Applied


def lua(name: str, pattern: str, mutated: str) -> Mutant:
    """Return the mutant that has `mutated` wherever `pattern` matches the Function library's text."""

    def changed() -> bytes:
        text, times = re.subn(pattern, mutated, library_text().decode())
        assert times > 0, f"{name}: the Functions have nothing like {pattern}"
        return text.encode()

    return Mutant(name, lambda: mock.patch.object(redis_client, "library_text", changed))


def code(name: str, owner: type | ModuleType, function: str, mutated: Callable[..., Any]) -> Mutant:
    """Return the mutant that has `mutated(original, *arguments)` in the place of a function."""
    original = getattr(owner, function)

    def instead(*arguments: Any, **named: Any) -> Any:
        return mutated(original, *arguments, **named)

    return Mutant(name, lambda: mock.patch.object(owner, function, instead))


def _sure(append: Any, log: RedisLog, content: Content) -> Appended:
    try:
        appended: Appended = append(log, content)
    except CommitUnknownError:
        return Appended(Seq(log.head() + 1), 0)
    return appended


def _removed_at_once(append: Any, log: RedisLog, content: Content) -> Appended:
    if isinstance(content, Remove):
        return Appended(Seq(log.head() + 1), 0)
    appended: Appended = append(log, content)
    return appended


def _moved_first(publish: Any, results: RedisResults, delta: Any) -> None:
    writes, untidy = delta_writes(delta), Untidy.of(delta).text
    if fit_one_call(writes.before, writes.moving, writes.after):
        publish(results, delta)  # one step: there is no before in it
    elif results._judge(delta, results._move(delta, writes.moving, untidy=untidy)):
        late = [*writes.before, *writes.after]
        stage(results._token, late, applied=delta.seq, untidy=untidy, done=True)


def _trimmed_early(trim: Any, trimming: Trimming, published: Seq) -> None:
    trimming._gone.update(trimming._store.log.held_batches(published)[:1])
    trim(trimming, published)


def _tried_again(exchange: Any, client: RedisClient, commands: Any, lost: Any) -> Any:
    try:
        return exchange(client, commands, lost)
    except CommitUnknownError:
        return exchange(client, commands, lost)


def _end_exclusive(bind: Any, window: Window, now_us: int) -> tuple[int | None, int | None]:
    begin, end = bind(window, now_us)
    return begin, None if end is None else end - 1


@contextlib.contextmanager
def _untidy() -> Iterator[None]:
    """Leave what an unfinished publish has staged where it is."""
    with contextlib.ExitStack() as stack:
        for module in (redis_results, redis_store):
            stack.enter_context(mock.patch.object(module, "tidy"))
        yield


MUTANTS = (
    code("200 before applied", AppliedPosition, "shows", lambda *_, since: since is not None),
    code("2xx before the append's answer", RedisLog, "append", _sure),
    code("applied moved before the delta", RedisResults, "_publish", _moved_first),
    lua("publish without nonce check", r" or token\[2\] ~= a\[2\] then", " then"),
    lua("publish without the expected applied seq", r"if applied ~= a\[3\] then", "if false then"),
    lua("append without the run gate", r"if meta\[1\] ~= run_id\(\) then", "if false then"),
    lua(
        "append without the declaration check",
        r"string\.match\(row, '\^%d\+'\) ~= stream_id",
        "stream_id == nil",
    ),
    lua(
        "producer row written in a second call",  # which never comes
        r"\n +replace\(k\[PRODUCERS\], app, version [^\n]*",
        "",
    ),
    code("removal acknowledged before it is in the log", RedisLog, "append", _removed_at_once),
    lua("half-built query visible", r"if seq and tonumber\(seq\) <= applied then", "if seq then"),
    code(
        "fold reads the clock",
        Engine,
        "apply",
        lambda apply, engine, operation: apply(
            engine, replace(operation, arrival_us=operation.arrival_us + 1_000_000)
        ),
    ),
    code(
        "recovery folds again from applied instead of applied + 1",
        RedisLog,
        "read",
        lambda read, log, after, **bounds: read(log, Seq(max(0, after - 1)), **bounds),
    ),
    code("window end exclusive", Window, "bind", _end_exclusive),
    code("retry policy left on in the Redis client", RedisClient, "_exchange", _tried_again),
    code(
        "gen not changed after a regression",
        RedisStore,
        "_generation",
        lambda _, __, state, told, *, starting: state.gen,
    ),
    code("batch trimmed before its retention ends", Trimming, "trim", _trimmed_early),
    Mutant("staged pages of an unfinished publish visible", _untidy),
)
LATER = (
    lua(
        "append without the digest of the declaration",
        r"return declared == '' or declared == [^\n]+",
        "return true",
    ),
    code(
        "positions inside a commit are shown",
        fold,
        "read_groups",
        lambda _, log, after, **bounds: [[one] for one in log.read(after, **bounds)],
    ),
    code(
        "entries of a commit do not say that there is more",
        redis_commit,
        "_header",
        lambda header, part, txn, **_: header(part, txn, more=False),
    ),
    code(
        "digest of a commit depends on how it was cut",
        redis_commit,
        "sum_digests",
        lambda _, digests: hashlib.sha256(b"".join(digests)).digest(),
    ),
    lua("commit without its version", r"local answer = known_commit\([^\n]+", "local answer = nil"),
    lua("commit of the parts that are there", r"if #missing > 0 then", "if #parts == 0 then"),
    lua("commit leaves no marks", r"'v', seq \.\. ' ' \.\. mark, 'z', '0'", "'z', '0'"),
    lua(
        "commit of a part whose stream was dropped",
        r"return part\.in_force and part or nil",
        "return part",
    ),
    lua("discarding undoes a commit", r"if part\[1\] and not part\[3\] then", "if part[1] then"),
    lua(
        "bodies end with the hour of their parts",
        r"if not part\[3\] then redis\.call\('UNLINK', body_of\(prefix \.\. id\)\) end",
        "redis.call('UNLINK', body_of(prefix .. id))",
    ),
    lua(
        "bodies outlive their entries",
        r"redis\.call\('UNLINK', body_of\(a\[4\] \.\. part\)\)",
        "",
    ),
    lua("what is forgotten is not told", r"gone\[owner\] = math\.max[^\n]+", ""),
    lua("write leaves the seal as it was", r"seal\(LOG_SEALS, key, item\([^\n]+", ""),
    lua("entry without its sum", r"redis\.call\('HSET', sums_of[^\n]+", ""),
    lua("position moves without its sum", r"a\[5\]\)\n  close\(k\[1\], META_FIELDS\)", "a[5])"),
)
"""Bugs that the catalogue does not list."""
