"""Sends the batches of files into a stream, exactly once however often a load is interrupted and repeated.

Each batch is a transaction of the file's producer, and its version is the number of the batch. Batches are sent in
order, one at a time, because a version below the last one counts as a duplicate; the next batch is read meanwhile.
After the batches of a file comes its end, a batch without rows, by which a repeated load verifies that the service has
exactly this file (`docs/decisions/0028-a-file-is-loaded-once.md`).
"""

import dataclasses
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from psoup.client.calls import ARROW_STREAM, JsonObject, PsoupClient, Txn
from psoup.client.errors import ServiceProblem, ServiceUnreachableError
from psoup.pipeline.dropping import drop_as_seen, undo_declaration
from psoup.pipeline.errors import AlreadyLoadedError, DataFileError
from psoup.pipeline.load.batches import LoadBatch, batches_of, read_ahead
from psoup.pipeline.load.plan import LoadPlan

ALL_BUT_DONE: Final = 0.99
"""The largest fraction shown before everything is acknowledged."""

LoadWarning = Mapping[str, str]
"""A warning in the form of the service: `code` and `detail`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadProgress:
    """Progress of a load. `skipped_rows` of `rows` were stored before. `fraction` is 1 once all is acknowledged."""

    rows: int = 0
    skipped_rows: int = 0
    batches: int = 0
    skipped_batches: int = 0
    fraction: float = 0.0
    seq: int | None = None
    now: str | None = None
    warnings: tuple[LoadWarning, ...] = ()
    """Warnings about the last step."""


def run_load(
    service: PsoupClient, plan: LoadPlan, on_progress: Callable[[LoadProgress], None]
) -> LoadProgress:
    """Declare the stream and append the files' rows; return the totals.

    A repeated load stores no row twice; an interrupted one loses no acknowledged row. The first batch is read before
    anything is changed. If the load declares the stream and then stores no row, it drops the stream again.

    Args:
        service: the service.
        plan: of `plan_load`.
        on_progress: called after the declaration, each batch, and the end.

    Raises:
        DataFileError: a value does not fit its column, or the service rejected a row; names the line.
        AlreadyLoadedError: the stream has the rows of a file from a load with other options.
        ServiceProblem: the service refused for another reason.
    """
    load = _Load(service, plan, on_progress)
    with closing(read_ahead(batches_of(plan))) as batches:
        try:
            first = next(batches, None)
            load.prepare()
            for batch in chain(() if first is None else (first,), batches):
                load.send(batch)
        except BaseException as error:
            load.undo(error)
            if isinstance(error, DataFileError):
                raise load.with_advice(error) from error
            raise
    return load.done()


class _Load:
    """A running load."""

    def __init__(
        self, service: PsoupClient, plan: LoadPlan, on_progress: Callable[[LoadProgress], None]
    ) -> None:
        self._service = service
        self._plan = plan
        self._on_progress = on_progress
        self._created: JsonObject | None = None
        """The stream, if this load has created it."""
        self._bytes_before = 0
        """Size of the files that are done."""
        self._progress = LoadProgress()

    def prepare(self) -> None:
        """Drop and declare the stream as planned."""
        plan = self._plan
        if plan.replaces and plan.existing is not None:
            drop_as_seen(self._service, plan.existing)
        if plan.body is not None:
            self._step(warnings=self._declare(plan.body))

    def send(self, batch: LoadBatch) -> None:
        """Append a batch, or a file's end."""
        if not batch.rows:
            self._end(batch)
            return
        receipt = self._append(batch)
        skipped = bool(receipt.get("duplicate"))
        before = self._progress
        data = batch.file.data
        read_bytes = (
            self._bytes_before + data.fraction(batch.first_row + batch.rows) * data.size_bytes
        )
        self._step(
            rows=before.rows + batch.rows,
            skipped_rows=before.skipped_rows + (batch.rows if skipped else 0),
            batches=before.batches + 1,
            skipped_batches=before.skipped_batches + skipped,
            fraction=min(read_bytes / max(self._plan.size_bytes, 1), ALL_BUT_DONE),
            seq=receipt.get("seq") or before.seq,
            now=receipt.get("now"),
            warnings=tuple(receipt.get("warnings", ())),
        )

    def done(self) -> LoadProgress:
        """Report the end; return the totals."""
        self._step(fraction=1.0, warnings=())
        return self._progress

    def undo(self, error: BaseException) -> None:
        """Drop the stream if this load has created it and stored no row.

        Does nothing if the service does not answer: the request would only wait for it once more.
        """
        created = self._created
        if created is None or self._progress.batches or isinstance(error, ServiceUnreachableError):
            return
        undo_declaration(self._service, created)

    def with_advice(self, error: DataFileError) -> DataFileError:
        """Return the error, with the advice to pass --replace if the declared stream rules its hint out."""
        stays = self._progress.batches or (
            self._plan.existing is not None and not self._plan.replaces
        )
        if not stays or "--types" not in error.hint:
            return error
        stream = self._plan.request.stream
        return error.renamed(
            error.file,
            hint=f"{error.hint} {stream} is declared otherwise: to change a type, also pass --replace, which drops its rows.",
        )

    def _step(self, **changed: Any) -> None:  # noqa: ANN401 (members of LoadProgress)
        self._progress = dataclasses.replace(self._progress, **changed)
        self._on_progress(self._progress)

    def _declare(self, body: Mapping[str, Any]) -> tuple[LoadWarning, ...]:
        """Declare the stream; return the warnings. Ctrl-C waits for the answer, which `undo` needs."""
        name = self._plan.request.stream

        def declare() -> JsonObject:
            described, is_new = self._service.declare(name, body)
            self._created = described if is_new else None
            return described

        # Leaving the pool waits for its thread, so the thread has to run before the declaration is submitted.
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="psoup-declare") as pool:
            pool.submit(int).result()
            try:
                described = pool.submit(declare).result()
            except ServiceProblem as problem:
                raise _with_hint(problem, name) from problem
        return tuple(described.get("warnings", ()))

    def _end(self, end: LoadBatch) -> None:
        """Append a file's end, or verify that the service has it.

        An end that is a duplicate is the end of an earlier load, or its version is that of a batch of a load that was
        cut smaller. A row is then sent under the same version: the service refuses it only if it knows the version as
        an end, because it compares contents.

        Raises:
            AlreadyLoadedError: the file was loaded with other options.
        """
        name = end.file.source.name
        self._bytes_before += end.file.data.size_bytes
        if not self._append(end).get("duplicate"):
            return
        try:
            self._append(dataclasses.replace(end, body=end.witness))
        except AlreadyLoadedError:
            return
        raise AlreadyLoadedError(name, self._plan.request.stream)

    def _append(self, batch: LoadBatch) -> JsonObject:
        """Append a batch; return the receipt.

        Raises:
            AlreadyLoadedError: the service has other rows under this version.
            DataFileError: the service rejected a row.
        """
        request = self._plan.request
        try:
            return self._service.append(
                request.stream,
                batch.body,
                content_type=ARROW_STREAM,
                txn=Txn(batch.file.app, batch.version),
                encoding=request.encoding,
            )
        except ServiceProblem as problem:
            if problem.problem == "txn-content-differs":
                raise AlreadyLoadedError(batch.file.source.name, request.stream) from problem
            if problem.problem == "rows-rejected":
                raise _rejected(self._plan, batch, problem) from problem
            raise


def _with_hint(problem: ServiceProblem, stream: str) -> ServiceProblem:
    """Return the refusal of a declaration, with a hint for the loader."""
    if problem.problem != "stream-differs":
        return problem
    hint = (
        f"Leave out the options that differ; or pass --replace, which drops all rows of {stream} before the load."
        f" psoup drop {stream} removes the stream."
    )
    return ServiceProblem(problem.status, {**problem.body, "hint": hint}, request=problem.request)


_HINTS: Final = {
    "too-far-in-future": 'Check the unit of the time (--epoch). A larger "future" in the declaration allows later rows:'
    " psoup declare --future.",
    "too-long": "Pass --skip-columns to leave texts out.",
}
"""Hints, by the code of a rejected row."""


def _rejected(plan: LoadPlan, batch: LoadBatch, problem: ServiceProblem) -> DataFileError:
    """Return the service's first error about a row as an error about the file."""
    errors = problem.body.get("errors")
    first = errors[0] if isinstance(errors, list) and errors else {}
    index = first.get("index")
    line = None
    if isinstance(index, int) and not plan.request.sort:
        line = batch.file.data.line_of(batch.first_row + index)
    expected = first.get("expected")
    reason = f"the service rejected the row ({first.get('code', problem.problem)})"
    got = first.get("got")
    stored = "Nothing of this batch is stored; the batches before it are."
    return DataFileError(
        f"{reason}, expected {expected}" if expected else reason,
        file=batch.file.source.name,
        line=line,
        column=str(first.get("pointer", "")).lstrip("/") or None,
        value=None if got is None else str(got),
        hint=f"{_HINTS.get(str(first.get('code')), '')} {stored}".lstrip(),
    )
