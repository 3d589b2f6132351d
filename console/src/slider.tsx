/** The time slider: any instant or position that retention has kept, with a play button. Behind it, how many rows were shown when. */

import { type ReadonlySignal, useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { instantOf, isAwaited, latestMs, pastNow, problem, windowMs } from "./answer.ts";
import { streamsOf } from "./catalogue.ts";
import type { Point, Series } from "./contract.ts";
import { count, duration, instant, millis } from "./format.ts";
import { look, past, place } from "./place.ts";
import { latestSeq, learnOldestSeq, oldestSeq } from "./positions.ts";
import { ask, at, refusalOf } from "./service.ts";
import { query } from "./workspace.ts";

const STEPS = 600;
const POINTS = 120;
/** Of a window with two ends, so many of its lengths can be looked back upon. */
const WINDOWS_BACK = 12;
const FRAME_MS = 120;
const PLAY_S = 24;
const AGAIN_MS = 6_000;

/** What the slider moves along, from the oldest to the latest: instants in milliseconds, or positions. */
interface Scale {
  from: number;
  to: number;
  steps: number;
  /** Where the page is; the latest while the answer is live. */
  chosen: number;
  seek: (value: number) => void;
}

/** Instants: back to the oldest row, or some lengths of the window. */
function instants(): Scale | null {
  const to = latestMs.value;
  const oldest = streamsOf(query.value?.canonical ?? "").flatMap((one) => (one.oldest ? [millis(one.oldest)] : []));
  if (to === null || oldest.length === 0) return null;
  const back = windowMs.value ? to - WINDOWS_BACK * windowMs.value : -Infinity;
  const from = Math.max(Math.min(...oldest), back);
  const { now } = place.value;
  const seek = (value: number) => look({ now: instantOf(value), seq: undefined });
  return to - from >= 1 ? { from, to, steps: STEPS, chosen: now === undefined ? to : millis(now), seek } : null;
}

/** Positions: back to the first one at which NOW is known. */
function positions(): Scale | null {
  const [from, to] = [oldestSeq.value, latestSeq.value];
  if (from === null || to === null) return null;
  const seek = (value: number) => look({ now: undefined, seq: String(Math.round(value)) });
  return { from, to, steps: Math.min(STEPS, Math.max(1, to - from)), chosen: Number(place.value.seq ?? to), seek };
}

/** Learn how far back positions reach, or say why that is not known. */
async function reachBack(): Promise<void> {
  await learnOldestSeq().catch((error: unknown) => (problem.value = refusalOf(error)));
}

function goLive(): void {
  look({ now: undefined, seq: undefined });
}

export function TimeSlider() {
  const isPlaying = useSignal(false);
  const isByPosition = useComputed(() => place.value.seq !== undefined);
  const times = useComputed(instants);
  const scale = useComputed(() => (isByPosition.value ? positions() : times.value));
  useSignalEffect(() => {
    if (!isPlaying.value) return;
    return play(scale, () => (isPlaying.value = false));
  });
  useSignalEffect(() => {
    if (isByPosition.value && latestSeq.value !== null && oldestSeq.value === null) void reachBack();
  });
  if (!times.value) return null;
  const { from, to, steps, chosen, seek } = scale.value ?? times.value;
  const isPast = past.value !== null;
  const step = Math.round(Math.min(Math.max((chosen - from) / Math.max(to - from, 1), 0), 1) * steps);
  const choose = (next: number) => {
    isPlaying.value = false;
    if (next >= steps) goLive();
    else seek(from + ((to - from) * next) / steps);
  };
  return (
    <div class={isPast ? "slider past" : "slider"}>
      <button
        type="button"
        class="icon"
        aria-label={isPlaying.value ? "Pause" : "Play the past"}
        onClick={() => {
          if (!isPlaying.value && !isPast) seek(from);
          isPlaying.value = !isPlaying.value;
        }}
      >
        <svg viewBox="0 0 16 16" aria-hidden="true">
          {isPlaying.value ? <path d="M4 3h3v10H4zM9 3h3v10H9z" /> : <path d="M4 2.5v11l9-5.5z" />}
        </svg>
      </button>
      <div class="track">
        {!isByPosition.value && <Counts fromMs={from} toMs={to} />}
        <input
          type="range"
          min={0}
          max={steps}
          value={step}
          aria-label="Instant that is looked at"
          aria-valuetext={toldOf()}
          onInput={(event) => choose(Number(event.currentTarget.value))}
        />
      </div>
      <output>{isPast ? shownOf() : <Live />}</output>
      <AsKnownThen share={step / steps} />
      {isPast && (
        <button type="button" class="small" onClick={() => choose(steps)}>
          Back to now
        </button>
      )}
    </div>
  );
}

/** What the slider says of where it stands. */
function shownOf(): string {
  const { now, seq } = place.value;
  if (seq === undefined) return instant(now!);
  return `position ${count(Number(seq))}${pastNow.value === null ? "" : ` · ${instant(pastNow.value)}`}`;
}

/** The same for who does not see it. */
function toldOf(): string {
  const { now, seq } = place.value;
  if (past.value === null) return "now, live";
  return seq === undefined ? `${shownOf()}, ${duration(latestMs.value! - millis(now!))} ago` : shownOf();
}

/** Looks at what was known at a position, without the rows that have come since; pressed again, at its instant with all rows. */
function AsKnownThen({ share }: { share: number }) {
  const isOn = place.value.seq !== undefined;
  const turn = async () => {
    if (isOn) return look({ now: pastNow.peek() ?? undefined, seq: undefined });
    await reachBack();
    const [from, to] = [oldestSeq.peek(), latestSeq.peek()];
    if (from !== null && to !== null) look({ now: undefined, seq: String(Math.round(from + (to - from) * share)) });
  };
  return (
    <button
      type="button"
      class="small"
      aria-pressed={isOn}
      title="What the service answered then: rows that have come since are left out"
      onClick={() => void turn()}
    >
      As known then
    </button>
  );
}

function Live() {
  return (
    <span class="live">
      <span aria-hidden="true" class={isAwaited.value ? "dot" : "dot on"} />
      live
    </span>
  );
}

/** Move from where the page is to the present, and call `done` there. Returns what stops it. */
function play(scale: ReadonlySignal<Scale | null>, done: () => void): () => void {
  let value = scale.peek()?.chosen ?? 0;
  const timer = setInterval(() => {
    const along = scale.peek();
    if (!along || past.peek() === null) return done();
    value += ((along.to - along.from) * FRAME_MS) / (PLAY_S * 1_000);
    if (value < along.to) return along.seek(value);
    done();
    goLive();
  }, FRAME_MS);
  return () => clearInterval(timer);
}

/** How many rows the query shows at each instant, as a silhouette. */
function Counts({ fromMs, toMs }: { fromMs: number; toMs: number }) {
  const points = useSignal<Point[]>([]);
  const handle = query.value!.id;
  useEffect(() => {
    let isGone = false;
    const load = () => {
      const every = Math.max(1, Math.round((toMs - fromMs) / POINTS));
      const asked = `from=${at(instantOf(fromMs))}&to=${at(instantOf(toMs))}&every=${every}ms&count=only`;
      ask<Series>(`/v1/queries/${at(handle)}/series?${asked}`).then(
        (series) => !isGone && (points.value = series.points),
        () => {},
      );
    };
    load();
    return () => {
      isGone = true;
    };
  }, [handle, Math.round(toMs / AGAIN_MS), Math.round(fromMs / AGAIN_MS)]);
  const most = Math.max(1, ...points.value.map((one) => one.count));
  const corners = points.value.map((point): [number, number] => {
    const share = (millis(point.now) - fromMs) / (toMs - fromMs);
    return [Math.min(Math.max(share, 0), 1) * 100, 20 - (19 * point.count) / most];
  });
  if (corners.length < 2) return null;
  const edges = [[corners[0]![0], 20], ...corners, [corners.at(-1)![0], 20]];
  return (
    <svg class="counts" viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true">
      <path d={`M${edges.map(([x, y]) => `${x!.toFixed(2)} ${y!.toFixed(2)}`).join("L")}z`} />
    </svg>
  );
}
