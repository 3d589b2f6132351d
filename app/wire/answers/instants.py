"""Instants as text, a column at a time: RFC 3339 UTC with exactly six decimals, so that the texts sort like the times.

    2026-11-21T10:05:00.123456Z      a row of 27 bytes
    date.......                      one of the dates of the column
               minute                one of 1,440
                     milli.          one of 60,000 of a minute
                           mic.      one of 1,000

So a long column is a matrix of bytes filled from four tables, at 15 ns a value; `numpy.datetime_as_string` takes 240.
A kernel writes a short one: it has no tables to prepare. The parts are as long as machine words, because
NumPy copies those faster, and each is overwritten by the next.
"""

import functools
from collections.abc import Iterable
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from psoup.engine.limits import DAY_US
from psoup.engine.tuples.json_arrays import INSTANT_WIDTH, json_instants

INSTANT_LENGTH: Final = INSTANT_WIDTH - 2
_MINUTE_US: Final = 60_000_000
_PARTS: Final = {"date": ("V16", 0), "minute": ("V8", 11), "milli": ("V8", 17), "micro": ("V4", 23)}


def instants(us: NDArray[np.int64]) -> list[str]:
    """Return instants of the years 1 to 9999 as texts, of others something. For few: O(n) objects."""
    array = json_instants(us).decode()
    return [array[at : at + INSTANT_LENGTH] for at in range(2, len(array), INSTANT_WIDTH + 1)]


def instant_array(us: NDArray[np.int64], *, before: str, after: str) -> pa.StringArray:
    """Return the text of each instant of the years 1 to 9999 with `before` and `after` around it.

    Cost: about 15 ns a value and the memory of the texts; a date that few rows share costs 300 ns.
    """
    head, tail = before.encode(), after.encode()
    width = len(head) + INSTANT_LENGTH + len(tail)
    texts = bytearray((head + bytes(INSTANT_LENGTH) + tail) * len(us))
    layout = np.dtype(
        {
            "names": list(_PARTS),
            "formats": [kind for kind, _ in _PARTS.values()],
            "offsets": [len(head) + offset for _, offset in _PARTS.values()],
            "itemsize": width,
        }
    )
    cells = np.frombuffer(texts, layout)
    days = us // DAY_US
    of_day = us - days * DAY_US
    minutes = of_day // _MINUTE_US
    of_minute = of_day - minutes * _MINUTE_US
    millis = of_minute // 1_000
    cells["date"] = _dates(days)
    cells["minute"] = _minutes()[minutes]
    cells["milli"] = _millis()[millis]
    cells["micro"] = _micros()[of_minute - millis * 1_000]
    offsets = np.arange(len(us) + 1, dtype=np.int32) * np.int32(width)
    return pa.StringArray.from_buffers(len(us), pa.py_buffer(offsets), pa.py_buffer(texts))


def _dates(days: NDArray[np.int64]) -> NDArray[np.void]:
    """Return the date of each day since the epoch, `2026-11-21T`; each is written once."""
    first, last = (int(days.min()), int(days.max())) if len(days) else (0, 0)
    if last - first <= len(days):
        distinct, places = np.arange(first, last + 1), days - first
    else:
        distinct, places = np.unique(days, return_inverse=True)
    dates = np.datetime_as_string(distinct.view("M8[D]")).tolist()
    return _table((f"{date}T" for date in dates), "V16")[places]


@functools.cache
def _minutes() -> NDArray[np.void]:
    return _table((f"{hour:02}:{minute:02}:" for hour in range(24) for minute in range(60)), "V8")


@functools.cache
def _millis() -> NDArray[np.void]:
    """480 KB: they stay in the cache of a core."""
    return _table((f"{i // 1_000:02}.{i % 1_000:03}" for i in range(60_000)), "V8")


@functools.cache
def _micros() -> NDArray[np.void]:
    return _table((f"{i:03}Z" for i in range(1_000)), "V4")


def _table(texts: Iterable[str], kind: str) -> NDArray[np.void]:
    """Return texts, padded to the size of `kind`, as one array of that size."""
    return np.array(list(texts), dtype=f"S{kind[1:]}").view(kind)
