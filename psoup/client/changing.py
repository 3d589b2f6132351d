"""What a change of a query names: members that are given, None among them, and those that are not."""

from enum import Enum
from typing import Final


class Unchanged(Enum):
    """Stands for a member that is left as it is; None stands for its absence."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = Unchanged.UNCHANGED


def given_members(**members: object) -> dict[str, object]:
    """Return those that are given."""
    return {name: value for name, value in members.items() if value is not UNCHANGED}
