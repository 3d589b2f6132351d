"""What an answer carries beside its rows: where its next page is, and where the client now stands."""

from collections.abc import Mapping

from app.routes.endpoint import Call
from app.wire.invocations import next_link, position_to_json
from engine.invoke import Answer


def page_link(call: Call, answer: Answer, *, at_now: bool, kept: Mapping[str, str]) -> str | None:
    """Return the relative URL of the next page, with the parameters `kept`; None = there is none."""
    if answer.next is None:
        return None
    query_id = answer.query.query_id
    token = call.context.tokens.sign(query_id, [at_now, position_to_json(answer.next)])
    return next_link(f"/v1/queries/{query_id}/results", token, kept)


def cursor_of(call: Call, answer: Answer, *, at_now: bool) -> str | None:
    """Return where a client stands after this answer; None where it is one of another instant than NOW."""
    if not at_now:
        return None
    position = [answer.cut.gen, answer.cut.seq, answer.now_us]
    return call.context.tokens.sign(f"cursor {answer.query.query_id}", position)
