"""Phones: clients that come back with a cursor, hold rows by the client's rule, and are held against the oracle.

What a phone holds after an answer is what the query shows at the position and the instant of that answer: it is noted
as a full answer is. A phone loses answers, ends between two pages, and begins again with rows that are newer than the
cursor it has saved.
"""

from typing import Any, Final

from conformance.client import Mirror
from tests.agreement.service.test_kill import micros
from tests.torture.clients import Client
from tests.torture.history import Exchange

HELD_MAX: Final = 3_000
"""Rows that a phone holds; of a query with more it looks at some."""
PAGE_ROWS: Final = (50, 1_000)
FORGETS: Final = 0.2
"""The part of answers after which a phone ends before it has saved the cursor."""


class Phone(Client):
    """Has a query of its own, comes back for what has changed, looks at others' now and then."""

    async def begin(self) -> None:
        """Register the query; without it there is nothing to do."""
        self.query_id = await self.register(self.name)
        self.latest_us: int | None = None
        self.held = Mirror("")
        self.gen: int | None = None

    async def act(self) -> None:
        """Ask for what has changed, or at an instant that nobody else asks for."""
        if self.query_id is None:
            return
        if self.rng.random() < 0.2 and self.scene.standing:
            await self.invoke(self.rng.choice(list(self.scene.standing)))
        elif self.latest_us is not None and self.rng.random() < 0.3:
            at_us = self.latest_us - self.rng.randint(0, 999_999)
            await self.invoke(self.query_id, at_us=at_us)
        else:
            await self.come_back()

    async def come_back(self) -> bool:
        """Ask with the cursor and apply what comes; return whether the query was answered to its end."""
        asked, limit = self.held.cursor, self.rng.choice(PAGE_ROWS)
        path = f"/v1/queries/{self.query_id}/results"
        target = f"{path}?limit={limit}&cursor={asked or ''}"
        if self.rng.random() < self.scene.cuts:
            await self.history.ask(self.connection, "GET", target, cut=self._cut(0))
            self.history.counts["cut"] += 1
        first: Exchange | None = None
        goes_on = False
        while True:
            exchange = await self.history.ask(self.connection, "GET", target)
            answer = exchange.answer
            if answer is None or (answer.code == "page-expired" and first is not None):
                return False
            if answer.status != 200:
                self.note_answer(exchange, str(self.query_id), {"limit": limit}, offset=0)
                return False
            told = answer.json()
            if told["count"] > HELD_MAX:
                self.held = Mirror("")
                return True
            if first is None:
                first, goes_on = exchange, not told["reset"]
                self._judge_beginning(asked, told)
            self._apply(asked, told)
            if told["next"] is None:
                break
            target = told["next"]
        self._note_held(first, exchange, told)
        if self.rng.random() < FORGETS:
            self._begin_again(asked if goes_on else None)
        return True

    def _begin_again(self, cursor: str | None) -> None:
        """Begin with the rows that are held, and the cursor that was saved before them."""
        before, self.held = self.held, Mirror("")
        self.held.rows, self.held.cursor = before.rows, cursor

    def _judge_beginning(self, asked: str | None, told: dict[str, Any]) -> None:
        """A client is told to begin anew where it has no cursor, or retention has dropped rows; for no other reason."""
        if self.gen not in {None, told["gen"]}:
            self.history.violation(f"{self.name}: another history: {self.gen}, {told['gen']}")
        self.gen = told["gen"]
        begins = "reset" if told["reset"] else "delta"
        self.history.counts[f"phone {begins}" if asked else "phone first load"] += 1
        if asked and told["reset"] and told["complete_from"] is None and self.latest_us is not None:
            self.history.violation(f"{self.name} is told to begin anew: {_head(told)}")

    def _apply(self, asked: str | None, told: dict[str, Any]) -> None:
        before = self.held.position
        if not self.held.apply(told, asked):
            text = f"{self.name} holds {len(self.held.rows)} rows after {_head(told)}"
            self.history.violation(text)
        if before is not None and (told["gen"], told["seq"]) < before[:2]:
            self.history.violation(f"{self.name} was at {before} before {_head(told)}")

    def _note_held(self, first: Exchange, last: Exchange, told: dict[str, Any]) -> None:
        """Note what is held as a full answer, at the position of the one that was applied last."""
        if told["now"] is not None:
            self.latest_us = micros(told["now"])
        asked = Exchange(first.sent_s, first.sent_us, last.done_s, last.done_us)
        body = {**_head(told), "next": None, "rows": list(self.held.rows.values())}
        self.history.note(
            "answer",
            asked,
            status=200,
            query=self.query_id,
            given={"held": True},
            offset=0,
            body=body,
        )
        self.history.counts["held"] += 1


def _head(told: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without its rows."""
    names = ("query", "gen", "seq", "now", "window", "count", "complete_from", "reset")
    return {name: told[name] for name in names}
