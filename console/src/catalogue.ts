/** The streams and the standing queries that there are, asked for now and then while the page is looked at. */

import { computed, signal } from "@preact/signals";

import type { Query, Stream } from "./contract.ts";
import type { Place } from "./place.ts";
import { ask, isOnline } from "./service.ts";

const EVERY_MS = 3_000;
/** Queries are asked for every so many times. */
const QUERIES_TURNS = 4;
const LISTED_MAX = 500;
/** A draft that its tab could not remove is removed after so many days, by whoever opens the console then. */
const DRAFT_DAYS = 7;
const DAY_MS = 86_400_000;

export const streams = signal<Stream[] | null>(null);
export const queries = signal<Query[] | null>(null);
/** Whether there are more queries than are listed. */
export const hasMore = signal(false);

export const saved = computed(() => (queries.value ?? []).filter((query) => !isDraft(query)));

/** Labels of a draft: a query without a name, registered for a text that somebody runs. */
export function draftLabels(): Record<string, string> {
  return { console: "draft", day: new Date().toISOString().slice(0, 10) };
}

export function isDraft(query: Query): boolean {
  return query.name === null && query.labels.console === "draft";
}

async function removeOldDrafts(): Promise<void> {
  const isOld = (query: Query) => Date.now() - Date.parse(query.labels.day ?? "") > DRAFT_DAYS * DAY_MS;
  for (const query of (queries.peek() ?? []).filter(isDraft).filter(isOld)) {
    await ask(`/v1/queries/${query.id}`, { method: "DELETE" }).catch(() => {});
  }
}

async function refreshStreams(): Promise<void> {
  set(streams, (await ask<{ streams: Stream[] }>(`/v1/streams?limit=${LISTED_MAX}`)).streams);
}

async function refreshQueries(): Promise<void> {
  const listed = await ask<{ queries: Query[]; next: string | null }>(`/v1/queries?limit=${LISTED_MAX}`);
  set(queries, listed.queries);
  hasMore.value = listed.next !== null;
}

/** Ask for both lists. What was listed stays where nobody answers. */
export async function refresh(): Promise<void> {
  await Promise.allSettled([refreshStreams(), refreshQueries()]);
}

/** Keep the lists as they are where nothing has changed: nothing is drawn then. */
function set<T>(list: { value: T[] | null; peek(): T[] | null }, next: T[]): void {
  if (JSON.stringify(list.peek()) !== JSON.stringify(next)) list.value = next;
}

/** Ask again every few seconds while the page can be seen; for queries less often. */
export async function keepRefreshing(): Promise<never> {
  await refresh();
  await removeOldDrafts();
  for (let turn = 1; ; turn++) {
    if (document.visibilityState === "visible") {
      await (turn % QUERIES_TURNS === 0 ? refresh() : refreshStreams().catch(() => {}));
    }
    await new Promise((resolve) => setTimeout(resolve, isOnline.peek() ? EVERY_MS : 2 * EVERY_MS));
  }
}

/** What a query is called by: its name, the label `title` that a program gave it, or its text. */
export function titleOf(query: { name: string | null; labels?: Record<string, string>; canonical: string }): string {
  return query.name ?? query.labels?.title ?? query.canonical.replace(/^SELECT /, "");
}

/** Where a query is: a name is easier to read than a handle. */
export function placeOf({ name, id }: { name: string | null; id: string }): Place {
  return name === null ? { q: id } : { name };
}

export function hasTitle(query: Query): boolean {
  return query.name !== null || query.labels.title !== undefined;
}

/** The streams that a canonical text reads: the words behind FROM and JOIN that name one. */
export function streamsOf(canonical: string): Stream[] {
  const words = new Set(canonical.match(/[A-Za-z_]\w*/g));
  return (streams.value ?? []).filter((stream) => words.has(stream.name));
}
