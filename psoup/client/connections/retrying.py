"""Which requests are repeated, how often, and after which pauses.

What the contract calls retryable is repeated and nothing else; `Retry-After` is honoured; it ends when the budget of
waiting is spent. A request that must not happen twice (rows without a transaction, a batch of registrations) is
repeated only after answers that say nothing was stored.
"""

import random
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Final, TypeVar

from psoup.client.connections.messages import (
    Answer,
    Operation,
    Outcome,
    Pause,
    Request,
    Unreached,
    problem_body,
    refused,
)
from psoup.client.errors import (
    PsoupError,
    ServiceProblem,
    ServiceUnreachableError,
    problem_of,
)

T = TypeVar("T")

RETRY_BUDGET_S: Final = 30.0
RETRY_FIRST_S: Final = 0.1
RETRY_LONGEST_S: Final = 5.0
_ERRORS_NOTED: Final = 5
_NOTHING_STORED: Final = frozenset({429, 503})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long to retry. `clock` returns seconds and `random` a number in [0, 1); tests pass their own.

    A service that never answered is not waited for, unless `from_the_start`: its address is more likely wrong than
    slow. A job, though, outlives restarts of its service.
    """

    budget_s: float = RETRY_BUDGET_S
    clock: Callable[[], float] = time.monotonic
    random: Callable[[], float] = random.random
    from_the_start: bool = False

    def pause_s(self, attempt: int, asked_s: float = 0.0) -> float:
        """Return the pause before attempt `attempt` + 1: no shorter than the service asks for, else one that doubles.

        Pauses are drawn, so that clients that failed together do not come back together: from half of the doubling one
        on, and up to a quarter past what the service asks for.
        """
        drawn = self.random()
        own = min(RETRY_FIRST_S * 2.0**attempt, RETRY_LONGEST_S) * (1 - drawn / 2)
        return max(asked_s * (1 + drawn / 4), own)


def may_repeat(
    failure: ServiceProblem | ServiceUnreachableError, *, repeatable: bool, answered: bool
) -> bool:
    """Return whether another attempt is allowed and may succeed."""
    if isinstance(failure, ServiceUnreachableError):
        return repeatable and answered
    if not failure.retryable:
        return False
    return repeatable or (failure.status in _NOTHING_STORED and failure.problem != "commit-unknown")


class Attempts:
    """Turns an operation into single attempts and pauses, for one service, which it remembers to have answered."""

    def __init__(self, url: str, policy: RetryPolicy) -> None:
        """Nothing has answered yet. `url` stands in messages."""
        self.policy = policy
        self._url = url
        self._answered = False

    def of(self, operation: Operation[T]) -> Generator[Request | Pause, Outcome, T]:
        """Yield what has to be done for an operation; return its result.

        Raises:
            ServiceProblem: the service refused, for good or until the last attempt.
            ServiceUnreachableError: nothing answers.
        """
        try:
            request = next(operation)
            while True:
                try:
                    answer = yield from self._exchange(request)
                except PsoupError as error:
                    request = operation.throw(error)
                else:
                    request = operation.send(answer)
        except StopIteration as ended:
            result: T = ended.value
            return result
        finally:
            operation.close()

    def _exchange(self, request: Request) -> Generator[Request | Pause, Outcome, Answer]:
        policy = self.policy
        started_s = policy.clock()
        attempt = 0
        while True:
            outcome = yield request
            if isinstance(outcome, Answer) and outcome.is_success:
                self._answered = True
                return outcome
            failure = self._failed(request, outcome)
            asked_s = failure.retry_after_s if isinstance(failure, ServiceProblem) else 0.0
            pause_s = policy.pause_s(attempt, asked_s)
            answered = self._answered or policy.from_the_start
            if not may_repeat(failure, repeatable=request.repeatable, answered=answered):
                raise failure
            if policy.clock() - started_s + pause_s > policy.budget_s:
                raise failure
            yield Pause(pause_s)
            attempt += 1

    def _failed(
        self, request: Request, outcome: Outcome
    ) -> ServiceProblem | ServiceUnreachableError:
        """Return the error of an attempt."""
        if isinstance(outcome, Unreached):
            return unreachable(self._url, outcome, repeatable=request.repeatable)
        self._answered = True
        return refusal(request, outcome)


def refusal(request: Request, answer: Answer) -> ServiceProblem:
    """Return the problem of an answer that is no success. Its notes, below a traceback, say where and why."""
    body = problem_body(answer)
    problem = problem_of(
        answer.status,
        body,
        request=refused(request, answer),
        retry_after=answer.headers.get("retry-after"),
    )
    for member in ("excerpt", "hint"):
        if isinstance(body.get(member), str):
            problem.add_note(body[member])
    for error in (body.get("errors") or ())[:_ERRORS_NOTED]:
        problem.add_note(str(error))
    for one in body.get("diff") or ():
        problem.add_note(f"{one['member']}: declared {one['declared']}, given {one['given']}")
    return problem


def unreachable(
    url: str, outcome: Unreached, *, repeatable: bool = True
) -> ServiceUnreachableError:
    """Return the error of a request without an answer, in sentences."""
    if not outcome.connected:
        hint = outcome.hint or "Is `psoup serve` running there?"
    else:
        hint = "" if repeatable else "It is not known whether the request was carried out."
    return ServiceUnreachableError(
        f"The service at {url} does not answer: {outcome.reason}. {hint}".rstrip()
    )
