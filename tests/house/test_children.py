"""Processes that tests start end when they are asked to, however the tests were started."""

import signal
import subprocess
import sys

from tests.children import ENDING, child, heed_ignored_signals

PROGRAM = "print(flush=True); import signal; signal.pause()"


def test_child_of_tests_that_ignore_signals_ends_as_asked():
    """As under nohup: the tests go on, and a process that they start is ended by each signal."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ENDING}
    try:
        heed_ignored_signals()
        for number in ENDING:
            signal.raise_signal(number)
            command = [sys.executable, "-S", "-c", PROGRAM]
            with child(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
                assert process.stdout is not None
                process.stdout.readline()
                process.send_signal(number)
                assert -number == process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
