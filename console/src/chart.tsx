/** One chart of the query, by its series. What it draws stands in the URL, so it survives edits of the text. */

import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { instantOf, rows, total, windowMs } from "./answer.ts";
import { streamsOf } from "./catalogue.ts";
import type { Column, Point, Refusal, Series } from "./contract.ts";
import { millis } from "./format.ts";
import { look, place } from "./place.ts";
import type { Lines, Plot } from "./plot.ts";
import { ask, at, isAbort, refusalOf } from "./service.ts";
import { isGrouped } from "./sql.ts";
import { query } from "./workspace.ts";

const POINTS = 90;
const LINES_MAX = 8;
const AGAIN_MS = 2_500;
/** In the place of a column: how many rows there are; one line for all. */
const COUNT = "*";
const ONE_LINE = "-";

/** What is drawn: a column of numbers, or how many rows there are; a line for each value of `by`. */
interface Choice {
  y: string;
  by: string | null;
}

/** What the place names, where the query has such columns; else what says most. */
function choiceOf(columns: readonly Column[], isCounted: boolean): Choice {
  const { y, by } = place.value;
  const numbers = columns.filter(isNumber).map((one) => one.name);
  const keys = columns.filter(isKey).map((one) => one.name);
  const usual = isCounted ? COUNT : (numbers[0] ?? COUNT);
  const column = y !== undefined && [COUNT, ...numbers].includes(y) ? y : usual;
  if (column === COUNT || by === ONE_LINE) return { y: column, by: null };
  return { y: column, by: by !== undefined && keys.includes(by) ? by : (keys[0] ?? null) };
}

function isNumber({ type }: Column): boolean {
  return type === "int64" || type === "float64";
}

function isKey({ type }: Column): boolean {
  return type === "string" || type === "bool";
}

export function Chart() {
  const { id, columns, canonical } = query.value!;
  const choice = choiceOf(columns, !isGrouped(canonical));
  const lines = useSignal<Lines | null>(null);
  const problem = useSignal<Refusal | null>(null);
  const turn = useSignal(0);
  useSignalEffect(() => {
    void rows.value;
    const timer = setTimeout(() => (turn.value = turn.peek() + 1), AGAIN_MS);
    return () => clearTimeout(timer);
  });
  useEffect(() => {
    const asking = new AbortController();
    ask<Series>(seriesUrl(id, choice), { signal: asking.signal }).then(
      (series) => {
        problem.value = null;
        lines.value = linesOf(series.points, choice);
      },
      (error) => {
        if (!isAbort(error)) problem.value = refusalOf(error);
      },
    );
    return () => asking.abort();
  }, [id, choice.y, choice.by, turn.value, windowMs.value]);
  return (
    <section class="chart" aria-label="Chart">
      <div class="controls">
        <label>
          <span>Draw</span>
          <select value={choice.y} onChange={(event) => look({ y: event.currentTarget.value })}>
            <option value={COUNT}>number of rows</option>
            {columns.filter(isNumber).map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        {choice.y !== COUNT && columns.some(isKey) && (
          <label>
            <span>a line for each</span>
            <select value={choice.by ?? ONE_LINE} onChange={(event) => look({ by: event.currentTarget.value })}>
              <option value={ONE_LINE}>(one line)</option>
              {columns.filter(isKey).map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
      </div>
      {problem.value && <p class="refusal">{problem.value.detail}</p>}
      {lines.value && lines.value.names.length > 0 ? (
        <Figure lines={lines.value} />
      ) : (
        !problem.value && <p class="empty">{total.value === 0 ? "Nothing to draw: the query shows no rows." : "Drawing…"}</p>
      )}
    </section>
  );
}

function seriesUrl(handle: string, { y }: Choice): string {
  const newest = streamsOf(query.peek()!.canonical).flatMap((one) => (one.newest ? [millis(one.newest)] : []));
  const oldest = streamsOf(query.peek()!.canonical).flatMap((one) => (one.oldest ? [millis(one.oldest)] : []));
  const given = new URLSearchParams(y === COUNT ? { count: "only" } : {});
  const hasBegin = windowMs.peek() !== null;
  if (oldest.length > 0 && newest.length > 0) {
    const toMs = Math.max(...newest);
    const backMs = hasBegin ? Math.min(3 * windowMs.peek()!, toMs - Math.min(...oldest)) : toMs - Math.min(...oldest);
    if (backMs > 0) {
      given.set("from", `-${Math.max(1, Math.round(backMs))}ms`);
      given.set("every", `${Math.max(1, Math.round(backMs / POINTS))}ms`);
    } else given.set("from", instantOf(toMs));
  }
  return `/v1/queries/${at(handle)}/series?${given}`;
}

/** One line for each value of `by`, those with the largest last values; a point is the last row's value. */
function linesOf(points: readonly Point[], { y, by }: Choice): Lines {
  const xs = points.map((point) => millis(point.now) / 1_000);
  if (y === COUNT) return { xs, names: ["rows"], ys: [points.map((point) => point.count)], left: 0 };
  const found = new Map<string, (number | null)[]>();
  points.forEach((point, index) => {
    for (const row of point.rows ?? []) {
      const name = by === null ? y : String(row[by] ?? "NULL");
      if (!found.has(name)) found.set(name, new Array<number | null>(points.length).fill(null));
      const value = row[y];
      found.get(name)![index] = typeof value === "number" || typeof value === "bigint" ? Number(value) : null;
    }
  });
  const lastOf = (values: (number | null)[]) => values.findLast((value) => value !== null) ?? -Infinity;
  const largest = [...found].sort(([, a], [, b]) => lastOf(b) - lastOf(a)).slice(0, LINES_MAX);
  largest.sort(([a], [b]) => a.localeCompare(b));
  return { xs, names: largest.map(([name]) => name), ys: largest.map(([, values]) => values), left: found.size - largest.length };
}

function Figure({ lines }: { lines: Lines }) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  useEffect(() => {
    let isGone = false;
    void import("./plot.ts").then(({ draw }) => {
      if (isGone || !host.current) return;
      plot.current?.close();
      plot.current = draw(host.current, lines);
    });
    return () => {
      isGone = true;
      plot.current?.close();
      plot.current = null;
    };
  }, [lines.names.join("\n")]);
  useEffect(() => plot.current?.update(lines), [lines]);
  return (
    <figure>
      <div ref={host} class="plot" aria-hidden="true" />
      <figcaption class="unseen">{spoken(lines)}</figcaption>
      {lines.left > 0 && <p class="quiet">{`The ${lines.names.length} lines with the largest values; ${lines.left} more are not drawn.`}</p>}
    </figure>
  );
}

/** What the picture says, in words. */
function spoken({ names, ys }: Lines): string {
  const parts = names.map((name, index) => {
    const values = ys[index]!.filter((value) => value !== null);
    return values.length === 0 ? `${name}: no values` : `${name}: ${values.at(-1)} at last, between ${Math.min(...values)} and ${Math.max(...values)}`;
  });
  return `A chart over time. ${parts.join("; ")}.`;
}
