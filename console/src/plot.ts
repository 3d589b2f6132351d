/** Lines over time, drawn by uPlot in the colours of the page. */

import uPlot from "uplot";

export interface Lines {
  /** Seconds since 1970. */
  xs: number[];
  names: string[];
  ys: (number | null)[][];
  /** How many lines more there are. */
  left: number;
}

export interface Plot {
  update(lines: Lines): void;
  close(): void;
}

const HEIGHT_PX = 300;
/** How instants are written, by the distance of two in seconds, and what is added where a day or a year begins. */
const TIMES: uPlot.Axis.Values = [
  [365 * 86_400, "{YYYY}", null, null, null, null, null, null, 1],
  [28 * 86_400, "{YYYY}-{MM}", null, null, null, null, null, null, 1],
  [86_400, "{MM}-{DD}", "\n{YYYY}", null, null, null, null, null, 1],
  [60, "{HH}:{mm}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
  [0.001, "{ss}.{fff}", "\n{YYYY}-{MM}-{DD} {HH}:{mm}", null, null, null, "\n{HH}:{mm}", null, 1],
];

/** Distances of two lines of the grid where all values are whole: there is no half of a row. */
const WHOLE = Array.from({ length: 15 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

/** Draw lines into `host`, as wide as it is, until closed. */
export function draw(host: HTMLElement, lines: Lines): Plot {
  let held = lines;
  let plot = make(host, held);
  const sized = new ResizeObserver(() => plot.setSize({ width: host.clientWidth, height: HEIGHT_PX }));
  sized.observe(host);
  const again = () => {
    plot.destroy();
    plot = make(host, held);
  };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const themed = new MutationObserver(again);
  themed.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  dark.addEventListener("change", again);
  return {
    update(next) {
      held = next;
      plot.setData(data(next));
    },
    close() {
      sized.disconnect();
      themed.disconnect();
      dark.removeEventListener("change", again);
      plot.destroy();
    },
  };
}

function data({ xs, ys }: Lines): uPlot.AlignedData {
  return [xs, ...ys];
}

function make(host: HTMLElement, lines: Lines): uPlot {
  const colour = (name: string) => {
    host.style.color = `var(${name})`; // a canvas takes colours, and no names
    const { color } = getComputedStyle(host);
    host.style.color = "";
    return color;
  };
  const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1, size: 5 } };
  const font = `11px ${getComputedStyle(host).fontFamily}`;
  return new uPlot(
    {
      width: host.clientWidth,
      height: HEIGHT_PX,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), "Etc/UTC"),
      cursor: { y: false, points: { size: 6 } },
      scales: { y: { range: (_, least, most) => roomy(least, most) } },
      axes: [
        { ...axis, font, space: 76, values: TIMES },
        { ...axis, font, size: 58, ...(isWhole(lines) ? { incrs: WHOLE } : {}) },
      ],
      hooks: { setLegend: [showNewest] },
      series: [
        { label: "at", value: "{YYYY}-{MM}-{DD} {HH}:{mm}:{ss}" },
        ...lines.names.map((label, index) => ({
          label,
          stroke: colour(`--line-${(index % 8) + 1}`),
          width: 1.75,
          spanGaps: false,
          points: { show: lines.xs.length < 3 },
        })),
      ],
    },
    data(lines),
    host,
  );
}

/** Where nothing is pointed at, as never with a finger, the legend tells the newest values. */
function showNewest(plot: uPlot): void {
  const last = plot.data[0].length - 1;
  if ((plot.cursor.left ?? -1) < 0 && last >= 0) plot.setLegend({ idx: last }, false);
}

function isWhole({ ys }: Lines): boolean {
  return ys.every((line) => line.every((value) => value === null || Number.isInteger(value)));
}

/** A scale with some room; flat lines get one as well. */
function roomy(least: number | null, most: number | null): [number, number] {
  if (least === null || most === null) return [0, 1];
  const room = (most - least) * 0.08 || Math.abs(most) * 0.1 || 1;
  return [least >= 0 && least - room < 0 ? 0 : least - room, most + room];
}
