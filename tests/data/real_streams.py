"""Real data as streams: each function reads one set into a declaration and a table of its tuples.

The tuples keep the order in which their source would have sent them, disorder and NULLs included.
"""

import csv
import datetime as dt
import gzip
import io
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from psoup.engine.limits import SECOND_US
from psoup.engine.tuples.arrow import arrow_schema
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema


@dataclass(frozen=True, slots=True)
class RealStream:
    """A declaration, and its tuples in the order of arrival; exactly the declaration's Arrow schema."""

    schema: StreamSchema
    tuples: pa.Table


def _declared(name: str, /, **kinds: ColumnType) -> StreamSchema:
    """Return an event-time stream: `ts` dates a tuple, every other column may be NULL."""
    columns = [ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False)]
    columns += [ColumnSchema(column, kind) for column, kind in kinds.items()]
    return StreamSchema(name, tuple(columns), "ts", ClockKind.HIGH_WATER)


def _stream(schema: StreamSchema, cells: list[pa.Array]) -> RealStream:
    wanted = arrow_schema(schema)
    arrays = [cell.cast(field.type) for cell, field in zip(cells, wanted, strict=True)]
    return RealStream(schema, pa.table(arrays, schema=wanted))


def _read_csv(data: bytes, **options: object) -> pa.Table:
    keep_empty = arrow_csv.ConvertOptions(strings_can_be_null=False, **options)
    return arrow_csv.read_csv(io.BytesIO(data), convert_options=keep_empty)


def flights(folder: Path) -> RealStream:
    """Departures from Seattle and Portland; those that slipped past midnight are sent a day too early."""
    read = _read_csv(
        gzip.decompress((folder / _FLIGHTS / "flights-2014-01-to-08.csv.gz").read_bytes())
    )
    read = read.filter(pc.is_valid(read["dep_time"]))  # the others were cancelled
    minutes = pc.add(pc.multiply(read["hour"], 60), read["minute"])
    slipped = pc.less(pc.subtract(minutes, read["dep_delay"]), 0)
    minutes = pc.add(minutes, pc.multiply(slipped.cast(pa.int64()), 1_440))
    days = pc.assume_timezone(_days(read), "UTC").cast(pa.int64())
    text = ColumnType.STRING
    schema = _declared(
        "flights",
        origin=text,
        hour=ColumnType.INT64,
        carrier=text,
        flight=ColumnType.INT64,
        tailnum=text,
        dest=text,
        dep_delay=ColumnType.FLOAT64,
    )
    names = [column.name for column in schema.columns[1:]]
    times = pc.add(days, pc.multiply(minutes, 60 * SECOND_US))
    return _stream(schema, [times, *(read[name] for name in names)])


_FLIGHTS = "flights-weather"


def _days(read: pa.Table) -> pa.ChunkedArray:
    """Return the dates that three columns spell, at midnight."""
    cells = [
        pc.utf8_lpad(read[name].cast(pa.string()), 2, "0") for name in ("year", "month", "day")
    ]
    return pc.strptime(pc.binary_join_element_wise(*cells, "-"), "%Y-%m-%d", "us")


def weather(folder: Path) -> RealStream:
    """The weather at both airports, hour by hour."""
    path = folder / _FLIGHTS / "weather-2014-01-to-08.csv.gz"
    kinds = {"date": pa.timestamp("us"), "wind_dir": pa.float64(), "humid": pa.float64()}
    read = _read_csv(gzip.decompress(path.read_bytes()), column_types=kinds)
    numbers = ("temp", "humid", "wind_speed", "visib", "pressure")
    columns = dict.fromkeys(numbers, ColumnType.FLOAT64)
    schema = _declared("weather", origin=ColumnType.STRING, hour=ColumnType.INT64, **columns)
    return _stream(schema, [read[name] for name in ("date", "origin", "hour", *numbers)])


def mentions(folder: Path) -> RealStream:
    """How often six companies were named in messages, in steps of five minutes."""
    tables = []
    for path in sorted((folder / "ops-metrics" / "realTweets").glob("*.csv.gz")):
        symbol = path.name.removesuffix(".csv.gz").rpartition("_")[2]
        kinds = {"timestamp": pa.timestamp("us"), "value": pa.int64()}
        read = _read_csv(gzip.decompress(path.read_bytes()), column_types=kinds)
        tables.append(read.append_column("symbol", pa.array([symbol] * len(read))))
    read = pa.concat_tables(tables).sort_by([("timestamp", "ascending"), ("symbol", "ascending")])
    schema = _declared("mentions", symbol=ColumnType.STRING, n=ColumnType.INT64)
    return _stream(schema, [read["timestamp"], read["symbol"], read["value"]])


def retail_lines(folder: Path, lines: int) -> tuple[RealStream, RealStream]:
    """Return the sales and the cancellations among the first so many lines of a shop's invoices."""
    path = folder / "online-retail" / "lines-2010-12-to-2011-08.csv.xz"
    kinds = {
        "InvoiceDate": pa.timestamp("us"),
        "CustomerID": pa.float64(),
        "InvoiceNo": pa.string(),
    }
    read = _read_csv(lzma.decompress(path.read_bytes()), column_types=kinds).slice(0, lines)
    text, whole = ColumnType.STRING, ColumnType.INT64
    columns = {"invoice": text, "stock": text, "quantity": whole, "price": ColumnType.FLOAT64}
    names = ("InvoiceDate", "InvoiceNo", "StockCode", "Quantity", "UnitPrice", "CustomerID")
    cancels = pc.starts_with(read["InvoiceNo"], "C")
    found = []
    for name, chosen in (("sales", pc.invert(cancels)), ("cancels", cancels)):
        part = read.filter(chosen)
        found.append(_stream(_declared(name, **columns, customer=whole), [part[n] for n in names]))
    sales, cancelled = found
    return sales, cancelled


def earthquakes(folder: Path) -> RealStream:
    """Quakes of one month, sent when they were last updated: hours to weeks of real lateness."""
    path = folder / "earthquakes" / "all_month-2025-05-06-to-2025-06-05.csv.gz"
    kinds = {name: pa.timestamp("us", tz="UTC") for name in ("time", "updated")}
    kinds |= {name: pa.float64() for name in ("latitude", "longitude", "depth", "mag")}
    read = _read_csv(gzip.decompress(path.read_bytes()), column_types=kinds)
    read = read.sort_by([("updated", "ascending"), ("id", "ascending")])
    text, number = ColumnType.STRING, ColumnType.FLOAT64
    schema = _declared(
        "quakes",
        updated=ColumnType.TIMESTAMP,
        id=text,
        depth=number,
        mag=number,
        place=text,
        type=text,
    )
    names = ["time", "updated", "id", "depth", "mag", "place", "type"]
    return _stream(schema, [read[name] for name in names])


def stock_prices(folder: Path) -> RealStream:
    """Daily prices of 500 companies; all tickers of one trading day share one time."""
    path = folder / "stocks-sp500" / "prices-2013-02-to-2016-12.csv.xz"
    prices = ("open", "high", "low", "close")
    kinds = {"date": pa.timestamp("us"), "volume": pa.int64()}
    kinds |= {name: pa.float64() for name in prices}
    read = _read_csv(lzma.decompress(path.read_bytes()), column_types=kinds)
    days = pc.rank(read["date"], tiebreaker="dense")
    columns = dict.fromkeys(prices, ColumnType.FLOAT64)
    schema = _declared(
        "prices", day=ColumnType.INT64, Name=ColumnType.STRING, **columns, volume=ColumnType.INT64
    )
    cells = [read["date"], days, read["Name"], *(read[name] for name in prices), read["volume"]]
    return _stream(schema, cells)


def office(folder: Path) -> RealStream:
    """One office room, a row a minute, the earlier file first."""
    rows: list[list[str]] = []
    for name in ("datatest.txt.gz", "datatraining.txt.gz"):
        text = gzip.decompress((folder / "office-occupancy" / name).read_bytes()).decode()
        rows += list(csv.reader(text.splitlines()))[1:]  # the header has one name too few
    _, dates, *numbers, occupied = (list(column) for column in zip(*rows, strict=True))
    instants = [dt.datetime.fromisoformat(date).replace(tzinfo=dt.UTC) for date in dates]
    names = ("temperature", "humidity", "light", "co2", "humidity_ratio")
    schema = _declared(
        "office", **dict.fromkeys(names, ColumnType.FLOAT64), occupied=ColumnType.INT64
    )
    cells = [pa.array(instants, pa.timestamp("us", tz="UTC"))]
    cells += [pa.array([float(cell) for cell in column]) for column in numbers]
    return _stream(schema, [*cells, pa.array([int(cell) for cell in occupied])])


def dns(folder: Path) -> RealStream:
    """DNS queries, written when they were answered: a quarter arrives late, by up to 310 s."""
    kinds = {
        "query": ColumnType.STRING,
        "qtype_name": ColumnType.STRING,
        "rcode_name": ColumnType.STRING,
        "rtt": ColumnType.FLOAT64,
    }
    return _zeek(folder / "network-zeek" / "dns.log.gz", "dns", kinds)


def tls(folder: Path) -> RealStream:
    """TLS connections, written when they ended: four of five arrive late, by up to 501 s."""
    kinds = {
        "uid": ColumnType.STRING,
        "version": ColumnType.STRING,
        "server_name": ColumnType.STRING,
        "established": ColumnType.BOOL,
    }
    return _zeek(folder / "network-zeek" / "ssl.log.gz", "tls", kinds)


def weird(folder: Path) -> RealStream:
    """Oddities of protocols, by the connection they were seen in."""
    kinds = {"uid": ColumnType.STRING, "name": ColumnType.STRING, "addl": ColumnType.STRING}
    return _zeek(folder / "network-zeek" / "weird.log.gz", "weird", kinds)


def _zeek(path: Path, name: str, kinds: dict[str, ColumnType]) -> RealStream:
    """Read a Zeek log: `#fields` names the columns, `-` is unset, ts is seconds with six decimals."""
    columns = {"id.orig_h": ColumnType.STRING, "id.resp_p": ColumnType.INT64} | kinds
    schema = _declared(name, **columns)
    listed: dict[str, list[object]] = {column.name: [] for column in schema.columns}
    for row in _zeek_rows(path):
        for column in schema.columns:
            listed[column.name].append(_zeek_value(row[column.name], column.type))
    cells = [pa.array(listed["ts"], pa.int64())]
    fields = arrow_schema(schema)
    cells += [pa.array(listed[column], fields.field(column).type) for column in columns]
    return _stream(schema, cells)


def _zeek_rows(path: Path) -> Iterator[dict[str, str]]:
    names: list[str] = []
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        if line.startswith("#fields"):
            names = line.split("\t")[1:]
        elif not line.startswith("#"):
            yield dict(zip(names, line.split("\t"), strict=True))


def _zeek_value(text: str, kind: ColumnType) -> object:
    if text == "-":
        return None
    match kind:
        case ColumnType.TIMESTAMP:
            return int(Decimal(text) * SECOND_US)
        case ColumnType.INT64:
            return int(text)
        case ColumnType.FLOAT64:
            return float(text)
        case ColumnType.BOOL:
            return text == "T"
        case ColumnType.STRING:
            return text
