"""A service that answers by a script, at a clock that sleeping moves."""

import httpx2

from psoup.client.calls import PsoupClient, RetryPolicy


class Time:
    """A clock that sleeping moves; keeps what was slept."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds

    def clock(self) -> float:
        return self.now_s


class Script:
    """A service that answers with what it was given, one after the other, and keeps the requests."""

    def __init__(self, *answers):
        self.answers: list[httpx2.Response | Exception] = list(answers)
        self.requests: list[httpx2.Request] = []
        self.time = Time()

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        answer: httpx2.Response | Exception = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def service(self, budget_s: float = 30.0, **more: bool) -> PsoupClient:
        retry = RetryPolicy(budget_s, self.time.clock, random=lambda: 0.0, **more)
        return PsoupClient(
            "http://psoup", retry=retry, sleep=self.time.sleep, transport=httpx2.MockTransport(self)
        )


def problem(status, code, *, retryable=None, retry_after=None):
    body = {"code": code, "detail": f"it is {code}"}
    if retryable is not None:
        body["retryable"] = retryable
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return httpx2.Response(status, json=body, headers=headers)


def ok(**body):
    return httpx2.Response(200, json=body)
