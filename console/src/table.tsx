/** A table of any number of rows: those that can be seen are drawn. Rows flash when they enter, and fade as their time ends. */

import { computed, signal, useComputed, useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

import type { Row } from "../../clients/js/src/rule.ts";
import { EVERY_COLUMN, entered, nowMs, rows, windowMs } from "./answer.ts";
import { streamsOf } from "./catalogue.ts";
import type { Column } from "./contract.ts";
import { cell, duration, millis } from "./format.ts";
import { byTime, compareValues } from "./order.ts";
import { look, place } from "./place.ts";
import { isGrouped } from "./sql.ts";
import { query } from "./workspace.ts";

const ROW_PX = 27;
const BEYOND = 8;
const SAMPLE = 200;
const CHARACTER_PX = 7.4;
const PADDING_PX = 22;
const WIDTH_PX = { least: 56, most: 380, leaves: 112 };
/** A row fades over this share of the window before it leaves. */
const FADING_SHARE = 0.25;

interface Order {
  column: string;
  isDown: boolean;
}

/** How rows are sorted: as somebody has chosen, else as the query says, else the newest first. */
const order = computed<Order | null>(() => {
  const chosen = place.value.sort;
  if (chosen) return { column: chosen.replace(/^-/, ""), isDown: chosen.startsWith("-") };
  const one = query.value;
  if (!one || one.delta === "replace") return null;
  const stated = /\bORDER BY ("?)([A-Za-z_]\w*)\1( DESC)?/i.exec(one.canonical.replace(/\bOVER \([^)]*\)/gi, ""));
  const isOutput = stated && one.columns.some(({ name }) => name === stated[2]);
  if (isOutput) return { column: stated[2]!, isDown: stated[3] !== undefined };
  return isGrouped(one.canonical) && one.columns[0] ? { column: one.columns[0].name, isDown: false } : { column: "", isDown: true };
});

/** The column that has the tuple time of a row, where the query shows it under its name. */
const timeColumn = computed(() => {
  const one = query.value;
  const times = new Set(streamsOf(one?.canonical ?? "").map(({ time }) => time));
  return one?.columns.find(({ name, type }) => type === "timestamp" && times.has(name))?.name ?? null;
});

/** Rows in the order in which they are shown; the same whether they came one by one or are asked for anew. */
export const ordered = computed<readonly Row[]>(() => {
  const by = order.value;
  if (!by) return rows.value;
  const sign = by.isDown ? -1 : 1;
  const sorted = [...rows.value].sort(byTime(timeColumn.value));
  if (by.column === "") return by.isDown ? sorted.reverse() : sorted;
  return sorted.sort((one, other) => sign * compareValues(one[by.column], other[by.column]));
});

function widthsOf(columns: readonly Column[], sample: readonly Row[]): number[] {
  return columns.map(({ name, type }) => {
    const longest = sample.reduce((most, row) => Math.max(most, cell(row[name], type).length), name.length + 2);
    return Math.round(Math.min(Math.max(longest * CHARACTER_PX + PADDING_PX, WIDTH_PX.least), WIDTH_PX.most));
  });
}

/** The row that arrows of the keyboard have reached. */
const reached = signal<string | null>(null);

export function AnswerTable({ columns }: { columns: readonly Column[] }) {
  const box = useRef<HTMLDivElement>(null);
  const top = useSignal(0);
  const height = useSignal(400);
  const widths = useComputed(() => widthsOf(columns, ordered.value.slice(0, SAMPLE)));
  const leaves = useComputed(() => !isGrouped(query.value?.canonical ?? "") && rows.value.some((row) => row._x !== null));
  useLayoutEffect(() => {
    const seen = new ResizeObserver(() => (height.value = box.current?.clientHeight ?? 400));
    seen.observe(box.current!);
    return () => seen.disconnect();
  }, []);
  const all = ordered.value;
  const first = Math.max(0, Math.min(Math.floor(top.value / ROW_PX) - BEYOND, all.length - 1));
  const last = Math.min(all.length, Math.ceil((top.value + height.value) / ROW_PX) + BEYOND);
  const across = columns.length + (leaves.value ? 2 : 1);

  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter" && reached.value && event.target === box.current) look({ row: reached.value });
    if (!step || all.length === 0) return;
    event.preventDefault();
    const found = all.findIndex((row) => row._id === reached.value);
    const next = Math.min(Math.max(found < 0 ? first : found + step, 0), all.length - 1);
    reached.value = all[next]!._id;
    const { scrollTop } = box.current!;
    if (next * ROW_PX < scrollTop) box.current!.scrollTop = next * ROW_PX;
    const bottom = (next + 2) * ROW_PX - height.value;
    if (bottom > scrollTop) box.current!.scrollTop = bottom;
  };

  return (
    <div
      ref={box}
      class="rows"
      tabIndex={0}
      role="region"
      aria-label="Rows of the answer: arrows move, Enter explains a row"
      onScroll={(event) => (top.value = event.currentTarget.scrollTop)}
      onKeyDown={move}
    >
      <table aria-rowcount={all.length + 1}>
        <colgroup>
          {widths.value.map((width, index) => (
            <col key={columns[index]!.name} style={{ width: `${width}px` }} />
          ))}
          {leaves.value && <col style={{ width: `${WIDTH_PX.leaves}px` }} />}
          <col />
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <Heading key={column.name} column={column} />
            ))}
            {leaves.value && <Heading column={{ name: "_x", type: "timestamp" }} label="leaves in" kind="leaves" />}
            <td />
          </tr>
        </thead>
        <tbody>
          {first > 0 && <Gap rows={first} across={across} />}
          {all.slice(first, last).map((row, index) => (
            <Line key={row._id} row={row} place={first + index} columns={columns} leaves={leaves.value} />
          ))}
          {last < all.length && <Gap rows={all.length - last} across={across} />}
        </tbody>
      </table>
    </div>
  );
}

/** The room of rows that are not drawn. */
function Gap({ rows, across }: { rows: number; across: number }) {
  return (
    <tr aria-hidden="true">
      <td class="gap" colSpan={across} style={{ height: `${rows * ROW_PX}px` }} />
    </tr>
  );
}

function Heading({ column, label = column.name, kind = "" }: { column: Column; label?: string; kind?: string }) {
  const by = order.value;
  const isBy = by?.column === column.name;
  const next = isBy && !by.isDown ? `-${column.name}` : column.name;
  return (
    <th scope="col" class={isNumber(column) ? "number" : kind} aria-sort={isBy ? (by.isDown ? "descending" : "ascending") : "none"}>
      <button type="button" title={column.type} onClick={() => look({ sort: next })}>
        {label}
        <span aria-hidden="true" class="sort">
          {isBy ? (by.isDown ? "↓" : "↑") : ""}
        </span>
      </button>
    </th>
  );
}

function isNumber({ type }: Column): boolean {
  return type === "int64" || type === "float64";
}

interface LineProps {
  row: Row;
  place: number;
  columns: readonly Column[];
  leaves: boolean;
}

function Line({ row, place: index, columns, leaves }: LineProps) {
  const left = useComputed(() => leftOf(row._x));
  const isFading = useComputed(() => leaves && left.value !== null && left.value.share < FADING_SHARE);
  const fresh = entered.value.get(row._id);
  const kinds = [
    fresh === EVERY_COLUMN && "entered",
    isFading.value && "fading",
    place.value.row === row._id && "open",
    reached.value === row._id && "reached",
  ];
  return (
    <tr class={kinds.filter(Boolean).join(" ")} aria-rowindex={index + 2} onClick={() => look({ row: row._id })}>
      {columns.map((column) => (
        <td key={column.name} class={`${isNumber(column) ? "number" : ""} ${fresh?.has(column.name) ? "changed" : ""}`}>
          <Cell value={row[column.name]} column={column} />
        </td>
      ))}
      {leaves && <td class="leaves">{left.value && <Left {...left.value} />}</td>}
      <td class="why">
        <button type="button" tabIndex={-1} aria-label={`why row ${index + 1}`} onClick={() => look({ row: row._id })}>
          why
        </button>
      </td>
    </tr>
  );
}

function Cell({ value, column }: { value: unknown; column: Column }) {
  if (value === null || value === undefined) return <span class="null">NULL</span>;
  return <>{cell(value, column.type)}</>;
}

interface LeftTime {
  ms: number;
  /** Of the window; 1 where it is not known. */
  share: number;
}

/** What is left of a row's time. */
function leftOf(leaves: string | null): LeftTime | null {
  if (leaves === null || nowMs.value === null) return null;
  const ms = Math.max(0, millis(leaves) - nowMs.value);
  return { ms, share: windowMs.value ? Math.min(1, ms / windowMs.value) : 1 };
}

function Left({ ms, share }: LeftTime) {
  return (
    <>
      <span class="bar" aria-hidden="true">
        <span style={{ width: `${Math.round(share * 100)}%` }} />
      </span>
      {duration(ms)}
    </>
  );
}

