"""Further real data as streams: the first lines of a set, in the order of their source."""

import gzip
import io
import itertools
import lzma
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from psoup.engine.limits import SECOND_US
from psoup.engine.tuples.arrow import arrow_schema
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema
from tests.data.real_streams import RealStream

_WHOLE, _NUMBER, _TEXT = ColumnType.INT64, ColumnType.FLOAT64, ColumnType.STRING
_UTC = pa.timestamp("us", tz="UTC")

Columns = Mapping[str, tuple[ColumnType, pa.ChunkedArray]]


def air(folder: Path, lines: int) -> tuple[RealStream, RealStream]:
    """Return pollution and weather of twelve stations, each hour at one time for all; much is missing."""
    read = _read(folder / "air-quality-beijing" / "hourly-2013-03-to-2014-12.csv.xz", lines)
    parts = [_padded(read[name], 4 if name == "year" else 2) for name in ("year", "month", "day")]
    days = pc.binary_join_element_wise(*parts, "-")
    hours = pc.binary_join_element_wise(days, _padded(read["hour"], 2), " ")
    times = pc.strptime(hours, "%Y-%m-%d %H", "us").cast(_UTC)
    station = (_TEXT, read["station"])
    numbers = {name: (_NUMBER, read[given]) for name, given in _AIR.items()}
    weather: Columns = {
        "temp": (_NUMBER, read["TEMP"]),
        "wd": (_TEXT, read["wd"]),
        "speed": (_NUMBER, read["WSPM"]),
    }
    return (
        _stream("air", times, {"station": station, **numbers}),
        _stream("wind", times, {"station": station, **weather}),
    )


_AIR = {"pm25": "PM2.5", "so2": "SO2", "co": "CO"}


def trips(folder: Path, lines: int) -> tuple[RealStream, RealStream]:
    """Return starts and ends of rented bicycles' trips; sent as they started, ends are far out of order."""
    read = _read(folder / "bike-share" / "trips-2014-01-to-08.csv.xz", lines)
    common: Columns = {"trip": (_WHOLE, read["trip_id"]), "bike": (_WHOLE, read["bike_id"])}
    kind = (_TEXT, read["subscription_type"])
    begun = {**common, "station": (_WHOLE, read["start_terminal"]), "kind": kind}
    ended = {**common, "station": (_WHOLE, read["end_terminal"])}
    ended["duration"] = (_WHOLE, read["duration"])
    return (
        _stream("starts", read["start_date"].cast(_UTC), begun),
        _stream("ends", read["end_date"].cast(_UTC), ended),
    )


def calls(folder: Path) -> tuple[RealStream, RealStream]:
    """Return telephone calls and text messages, dated in seconds from the beginning of a study."""
    found = []
    for name, file, columns in (
        ("calls", "calls-days-00-to-20.csv.gz", ("caller", "callee", "duration")),
        ("texts", "sms-days-00-to-20.csv.gz", ("sender", "recipient")),
    ):
        read = _read(folder / "phone-calls" / file, None)
        times = pc.multiply(read["timestamp"], SECOND_US).cast(_UTC)
        found.append(_stream(name, times, {one: (_WHOLE, read[one]) for one in columns}))
    spoken, written = found
    return spoken, written


def daily_prices(folder: Path, lines: int) -> RealStream:
    """Return daily prices of thousands of stocks, among them NAN and TRUE."""
    read = _read(folder / "stocks-us-bulk" / "daily-2016-01-to-07.csv.xz", lines)
    columns: dict[str, tuple[ColumnType, pa.ChunkedArray]] = {"symbol": (_TEXT, read["Symbol"])}
    columns |= {name.lower(): (_NUMBER, read[name]) for name in ("Open", "High", "Low", "Close")}
    columns["volume"] = (_WHOLE, read["Volume"])
    return _stream("daily", read["Date"].cast(_UTC), columns)


def _read(path: Path, lines: int | None) -> pa.Table:
    open_file = lzma.open if path.suffix == ".xz" else gzip.open
    with open_file(path) as file:
        data = b"".join(itertools.islice(file, None if lines is None else lines + 1))
    texts = dict.fromkeys(("Symbol", "wd", "zip_code"), pa.string())
    kinds = {**texts, **dict.fromkeys(_AIR.values(), pa.float64())}
    options = arrow_csv.ConvertOptions(null_values=["NA", " ", ""], column_types=kinds)
    return arrow_csv.read_csv(io.BytesIO(data), convert_options=options)


def _padded(numbers: pa.ChunkedArray, width: int) -> pa.ChunkedArray:
    return pc.utf8_lpad(numbers.cast(pa.string()), width, "0")


def _stream(name: str, times: pa.ChunkedArray, columns: Columns) -> RealStream:
    """Return an event-time stream: `ts` dates a tuple, every other column may be NULL."""
    listed = [ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False)]
    listed += [ColumnSchema(column, kind) for column, (kind, _) in columns.items()]
    schema = StreamSchema(name, tuple(listed), "ts", ClockKind.HIGH_WATER)
    wanted = arrow_schema(schema)
    given = [times, *(cells for _, cells in columns.values())]
    arrays = [cells.cast(field.type) for cells, field in zip(given, wanted, strict=True)]
    return RealStream(schema, pa.table(arrays, schema=wanted))
