"""The failure of executors: the engine then computes the hits itself."""

from typing import ClassVar


class ExecutorsError(Exception):
    """Executors did not finish a job. The message is what the cluster said of it.

    Not an EngineError: those are answered to clients, or say that a body is damaged. No client ever sees this one.
    """

    code: ClassVar[str] = "executors"
