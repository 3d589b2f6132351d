/** The time slider: any instant that retention has kept, with a play button. Behind it, how many rows were shown when. */

import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { instantOf, isAwaited, isLive, latestMs, windowMs } from "./answer.ts";
import { streamsOf } from "./catalogue.ts";
import type { Point, Series } from "./contract.ts";
import { duration, instant, millis } from "./format.ts";
import { look, place } from "./place.ts";
import { ask, at } from "./service.ts";
import { query } from "./workspace.ts";

const STEPS = 600;
const POINTS = 120;
/** Of a window with two ends, so many of its lengths can be looked back upon. */
const WINDOWS_BACK = 12;
const FRAME_MS = 120;
const PLAY_S = 24;
const AGAIN_MS = 6_000;

interface Reach {
  fromMs: number;
  toMs: number;
}

/** What the slider reaches: back to the oldest row, or some lengths of the window. */
function reachOf(): Reach | null {
  const toMs = latestMs.value;
  const oldest = streamsOf(query.value?.canonical ?? "").flatMap((one) => (one.oldest ? [millis(one.oldest)] : []));
  if (toMs === null || oldest.length === 0) return null;
  const back = windowMs.value ? toMs - WINDOWS_BACK * windowMs.value : -Infinity;
  const fromMs = Math.max(Math.min(...oldest), back);
  return toMs - fromMs >= 1 ? { fromMs, toMs } : null;
}

export function TimeSlider() {
  const isPlaying = useSignal(false);
  const reach = useComputed(reachOf);
  useSignalEffect(() => {
    if (!isPlaying.value) return;
    const timer = setInterval(() => step(reach.peek(), () => (isPlaying.value = false)), FRAME_MS);
    return () => clearInterval(timer);
  });
  if (!reach.value) return null;
  const { fromMs, toMs } = reach.value;
  const chosen = place.value.now;
  const share = chosen === undefined ? 1 : (millis(chosen) - fromMs) / (toMs - fromMs);
  const value = Math.round(Math.min(Math.max(share, 0), 1) * STEPS);
  const told = chosen === undefined ? "now, live" : `${instant(chosen)}, ${duration(toMs - millis(chosen))} ago`;
  const seek = (steps: number) => {
    isPlaying.value = false;
    look({ now: steps >= STEPS ? undefined : instantOf(fromMs + ((toMs - fromMs) * steps) / STEPS) });
  };
  return (
    <div class={chosen === undefined ? "slider" : "slider past"}>
      <button
        type="button"
        class="icon"
        aria-label={isPlaying.value ? "Pause" : "Play the past"}
        onClick={() => {
          if (!isPlaying.value && isLive.value) look({ now: instantOf(fromMs) });
          isPlaying.value = !isPlaying.value;
        }}
      >
        <svg viewBox="0 0 16 16" aria-hidden="true">
          {isPlaying.value ? <path d="M4 3h3v10H4zM9 3h3v10H9z" /> : <path d="M4 2.5v11l9-5.5z" />}
        </svg>
      </button>
      <div class="track">
        <Counts {...reach.value} />
        <input
          type="range"
          min={0}
          max={STEPS}
          value={value}
          aria-label="Instant that is looked at"
          aria-valuetext={told}
          onInput={(event) => seek(Number(event.currentTarget.value))}
        />
      </div>
      <output>{chosen === undefined ? <Live /> : instant(chosen)}</output>
      {chosen !== undefined && (
        <button type="button" class="small" onClick={() => seek(STEPS)}>
          Back to now
        </button>
      )}
    </div>
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

function step(reach: Reach | null, done: () => void): void {
  const { now } = place.peek();
  if (!reach || now === undefined) return done();
  const nextMs = millis(now) + ((reach.toMs - reach.fromMs) * FRAME_MS) / (PLAY_S * 1_000);
  if (nextMs >= reach.toMs) done();
  look({ now: nextMs >= reach.toMs ? undefined : instantOf(nextMs) });
}

/** How many rows the query shows at each instant, as a silhouette. */
function Counts({ fromMs, toMs }: Reach) {
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
  const corners = points.value.map(({ now, count }): [number, number] => {
    const share = (millis(now) - fromMs) / (toMs - fromMs);
    return [Math.min(Math.max(share, 0), 1) * 100, 20 - (19 * count) / most];
  });
  if (corners.length < 2) return null;
  const edges = [[corners[0]![0], 20], ...corners, [corners.at(-1)![0], 20]];
  return (
    <svg class="counts" viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true">
      <path d={`M${edges.map(([x, y]) => `${x!.toFixed(2)} ${y!.toFixed(2)}`).join("L")}z`} />
    </svg>
  );
}
