"""One meter: the name and the help text that scrapers see, its kind, and how its value is read from a record."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, Generic, TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

PREFIX: Final = "psoup_"
MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""Of `/metrics`."""


class Kind(Enum):
    """What a scraper may do with the values of a meter: gauges go up and down, counters only grow."""

    GAUGE = "gauge"
    COUNTER = "counter"


Reading_contra = TypeVar("Reading_contra", contravariant=True)
"""The record that the value of a meter is read from."""
R = TypeVar("R")
Value = float | None
"""None = it does not exist, or is not known: the meter is left out."""


@dataclass(frozen=True, slots=True)
class Meter(Generic[Reading_contra]):
    """One value of `/metrics`.

    Attributes:
        name: without PREFIX, and without the `_total` that scrapers see at the end of counters.
        text: its help text.
    """

    name: str
    text: str
    kind: Kind
    read: Callable[[Reading_contra], Value]


def gauge(name: str, text: str, read: Callable[[R], Value]) -> Meter[R]:
    """Return a meter that goes up and down."""
    return Meter(name, text, Kind.GAUGE, read)


def counter(name: str, text: str, read: Callable[[R], Value]) -> Meter[R]:
    """Return a meter that only grows."""
    return Meter(name, text, Kind.COUNTER, read)


def values(meters: Iterable[Meter[R]], reading: R) -> Iterator[tuple[Meter[R], float]]:
    """Yield meters and their values in `reading`; those without a value are left out."""
    for meter in meters:
        value = meter.read(reading)
        if value is not None:
            yield meter, float(value)


def families(meters: Iterable[Meter[R]], reading: R) -> Iterator[Metric]:
    """Yield the metric families of meters, with their values in `reading`; those without a value are left out."""
    for meter, value in values(meters, reading):
        family = GaugeMetricFamily if meter.kind is Kind.GAUGE else CounterMetricFamily
        yield family(PREFIX + meter.name, meter.text, value=value)


def in_order(metrics: Iterable[Metric]) -> list[Metric]:
    """Return metric families in the order of `/metrics`: counters last, otherwise as they are given."""
    return sorted(metrics, key=lambda metric: metric.type == Kind.COUNTER.value)
