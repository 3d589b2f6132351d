"""Every command of `docs/loading.md` over the real data sets: what is declared, and the rows as DuckDB reads them."""

import gzip
import lzma
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import duckdb
import orjson
import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "loading.md"
COMMANDS = re.findall(r"^psoup (load \$DATA/.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
LIMITED = {"daily": 100_000}
"""Streams of which the front is loaded: all of it takes longer than a test may."""

ALIKE = frozenset({"air", "quotes", "trips"})
"""Large ones, of the kind of `departures`, `daily` and `quakes`: `make torture` loads them."""

DATE = "strptime({0}, '%Y-%m-%d')"
ISO = "CAST({0} AS TIMESTAMP)"
INSTANT = "CAST(CAST({0} AS TIMESTAMPTZ) AT TIME ZONE 'UTC' AS TIMESTAMP)"
EPOCH = "make_timestamp(CAST(CAST({0} AS DECIMAL(20, 6)) * 1000000 AS BIGINT))"


@dataclass(frozen=True)
class Expected:
    """What a command makes of a file."""

    rows: int
    types: str
    """Of the columns in order: i, f, b, s, t as the types begin."""
    time: str | None
    times: dict[str, str]
    """The instant of each timestamp column, in DuckDB's SQL over the text of the file."""
    where: str
    read: str = "header = true"
    """How DuckDB reads the file."""


def joined(*parts):
    """Return the instant of year, month, day and hour, in DuckDB's SQL."""
    return f"make_timestamp({', '.join(f'CAST({part} AS BIGINT)' for part in parts)}, 0, 0)"


EXPECTED = {
    "departures": Expected(
        109_878,
        "tiiiiiiississiiii",
        "ts",
        {"ts": joined("year", "month", "day", "0")},
        "dest = 'SAN' AND carrier = 'AS' AND month = 3",
    ),
    "weather": Expected(
        11_633, "siiiifffiffffft", "date", {"date": ISO}, "origin = 'SEA' AND visib < 1"
    ),
    "quotes": Expected(
        479_878, "tffffis", "date", {"date": DATE}, "Name = 'BRK.B' AND close < 100 OR open IS NULL"
    ),
    "daily": Expected(
        1_007_287,
        "stffffii",
        "Date",
        {"Date": DATE},
        "Symbol = 'NAN' OR Symbol = 'TRUE'",
    ),
    "office": Expected(
        8_143,
        "tfffffi",
        "date",
        {"date": ISO},
        "CO2 > 1900",
        "skip = 1, header = false, names = ['-', 'date', 'Temperature', 'Humidity', 'Light', 'CO2',"
        " 'HumidityRatio', 'Occupancy']",
    ),
    "air": Expected(
        193_248,
        "tiiiiiffffifffffsfs",
        "ts",
        {"ts": joined("year", "month", "day", "hour")},
        "station = 'Gucheng' AND month = 3 AND day < 6",
    ),
    "quakes": Expected(
        9_366,
        "tffffsifffsstssfffisss",
        "time",
        {"time": INSTANT, "updated": INSTANT},
        "mag > 5",
    ),
    "tls": Expected(
        44_377,
        "tssisissssbssbsssbs",
        "ts",
        {"ts": EPOCH},
        "server_name LIKE '%google%' AND established AND version = 'TLSv12'",
        "skip = 8, header = false, comment = '#', delim = '\t', quote = '', nullstr = '-', names = ['ts', 'uid',"
        " 'id.orig_h', 'id.orig_p', 'id.resp_h', 'id.resp_p', 'version', 'cipher', 'curve', 'server_name',"
        " 'resumed', 'last_alert', 'next_protocol', 'established', 'ssl_history', 'cert_chain_fps',"
        " 'client_cert_chain_fps', 'sni_matches_cert', 'validation_status']",
    ),
    "rdp": Expected(
        3_703,
        "sttssisissisbssssssssiis",
        "ts",
        {"ts": INSTANT, "_write_ts": INSTANT},
        "cookie IS NOT NULL",
    ),
    "calls": Expected(2_696, "tiii", "timestamp", {"timestamp": EPOCH}, "duration = -1"),
    "friends": Expected(
        6_429,
        "ii",
        None,
        {},
        "user_a = 512",
        "skip = 1, header = false, names = ['user_a', 'user_b']",
    ),
    "mentions": Expected(15_902, "ti", "timestamp", {"timestamp": ISO}, "value > 2000"),
    "lines": Expected(
        320_705,
        "sssitfis",
        "InvoiceDate",
        {"InvoiceDate": ISO},
        "Country = 'Iceland' OR UnitPrice < 0",
    ),
    "trips": Expected(
        215_244,
        "iitsitsiiss",
        "start_date",
        {"start_date": INSTANT, "end_date": INSTANT},
        "duration > 200000",
    ),
}


def test_page_has_a_command_for_each_expectation():
    """No data set is forgotten on either side: all eleven folders are on the page."""
    streams = [shlex.split(command)[3] for command in COMMANDS]
    assert list(EXPECTED) == streams
    assert 11 == len({command.split("/")[1] for command in COMMANDS})


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(command, id=stream, marks=[pytest.mark.slow] if stream in ALIKE else [])
        for command in COMMANDS
        for stream in [shlex.split(command)[3]]
    ],
)
def test_oracle_command_of_the_page_loads_the_data_set(psoup, data_folder, tmp_path, command):
    """Types, time and row count are those a person would choose; the rows of a filter are DuckDB's, cell by cell."""
    arguments = shlex.split(command.replace("$DATA", str(data_folder)))
    path, stream = Path(arguments[1]), arguments[3]
    expected = EXPECTED[stream]
    rows = expected.rows
    if stream in LIMITED:
        rows = LIMITED[stream]
        arguments += ["--limit", str(rows)]
    psoup(*arguments)
    with psoup.service() as service:
        found = service.stream(stream)
    assert found is not None
    assert (rows, expected.types, expected.time) == (
        found["rows"],
        "".join(column["type"][0] for column in found["columns"]),
        found["time"],
    )
    result = psoup("query", f"SELECT * FROM {stream} WHERE {expected.where}", "--format", "ndjson")
    answer = [orjson.loads(line) for line in result.stdout_bytes.splitlines()]
    names = [column["name"] for column in found["columns"]]
    wanted = _by_duckdb(_plain(path, tmp_path), found["columns"], expected, rows)
    assert 0 < len(wanted)
    assert _ordered(wanted) == _ordered(tuple(row[name] for name in names) for row in answer)


def _plain(path, folder):
    """Return the path of the file unpacked: DuckDB does not unpack .xz."""
    unpack = {".xz": lzma.decompress, ".gz": gzip.decompress}.get(path.suffix, bytes)
    plain = folder / "plain"
    plain.write_bytes(unpack(path.read_bytes()))
    return plain


def _by_duckdb(path, columns, expected, rows):
    """Return the rows of the filter with DuckDB's reading of each column."""
    if path.read_bytes()[:1] == b"{":
        names = ", ".join(f"'{column['name']}': 'VARCHAR'" for column in columns)
        source = f"read_ndjson('{path}', columns = {{{names}}})"
    else:
        source = f"read_csv('{path}', all_varchar = true, {expected.read})"
    typed = ", ".join(_typed(column, expected) for column in columns)
    with duckdb.connect() as oracle:
        oracle.execute("SET TimeZone = 'UTC'")
        front = f"SELECT * FROM {source} LIMIT {rows}"
        relation = oracle.sql(
            f"SELECT * FROM (SELECT {typed} FROM ({front})) WHERE {expected.where}"
        )
        texts = [
            f"strftime({_quoted(name)}, '%Y-%m-%dT%H:%M:%S.%fZ')"
            if name in expected.times
            else _quoted(name)
            for name in relation.columns
        ]
        return relation.project(", ".join(texts)).fetchall()


def _typed(column, expected):
    """Return DuckDB's expression for a column: a word that is no number becomes NULL."""
    name = column["name"]
    quoted = _quoted(name)
    match column["type"]:
        case "timestamp":
            value = expected.times[name].format(quoted)
        case "int64":
            value = f"CAST(TRY_CAST({quoted} AS DOUBLE) AS BIGINT)"
        case "float64":
            value = f"TRY_CAST({quoted} AS DOUBLE)"
        case "bool":
            value = f"TRY_CAST({quoted} AS BOOLEAN)"
        case _:
            value = f"nullif({quoted}, 'NA')" if name in {"wd", "tailnum"} else quoted
    return f"{value} AS {quoted}"


def _quoted(name):
    return f'"{name}"'


def _ordered(rows):
    return sorted(rows, key=repr)
