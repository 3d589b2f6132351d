"""psoup with an embedded server that takes `CONFIG SET`: some faults are brought about by it."""

from unittest import mock

from psoup.__main__ import main
from psoup.storage.embedded import server
from tests.stores import ALL_ACCESS

if __name__ == "__main__":
    with (
        mock.patch.object(server, "ACCESS", ALL_ACCESS),
        mock.patch.object(server.EmbeddedServer, "_is_fixed", return_value=True),
    ):
        main()
