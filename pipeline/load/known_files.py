"""Which files of a load the stream has rows of, asked before a row is sent.

A file is known by its content: one that has grown or changed is another file, and would be stored as a whole beside its
earlier rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from psoup.client.calls import ARROW_STREAM, JsonObject, PsoupClient, Txn
from psoup.client.errors import ServiceProblem
from psoup.pipeline.errors import AlreadyLoadedError
from psoup.pipeline.load.batches import empty_body
from psoup.pipeline.load.plan import LoadFile, LoadPlan
from psoup.pipeline.wording import counted

_FILES_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class NewFiles:
    """Files that are new to a stream with rows. `goes_on`: as an interrupted load leaves them, the last ones."""

    sentence: str
    goes_on: bool


def new_files(service: PsoupClient, plan: LoadPlan) -> NewFiles | None:
    """Return the files that are new to the stream; None: it has no rows, knows all of them, or --producer is given.

    Stores no row.

    Raises:
        AlreadyLoadedError: the stream has the rows of a file in the other order.
        ServiceProblem: the service refused.
    """
    if not plan.rows_before:
        return None
    try:
        seq = int(_append_nothing(service, plan, None)["seq"])
    except ServiceProblem as problem:
        if problem.problem == "rows-rejected":
            return None  # the options ask for other columns: the declaration is refused, and says which
        raise
    known = [_is_known(service, plan, file.app, seq) for file in plan.files]
    new = [file for file, is_known in zip(plan.files, known, strict=True) if not is_known]
    for file in new:
        if _is_known(service, plan, file.other_app, seq):
            raise AlreadyLoadedError(file.source.name, plan.request.stream)
    if not new or plan.request.producer is not None:
        return None
    return NewFiles(_sentence(plan, new), any(known) and known == sorted(known, reverse=True))


def _is_known(service: PsoupClient, plan: LoadPlan, app: str, seq: int) -> bool:
    """Return whether the stream has rows of a producer. `seq` is the present position of the log.

    Appends empty batches with the versions `seq` and `seq` + 1, which are higher than those of earlier checks. Both
    are duplicates only if the producer has stored a batch, because the versions of batches are higher than all
    positions. One duplicate alone may be the request itself, sent again because its answer was lost.
    """
    return all(
        _append_nothing(service, plan, Txn(app, version)).get("duplicate")
        for version in (seq, seq + 1)
    )


def _append_nothing(service: PsoupClient, plan: LoadPlan, txn: Txn | None) -> JsonObject:
    """Append a batch without rows; return the receipt."""
    return service.append(
        plan.request.stream,
        empty_body(plan),
        content_type=ARROW_STREAM,
        txn=txn,
        encoding=plan.request.encoding,
    )


def _sentence(plan: LoadPlan, files: Sequence[LoadFile]) -> str:
    named = ", ".join(file.source.name for file in files[:_FILES_NAMED])
    more = len(files) - _FILES_NAMED
    names = f"{named} and {more:,} more files" if more > 0 else named
    return (
        f"{plan.request.stream} already holds {counted(plan.rows_before, 'row')}, none of them from {names}. A file that"
        " has changed or grown since it was loaded comes in as a whole, in addition to its earlier rows;"
        " --replace drops all earlier rows first."
    )
