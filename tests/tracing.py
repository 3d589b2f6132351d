"""What coverage traces: the import of `engine/` and `storage/`, and the tests that are to reach their lines.

Tracing makes a test three times as long, and so it does the making of its fixtures, and collecting.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import psoup.engine
import psoup.storage


class Tracing:
    """A plugin of pytest, for a run with coverage: between what is to be traced, nothing is."""

    def __init__(self, config: pytest.Config) -> None:
        """End the tracing that `pytest-cov` leaves on in a process of xdist, beneath the one that it stops and starts.

        It takes the process for the one that distributes tests until the session begins.
        """
        self._plugin = config.pluginmanager.getplugin("_cov")
        if hasattr(config, "workerinput"):
            self._coverage.pause()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self) -> Iterator[None]:
        """Trace what runs when modules are imported, and nothing of collecting."""
        for package in (psoup.engine, psoup.storage):
            for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                importlib.import_module(module.name)
        self._trace(wanted=False)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Trace a test, with its fixtures, or leave it alone."""
        self._trace(wanted=item.get_closest_marker("no_cover") is None)
        return (yield)

    @property
    def _coverage(self) -> Any:
        return self._plugin.cov_controller

    def _trace(self, *, wanted: bool) -> None:
        if wanted and not self._coverage.started:
            self._coverage.resume()
        elif not wanted and self._coverage.started:
            self._coverage.pause()
