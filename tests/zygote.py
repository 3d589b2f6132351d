"""The program that processes of psoup are forked from: it has imported all that they need, and runs one thread.

    python -m tests.zygote HANDLE

HANDLE is a socket, over which `tests.forked` asks for processes and for how they have ended.
"""

import gc
import os
import runpy
import signal
import socket
import sys
import time
from typing import Any, Final

import orjson

from psoup.app.backend.kernels import load_kernels

ASKED_BYTES: Final = 1 << 18


def import_all() -> None:
    """Import what `psoup serve`, `engine` and `api` import, and load the kernels."""
    import psoup.app.cli.application
    import psoup.app.main
    import psoup.app.processes.api
    import psoup.app.processes.engine
    import psoup.app.processes.serve
    import psoup.storage.opening  # noqa: F401 (imported for the processes)

    load_kernels()
    gc.collect()
    gc.freeze()


def serve(channel: socket.socket) -> dict[str, Any]:
    """Answer questions until nobody can ask any more. It returns in each new process alone, with what was asked for.

    How a process has ended is remembered: who asks may be interrupted before the answer comes, and asks again.
    """
    codes: dict[int, int] = {}
    while True:
        said, handles, _, _ = socket.recv_fds(channel, ASKED_BYTES, 3)
        if not said:
            sys.exit()
        asked = orjson.loads(said)
        if "ended" in asked:
            one = asked["ended"]
            if one not in codes:
                pid, status = os.waitpid(one, os.WNOHANG)
                if pid:
                    codes[one] = os.waitstatus_to_exitcode(status)
            channel.send(orjson.dumps([asked["number"], codes.get(one)]))
            continue
        pid = os.fork()
        if not pid:
            channel.close()
            become(asked, handles)
            return dict(asked)
        for handle in handles:
            os.close(handle)
        codes.pop(pid, None)  # of an earlier process with this number
        channel.send(orjson.dumps([asked["number"], pid]))


def become(asked: dict[str, Any], handles: list[int]) -> None:
    """Make this process the one that was asked for: its session, files, folder, environment and handling of signals."""
    if asked["session"]:
        os.setsid()
    for number, handle in enumerate(handles):
        os.dup2(handle, number)
        os.close(handle)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    time.tzset()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv[1:] = asked["arguments"]
    sys.path[0] = asked["folder"]


if __name__ == "__main__":
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C is for pytest, and for processes it starts
    import_all()
    wanted = serve(socket.socket(fileno=int(sys.argv[1])))
    runpy.run_module(wanted["module"], run_name="__main__", alter_sys=True)
