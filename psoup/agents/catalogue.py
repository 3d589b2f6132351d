"""The tools, with the texts from which an agent learns what psoup is and when to use which."""

from collections.abc import Sequence
from typing import Final

from mcp.types import ToolAnnotations

from psoup.agents.answers import (
    ChangesAnswer,
    DescribeAnswer,
    ExplainAnswer,
    InvokeAnswer,
    MatchAnswer,
    QueryAnswer,
    RemoveAnswer,
    ValidateAnswer,
)
from psoup.agents.arguments import (
    ChangesArguments,
    DescribeArguments,
    ExplainArguments,
    InvokeArguments,
    MatchArguments,
    RegisterArguments,
    RemoveArguments,
    ValidateArguments,
)
from psoup.agents.asking import explain, match
from psoup.agents.following import changes, invoke
from psoup.agents.looking import describe
from psoup.agents.standing import register, remove, validate
from psoup.agents.tool import Tool

INSTRUCTIONS: Final = """psoup keeps standing SQL queries over streams of rows that keep arriving.

A standing query is registered once and stays as long as it is asked (`ttl`): every new row is matched with it as it arrives, and rows from before are\
 there as well. `register` gives you a handle (q_...). Keep it, in your notes or in a file: the handle is good after this\
 conversation, this connection and this server have ended, and so is the cursor of an answer. Days later `invoke` answers\
 the handle as of then, and `changes` with the cursor tells you only what has changed since you looked.

So do not poll by sending SQL again and again, and do not read whole streams: register the question, then come back.

The usual way: `describe` (streams, columns, samples), `validate` (mend the SQL by its caret and hint), `register` with a\
 name of yours, `invoke`, later `changes` with the cursor. `explain` says why a row is in an answer or not, `match` which\
 queries a row would enter, `remove` ends a query.

Windows: BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW) behind WHERE shows the last ten minutes and moves by itself; both\
 ends belong to it. BEGIN ('2026-01-05 10:00:00') END (NOW) grows from an instant on. Without BEGIN-END you are shown all\
 that is kept. NOW is the largest time seen for streams whose clock is high-water (a replay of 2016 has its NOW in 2016),\
 and the clock on the wall for those whose clock is server. There is no NOW() in WHERE.

Answers keep to max_tokens. What does not fit is left out, and `left_out` and `notes` say how much and how to get it."""

_READS: Final = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_ADDS: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
_ENDS: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)

TOOLS: Final[Sequence[Tool]] = (
    Tool(
        name="describe",
        title="What is there",
        text="Lists the streams (columns and types, what dates the rows, how many there are, the latest few of them) and the"
        " standing queries. Call it first. With `stream` it shows one stream with more sample rows and the queries over it;"
        " with `query` what is known of one standing query, by handle or name. Rows are lists of values in the order of"
        " `columns`.",
        arguments=DescribeArguments,
        answer=DescribeAnswer,
        ask=describe,
        annotations=_READS,
    ),
    Tool(
        name="validate",
        title="Check a query",
        text="Checks SQL without registering anything. A mistake comes back with its place under a caret and a hint that names"
        " what there is (columns, streams, functions), so one correction is usually enough. SQL that is right comes back as"
        " it is understood, with the types of its columns, its window, warnings of what is likely not meant, how rows will"
        " meet it, and how many rows to expect. The SQL is one SELECT with WHERE, joins, GROUP BY, HAVING, DISTINCT, ORDER BY"
        " and LIMIT; no subqueries, no OVER; text stands in single quotes.",
        arguments=ValidateArguments,
        answer=ValidateAnswer,
        ask=validate,
        annotations=_READS,
    ),
    Tool(
        name="register",
        title="Register a standing query",
        text="Registers a standing query and answers its handle `id`. From then on psoup keeps its answer up to date with each"
        " row that arrives, whether or not anybody is connected; rows that are stored already are in it as well. Keep the"
        " handle: it survives disconnects and restarts, yours and psoup's, and is never used again for another query. Give"
        " a `name` of your own: registering the same again under it is the same as once, so a retry does no harm, and the"
        " name finds the query if the handle is lost. A window (BEGIN ... END) moves with NOW; write no times of today into"
        " WHERE for that.",
        arguments=RegisterArguments,
        answer=QueryAnswer,
        ask=register,
        annotations=_ADDS,
    ),
    Tool(
        name="invoke",
        title="Ask a standing query",
        text="Answers a standing query, by handle or name: the rows that its window shows at NOW, or at the instant `now`, kept"
        " ready and therefore cheap. `count` counts all of them, also those that are left out here. `columns` names the"
        " values of each row: `_id` names the row, `_x` is when the clock takes it out of the window. `cursor` goes to"
        " `changes`; a long answer has none: `changes` without a cursor begins.",
        arguments=InvokeArguments,
        answer=InvokeAnswer,
        ask=invoke,
        annotations=_READS,
    ),
    Tool(
        name="changes",
        title="What has changed",
        text="Tells what has changed in the answer of a standing query since a cursor, however long ago that was: it costs"
        " only what changed, and nothing where nothing did. `rows` have entered or have other values (put them by `_id`),"
        " `removed` are gone; rows whose `_x` is not after `now` have left by the clock, and nobody says so again. `reset`:"
        " forget what you hold, `rows` are everything. Keep the new `cursor`; cursors never expire, and one that"
        " cannot be gone on from is answered in full. Without a cursor it answers all rows. `wait` holds the call until"
        " something changes, which is better than asking again and again.",
        arguments=ChangesArguments,
        answer=ChangesAnswer,
        ask=changes,
        annotations=_READS,
    ),
    Tool(
        name="explain",
        title="Why a row is there, or not",
        text="Says why a standing query answers a row or does not: each condition with the value it saw and whether it held"
        " (null: SQL cannot tell, as with NULL), and when the window shows the row. Give the `row_id` of a row that is"
        " stored, or a `row` that is nowhere, to try it.",
        arguments=ExplainArguments,
        answer=ExplainAnswer,
        ask=explain,
        annotations=_READS,
    ),
    Tool(
        name="match",
        title="Which queries a row would enter",
        text="Says which of all standing queries rows would enter if they were appended to a stream. Nothing is stored. Of a"
        " join it looks at the conditions over this stream alone.",
        arguments=MatchArguments,
        answer=MatchAnswer,
        ask=match,
        annotations=_READS,
    ),
    Tool(
        name="remove",
        title="Remove a standing query",
        text="Removes a standing query, by handle or name, for everybody who uses it; rows of streams stay. Without"
        " confirm=true it removes nothing and shows what it would remove: look at that first, and ask whoever you work for"
        " unless the query is one that you registered.",
        arguments=RemoveArguments,
        answer=RemoveAnswer,
        ask=remove,
        annotations=_ENDS,
    ),
)
BY_NAME: Final = {tool.name: tool for tool in TOOLS}
