/** The positions that a query may be asked about: what the slider reaches where it moves along them. */

import { signal } from "@preact/signals";

import type { Result } from "./contract.ts";
import { ask, at, refusalOf } from "./service.ts";
import { query } from "./workspace.ts";

/** Refusals of positions at which NOW is not known, or is known no more. */
const UNKNOWN = new Set(["seq-out-of-range", "invalid-field"]);

/** The first position at which NOW is known, and the latest; null: not learned yet. */
export const oldestSeq = signal<number | null>(null);
export const latestSeq = signal<number | null>(null);

export function forgetPositions(): void {
  oldestSeq.value = latestSeq.value = null;
}

/** Learn the first position at which NOW is known: each behind it is one, too. Throws where the service does not answer. */
export async function learnOldestSeq(): Promise<void> {
  const handle = query.peek()!.id;
  let [first, known] = [1, latestSeq.peek() ?? 1];
  while (first < known) {
    const middle = Math.floor((first + known) / 2);
    if (await isKnown(handle, middle)) known = middle;
    else first = middle + 1;
  }
  if (query.peek()?.id === handle) oldestSeq.value = first;
}

async function isKnown(handle: string, seq: number): Promise<boolean> {
  try {
    const { now } = await ask<Result>(`/v1/queries/${at(handle)}/results?seq=${seq}&count=only`);
    return now !== null;
  } catch (error) {
    if (UNKNOWN.has(refusalOf(error).code ?? "")) return false;
    throw error;
  }
}

/** Learn the first position from a refusal of an earlier one. */
export function hearOldestSeq(error: unknown): void {
  const { code, oldest } = refusalOf(error);
  if (code === "seq-out-of-range") oldestSeq.value = Number(oldest);
}
