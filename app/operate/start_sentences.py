"""A start in sentences: on a terminal all of its log events, elsewhere only the one that says why it failed.

With `log_format json` they are log lines with the same members.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from structlog import DropEvent
from structlog.typing import EventDict, Processor, WrappedLogger

from psoup.app.units import spoken_seconds
from psoup.pipeline.wording import counted

Event = Mapping[str, Any]
_FOR_OPERATORS: Final = frozenset({"taken-over", "history", "live", "ending"})
"""Not shown on a terminal."""
NOT_STARTED: Final = "not-started"
LONG_S: Final = 1.0
"""Kernels that are ready sooner get no line."""
_BOLD, _QUIET, _RED, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[1;31m", "\x1b[0m"
_CODE: Final = re.compile(r"\x1b\[[0-9;]*m")


def on_terminal(otherwise: Processor, *, colors: bool) -> Processor:
    """Return a renderer that shows events of a start as sentences, and passes every other event to `otherwise`."""

    def render(logger: WrappedLogger, method: str, event: EventDict) -> Any:  # noqa: ANN401 (structlog's)
        if not _is_shown(event):
            raise DropEvent
        sentence = SENTENCES.get(str(event["event"]))
        if sentence is None:
            return otherwise(logger, method, event)
        return sentence(event) if colors else _CODE.sub("", sentence(event))

    return render


def off_terminal(otherwise: Processor) -> Processor:
    """Return a renderer that says why a start has failed as a sentence, and passes every other event to `otherwise`."""
    ended = on_terminal(otherwise, colors=False)

    def render(logger: WrappedLogger, method: str, event: EventDict) -> Any:  # noqa: ANN401 (structlog's)
        used = ended if event["event"] == NOT_STARTED else otherwise
        return used(logger, method, event)

    return render


def _is_shown(event: Event) -> bool:
    if event["event"] == "kernels-ready":
        return bool(event["seconds"] >= LONG_S)
    return event["event"] not in _FOR_OPERATORS


def _starting(event: Event) -> str:
    store = str(event["store"])
    embedded = store.startswith("/")
    place = f"data in {store}" if embedded else f"store at {store}"
    doing = {
        "serve": "starting the store",
        "engine": "opening the store",
        "api": "starting workers",
    }
    action = f"{_QUIET}{doing[event['process']]}{_PLAIN}"
    return f"{_BOLD}psoup {event['version']}{_PLAIN}  {place}\n{action}"


def _reading_back(event: Event) -> str:
    what = f"{counted(event['rows'], 'row')} and {counted(event['queries'], 'query')}"
    behind = f", then {counted(event['operations'], 'operation')}" if event["operations"] else ""
    return f"{_QUIET}reading {what} back{behind}{_PLAIN}"


def _listening(event: Event) -> str:
    url = f"{_BOLD}{event['url']}{_PLAIN}"
    after = f" after {spoken_seconds(event['seconds'])}" if "seconds" in event else ""
    pages = "".join(
        f"\n{_QUIET}{name}{_PLAIN} {event['url']}{event[key]}"
        for name, key in (("console", "console"), ("API pages", "docs"))
        if event.get(key)
    )
    if "workers" in event:
        return f"listening at {url}; {counted(event['workers'], 'worker')} to start{pages}"
    if not event["ready"]:
        return f"listening at {url}; ready once everything is read back{pages}"
    return f"ready at {url}{after}; Ctrl-C ends it{pages}"


def _not_started(event: Event) -> str:
    where = f" (store: {event['store']})" if str(event.get("code", "")).startswith("store-") else ""
    return f"{_RED}error{_PLAIN} psoup has not started: {event['detail']}{where}"


SENTENCES: Final[Mapping[str, Callable[[Event], str]]] = {
    "starting": _starting,
    "reading-back": _reading_back,
    "compiling-kernels": lambda _: (
        f"{_QUIET}compiling kernels: on the first start only, about half a minute{_PLAIN}"
    ),
    "kernels-ready": lambda event: (
        f"{_QUIET}kernels are ready after {spoken_seconds(event['seconds'])}{_PLAIN}"
    ),
    "standby": lambda _: "another engine has the store; this one waits to take its place",
    "recovered": lambda event: (
        f"{_QUIET}{counted(event['tuples'], 'row')} in memory, up to operation {event['applied']:,}{_PLAIN}"
    ),
    "listening": _listening,
    NOT_STARTED: _not_started,
    "worker-started": lambda event: f"{_QUIET}worker {event['worker']} has started{_PLAIN}",
    "ended": lambda _: f"{_QUIET}psoup has ended{_PLAIN}",
}
