/** The rows on the page: live through the JavaScript client, or those of an instant or a position that was chosen. */

import { batch, computed, effect, signal, untracked } from "@preact/signals";

import { type Mirror, type Row, sync } from "../../clients/js/src/index.ts";
import { streamsOf } from "./catalogue.ts";
import type { Refusal, Result } from "./contract.ts";
import { millis, written } from "./format.ts";
import { type Past, past, place } from "./place.ts";
import { forgetPositions, hearOldestSeq, latestSeq } from "./positions.ts";
import { ORIGIN, ask, at, isAbort, key, refusalOf } from "./service.ts";
import { query } from "./workspace.ts";

/** As many rows of an instant in the past are shown; of the live answer all. */
export const PAST_ROWS_MAX = 20_000;
const FLASH_MS = 1_600;

export const rows = signal<readonly Row[]>([]);
/** Rows of the whole answer. */
export const total = signal(0);
export const problem = signal<Refusal | null>(null);
/** Whether the first answer is still to come. */
export const isAwaited = signal(false);
type Fresh = ReadonlySet<string>;

/** In the place of the columns that have changed: the whole row has entered. */
export const EVERY_COLUMN: Fresh = new Set();
/** What is new since a moment ago: rows, and in groups that have changed the columns. */
export const entered = signal<ReadonlyMap<string, Fresh>>(new Map());
/** How long the window is, in milliseconds; null: it has no begin, or is not known yet. */
export const windowMs = signal<number | null>(null);

/** NOW of the answer as it was told last, and by how much this machine's clock is ahead where the clock moves it. */
const told = signal<{ now: string | null; aheadMs: number | null }>({ now: null, aheadMs: null });
/** Ticks while the page is looked at, so that what depends on NOW is drawn again. */
const tick = signal(0);
setInterval(() => document.visibilityState === "visible" && (tick.value += 1), 500);

/** NOW of the answer of before that is shown; null: the answer is live, or has no NOW. */
export const pastNow = computed(() => place.value.now ?? (past.value && told.value.now));

/** NOW in milliseconds: that of the past looked at, of the service's clock, or of the newest row of the streams. */
export const nowMs = computed<number | null>(() => {
  const { now, aheadMs } = told.value;
  if (pastNow.value !== null) return millis(pastNow.value);
  if (aheadMs !== null) return tick.value >= 0 ? Date.now() - aheadMs : 0;
  if (now === null) return null;
  const newest = streamsOf(query.value?.canonical ?? "").map((stream) => (stream.newest ? millis(stream.newest) : 0));
  return Math.max(millis(now), ...newest);
});

/** NOW of the live answer in milliseconds, as it was last, also while an instant in the past is looked at. */
export const latestMs = signal<number | null>(null);

/** Follow the query that is shown, or ask for the instant that the place names, from now on. */
export function keepAnswering(): void {
  effect(() => {
    if (past.value === null && nowMs.value !== null) latestMs.value = nowMs.value;
  });
  effect(() => {
    const handle = query.value?.id;
    void key.value;
    untracked(clear);
    if (handle === undefined) return;
    void untracked(() => measure(handle));
    return effect(() => (past.value === null ? untracked(() => follow(handle)) : askPast(handle, past.value)));
  });
}

function clear(): void {
  batch(() => {
    rows.value = [];
    total.value = 0;
    problem.value = null;
    entered.value = new Map();
    windowMs.value = latestMs.value = null;
    forgetPositions();
    told.value = { now: null, aheadMs: null };
  });
  seen = new Map();
}

/** Learn how long the window is, and which NOW and position are the latest. */
async function measure(handle: string): Promise<void> {
  try {
    const { window, now, seq } = await ask<Result>(`/v1/queries/${at(handle)}/results?count=only`);
    if (query.peek()?.id !== handle) return;
    windowMs.value = window.begin && window.end ? millis(window.end) - millis(window.begin) : null;
    if (now !== null) latestMs.value ??= millis(now);
    latestSeq.value ??= seq;
  } catch (error) {
    if (!isAbort(error)) problem.value = refusalOf(error);
  }
}

/** Show what the query answers from now on; returns what ends that. */
function follow(handle: string): () => void {
  const following = sync(ORIGIN, [handle], { ...(key.peek() ? { token: key.peek() } : {}), onerror: () => {} });
  const mirror = following.mirrors.get(handle)!;
  let frame = 0;
  isAwaited.value = mirror.mark.version === "";
  const draw = () => (frame ||= requestAnimationFrame(() => ((frame = 0), drawMirror(mirror))));
  following.subscribe(draw);
  return () => {
    cancelAnimationFrame(frame);
    following.close();
  };
}

function drawMirror(mirror: Mirror): void {
  batch(() => {
    problem.value = mirror.problem ? (mirror.problem.body as Refusal) : null;
    told.value = { now: mirror.mark.at?.[2] || null, aheadMs: mirror.mark.aheadMs };
    if (mirror.mark.at) latestSeq.value = mirror.mark.at[1];
    isAwaited.value = mirror.mark.version === "" && !mirror.problem;
    show(mirror.rows, mirror.rows.length);
  });
}

/** Ask for the answer of the instant or the position that the place names, whenever it names another one. */
function askPast(handle: string, past: Past): () => void {
  const asking = new AbortController();
  const url = `/v1/queries/${at(handle)}/results?${new URLSearchParams({ ...past })}&limit=${PAST_ROWS_MAX}`;
  ask<Result>(url, { signal: asking.signal }).then(
    (answer) =>
      batch(() => {
        problem.value = null;
        isAwaited.value = false;
        told.value = { now: answer.now, aheadMs: null };
        show(answer.rows, answer.count);
      }),
    (error) => {
      if (isAbort(error)) return;
      problem.value = refusalOf(error);
      hearOldestSeq(error);
    },
  );
  return () => asking.abort();
}

let seen = new Map<string, Row>();

/** Show these rows, and mark what was not there a moment ago. */
function show(next: readonly Row[], count: number): void {
  const isFirst = seen.size === 0 && rows.peek().length === 0;
  const fresh = new Map<string, Fresh>();
  for (const row of isFirst ? [] : next) {
    const changed = changedIn(seen.get(row._id), row);
    if (changed) fresh.set(row._id, changed);
  }
  seen = new Map(next.map((row) => [row._id, row]));
  rows.value = next;
  total.value = count;
  if (fresh.size === 0) return;
  entered.value = new Map([...entered.peek(), ...fresh]);
  setTimeout(() => {
    entered.value = new Map([...entered.peek()].filter(([id, columns]) => fresh.get(id) !== columns));
  }, FLASH_MS);
}

/** The columns in which a row differs from what was shown of it; null: none. */
function changedIn(before: Row | undefined, row: Row): Fresh | null {
  if (before === undefined) return EVERY_COLUMN;
  if (before === row) return null;
  const names = Object.keys(row).filter((name) => name !== "_x" && row[name] !== before[name]);
  return names.length > 0 ? new Set(names) : null;
}

/** The instant that so many milliseconds since 1970 are. */
export function instantOf(ms: number): string {
  return written(Math.round(ms));
}
