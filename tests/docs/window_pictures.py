"""The pictures of docs/windows.md: rows on an axis of time, windows as bars, the rows inside as full dots.

`make docs` (`python -m tests.docs.window_pictures`) draws them; a test compares them, and the rows inside with the
page's answers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.docs.blocks import ROOT

FOLDER = ROOT / "docs" / "images"
INK, FAINT, ACCENT, BAR, PAPER = "#222222", "#757575", "#1f5fa8", "#cfe0f3", "#ffffff"
LEFT, RIGHT, WIDTH = 190, 760, 800
ROW_HEIGHT, TOP = 62, 20
RADIUS = 7

Rows = Mapping[str, float]
"""Names of rows and their times, in minutes after 10:00."""
FIRST_ROWS: Rows = {"A": 0, "B": 1, "C": 2.5, "D": 3, "E": 5}


@dataclass(frozen=True, slots=True)
class Scene:
    """A window over rows at one NOW. `begin` and `end` None = it has no such end; `moving` ends move with NOW."""

    title: str
    remark: str
    rows: Rows
    now: float
    begin: float | None
    end: float | None
    moving: str = ""

    def inside(self) -> list[str]:
        """Return the names of the rows in the window, in order of time."""
        begin = min(self.rows.values()) if self.begin is None else self.begin
        end = self.now if self.end is None else self.end
        return sorted(
            (name for name, time in self.rows.items() if begin <= time <= end),
            key=self.rows.__getitem__,
        )


def _recent(title: str, remark: str, now: float, **came: float) -> Scene:
    return Scene(title, remark, {**FIRST_ROWS, **came}, now, now - 3, now, "both")


KINDS = (
    Scene("none", "all that is kept", FIRST_ROWS, 5, None, None),
    Scene("landmark", "the end moves", FIRST_ROWS, 5, 1, 5, "end"),
    Scene("sliding", "both ends move", FIRST_ROWS, 5, 2, 5, "both"),
    Scene("delayed", "both ends move", FIRST_ROWS, 5, 1, 4, "both"),
    Scene("snapshot", "nothing moves", FIRST_ROWS, 5, 0, 2.5),
)
MOVES = (
    _recent("E has come", "NOW is 10:05", 5),
    _recent("F comes", "NOW is 10:06", 6, F=6),
    _recent("G comes late", "NOW stays 10:06", 6, F=6, G=4.5),
    _recent("H comes", "NOW is 10:12", 12, F=6, G=4.5, H=12),
)
PICTURES = {
    "windows-kinds.svg": (KINDS, 6.0),
    "windows-moves.svg": (MOVES, 13.0),
}


def drawn(scenes: Sequence[Scene], last: float) -> str:
    """Return the picture of scenes on one axis from 10:00 to `last` minutes later, as SVG."""
    height = TOP + ROW_HEIGHT * len(scenes) + 40
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="14"',
        f' viewBox="0 0 {WIDTH} {height}" role="img">',
        f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>',
    ]
    for number, scene in enumerate(scenes):
        parts += _scene(scene, TOP + ROW_HEIGHT * number, last)
    axis = TOP + ROW_HEIGHT * len(scenes) + 6
    parts.append(f'<path d="M{LEFT} {axis}H{RIGHT}" stroke="{INK}"/>')
    for minute in range(int(last) + 1):
        x = _x(minute, last)
        parts.append(f'<path d="M{x} {axis}v5" stroke="{INK}"/>')
        parts.append(_text(x, axis + 21, f"10:{minute:02d}", size=12))
    return "\n".join([*parts, "</svg>", ""])


def _scene(scene: Scene, top: int, last: float) -> Iterable[str]:
    middle = top + 30
    yield _text(20, middle - 3, scene.title, anchor="start", weight="bold")
    yield _text(20, middle + 15, scene.remark, anchor="start", colour=FAINT, size=12)
    yield f'<path d="M{LEFT} {middle}H{RIGHT}" stroke="{FAINT}" stroke-width="0.6"/>'
    begin = LEFT if scene.begin is None else _x(scene.begin, last)
    end = _x(scene.now if scene.end is None else scene.end, last)
    yield (
        f'<rect x="{begin - 10}" y="{middle - 13}" width="{end - begin + 20}" height="26" rx="8" fill="{BAR}"'
        f' stroke="{ACCENT}"/>'
    )
    if scene.moving == "both":
        yield _arrow(begin - 10, middle + 20)
    if scene.moving:
        yield _arrow(end + 10, middle + 20)
    now = _x(scene.now, last)
    yield (
        f'<path d="M{now} {middle - 13}V{top + ROW_HEIGHT - 4}" stroke="{ACCENT}" stroke-dasharray="4 3"/>'
    )
    yield _text(now + 14, top + 12, "NOW", colour=ACCENT, size=11, anchor="start")
    inside = scene.inside()
    for name, time in scene.rows.items():
        x, fill = _x(time, last), ACCENT if name in inside else PAPER
        stroke = ACCENT if name in inside else FAINT
        yield f'<circle cx="{x}" cy="{middle}" r="{RADIUS}" fill="{fill}" stroke="{stroke}" stroke-width="1.6"/>'
        yield _text(x, middle - 17, name, colour=INK if name in inside else FAINT, size=13)


def _arrow(x: float, y: float) -> str:
    return f'<path d="M{x} {y}h16m-5 -4l5 4l-5 4" fill="none" stroke="{ACCENT}"/>'


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "middle",
    weight: str = "normal",
    colour: str = INK,
    size: int = 14,
) -> str:
    return (
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-weight="{weight}" font-size="{size}"'
        f' fill="{colour}">{text}</text>'
    )


def _x(minute: float, last: float) -> float:
    return round(LEFT + 20 + (RIGHT - LEFT - 40) * minute / last, 1)


def main() -> None:
    """Draw the pictures."""
    for name, (scenes, last) in PICTURES.items():
        (FOLDER / name).write_text(drawn(scenes, last), encoding="utf-8")


if __name__ == "__main__":
    main()
