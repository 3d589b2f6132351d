"""What a program closes when it is done with it."""

import abc
from types import TracebackType
from typing import Self


class Closing(abc.ABC):
    """A context manager that closes itself at the end."""

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    @abc.abstractmethod
    def close(self) -> None:
        """Give back what it holds. Twice does nothing more."""
