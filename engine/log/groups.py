"""Operations that become visible together: one by itself, or all entries of a commit.

A commit is a group of consecutive `Rows` entries, all but the last with `more`, that were appended in one step. No
position inside it is ever shown or published.
"""

from collections.abc import Iterator, Sequence

from psoup.engine.errors import IntegrityError
from psoup.engine.log.contract import Log
from psoup.engine.log.operation import Operation, Rows
from psoup.engine.tuples.batch import Seq


def ends_group(operation: Operation) -> bool:
    """Return whether the position of this operation may be shown."""
    return not (isinstance(operation.content, Rows) and operation.content.more)


def read_groups(
    log: Log, after: Seq, *, operations_max: int, bytes_max: int
) -> Sequence[Sequence[Operation]]:
    """Return the operations after `after`, as `Log.read` does, group by group and each group whole.

    So they may be more than `operations_max` and `bytes_max`: as many as a commit may have more. `after` is the end of
    a group.

    Raises:
        IntegrityError: the log ends inside a commit; and what `Log.read` raises.
    """
    operations: list[Operation] = []
    while not operations or not ends_group(operations[-1]):
        found = log.read(
            operations[-1].seq if operations else after,
            operations_max=operations_max,
            bytes_max=bytes_max,
        )
        if not found and operations:
            raise IntegrityError(
                f"The log ends at operation {operations[-1].seq}, amid a commit: what was committed in one"
                " step is not there as a whole."
            )
        if not found:
            return []
        operations += found
    return list(_grouped(operations))


def _grouped(operations: Sequence[Operation]) -> Iterator[Sequence[Operation]]:
    group: list[Operation] = []
    for operation in operations:
        group.append(operation)
        if ends_group(operation):
            yield group
            group = []
    assert not group
