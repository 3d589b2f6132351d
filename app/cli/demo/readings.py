"""A building's sensors, made up: temperature, light, noise and doors of some rooms, ten times a second.

A pure function of the seed and of time: the same seed gives the same readings for the same instants,
in the same order, however they are asked for. They come as such data do: each a little late, some by
seconds and so out of order; now and then a sensor says nothing (NULL).
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from psoup.engine.limits import SECOND_US
from psoup.engine.tuples.arrow import arrow_schema
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema

STREAM: Final = "readings"
TICK_US: Final = SECOND_US // 10
LATEST_US: Final = 8 * SECOND_US
"""No reading arrives later than this after it was taken."""
LATE_SHARE: Final = 0.06
SILENT_SHARE: Final = 0.02
ROOMS: Final = tuple(
    f"{kind} {number}" for kind in ("lab", "office", "hall") for number in range(1, 9)
)

SCHEMA: Final = StreamSchema(
    name=STREAM,
    columns=(
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("room", ColumnType.STRING, nullable=False),
        ColumnSchema("temperature", ColumnType.FLOAT64),
        ColumnSchema("light", ColumnType.INT64),
        ColumnSchema("noise", ColumnType.FLOAT64),
        ColumnSchema("door", ColumnType.BOOL),
    ),
    time="ts",
    clock=ClockKind.HIGH_WATER,
)


@dataclass(frozen=True, slots=True)
class _Tick:
    """All rooms at one instant; arrays of one entry per room, `arrival_us` says when each comes in."""

    time_us: int
    arrival_us: np.ndarray
    temperature: np.ndarray
    light: np.ndarray
    noise: np.ndarray
    door: np.ndarray
    silent: np.ndarray
    """(3, rooms): whether temperature, light or noise is missing."""


def readings(seed: int, from_us: int, past_us: int) -> pa.RecordBatch:
    """Return the readings that arrive at `from_us` or later and before `past_us`, as they arrive.

    Args:
        seed: chooses the building's life.
        from_us: first instant of arrival, microseconds since the epoch.
        past_us: the instant after the last.

    Returns:
        A batch of the stream's schema; rows in order of arrival, so not in order of `ts`.
    """
    first = (from_us - LATEST_US) // TICK_US
    ticks = [_tick(seed, number) for number in range(first, past_us // TICK_US + 1)]
    arrival = np.concatenate([tick.arrival_us for tick in ticks])
    here = np.flatnonzero((arrival >= from_us) & (arrival < past_us))
    order = here[np.argsort(arrival[here], kind="stable")]
    silent = np.concatenate([tick.silent for tick in ticks], axis=1)[:, order]

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(tick, name) for tick in ticks])[order]

    times = np.repeat([tick.time_us for tick in ticks], len(ROOMS))[order]
    rooms = np.tile(np.arange(len(ROOMS), dtype=np.int32), len(ticks))[order]
    arrays = [
        pa.array(times, pa.int64()),
        pa.DictionaryArray.from_arrays(pa.array(rooms), pa.array(ROOMS)).cast(pa.string()),
        pa.array(joined("temperature"), mask=silent[0]),
        pa.array(joined("light"), mask=silent[1]),
        pa.array(joined("noise"), mask=silent[2]),
        pa.array(joined("door")),
    ]
    schema = arrow_schema(SCHEMA)
    cast = [array.cast(field.type) for array, field in zip(arrays, schema, strict=True)]
    return pa.RecordBatch.from_arrays(cast, schema=schema)


def _tick(seed: int, number: int) -> _Tick:
    """Return what the sensors read at tick `number` since the epoch."""
    chance = np.random.default_rng([seed, number])
    rooms = np.arange(len(ROOMS))
    time_us = number * TICK_US
    seconds = time_us / SECOND_US
    # Slow waves, each room with its own phase, so that rooms enter and leave a query's answer.
    wave = np.sin(seconds / 11 + rooms * 1.7) + 0.5 * np.sin(seconds / 3.1 + rooms)
    daylight = 400 + 250 * math.sin(seconds / 47)
    lit = np.sin(seconds / 19 + rooms * 0.9) > -0.6
    bursts = chance.random(len(ROOMS)) < 0.012
    late = chance.random(len(ROOMS)) < LATE_SHARE
    delay = chance.integers(5_000, 200_000, len(ROOMS))
    delay = np.where(late, chance.integers(SECOND_US, LATEST_US, len(ROOMS)), delay)
    return _Tick(
        time_us=time_us,
        arrival_us=time_us + delay,
        temperature=np.round(21.5 + 2.0 * wave + chance.normal(0, 0.1, len(ROOMS)), 2),
        light=np.where(lit, daylight, 4).astype(np.int64) + chance.integers(0, 9, len(ROOMS)),
        noise=np.round(np.abs(38 + 6 * wave + chance.normal(0, 3, len(ROOMS))) + 35 * bursts, 1),
        door=chance.random(len(ROOMS)) < 0.004,
        silent=chance.random((3, len(ROOMS))) < SILENT_SHARE,
    )
