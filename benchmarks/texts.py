"""The texts in `results/`: how numbers are written in them, and what is read back to draw it.

They are all that a measurement leaves behind: a picture shows what a text says, and is drawn again without measuring.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

GOALS, SUMMARY = "goals", "summary"
PEERS = (
    *("DuckDB", "Polars", "SQLite", "PostgreSQL", "NumPy", "bitarray", "Spark", "CLIPS"),
    *("kernel", "PSoup"),
)
"""Whom psoup is compared with; PSoup are the paper's engines, PSoup-P and PSoup-C, built again."""
NAMES: Mapping[str, str] = {
    "PSoup": "PSoup of 2002, built again",
    "kernel": "sliding windows, bare",
}
"""What a person reads for a peer whose name does not say enough."""
LESS_WORK = ("Spark, no-op sink", "SQLite, bare probes of that index")
"""Contenders that show what the rest of the way takes: they keep no tuple, or no answer."""
_OURS = "psoup"
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_TIME = r"[\d.e+-]+ (?:s|ms|us|ns)"
_CONTEST = re.compile(r"(?P<title>\S.*) \([\d,]+ [^()]+\)")
_CONTENDER = re.compile(
    rf"  (?P<name>\S.*?) +{_TIME} +(?P<median>{_TIME})(?: +{_TIME})? +[\d.e+-]+(?: [kMG])? +(?P<times>[\d.e+-]+)  [0-9a-f]+"
)
_GOAL = re.compile(
    r" *\S+ +>= [\d,.]+x +(?P<times>[\d,.]+)x (?:yes|no), \S+ (?:times|of it) +(?P<peer>[^;]+); (?P<title>.*)"
)
_TIMES = re.compile(
    r"  times a bare ASGI function: (?P<request>.*?) +(?P<times>[\d.e+-]+) (?P<letter>k )?x"
)
_RATE = re.compile(
    r"  batches per second, connections: (?P<connections>\d+) +(?P<value>[\d.e+-]+)(?: (?P<letter>[kMG]))? /s"
)
_ABSENT = re.compile(
    r"absent: (?P<contest>.*): (?P<name>[^:]+) is left out, (?P<why>(?!.* is not installed$).*)"
)
_LETTERS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
_NUMBER = re.compile(r"\d+(?:,\d{3})*")


@dataclass(frozen=True, slots=True)
class Row:
    """One contender of a contest: the median time per unit, and how often our first one could have run meanwhile."""

    contest: str
    contender: str
    median_s: float
    times: float

    @property
    def peer(self) -> str:
        """Return which peer this is, "" = none."""
        name = re.split(r"[,\s-]", self.contender)[0]
        return name if name in PEERS and self.contender not in LESS_WORK else ""


@dataclass(frozen=True, slots=True)
class Ratio:
    """How much longer the strongest form of a peer took than psoup for the same: above 1 psoup is faster."""

    peer: str
    contest: str
    times: float


def duration(seconds: float) -> str:
    """Return seconds in the unit a person reads them in."""
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def quantity(value: float) -> str:
    """Return a number with three digits and k, M or G where it is large."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.3g}"


def seconds_of(written: str) -> float:
    """Return what `duration` has written."""
    number, unit = written.split(" ")
    return float(number) * _UNITS[unit]


def rows_of(text: str) -> Iterator[Row]:
    """Yield the contenders of all contests of a text, in its order."""
    contest = ""
    for line in text.splitlines():
        if found := _CONTENDER.fullmatch(line):
            yield Row(contest, found["name"], seconds_of(found["median"]), float(found["times"]))
        elif found := _CONTEST.fullmatch(line):
            contest = found["title"]


def left_out_of(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield contest, contender, and why this one took no part at that size, whatever is installed."""
    for line in text.splitlines():
        if found := _ABSENT.fullmatch(line):
            yield found["contest"], found["name"], found["why"]


def costs_of(text: str) -> dict[str, list[tuple[str, float]]]:
    """Return what requests cost by the survey they are of: (request, times a bare function)."""
    found: dict[str, list[tuple[str, float]]] = {}
    group = ""
    for line in text.splitlines():
        if cost := _TIMES.fullmatch(line):
            times = float(cost["times"]) * (1e3 if cost["letter"] else 1.0)
            found.setdefault(group, []).append((cost["request"], times))
        elif line and not line.startswith(" "):
            group = line
    return found


def rates_of(text: str) -> dict[str, list[tuple[int, float]]]:
    """Return the rates of crowds by the survey they are of: (number of connections, batches per second)."""
    found: dict[str, list[tuple[int, float]]] = {}
    group = ""
    for line in text.splitlines():
        if rate := _RATE.fullmatch(line):
            value = float(rate["value"]) * _LETTERS[rate["letter"] or ""]
            found.setdefault(group, []).append((int(rate["connections"]), value))
        elif line and not line.startswith(" "):
            group = line
    return found


def measured(folder: Path) -> list[Row]:
    """Return the contenders of all texts of a folder that measurements have left there."""
    return [row for text in _texts(folder) for row in rows_of(text)]


def left_out(folder: Path) -> list[tuple[str, str, str]]:
    """Return who took no part in which contest, and why, by the same texts."""
    return [one for text in _texts(folder) for one in left_out_of(text)]


def ratios(folder: Path) -> list[Ratio]:
    """Return one ratio for each contest and peer: of the contest's text, or where it has none of the table of goals.

    A peer with several forms counts by its strongest. One that does less than our first contender is compared with
    our contender of the same form, such as a bare join.
    """
    found: dict[tuple[str, str], float] = {}
    for contest, grouped in itertools.groupby(measured(folder), key=lambda row: row.contest):
        rows = list(grouped)
        for row in rows:
            if row.peer:
                _note(found, row.peer, contest, _times(row, rows))
    table = folder / f"{GOALS}.txt"
    told: dict[tuple[str, str], float] = {}
    for line in table.read_text(encoding="utf-8").splitlines() if table.exists() else ():
        if (goal := _GOAL.fullmatch(line)) is None:
            continue
        times = float(goal["times"].replace(",", ""))
        peer = Row(goal["title"], goal["peer"], 0.0, times).peer
        if peer:
            _note(told, peer, goal["title"], times)
    return [Ratio(peer, contest, times) for (peer, contest), times in (told | found).items()]


def series_of(titles: Sequence[str]) -> dict[str, list[str]]:
    """Return titles that differ in numbers alone together, under a name for all of them: `windows of 128 to 4,096`."""
    alike: dict[str, list[str]] = {}
    for title in titles:
        alike.setdefault(_NUMBER.sub("#", title), []).append(title)
    return {_spanned(same): same for same in alike.values()}


def _texts(folder: Path) -> list[str]:
    paths = (path for path in sorted(folder.glob("*.txt")) if path.stem not in (GOALS, SUMMARY))
    return [path.read_text(encoding="utf-8") for path in paths]


def _note(found: dict[tuple[str, str], float], peer: str, contest: str, times: float) -> None:
    found[peer, contest] = min(times, found.get((peer, contest), times))


def _times(row: Row, rows: Sequence[Row]) -> float:
    """Return how often psoup could have run meanwhile: our first contender, or the one that does what the peer does."""
    _, _, form = row.contender.partition(", ")
    for ours in rows[1:]:
        name, _, ours_form = ours.contender.partition(", ")
        if name == _OURS and ours_form and form.startswith(ours_form):
            return row.median_s / ours.median_s
    return row.times


def _spanned(titles: Sequence[str]) -> str:
    """Return one title for several that differ in numbers."""
    columns = zip(*(_NUMBER.findall(title) for title in titles), strict=True)
    spans = []
    for numbers in columns:
        ordered = sorted(set(numbers), key=lambda number: int(number.replace(",", "")))
        spans.append(ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}")
    places = iter(spans)
    return _NUMBER.sub(lambda _: next(places), titles[0])
