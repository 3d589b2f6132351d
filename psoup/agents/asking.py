"""`explain` and `match`: why a query answers a row, and which queries a row would enter."""

from typing import Any

from psoup.agents.answers import ExplainAnswer, MatchAnswer
from psoup.agents.arguments import ExplainArguments, MatchArguments
from psoup.agents.fitting import Part
from psoup.agents.following import handle_of
from psoup.agents.tool import Found
from psoup.client.answers import Asked
from psoup.client.connections.messages import Operation
from psoup.client.streams import matched


def explain(arguments: ExplainArguments) -> Operation[Found]:
    """Find why a query answers a row, or does not."""
    query_id = yield from handle_of(arguments.query)
    row: Any = arguments.row if arguments.row_id is None else arguments.row_id
    found = yield from Asked(query_id, arguments.now).explained(row)
    return Found(
        ExplainAnswer.of(found),
        (Part("predicates", "conditions", "A larger max_tokens shows them."),),
    )


def match(arguments: MatchArguments) -> Operation[Found]:
    """Find which standing queries rows would enter."""
    found = yield from matched(arguments.stream, arguments.rows, arguments.limit)
    pairs = zip(found.total, found.matches, strict=True)
    rows = [{"total": total, "queries": list(handles)} for total, handles in pairs]
    return Found(
        MatchAnswer.of({"stream": arguments.stream, "matches": rows}),
        (
            Part(
                "queries",
                "handles",
                "limit says how many are named for each row; total counts them all.",
                total=sum(found.total),
            ),
            Part("matches", "rows", "Ask about fewer rows at once."),
        ),
    )
