"""The client of a task. It raises one kind of error for an outage, so that the driver can tell an outage.

Spark hands the driver only the text of a task's error: its class and message, without its attributes. Whether the
request may succeed later (`ServiceProblem.retryable`) is an attribute, so the class has to say it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from psoup.client.calls import PsoupClient
from psoup.client.errors import ServiceProblem, ServiceUnreachableError
from psoup.pipeline.spark.options import Connection
from psoup.pipeline.spark.staging import open_client


@contextmanager
def task_client(connection: Connection) -> Iterator[PsoupClient]:
    """Yield a client that retries for as long as the connection says.

    Raises:
        ServiceUnreachableError: the service did not answer, or refused for now, until the last attempt.
        ServiceProblem: the service refused for good.
    """
    with open_client(connection) as service:
        try:
            yield service
        except ServiceProblem as problem:
            if not problem.retryable:
                raise
            raise ServiceUnreachableError(str(problem)) from problem
