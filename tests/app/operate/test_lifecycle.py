"""How a process ends: the code and the sentence for what the system refuses, and signals that come more than once."""

import asyncio
import errno
import json
import os
import resource
import signal
import threading
from contextlib import asynccontextmanager

import pytest
from starlette.applications import Starlette

from psoup.app.admission.slots import unlimited_slots
from psoup.app.admission.traffic import Traffic
from psoup.app.connection.listening import listen
from psoup.app.connection.server import make_server
from psoup.app.errors import ListenError, SettingError
from psoup.app.http.front import FRONT, Front
from psoup.app.http.request_log import RequestLog
from psoup.app.operate.interrupts import (
    Terminated,
    interruptible,
    uninterrupted,
    wait_for,
)
from psoup.app.operate.lifecycle import (
    EXIT_ADDRESS,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_SETTINGS,
    EXIT_STORE,
    Start,
    close_after,
    run_process,
)
from psoup.app.settings import Settings
from psoup.engine.store.errors import StoreUnavailableError
from tests.patience import WAIT_S

SETTINGS = Settings(store="memory://", port=0)
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def handlers():
    """Give the handlers of signals back. Ctrl-C interrupts meanwhile, also where pytest runs in the background."""
    before = {number: signal.getsignal(number) for number in ENDING}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


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


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (StoreUnavailableError("No answer."), EXIT_STORE, "No answer. Start it, redis-server "),
        (ListenError("::1", 80, OSError(errno.EACCES, "Denied")), EXIT_ADDRESS, "Denied"),
        (SettingError("host cannot be."), EXIT_SETTINGS, "host cannot be."),
        (OSError(errno.ENOSPC, "No space"), EXIT_STORE, "The system refused what a start takes: "),
    ],
)
@pytest.mark.parametrize("style", ["console", "json"])
def test_start_that_fails_off_a_terminal_ends_in_one_sentence(error, code, sentence, style, capsys):
    """Where log lines are JSON it is one of these, which a program reads."""

    def work(_: object) -> int:
        raise error

    settings = Settings(store="redis://127.0.0.1:1", port=0, log_format=style)
    assert code == run_process(settings, work)
    (line,) = capsys.readouterr().err.splitlines()
    if style == "json":
        told = json.loads(line)
        assert "not-started" == told["event"]
        assert told["detail"].startswith(sentence)
    else:
        assert line.startswith(f"error psoup has not started: {sentence}")


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_signals_after_the_first_do_not_interrupt_its_work(said, first):
    """A group and its supervisor send one each: what ends after the first is not struck by the second."""
    done = []

    def work(start: Start) -> int:
        start.end()
        try:
            os.kill(os.getpid(), first)
        finally:
            for number in ENDING:
                os.kill(os.getpid(), number)
            done.append("closed")
        return EXIT_OK

    assert EXIT_OK == run_process(SETTINGS, work)
    assert ["closed"] == done
    assert ["ended"] == [line["event"] for line in said]
    assert {signal.SIG_IGN} == {signal.getsignal(number) for number in ENDING}, "until it has ended"


def test_ctrl_c_while_a_server_closes_its_event_loop_interrupts_nothing(said):
    """The first one ends the server. A task that has outlived it is cancelled as the loop closes, and sends another."""
    closed = []

    async def outlive() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            closed.append(True)

    @asynccontextmanager
    async def lifespan(_):
        task = asyncio.create_task(outlive())
        yield {FRONT: Front(unlimited_slots(), Traffic(), RequestLog(SETTINGS)), "task": task}

    def work(start: Start) -> int:
        def note():
            start.end()
            os.kill(os.getpid(), signal.SIGINT)
            return {}

        with listen(SETTINGS) as listener:
            make_server(Starlette(lifespan=lifespan), SETTINGS, note=note).run([listener])
        return EXIT_OK

    assert EXIT_OK == run_process(SETTINGS, work)
    assert [True] == closed
    assert ["ended"] == [line["event"] for line in said]


def test_each_ctrl_c_interrupts_a_command():
    """What it does at its end may wait for a service that does not answer: that can be given up as well."""
    with interruptible():
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("keyboard_once", [False, True])
def test_handlers_are_given_back_where_nothing_was_asked(keyboard_once):
    """What runs afterwards in the same process is interrupted as before."""
    before = [signal.getsignal(number) for number in ENDING]
    with interruptible(keyboard_once=keyboard_once):
        changed = [signal.getsignal(number) for number in ENDING]
        assert [keyboard_once, True, True] == [
            one != other for one, other in zip(changed, before, strict=True)
        ]
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGTERM)
    assert before == [signal.getsignal(number) for number in ENDING]


def test_ctrl_c_that_a_process_ignores_stays_ignored():
    """A shell without jobs lets what it runs in the background ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interruptible(keyboard_once=True):
        os.kill(os.getpid(), signal.SIGINT)
        assert signal.SIG_IGN == signal.getsignal(signal.SIGINT)


def test_a_signal_that_does_not_wake_the_one_who_waits_interrupts_it():
    """The system hands it to another thread here; as well it may come just before the wait begins to sleep."""
    never = threading.Event()
    given_up = threading.Timer(WAIT_S, never.set)
    asked = threading.Timer(0.1, lambda: signal.pthread_kill(threading.get_ident(), signal.SIGTERM))
    given_up.start()
    with interruptible():
        asked.start()
        with pytest.raises(Terminated):
            wait_for(never)
    given_up.cancel()
    assert not never.is_set()


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
