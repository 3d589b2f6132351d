"""The tables of meters: every name once, gauges before counters, and no sample for what is not known."""

import itertools
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.core import Metric

from psoup.app.backend.contract import Phase
from psoup.app.figures.engine import NO_FIGURES
from psoup.app.operate.meters.engine import EXECUTORS, FOLD, LEASE, FoldReading
from psoup.app.operate.meters.meter import Kind, Meter, counter, families, gauge, in_order
from psoup.app.operate.meters.service import PROCESS, SERVICE, ServiceReading

TABLES: dict[str, list[Meter[Any]]] = {
    "service": [*SERVICE, *PROCESS],
    "engine": [*FOLD, *LEASE, *EXECUTORS],
}
"""What is shown together."""


def text(metrics: list[Metric]) -> str:
    return generate_latest(SimpleNamespace(collect=lambda: metrics)).decode()


@pytest.mark.parametrize("name", TABLES)
def test_meters_shown_together_have_names_of_their_own(name):
    """A second family of one name would make Prometheus refuse the whole scrape."""
    names = [meter.name for meter in TABLES[name]]
    assert sorted(set(names)) == sorted(names)


def test_meters_of_one_name_mean_the_same_to_a_service_and_an_engine():
    """They have the same kind and, but for `ready`, the same help text: each is defined once."""
    service, engine = ({one.name: one for one in table} for table in TABLES.values())
    shared = service.keys() & engine.keys() - {"ready"}
    assert len(shared) > 20
    assert all(service[name] is engine[name] for name in shared)


def test_counters_come_last_in_the_order_of_their_tables():
    """As they always have: whoever compares two scrapes by line finds nothing moved."""
    meters: list[Meter[int]] = [
        counter("b", "B.", lambda one: one),
        gauge("a", "A.", lambda one: one),
        counter("d", "D.", lambda _: 4),
        gauge("c", "C.", lambda _: 3),
    ]
    shown = text(in_order(families(meters, 1)))
    samples = [line for line in shown.splitlines() if not line.startswith("#")]
    assert ["psoup_a 1.0", "psoup_c 3.0", "psoup_b_total 1.0", "psoup_d_total 4.0"] == samples


def test_a_meter_without_a_value_is_left_out():
    """Of a store that was never seen nothing is shown, not even 0; what needs no store is."""
    unseen = ServiceReading(figures=NO_FIGURES, applied=7, is_ready=False)
    shown = text(list(families(SERVICE, unseen)))
    assert "psoup_applied 7.0" in shown
    assert "psoup_ready 0.0" in shown
    absent = ("log_head", "log_bytes", "backlog_operations", "histories", "store_memory_bytes")
    assert not [name for name in absent if f"psoup_{name}" in shown]
    standby = FoldReading(figures=NO_FIGURES, applied=0, phase=Phase.STANDBY, lag_us=0)
    assert "psoup_log_head" not in text(list(families(FOLD, standby)))


def test_every_help_text_is_a_sentence():
    """Dashboards show it beside the name."""
    meters = itertools.chain.from_iterable(TABLES.values())
    assert all(meter.text.endswith(".") and meter.kind in Kind for meter in meters)
