"""`validate`, `register` and `remove`: texts that become standing queries, and queries that end."""

from typing import Final

from psoup.agents.answers import RemoveAnswer, ValidateAnswer, columns_of, query_answer
from psoup.agents.arguments import RegisterArguments, RemoveArguments, ValidateArguments
from psoup.agents.tool import Found
from psoup.client.connections import operations
from psoup.client.connections.messages import Operation
from psoup.client.database import validated

_CONFIRM: Final = (
    "Nothing was removed. A removed query and its handle are gone for good, for everybody who uses it: call remove again"
    " with confirm=true if that is meant."
)


def validate(arguments: ValidateArguments) -> Operation[Found]:
    """Find what a registration would answer."""
    found = yield from validated(arguments.sql, arguments.params)
    return Found(ValidateAnswer.of(found, columns=columns_of(found["columns"])))


def register(arguments: RegisterArguments) -> Operation[Found]:
    """Register a query."""
    body = operations.registration(
        arguments.sql,
        params=arguments.params,
        name=arguments.name,
        labels=arguments.labels,
        ttl=arguments.ttl,
    )
    return Found(query_answer((yield from operations.register(body))))


def remove(arguments: RemoveArguments) -> Operation[Found]:
    """Remove a query, once that is confirmed."""
    described = yield from operations.looked_up(arguments.query)
    query = query_answer(described)
    if not arguments.confirm:
        return Found(RemoveAnswer.of({"removed": False, "query": query, "next": _CONFIRM}))
    yield from operations.remove(described["id"])
    return Found(RemoveAnswer.of({"removed": True, "query": query}))
