"""What lies in a server: nothing, the store of this data folder, or something that psoup leaves alone."""

from psoup.engine.errors import IntegrityError
from psoup.engine.store.errors import StoreUnsuitableError
from psoup.storage import keys
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.cluster import ClusterMemory
from psoup.storage.redis.upgrade import EARLIER


def check_contents(client: RedisClient, known: ClusterMemory) -> bool:
    """Return whether there is no store yet. One round trip; needs no Function.

    Args:
        client: connections to the server.
        known: what the data folder remembers of its store.

    Raises:
        StoreUnsuitableError: what the server holds, or that it holds nothing, does not belong to this folder.
        IntegrityError: it holds parts.
        StoreUnavailableError, RecoveringError: no answer.
    """
    (fmt, cluster), head = client.fetch_together(
        [("HMGET", keys.META, "fmt", "cluster"), ("HGET", keys.HEAD, "seq")]
    )
    file = known.file
    if cluster is None and head is None:
        if file is not None:
            raise StoreUnsuitableError(
                "The store is empty, but this data folder belongs to one with at least"
                f" {file.seq} operations. Bring that store back; or, if its"
                f" contents are given up, remove {known.path} and start again."
            )
        return True
    if fmt is None or cluster is None or head is None:
        raise IntegrityError("The store holds parts of a psoup, not a whole one. Restore it.")
    if fmt not in (b"%d" % layout for layout in (keys.LAYOUT_VERSION, EARLIER)):
        raise StoreUnsuitableError(
            f"The store was written in layout {fmt.decode(errors='replace')}; this psoup reads"
            f" {keys.LAYOUT_VERSION}. Start the version that wrote it."
        )
    if file is not None and file.cluster != cluster.decode(errors="replace"):
        raise StoreUnsuitableError(
            "The store belongs to another data folder than this one. Start psoup with the"
            f" folder it was begun with; or remove {known.path} to take this store over."
        )
    return False
