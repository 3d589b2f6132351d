"""One world against one service: its streams and its query are made, its steps are taken, and what differs is noted."""

import secrets
import time
import urllib.parse
from typing import Any, NamedTuple, Self

from conformance.client import Mirror
from conformance.comparing import Differences, Names, side_by_side
from conformance.service import Json, RefusedError, Service, succeeded

FAILURES_MAX = 5
"""A world is left after so many: what follows a wrong answer is rarely news."""
OK, NOT_MODIFIED, ACCEPTED = 200, 304, 202
EXPIRES_S, LOOK_S = 120.0, 1.0


class Failure(NamedTuple):
    """What differed: in which world, at which step (its line in the file's `steps`, from 1), and how."""

    world: str
    step: int
    sentence: str
    diff: str


class Answer(NamedTuple):
    """An answer that came: the cursor it was asked with, the envelope, the address it came from, and its tag."""

    asked: str | None
    envelope: Json
    path: str
    tag: str | None


class Setting:
    """The streams and the query of a world, under names that no other world has. Use it as a context manager."""

    def __init__(self, service: Service, world: Json) -> None:
        self.service = service
        self._world = world
        self._mark = f"world_{secrets.token_hex(5)}"
        self.results = ""
        self.last_seq = 0

    def __enter__(self) -> Self:
        for stream, definition in self._world["streams"].items():
            self.service.call("PUT", f"/v1/streams/{self.name(stream)}", definition)
        ttl = {"ttl": self._world["ttl"]} if "ttl" in self._world else {}
        self.results = self._registered(self._world["sql"], **ttl)
        return self

    def __exit__(self, *_: object) -> None:
        for stream in self._world["streams"]:
            self.service.send("DELETE", f"/v1/streams/{self.name(stream)}?cascade=true")

    @property
    def query(self) -> str:
        """Return the path of the query."""
        return self.results.removesuffix("/results")

    def _registered(self, sql: str, **more: str) -> str:
        described = self.service.call("POST", "/v1/queries", {"sql": self.named(sql), **more})
        return f"/v1/queries/{described['id']}/results"

    def named(self, sql: str) -> str:
        """Return a text with the names of the streams at the service."""
        for stream in self._world["streams"]:
            sql = sql.replace("{" + stream + "}", self.name(stream))
        return sql

    def await_end(self) -> None:
        """Return once the query is there no more; descriptions are no use of it. Raises RefusedError."""
        latest_s = time.monotonic() + EXPIRES_S
        while self.service.send("GET", self.query).status == OK:
            if time.monotonic() > latest_s:
                raise RefusedError(f"the query stands {EXPIRES_S:g} s after its last use")
            time.sleep(LOOK_S)

    def cursor_of(self, sql: str) -> str:
        """Return a cursor of another query over the same streams."""
        return str(self.service.call("GET", self._registered(sql))["cursor"])

    def name(self, stream: str) -> str:
        """Return the stream's name at the service."""
        return f"{self._mark}_{stream}"

    def append(self, stream: str, rows: list[Json]) -> None:
        """Append rows; later answers show them."""
        reply = self.service.send("POST", f"/v1/streams/{self.name(stream)}/rows", rows)
        receipt = succeeded(reply, f"rows for {stream}")
        self.last_seq = receipt["seq"]
        if reply.status == ACCEPTED:  # committed, not applied yet
            self.service.call("GET", self.path(count="only", min_seq=self.last_seq))

    def path(self, **parameters: Any) -> str:
        """Return the path of the query's results with parameters."""
        return (
            f"{self.results}?{urllib.parse.urlencode(parameters)}" if parameters else self.results
        )

    def whole(self) -> Json:
        """Return the answer of this moment to a client that has nothing, all pages as one."""
        envelope: Json = self.service.call("GET", self.results)
        following = envelope["next"]
        while following is not None:
            page = self.service.call("GET", urllib.parse.urljoin(self.results, following))
            envelope["rows"] += page["rows"]
            following = page["next"]
        return envelope


class Play:
    """The steps of one world."""

    def __init__(self, setting: Setting, world: Json) -> None:
        self._setting = setting
        self._world = world
        self._names = Names(world["known_by"])
        self._answers: dict[str, Answer] = {}
        self._stored: dict[str, Answer] = {}
        """What a cache would hold: the last answer of each address."""
        self._clients: dict[str, Mirror] = {}
        self._position = (0, 0, "")
        self._is_complete = False
        self._step = 0
        self.failures: list[Failure] = []

    def run(self) -> None:
        """Take all steps, or those up to the last failure that is told."""
        verbs = {
            "append": lambda step: self._setting.append(step["stream"], step["rows"]),
            "add_columns": self._add_columns,
            "replace": self._replace,
            "remove": lambda _: self._setting.service.call("DELETE", self._setting.query),
            "expire": lambda _: self._setting.await_end(),
            "ask": self._ask,
            "page": self._page,
            "apply": self._apply,
            "compare": self._compare,
        }
        for number, step in enumerate(self._world["steps"], start=1):
            self._step = number
            verbs[step["do"]](step)
            if len(self.failures) >= FAILURES_MAX:
                return

    def _add_columns(self, step: Json) -> None:
        path = f"/v1/streams/{self._setting.name(step['stream'])}"
        self._setting.service.call("PATCH", path, {"add_columns": step["columns"]})

    def _replace(self, step: Json) -> None:
        body = {"sql": self._setting.named(step["sql"])}
        self._setting.service.call("PATCH", self._setting.query, body)

    def _ask(self, step: Json) -> None:
        if "status" in step["expect"]:
            self._ask_in_vain(step)
            return
        parameters = {"limit": step["limit"]} if "limit" in step else {}
        cursor = self._cursor_of(step)
        if cursor is not None:
            parameters["cursor"] = cursor
        answer = self._get(self._setting.path(**parameters), cursor)
        if answer is None:
            return
        self._answers[step["answer"]] = answer
        self._check(step["expect"], answer)
        self._check_cursor(step["expect"], answer)
        self._check_tags(step["expect"], answer)

    def _ask_in_vain(self, step: Json) -> None:
        """Ask for what is there no more: nobody has to guess whether it comes back."""
        cursor = self._cursor_of(step)
        path = self._setting.path(**({"cursor": cursor} if cursor else {}))
        reply = self._setting.service.send("GET", path)
        body = reply.body if isinstance(reply.body, dict) else {}
        given = {"status": reply.status, "code": body.get("code")}
        if given != step["expect"]:
            self._fail(f"{given} is answered, {step['expect']} was expected")
        elif body.get("retryable") is not False:
            self._fail("the answer does not say that asking again is in vain")

    def _cursor_of(self, step: Json) -> str | None:
        """Return the cursor that a step sends; None where it sends none."""
        if "cursor_of" in step:
            return self._setting.cursor_of(step["cursor_of"])
        if step["cursor"] is None:
            return step.get("cursor_text")
        cursor: str | None = self._answers[step["cursor"]].envelope["cursor"]
        return cursor

    def _page(self, step: Json) -> None:
        before = self._answers[step["of"]]
        following = before.envelope.get("next")
        if following is None:
            self._fail(f"the answer {step['of']} has no next page")
            return
        path = urllib.parse.urljoin(self._setting.results, following)
        answer = self._get(path, before.asked)
        if answer is not None:
            self._answers[step["answer"]] = answer
            self._check(step["expect"], answer)

    def _get(self, path: str, asked: str | None) -> Answer | None:
        reply = self._setting.service.send("GET", path)
        if reply.status != OK:
            self._fail(f"status {reply.status}: {reply.body}")
            return None
        return Answer(asked, reply.body, path, reply.headers.get("etag"))

    def _check(self, expected: Json, answer: Answer) -> None:
        given = answer.envelope
        wrong = Differences(expected, given, self._names, kind=self._world["kind"]).found()
        if given.get("changes_at") is not None:
            wrong.append(f"changes_at is {given['changes_at']!r}: rows alone move this NOW")
        if self._world["retains_all"] and given.get("complete_from") is not None:
            wrong.append(f"complete_from is {given['complete_from']!r}: nothing was dropped")
        if self._is_complete and ("other_cursor_than" in expected or not given.get("complete")):
            wrong.append("an earlier answer was complete, and this one is another")
        self._is_complete |= given.get("complete") is True
        self._fail_all(wrong, expected, given)

    def _check_cursor(self, expected: Json, answer: Answer) -> None:
        """Compare the cursor with that of the request, and the answer's position with those of before."""
        given = answer.envelope
        position = (given["gen"], given["seq"], given["now"] or "")
        if position < self._position or given["seq"] < self._setting.last_seq:
            self._fail(f"{position} is before an earlier answer or append")
        self._position = max(position, self._position)
        if "same_cursor_as" in expected and given["cursor"] != answer.asked:
            self._fail("nothing has changed, and the cursor is another")
        if "other_cursor_than" in expected and given["cursor"] == answer.asked:
            self._fail("the answer has changed, and the cursor is the same")

    def _check_tags(self, expected: Json, answer: Answer) -> None:
        """Ask as a cache would: with the tag of an earlier answer of this address, and with the tag of this one."""
        if answer.tag is None:
            self._fail("the answer has no ETag")
            return
        stored = self._stored.get(answer.path)
        if self._world["kind"] == "distinct" and expected.get("more"):
            stored = None  # a duplicate that has left may have put the same rows into other pages
        if stored is not None and self._revalidated(stored) == NOT_MODIFIED:
            told = Differences(
                {**expected, "now": stored.envelope["now"], "window": stored.envelope["window"]},
                stored.envelope,
                self._names,
                kind=self._world["kind"],
                in_order=self._world["kind"] != "distinct",  # a duplicate may have left meanwhile
            ).found()
            self._fail_all(
                [f"304 for an earlier answer, where {one}" for one in told],
                expected,
                stored.envelope,
            )
        if self._revalidated(answer) != NOT_MODIFIED:
            self._fail("the tag of this very answer is not answered 304")
        self._stored[answer.path] = answer

    def _revalidated(self, answer: Answer) -> int:
        headers = {"If-None-Match": answer.tag or ""}
        return self._setting.service.send("GET", answer.path, headers=headers).status

    def _apply(self, step: Json) -> None:
        if step["answer"] not in self._answers:
            return  # it did not come, as an earlier step has told
        client = self._clients.setdefault(step["client"], Mirror(""))
        answer, cursor = self._answers[step["answer"]], client.cursor
        is_whole = client.apply(answer.envelope, answer.asked)
        if not step.get("saves_cursor", True):
            client.cursor, client.position = cursor, None
        if not is_whole:
            self._fail(
                f"{step['client']} holds {len(client.rows)} rows, count is {answer.envelope['count']}"
            )
        if "holds" not in step:
            return
        columns = self._world["columns"]
        held = sorted(
            (tuple(row.get(c) for c in columns) for row in client.rows.values()), key=repr
        )
        expected = sorted(map(tuple, step["holds"]), key=repr)
        if held != expected:
            self._fail(
                f"{step['client']} holds other rows than the query shows",
                side_by_side(_rows_of(expected, columns), _rows_of(held, columns)),
            )

    def _compare(self, step: Json) -> None:
        whole = self._setting.whole()
        held = self._clients[step["client"]].rows
        if held != {row["_id"]: row for row in whole["rows"]}:
            self._fail(
                f"{step['client']} holds other rows than a full answer",
                side_by_side(whole, {"rows": list(held.values())}),
            )

    def _fail_all(self, sentences: list[str], expected: Json, given: Json) -> None:
        if sentences:
            self._fail("; ".join(sentences), side_by_side(expected, given))

    def _fail(self, sentence: str, diff: str = "") -> None:
        self.failures.append(Failure(self._world["world"], self._step, sentence, diff))


def _rows_of(values: list[tuple[Any, ...]], columns: list[str]) -> Json:
    return {"rows": [dict(zip(columns, one, strict=True)) for one in values]}


def play(service: Service, world: Json) -> list[Failure]:
    """Play a world; return what differed. Raises RefusedError where the service does not take part."""
    with Setting(service, world) as setting:
        one = Play(setting, world)
        one.run()
    return one.failures
