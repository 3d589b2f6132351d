"""How a process ends: the code and the sentence for what the system refuses, and signals that come more than once."""

import errno
import os
import resource
import signal

import pytest

from psoup.app.operate.interrupts import Terminated, interruptible, uninterrupted
from psoup.app.operate.lifecycle import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_SETTINGS,
    EXIT_STORE,
    close_after,
    run_process,
)
from psoup.app.settings import Settings
from psoup.engine.store.errors import StoreUnavailableError

SETTINGS = Settings(store="memory://")


def test_what_the_system_refuses_is_not_blamed_on_the_address(said):
    """A full disk under a temporary folder has nothing to do with where the process listens."""

    def work(_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/tmp/psoup-api-1")

    assert EXIT_STORE == run_process(SETTINGS, work)
    (line,) = said
    assert "not-started" == line["event"]
    assert "address" not in line
    assert "No space left on device" in line["detail"]
    assert "/tmp/psoup-api-1" in line["detail"]


def test_store_that_does_not_answer_is_told_with_how_one_is_started(said):
    """For the server of --store; the embedded store is psoup's own affair."""

    def work(_: object) -> int:
        raise StoreUnavailableError("No answer.")

    assert EXIT_STORE == run_process(SETTINGS, work)
    assert EXIT_STORE == run_process(Settings(), work)
    served, embedded = said
    assert served["detail"].startswith("No answer. Start it, redis-server --appendonly yes")
    assert "No answer." == embedded["detail"]


def test_a_process_without_files_for_its_clients_is_not_begun(said, monkeypatch):
    """The sentence names the limit that there is and the one to set."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (40, 40))
    begun: list[object] = []

    def work(start: object) -> int:
        begun.append(start)
        return EXIT_OK

    assert EXIT_SETTINGS == run_process(SETTINGS, work)
    assert not begun
    (line,) = said
    assert ("not-started", "setting") == (line["event"], line["code"])
    assert "40 files" in line["detail"]
    assert "ulimit -n 4352" in line["detail"]


def test_signals_after_the_first_do_not_interrupt_its_work(said):
    """A group and its supervisor send one each: what ends after the first is not struck by the second."""
    done = []

    def work(_: object) -> int:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGHUP)
            done.append("closed")
        return EXIT_OK

    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]
    try:
        assert EXIT_OK == run_process(SETTINGS, work)
        os.kill(os.getpid(), signal.SIGTERM)  # and not until it has ended
    finally:
        for number, handler in zip((signal.SIGTERM, signal.SIGHUP), before, strict=True):
            signal.signal(number, handler)
    assert ["closed"] == done
    assert ["ended"] == [line["event"] for line in said]


def test_handlers_are_given_back_where_nothing_was_asked():
    """What runs afterwards in the same process is interrupted as before."""
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with interruptible():
        assert signal.getsignal(signal.SIGTERM) != before[1]
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGTERM)
    assert before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]


def test_closing_a_store_is_not_interrupted():
    """Ctrl-C twice would leave the embedded server running."""
    closed = []

    class Store:
        def close(self) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            closed.append(True)

    def work() -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        close_after(Store(), work)
    assert [True] == closed


def test_ctrl_c_at_a_start_gives_it_up_and_a_supervisor_ends_it(said):
    """The two have codes of their own."""

    def interrupted(error: type[KeyboardInterrupt]) -> int:
        def work(_: object) -> int:
            raise error

        return run_process(SETTINGS, work)

    assert EXIT_INTERRUPTED == interrupted(KeyboardInterrupt)
    assert EXIT_OK == interrupted(Terminated)
    assert ["ended"] * 2 == [line["event"] for line in said]
