"""The way of a history's task to the service: an outage is told as one kind of error, by which Spark's driver knows it.

Of what a task raises Spark brings a text to the driver, which names the error's kind and has none of its members.
Whether the same request may succeed later is one of these; so a task says it by the kind.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from psoup.pipeline.client import PsoupClient
from psoup.pipeline.errors import ServiceProblem, ServiceUnreachableError
from psoup.pipeline.spark.options import Connection
from psoup.pipeline.spark.staging import open_service


@contextmanager
def service_of_task(connection: Connection) -> Iterator[PsoupClient]:
    """Yield a client that waits for the service as long as the connection says.

    Raises:
        ServiceUnreachableError: the service is away, or has said for all that time that it cannot now.
        ServiceProblem: it has refused for good.
    """
    with open_service(connection) as service:
        try:
            yield service
        except ServiceProblem as problem:
            if not problem.retryable:
                raise
            raise ServiceUnreachableError(str(problem)) from problem
