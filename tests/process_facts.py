"""A program that writes down what it finds itself to be, and ends with the code that it is given."""

import gc
import json
import os
import signal
import sys
import threading
from pathlib import Path

if __name__ == "__main__":
    main = sys.modules["__main__"]
    facts = {
        "arguments": sys.argv[1:],
        "program": Path(sys.argv[0]).name,
        "main": main.__spec__ and main.__spec__.name,
        "path": sys.path[0],
        "folder": str(Path.cwd()),
        "environment": dict(os.environ),
        "signals": {
            number: str(getattr(signal.getsignal(number), "__name__", signal.getsignal(number)))
            for number in signal.valid_signals()
        },
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        "threads": [one.name for one in threading.enumerate()],
        "handles": sorted(int(name) for name in os.listdir("/proc/self/fd"))[:-1],  # noqa: PTH208 (names)
        "input": sys.stdin.read(),
        "leads": os.getpgid(0) == os.getpid() == os.getsid(0),
        "collects": gc.isenabled(),
        "flags": str(sys.flags),
    }
    print(json.dumps(facts, sort_keys=True))  # noqa: T201 (what it is for)
    print("an error", file=sys.stderr)  # noqa: T201 (the same)
    sys.exit(int(sys.argv[1]))
