"""Pictures of what the texts in `results/` say, each with one message.

`ratios.svg`: how psoup stands beside each peer. `queries.svg`: what more standing queries cost. `processes.svg`: an
invocation over HTTP beside PostgreSQL's. `front.svg`: what a request costs beside a bare function. `append.svg`: rows
sent one by one, by the number of connections. `sliding.svg`: partials beside structures for sliding windows, by how
often somebody asks.
"""

import functools
import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import texts
from benchmarks.texts import NAMES, PEERS, Ratio, Row, duration

FORMAT = "svg"
FASTER, SLOWER, LINE, FAINT = "#1f5fa8", "#c2571a", "#444444", "#d8d8d8"
COLOURS: Mapping[str, str] = {
    "psoup": "#1f5fa8",
    "DuckDB": "#d98c00",
    "Polars": "#2a9d5c",
    "SQLite": "#8a8a8a",
    "NumPy": "#8e5bb5",
    "bitarray": "#c2437c",
    "PostgreSQL": "#7a5c3a",
    "kernel": "#c2571a",
}
STYLES = ("-", "--", ":", "-.")
"""Of the forms of one contender."""
POINTS_MIN, PANELS_MAX = 4, 3
"""Numbers of queries from which on a series is a curve; of those that reach furthest so many are shown."""
ALONE = "the API layer alone"
_QUERIES = re.compile(r"(\d[\d,]*) (?=(?:[a-z]+ )?quer(?:y|ies)\b)")
_EVERY = re.compile(r"(?<=asked every )(\d[\d,]*) (?=rows$)")

Curve = dict[str, list[tuple[int, float]]]
"""By contender: (number that contests differ in, median seconds)."""


def draw_all(folder: Path, *, suffix: str = FORMAT) -> list[Path]:
    """Draw into `folder` what the texts in it allow; return the files written."""
    rows = texts.measured(folder)
    invocations = [row for row in rows if row.contest in _beside_postgres(rows)]
    in_full = functools.partial(draw_queries, stops=stops(texts.left_out(folder)))
    pictures: Sequence[tuple[str, Callable[[Path, Any], None], Any]] = (
        ("ratios", draw_ratios, texts.ratios(folder)),
        ("queries", in_full, curves(rows, _QUERIES)),
        ("sliding", draw_sliding, curves(rows, _EVERY)),
        ("processes", draw_invocations, invocations),
        ("front", draw_costs, costs(folder)),
        ("append", draw_appends, appends(folder)),
    )
    written = []
    for name, draw, shown in pictures:
        if shown:
            draw(folder / f"{name}.{suffix}", shown)
            written.append(folder / f"{name}.{suffix}")
    return written


def curves(rows: Sequence[Row], number_of: re.Pattern[str] = _QUERIES) -> dict[str, Curve]:
    """Return the series of contests that differ in one number alone, with N for it, the furthest first.

    Args:
        rows: of all contests.
        number_of: finds that number in a title, as its first group: that of queries, if nothing else is said.
    """
    found: dict[str, Curve] = {}
    for row in rows:
        number = number_of.search(row.contest)
        if number is None:
            continue
        title = number_of.sub("N ", row.contest, count=1)
        points = found.setdefault(title, {}).setdefault(row.contender, [])
        points.append((int(number[1].replace(",", "")), row.median_s))
    numbers = {
        title: {queries for points in curve.values() for queries, _ in points}
        for title, curve in found.items()
    }
    shown = [title for title, some in numbers.items() if len(some) >= POINTS_MIN]
    shown.sort(key=lambda title: -max(numbers[title]))
    return {title: found[title] for title in shown[:PANELS_MAX]}


def stops(left_out: Sequence[tuple[str, str, str]]) -> dict[tuple[str, str], str]:
    """Return by series and contender why a curve by the number of queries ends before the others."""
    found: dict[tuple[str, str], str] = {}
    for contest, name, why in left_out:
        found.setdefault((_QUERIES.sub("N ", contest, count=1), name), why)
    return found


def costs(folder: Path) -> dict[str, list[tuple[str, float]]]:
    """Return what requests cost beside a bare function, by kind of service; empty where it was not measured."""
    path = folder / "front.txt"
    return texts.costs_of(path.read_text(encoding="utf-8")) if path.exists() else {}


def appends(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Return what crowds of more and more connections reach, by store; empty where it was not measured."""
    path = folder / "append.txt"
    return texts.rates_of(path.read_text(encoding="utf-8")) if path.exists() else {}


def draw_ratios(path: Path, ratios: Sequence[Ratio]) -> None:
    """Draw a line for each peer and series of contests: a dot for each, to the right of 1 where psoup is faster."""
    lines = _ratio_lines(ratios)
    drawn, (panel,) = _sheet(1, size=(9.6, 1.0 + 0.2 * len(lines)))
    low, high = min(one.times for one in ratios), max(one.times for one in ratios)
    panel.set(xscale="log", xlim=(min(low / 1.6, 0.05), high * 6), ylim=(len(lines) - 0.4, -1))
    panel.axvline(1, color=LINE, linewidth=1.2)
    for y, (label, times) in enumerate(lines):
        if not times:
            panel.text(
                0, y, label, transform=panel.get_yaxis_transform(), fontweight="bold", va="center"
            )
            panel.axhline(y - 0.5, color=FAINT, linewidth=0.8)
            continue
        panel.plot([min(times), max(times)], [y, y], color=FAINT, linewidth=2, zorder=1)
        colours = [FASTER if one >= 1 else SLOWER for one in times]
        panel.scatter(times, [y] * len(times), s=18, c=colours, zorder=2)
        shown = " to ".join(_short(one) for one in dict.fromkeys((min(times), max(times))))
        panel.text(max(*times, 1) * 1.25, y, shown, fontsize=7, va="center", color=LINE)
    panel.set_yticks(
        range(len(lines)), [label if times else "" for label, times in lines], fontsize=7.5
    )
    panel.tick_params(axis="y", length=0)
    ticks = {
        0.1: "10 times\nslower",
        1: "equal",
        10: "10 times\nfaster",
        100: "100",
        1_000: "1,000",
    }
    panel.set_xticks(list(ticks), list(ticks.values()), fontsize=8)
    panel.minorticks_off()
    panel.xaxis.tick_top()
    panel.grid(visible=True, axis="x", alpha=0.3)
    # Of the sheet, which stays as wide as it is where long titles of contests make the panel narrow.
    drawn.suptitle(
        "psoup beside its peers: their time over psoup's, for the same answer", fontsize=10
    )
    for side in ("right", "bottom", "left"):
        panel.spines[side].set_visible(False)
    _save(drawn, path)


def draw_queries(
    path: Path, series: Mapping[str, Curve], *, stops: Mapping[tuple[str, str], str]
) -> None:
    """Draw a panel for each series: the time of each contender by the number of standing queries.

    Args:
        path: of the picture.
        series: titles and curves.
        stops: as `stops` returns them.
    """
    _draw_curves(path, series, "N, standing queries", "a tuple, median", stops=stops)


def draw_sliding(path: Path, series: Mapping[str, Curve]) -> None:
    """Draw a panel for each series: the time of a row by the number of rows between two answers."""
    _draw_curves(path, series, "N, rows between two answers", "a row, answers included, median")


def _draw_curves(
    path: Path,
    series: Mapping[str, Curve],
    numbers: str,
    times: str,
    *,
    stops: Mapping[tuple[str, str], str] = {},
) -> None:
    drawn, panels = _sheet(len(series), size=(9.6, 3.4 * len(series)))
    for panel, (title, curve) in zip(panels, series.items(), strict=True):
        for name, points in curve.items():
            counts, seconds = zip(*sorted(points), strict=True)
            style = STYLES[_forms(name, curve).index(name) % len(STYLES)]
            width = 2.4 if name.startswith("psoup") else 1.4
            panel.plot(
                counts,
                seconds,
                style,
                marker="o",
                markersize=4,
                linewidth=width,
                color=_colour(name),
                label="\n  ends: ".join(filter(None, (name, stops.get((title, name))))),
            )
        most = max(count for points in curve.values() for count, _ in points)
        taken = [seconds for points in curve.values() for _, seconds in points]
        decades = range(math.ceil(math.log10(most)) + 1)
        panel.set(xscale="log", yscale="log", xlim=(0.8, 1.25 * 10 ** decades[-1]))
        panel.set_ylim(_decade(min(taken), math.floor), _decade(max(taken), math.ceil))
        panel.set_xlabel(numbers, fontsize=9)
        panel.set_ylabel(times, fontsize=9)
        panel.set_title(title, fontsize=10)
        panel.set_xticks([10**n for n in decades], [f"{10**n:,}" for n in decades])
        _seconds(panel.yaxis)
        panel.minorticks_off()
        panel.grid(visible=True, alpha=0.3)
        panel.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    _save(drawn, path)


def draw_invocations(path: Path, rows: Sequence[Row]) -> None:
    """Draw what an invocation over HTTP takes, a group of bars for each kind; the layer alone is a line across them."""
    contests = list(dict.fromkeys(row.contest for row in rows))
    drawn, (panel,) = _sheet(1, size=(9.6, 0.9 + 0.75 * len(contests)))
    y = 0.0
    places = []
    for contest in contests:
        own = [row for row in rows if row.contest == contest and row.contender != ALONE]
        least = [
            row.median_s * 1e3 for row in rows if row.contest == contest and row.contender == ALONE
        ]
        first = y
        for row in own:
            milliseconds = row.median_s * 1e3
            panel.barh(y, milliseconds, height=0.8, color=_colour(row.contender), alpha=_shade(row))
            panel.text(
                milliseconds, y, f"  {row.contender}, {milliseconds:.2f}", fontsize=7, va="center"
            )
            y += 1
        panel.vlines(least, first - 0.5, y - 0.5, color=LINE, linewidth=1.5)
        places.append((first + y - 1) / 2)
        y += 0.7
    panel.set_yticks(places, contests, fontsize=8)
    panel.set(xlim=(0, max(row.median_s for row in rows) * 1.35e3), ylim=(y - 0.9, -0.8))
    panel.set_xlabel(
        "milliseconds an invocation, median; the line is the API layer with nothing behind it",
        fontsize=8,
    )
    panel.tick_params(axis="y", length=0)
    for side in ("right", "top", "left"):
        panel.spines[side].set_visible(False)
    panel.set_title(
        "An invocation over HTTP beside PostgreSQL behind the same API layer", fontsize=10
    )
    _save(drawn, path)


def draw_costs(path: Path, services: Mapping[str, Sequence[tuple[str, float]]]) -> None:
    """Draw a group of bars for each request, one for each kind of service; a line is the bare function."""
    requests = [request for request, _ in next(iter(services.values()))]
    drawn, (panel,) = _sheet(1, size=(8.2, 0.9 + 0.24 * len(requests) * (len(services) + 1)))
    high = 0.8 / len(services)
    for number, (service, found) in enumerate(services.items()):
        for request, times in found:
            y = requests.index(request) + number * high
            panel.barh(
                y,
                times,
                height=high * 0.9,
                color=FASTER,
                alpha=1 - 0.3 * number,
                label=service if request == requests[0] else None,
            )
            panel.text(times, y, f"  {_short(times)}", fontsize=7, va="center")
    panel.axvline(1, color=LINE, linewidth=1.5)
    panel.set_yticks([y + 0.3 for y in range(len(requests))], requests, fontsize=8)
    panel.invert_yaxis()
    panel.legend(fontsize=7, frameon=False, loc="lower right")
    panel.set_xlabel("times the CPU of a bare ASGI function, the line", fontsize=8)
    for side in ("right", "top"):
        panel.spines[side].set_visible(False)
    panel.set_title("What a request costs the process that answers it", fontsize=10)
    _save(drawn, path)


def draw_appends(path: Path, series: Mapping[str, Sequence[tuple[int, float]]]) -> None:
    """Draw the rate of each store by the number of connections, and what one connection would make of as many."""
    drawn, (panel,) = _sheet(1, size=(7.2, 3.6))
    for title, points in series.items():
        connections, rates = zip(*sorted(points), strict=True)
        colour = FASTER if "durable" in title else SLOWER
        panel.plot(connections, rates, marker="o", linewidth=2, color=colour, label=title)
        linear = [rates[0] * one / connections[0] for one in connections]
        panel.plot(connections, linear, "--", linewidth=1, color=colour, alpha=0.4)
    ticks = sorted({one for points in series.values() for one, _ in points})
    panel.set(xscale="log", yscale="log", xlabel="connections", ylabel="batches per second")
    panel.set_xticks(ticks, [str(one) for one in ticks])
    panel.minorticks_off()
    panel.grid(visible=True, alpha=0.3)
    panel.legend(fontsize=8, frameon=False, loc="upper left")
    panel.set_title("Rows posted one by one; dashed: as many times one connection", fontsize=10)
    _save(drawn, path)


def _ratio_lines(ratios: Sequence[Ratio]) -> list[tuple[str, list[float]]]:
    """Return (label, ratios) from top to bottom: a peer's name without any, then its series, the best first."""
    lines: list[tuple[str, list[float]]] = []
    for peer in PEERS:
        times = {one.contest: one.times for one in ratios if one.peer == peer}
        if not times:
            continue
        series = [
            (label, [times[title] for title in titles])
            for label, titles in texts.series_of(list(times)).items()
        ]
        lines += [
            (NAMES.get(peer, peer), []),
            *sorted(series, key=lambda one: -statistics.median(one[1])),
        ]
    return lines


def _beside_postgres(rows: Sequence[Row]) -> set[str]:
    return {row.contest for row in rows if row.peer == "PostgreSQL"}


def _sheet(panels: int, *, size: tuple[float, float]) -> tuple[Any, Sequence[Any]]:
    """Return a figure and its panels, one above the other."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Sheet

    drawn = Sheet(figsize=size, layout="constrained")
    FigureCanvasAgg(drawn)
    return drawn, list(drawn.subplots(panels, 1, squeeze=False).flat)


def _save(drawn: Any, path: Path) -> None:  # noqa: ANN401 (matplotlib is not always installed)
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "psoup", "svg.fonttype": "none"}):
        drawn.savefig(path, dpi=110, metadata={"Date": None} if path.suffix == ".svg" else None)


def _decade(value: float, rounded: Callable[[float], int]) -> float:
    """Return the power of ten beside a value."""
    return 10.0 ** rounded(math.log10(value))


def _seconds(axis: Any) -> None:  # noqa: ANN401
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda seconds, _: duration(seconds)))


def _short(times: float) -> str:
    return f"{times:,.0f}" if times >= 10 else f"{times:.2g}"


def _family(name: str) -> str:
    return re.split(r"[,:\s]", name)[0]


def _colour(name: str) -> str:
    return COLOURS.get(_family(name), LINE)


def _shade(row: Row) -> float:
    return 1.0 if "serve" not in row.contender else 0.55


def _forms(name: str, curve: Curve) -> list[str]:
    """Return the contenders of the same family, which have one colour."""
    return [other for other in curve if _family(other) == _family(name)]
