"""Files into a stream, exactly once however often it is interrupted and repeated.

Each batch travels as a producer's transaction: the app is the file's, the version is the batch's number. Batches are
sent strictly in order, one at a time: a version below the last would count as a duplicate. The next one is read
meanwhile. Behind the last batch of a file goes its end, a batch without rows: by it a repeated load knows that the
service has neither less nor more of the file (`docs/decisions/0028-a-file-is-loaded-once.md`).
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from psoup.pipeline.client import ARROW_STREAM, JsonObject, PsoupClient, Txn
from psoup.pipeline.dropping import drop_as_seen, take_back
from psoup.pipeline.errors import (
    AlreadyLoadedError,
    DataFileError,
    ServiceProblem,
    ServiceUnreachableError,
)
from psoup.pipeline.load.batches import Part, nothing, parts_of, read_ahead
from psoup.pipeline.load.plan import LoadFile, LoadPlan
from psoup.pipeline.wording import counted

ALL_BUT_DONE: Final = 0.99
"""The largest share that is shown before everything is acknowledged."""
_FILES_NAMED: Final = 3

Warned = Mapping[str, str]
"""A warning as the service words it: `code` and `detail`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadProgress:
    """How far a load is. `skipped_rows` of `rows` were there already. `fraction` is 1 once all is acknowledged."""

    rows: int = 0
    skipped_rows: int = 0
    batches: int = 0
    skipped_batches: int = 0
    fraction: float = 0.0
    seq: int | None = None
    now: str | None = None
    warnings: tuple[Warned, ...] = ()
    """What there is to say of the last step."""


def run_load(
    service: PsoupClient, plan: LoadPlan, on_progress: Callable[[LoadProgress], None]
) -> LoadProgress:
    """Declare the stream and append the files' rows; return the final figures.

    Repeating it stores nothing twice; interrupting it loses nothing that was acknowledged. The first batch is read
    before anything is changed. A stream that was declared for it, and got no row of it, is taken back.

    Args:
        service: where to.
        plan: of `plan_load`.
        on_progress: called after each step: the declaration, a look at what the stream has, each batch, the end.

    Raises:
        DataFileError: a value does not fit, or the service rejected a row; says the line.
        AlreadyLoadedError: the stream has the rows of a file otherwise.
        ServiceProblem: the service refused otherwise.
    """
    load = _Load(service, plan, on_progress)
    with closing(read_ahead(parts_of(plan))) as parts:
        try:
            first = next(parts, None)
            load.prepare()
            for part in chain(() if first is None else (first,), parts):
                load.send(part)
        except BaseException as error:
            load.undo(error)
            if isinstance(error, DataFileError):
                raise load.explained(error) from error
            raise
    return load.done()


class _Load:
    """A load on its way."""

    def __init__(
        self, service: PsoupClient, plan: LoadPlan, on_progress: Callable[[LoadProgress], None]
    ) -> None:
        self._service = service
        self._plan = plan
        self._on_progress = on_progress
        self._created: JsonObject | None = None
        """The stream, where this load has declared it anew."""
        self._bytes_before = 0
        """Of the files that are done."""
        self._progress = LoadProgress()

    def prepare(self) -> None:
        """Drop and declare the stream as planned, and say which files it has nothing of."""
        plan = self._plan
        if plan.replaces and plan.existing is not None:
            drop_as_seen(self._service, plan.existing)
        if plan.body is not None:
            self._step(warnings=self._declared(plan.body))
        if plan.rows_before:
            self._look()

    def send(self, part: Part) -> None:
        """Append a batch, or a file's end."""
        if not part.rows:
            self._end(part)
            return
        receipt = self._append(part)
        skipped = bool(receipt.get("duplicate"))
        before = self._progress
        data = part.file.data
        read_bytes = (
            self._bytes_before + data.fraction(part.first_row + part.rows) * data.size_bytes
        )
        self._step(
            rows=before.rows + part.rows,
            skipped_rows=before.skipped_rows + (part.rows if skipped else 0),
            batches=before.batches + 1,
            skipped_batches=before.skipped_batches + skipped,
            fraction=min(read_bytes / max(self._plan.size_bytes, 1), ALL_BUT_DONE),
            seq=receipt.get("seq") or before.seq,
            now=receipt.get("now"),
            warnings=tuple(receipt.get("warnings", ())),
        )

    def done(self) -> LoadProgress:
        """Return the final figures."""
        self._step(fraction=1.0, warnings=())
        return self._progress

    def undo(self, error: BaseException) -> None:
        """Take the declaration back where the load made it and has stored nothing.

        Not where the service is out of reach: it would only be waited for once more.
        """
        created = self._created
        if created is None or self._progress.batches or isinstance(error, ServiceUnreachableError):
            return
        take_back(self._service, created)

    def explained(self, error: DataFileError) -> DataFileError:
        """Return the error with what else is to be passed where the stream, as it is, forbids what its hint says."""
        stays = self._progress.batches or (
            self._plan.existing is not None and not self._plan.replaces
        )
        if not stays or "--types" not in error.hint:
            return error
        stream = self._plan.request.stream
        return error.renamed(
            error.file,
            hint=f"{error.hint} {stream} is declared otherwise: another type needs --replace, which drops its rows.",
        )

    def _step(self, **changed: Any) -> None:  # noqa: ANN401 (members of LoadProgress)
        self._progress = dataclasses.replace(self._progress, **changed)
        self._on_progress(self._progress)

    def _declared(self, body: Mapping[str, Any]) -> tuple[Warned, ...]:
        """Declare the stream; return the warnings. An interruption waits for the answer: `undo` needs it."""
        name = self._plan.request.stream

        def declare() -> JsonObject:
            described, is_new = self._service.declare(name, body)
            self._created = described if is_new else None
            return described

        # Leaving the pool waits for its thread, wherever the interruption came: if it has begun, so it does before.
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="psoup-declare") as pool:
            pool.submit(int).result()
            try:
                described = pool.submit(declare).result()
            except ServiceProblem as problem:
                raise _with_hint(problem, name) from problem
        return tuple(described.get("warnings", ()))

    def _look(self) -> None:
        """Say which files the stream has nothing of, before a row is stored.

        Raises:
            AlreadyLoadedError: it has one of them in the other order.
        """
        asked_at = int(self._ask(None)["seq"])
        new = [file for file in self._plan.files if not self._is_known(file.app, asked_at)]
        for file in new:
            if self._is_known(file.other_app, asked_at):
                raise AlreadyLoadedError(file.source.name, self._plan.request.stream)
        if new and self._plan.request.producer is None:
            self._step(warnings=(_new_files(self._plan, new),))

    def _is_known(self, app: str, asked_at: int) -> bool:
        """Return whether the stream has rows of a producer, whose versions begin above all positions of the log.

        Only then are versions duplicates that are newer than whatever was asked before `asked_at`. A single duplicate
        may be the question itself, sent again because its answer was lost.
        """
        return all(
            self._ask(Txn(app, version)).get("duplicate") for version in (asked_at, asked_at + 1)
        )

    def _ask(self, txn: Txn | None) -> JsonObject:
        """Append a batch without rows; return the receipt."""
        return self._service.append(
            self._plan.request.stream,
            nothing(self._plan),
            content_type=ARROW_STREAM,
            txn=txn,
            encoding=self._plan.request.encoding,
        )

    def _end(self, part: Part) -> None:
        """Put the end behind a file's batches, or find that it is there.

        Where it counts as a duplicate it is the end of then, or lies among the batches of a load that was cut
        smaller. The service compares what it still knows of a version: a row in the place of the end is
        refused behind the true end alone.

        Raises:
            AlreadyLoadedError: the file was loaded with other options.
        """
        name = part.file.source.name
        self._bytes_before += part.file.data.size_bytes
        if not self._append(part).get("duplicate"):
            return
        try:
            self._append(dataclasses.replace(part, body=part.witness))
        except AlreadyLoadedError:
            return
        raise AlreadyLoadedError(name, self._plan.request.stream)

    def _append(self, part: Part) -> JsonObject:
        """Append a batch; return the receipt.

        Raises:
            AlreadyLoadedError: the service knows the version with other rows.
            DataFileError: it rejected a row.
        """
        request = self._plan.request
        try:
            return self._service.append(
                request.stream,
                part.body,
                content_type=ARROW_STREAM,
                txn=Txn(part.file.app, part.version),
                encoding=request.encoding,
            )
        except ServiceProblem as problem:
            if problem.problem == "txn-content-differs":
                raise AlreadyLoadedError(part.file.source.name, request.stream) from problem
            if problem.problem == "rows-rejected":
                raise _rejected(self._plan, part, problem) from problem
            raise


def _new_files(plan: LoadPlan, files: Sequence[LoadFile]) -> Warned:
    """Return the warning that files are new to a stream with rows: so a file comes in twice that has grown."""
    named = ", ".join(file.source.name for file in files[:_FILES_NAMED])
    more = len(files) - _FILES_NAMED
    names = f"{named} and {more:,} more files" if more > 0 else named
    detail = (
        f"{plan.request.stream} already holds {counted(plan.rows_before, 'row')}, none of them from {names}. A file that"
        " has changed or grown since it was loaded comes in as a whole, beside the rows of before;"
        " --replace puts this load in the place of all of them."
    )
    return {"code": "new-file", "detail": detail}


def _with_hint(problem: ServiceProblem, stream: str) -> ServiceProblem:
    """Return the refusal of a declaration with what a loader can do about it."""
    if problem.problem != "stream-differs":
        return problem
    hint = (
        f"Leave out what differs; or pass --replace, which puts this load in the place of all that {stream} holds."
        f" psoup drop {stream} removes it."
    )
    return ServiceProblem(problem.status, {**problem.body, "hint": hint})


_HINTS: Final = {
    "too-far-in-future": 'Is the time right (--epoch)? A larger "future" in the declaration takes later rows:'
    " psoup declare --future.",
    "too-long": "Pass --skip-columns to leave texts out.",
}
"""By the code of a rejected row: what to do about it."""


def _rejected(plan: LoadPlan, part: Part, problem: ServiceProblem) -> DataFileError:
    """Return the service's first complaint about a row as one about the file."""
    errors = problem.body.get("errors")
    first = errors[0] if isinstance(errors, list) and errors else {}
    index = first.get("index")
    line = None
    if isinstance(index, int) and not plan.request.sort:
        line = part.file.data.line_of(part.first_row + index)
    expected = first.get("expected")
    reason = f"the service rejected the row ({first.get('code', problem.problem)})"
    got = first.get("got")
    stored = "Nothing of this batch is stored; the batches before it are."
    return DataFileError(
        f"{reason}, expected {expected}" if expected else reason,
        file=part.file.source.name,
        line=line,
        column=str(first.get("pointer", "")).lstrip("/") or None,
        value=None if got is None else str(got),
        hint=f"{_HINTS.get(str(first.get('code')), '')} {stored}".lstrip(),
    )
