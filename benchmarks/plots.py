"""Pictures of what was measured: bars of a contest, lines of a series, how far the goals are."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.bench import Figure, Findings, Result
from benchmarks.goals import Outcome

COLUMNS = 2
PANEL_INCHES = (6.4, 3.0)
COLOURS: Mapping[str, str] = {
    "psoup": "#1f5fa8",
    "DuckDB": "#d98c00",
    "Polars": "#2a9d5c",
    "SQLite": "#8a8a8a",
    "NumPy": "#8e5bb5",
    "bitarray": "#c2437c",
    "Python": "#7a5c3a",
    "CLIPS": "#b03a2e",
    "PSoup-P": "#c98b6b",
    "PSoup-C": "#5b8c8a",
    "pyarrow": "#d98c00",
    "PostgreSQL": "#7a5c3a",
}
OTHER = "#444444"
MARKERS = "osDv^P"
REACHED, MISSED = "#2a9d5c", "#b03a2e"


def draw(path: Path, findings: Findings) -> None:
    """Draw a panel per series of contests, per contest that stands alone, and per thing surveyed."""
    lines: dict[str, list[Result]] = {}
    bars: dict[str, list[Result]] = {}
    for result in findings.results:
        if result.line is None:
            bars.setdefault(result.title, []).append(result)
        else:
            lines.setdefault(result.line.figure, []).append(result)
    for title in [one for one, shown in lines.items() if len({r.key for r in shown}) == 1]:
        bars[title] = lines.pop(title)
    surveyed: dict[str, list[Figure]] = {}
    for figure in findings.figures:
        surveyed.setdefault(f"{figure.title}, {figure.unit}", []).append(figure)
    panels = len(lines) + len(bars) + len(surveyed)
    if not panels:
        return
    drawn, axes = _sheet(panels)
    places = iter(axes)
    for title, results in lines.items():
        _draw_series(next(places), title, results)
    for title, results in bars.items():
        _draw_bars(next(places), title, results)
    for title, figures in surveyed.items():
        _draw_figures(next(places), title, figures)
    for empty in places:
        empty.set_axis_off()
    _save(drawn, path)


def draw_goals(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Draw how often each goal is reached: to the right of 1 it is."""
    known = [(one, one.margin) for one in outcomes if one.margin is not None]
    if not known:
        return
    drawn, (panel,) = _sheet(1, size=(9.0, 1.0 + 0.26 * len(known)))
    names = [f"{one.goal.number}  {one.goal.text}{_peer(one)}" for one, _ in known]
    margins = [margin for _, margin in known]
    colours = [REACHED if margin >= 1 else MISSED for margin in margins]
    bars = panel.barh(range(len(known)), [margin - 1 for margin in margins], left=1, color=colours)
    panel.bar_label(bars, [f"{margin:.2g}" for margin in margins], padding=3, fontsize=8)
    panel.set_yticks(range(len(known)), names, fontsize=8)
    panel.set(xscale="log", xlabel="times the goal")
    panel.axvline(1, color=OTHER, linewidth=1)
    panel.set_xlim(min(0.1, min(margins) / 2), max(10.0, max(margins) * 3))
    panel.margins(y=0.01)
    panel.invert_yaxis()
    _save(drawn, path)


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


def _sheet(panels: int, *, size: tuple[float, float] | None = None) -> tuple[Any, Sequence[Any]]:
    """Return a figure and its panels, in two columns where there are several."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Sheet

    columns = min(COLUMNS, panels)
    rows = -(-panels // columns)
    width, height = PANEL_INCHES
    drawn = Sheet(figsize=size or (width * columns, height * rows), layout="constrained")
    FigureCanvasAgg(drawn)
    return drawn, list(drawn.subplots(rows, columns, squeeze=False).flat)


def _save(drawn: Any, path: Path) -> None:  # noqa: ANN401 (matplotlib is not always installed)
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "psoup", "svg.fonttype": "none"}):
        drawn.savefig(path, dpi=110, metadata={"Date": None} if path.suffix == ".svg" else None)


def _draw_series(panel: Any, title: str, results: Sequence[Result]) -> None:  # noqa: ANN401
    names = list(dict.fromkeys(result.contender for result in results))
    for name in names:
        shown = sorted((r for r in results if r.contender == name), key=_place)
        panel.plot(
            [_place(result) for result in shown],
            [result.median_s for result in shown],
            marker=_marker(name, names),
            markersize=4,
            linewidth=1.8 if name.startswith("psoup") else 1.0,
            color=_colour(name),
            alpha=_shade(name, names),
            label=name,
        )
    (line,) = {(r.line.axis, r.unit) for r in results if r.line is not None}
    panel.set(xscale="log", yscale="log", xlabel=line[0], ylabel=f"per {line[1][:-1]}, median")
    panel.set_title(title, fontsize=10)
    _seconds(panel.yaxis)
    places = sorted({_place(result) for result in results})
    panel.set_xticks(
        places, [quantity(place) if place >= 1e5 else f"{place:,.0f}" for place in places]
    )
    panel.minorticks_off()
    panel.grid(visible=True, which="major", alpha=0.25)
    panel.legend(fontsize=6.5, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)


def _draw_bars(panel: Any, title: str, results: Sequence[Result]) -> None:  # noqa: ANN401
    names = [result.contender for result in results]
    bars = panel.barh(names, [r.median_s for r in results], color=[_colour(n) for n in names])
    labels = [f"{duration(r.median_s)} ({r.times(results[0]):.3g}x)" for r in results]
    panel.bar_label(bars, labels, padding=3, fontsize=7)
    panel.set(xscale="log")
    panel.set_title(f"{title}\nper {results[0].unit[:-1]}, median", fontsize=9)
    _seconds(panel.xaxis)
    panel.tick_params(labelsize=7)
    panel.invert_yaxis()
    shortest, longest = min(r.median_s for r in results), max(r.median_s for r in results)
    low = 10.0 ** math.floor(math.log10(shortest) - 0.3)  # the shortest bar is to be seen as well
    panel.set_xlim(low, longest * (longest / low) ** 0.55)
    panel.minorticks_off()


def _draw_figures(panel: Any, title: str, figures: Sequence[Figure]) -> None:  # noqa: ANN401
    from matplotlib.ticker import FuncFormatter

    values = [figure.value for figure in figures]
    names = [figure.group for figure in figures]
    bars = panel.barh(range(len(figures)), values, color=[_colour(name) for name in names])
    panel.bar_label(bars, [quantity(value) for value in values], padding=3, fontsize=7)
    panel.set_yticks(range(len(figures)), names)
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: quantity(value)))
    panel.set_title(title, fontsize=9)
    panel.tick_params(labelsize=7)
    panel.margins(x=0.2)
    panel.invert_yaxis()


def _seconds(axis: Any) -> None:  # noqa: ANN401
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda seconds, _: duration(seconds)))


def _place(result: Result) -> float:
    assert result.line is not None, "only results of a series are drawn as one"
    return result.line.at


def _colour(name: str) -> str:
    words = name.replace(",", " ").replace(":", " ").split()
    return next((COLOURS[word] for word in words if word in COLOURS), OTHER)


def _shade(name: str, names: Sequence[str]) -> float:
    """Return an opacity: the first of a family is the darkest."""
    family = [other for other in names if _colour(other) == _colour(name)]
    return 1.0 - 0.6 * family.index(name) / len(family)


def _marker(name: str, names: Sequence[str]) -> str:
    """Return a marker: those of one family, which share a colour, have different ones."""
    family = [other for other in names if _colour(other) == _colour(name)]
    return MARKERS[family.index(name) % len(MARKERS)]


def _peer(one: Outcome) -> str:
    return f" / {one.goal.peer.partition(',')[0]}" if one.goal.peer else ""
