"""Staged parts of `memory://`, and the marks that committed ones leave. The same rules as in `functions/commit.lua`."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from psoup.engine import limits
from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import Commit, Staged, StageId
from psoup.engine.tuples.batch import Seq
from psoup.storage import refusals

SWEPT_PER_CALL: Final = 100
"""Expired parts forgotten by one step: a step holds every other one up."""
UNKNOWN: Final = Seq(0)


@dataclass(frozen=True, slots=True)
class KeptPart:
    """A part until its life ends.

    Attributes:
        part: as it was staged; a mark has no body any more.
        expires_us: when its life ends.
        version: app and version that it was committed as, None = it is not.
        seq: the last entry of that commit, 0 = no longer known.
    """

    part: Staged
    expires_us: int
    version: tuple[str, int] | None = None
    seq: Seq = UNKNOWN

    @property
    def nbytes(self) -> int:
        """Return what it counts in STAGED_BYTES_MAX."""
        return len(self.part.body) + limits.STAGE_MARK_BYTES


class StagedParts:
    """Parts by id. Not thread-safe: the log's lock guards it. Those staged first expire first."""

    def __init__(self) -> None:
        """Begin with none."""
        self._kept: dict[StageId, KeptPart] = {}
        self._nbytes = 0

    @property
    def nbytes(self) -> int:
        """Return what all of them count, expired ones that are not swept yet included."""
        return self._nbytes

    def known(self, stage_id: StageId) -> KeptPart | None:
        """Return what is kept of a part, or of its commit."""
        return self._kept.get(stage_id)

    def add(self, part: Staged, now_us: int) -> int:
        """Keep a part that is not known; return when it expires. Raises OverloadedError where there is no room."""
        kept = KeptPart(part, now_us + limits.STAGE_LIFE_S * SECOND_US)
        if self._nbytes + kept.nbytes > limits.STAGED_BYTES_MAX:
            raise refusals.staged_full()
        self._put(kept)
        return kept.expires_us

    def of(self, commit: Commit, now_us: int) -> Sequence[KeptPart | None]:
        """Return the parts of a commit, None for one that is not there for it."""
        wanted = (commit.app, commit.version)
        found = (self._kept.get(stage_id) for stage_id in commit.stages)
        return [
            kept
            if kept is not None and kept.expires_us > now_us and kept.version in (None, wanted)
            else None
            for kept in found
        ]

    def mark(self, commit: Commit, seq: Seq) -> None:
        """Leave marks of the commit's parts, whose last entry is operation `seq`."""
        for stage_id in commit.stages:
            kept = self._kept[stage_id]
            if kept.version is None:
                self._nbytes -= kept.nbytes
                bare = replace(kept.part, body=b"")
                self._put(replace(kept, part=bare, version=(commit.app, commit.version), seq=seq))

    def discard(self, stage_id: StageId) -> None:
        """Forget a part that is not committed; one that is not there is passed over."""
        kept = self._kept.get(stage_id)
        if kept is not None and kept.version is None:
            self._forget(stage_id)

    def sweep(self, now_us: int) -> None:
        """Forget expired parts, SWEPT_PER_CALL at most."""
        for kept in list(itertools.islice(self._kept.values(), SWEPT_PER_CALL)):
            if kept.expires_us > now_us:
                return
            self._forget(kept.part.stage_id)

    def check(self) -> None:
        """Assert that bytes are counted, and that marks have no bodies."""
        assert self._nbytes == sum(kept.nbytes for kept in self._kept.values())
        for stage_id, kept in self._kept.items():
            assert stage_id == kept.part.stage_id
            assert kept.version is None or not kept.part.body
            assert kept.version is not None or not kept.seq

    def _put(self, kept: KeptPart) -> None:
        self._kept[kept.part.stage_id] = kept
        self._nbytes += kept.nbytes

    def _forget(self, stage_id: StageId) -> None:
        self._nbytes -= self._kept.pop(stage_id).nbytes
