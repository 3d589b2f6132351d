/** The query that is worked at: its text, what the service says of it, and the standing query that answers. */

import { batch, computed, effect, signal, untracked } from "@preact/signals";

import { Problem } from "../../clients/js/src/service.ts";
import { DRAFT, refresh } from "./catalogue.ts";
import type { Query, Refusal, Validation, Value } from "./contract.ts";
import { go, page, place } from "./place.ts";
import { ask, at, isMissing, refusalOf } from "./service.ts";

const CHECK_AFTER_MS = 350;
/** A draft that nobody has looked at for so long is removed by the service. */
const DRAFT_TTL = "1d";
const DRAFTS = "psoup-drafts";

export const text = signal("");
/** What was typed for the parameters of the text. */
export const given = signal<Record<string, string>>({});
/** The standing query whose answer is shown; null: there is none yet. */
export const query = signal<Query | null>(null);
/** What the service says of the text as it stands; null: it has not been asked, or cannot be. */
export const checked = signal<Validation | null>(null);
export const refusal = signal<Refusal | null>(null);
export const isBusy = signal(false);
/** Counts the runs that were refused: the caret goes to where the text is wrong. */
export const refusedRuns = signal(0);

/** Names of `:min` and `$min` outside of texts and comments. */
export const parameters = computed(() => {
  const bare = text.value.replace(/'(?:[^']|'')*'|--.*$/gm, " ");
  return [...new Set([...bare.matchAll(/(?<![:\w])[:$]([A-Za-z_]\w*)/g)].map((found) => found[1]!))];
});

/** The definition that the query that is shown was registered by. */
const shown = signal("");
/** Whether the text is another one by now. */
export const isEdited = computed(() => query.value !== null && JSON.stringify(definition()) !== shown.value);

/** Whether there is a text whose answer is not shown yet. */
export const canRun = computed(() => text.value.trim() !== "" && (query.value === null || isEdited.value));

/** The body that registers the text. */
export function definition(): { sql: string; params?: Record<string, Value> } {
  const params = Object.fromEntries(parameters.value.map((name) => [name, valueOf(given.value[name] ?? "")]));
  return parameters.value.length > 0 ? { sql: text.value, params } : { sql: text.value };
}

/** What was typed, as JSON where it is a constant of JSON, else as a text. */
function valueOf(typed: string): Value {
  try {
    const value: unknown = JSON.parse(typed);
    if (value === null || typeof value !== "object") return value as Value;
  } catch {
    // a text
  }
  return typed;
}

/** Show the answer to the text: register it, as a draft. */
export async function run(): Promise<void> {
  if (!canRun.peek()) return;
  const body = { ...definition(), labels: DRAFT, ttl: DRAFT_TTL };
  await busy(async () => {
    const before = query.peek();
    const draft = await register(body).catch((error) => {
      if (refusalOf(error).code !== "unknown-field") throw error;
      const { ttl, ...known } = body;
      return register(known);
    });
    remember(text.peek(), draft.id);
    const { name, q, now, row, ...kept } = place.peek();
    open(draft);
    go({ ...kept, sql: text.peek() });
    await forget(before, draft);
  });
}

function register(body: object): Promise<Query> {
  return ask<Query>("/v1/queries", { method: "POST", body });
}

/** Keep the text under a name. False: the name stands for another query, which was not to be replaced. */
export async function save(name: string, { replace = false } = {}): Promise<boolean> {
  let isKept = true;
  await busy(async () => {
    const before = query.peek();
    let named: Query;
    try {
      named = await put(name, replace);
    } catch (error) {
      if (refusalOf(error).code !== "name-taken") throw error;
      isKept = false;
      return;
    }
    const { sql, q, ...kept } = place.peek();
    open(named);
    go({ ...kept, name });
    await forget(before, named);
  });
  return isKept;
}

async function put(name: string, replace: boolean): Promise<Query> {
  try {
    const path = `/v1/queries/${at(name)}${replace ? "?replace=true" : ""}`;
    const named = await ask<Query | { state: "replacing" }>(path, { method: "PUT", body: definition() });
    return "columns" in named ? named : (await find(name, undefined))!;
  } catch (error) {
    if (!isMissing(error)) throw error; // a name with a slash has no path
    return register({ ...definition(), name });
  }
}

/** Remove the query for everybody. */
export async function remove(): Promise<void> {
  const one = query.peek();
  if (!one) return;
  await busy(async () => {
    await ask(`/v1/queries/${one.id}`, { method: "DELETE" });
    query.value = null;
    go({ sql: text.peek() });
    await refresh();
  });
}

/** Remove the draft of before: another text has taken its place. */
async function forget(before: Query | null, now: Query): Promise<void> {
  if (before && before.id !== now.id && isDraft(before)) {
    await ask(`/v1/queries/${before.id}`, { method: "DELETE" }).catch(() => {});
  }
  await refresh();
}

export function isDraft(one: Query): boolean {
  return one.name === null && one.labels.console === DRAFT.console;
}

async function busy(work: () => Promise<void>): Promise<void> {
  isBusy.value = true;
  try {
    await work();
    refusal.value = null;
  } catch (error) {
    batch(() => {
      refusal.value = refusalOf(error);
      refusedRuns.value += 1;
    });
  } finally {
    isBusy.value = false;
  }
}

/** Show the answer of a query that was registered by the text as it stands. */
function open(one: Query): void {
  batch(() => {
    query.value = one;
    shown.value = JSON.stringify(definition());
    checked.value = null;
    refusal.value = null;
  });
}

/** Show a query that was registered elsewhere, or before. */
function openAs(one: Query, source: string): void {
  batch(() => {
    text.value = source;
    const params = Object.entries(one.params ?? {});
    given.value = Object.fromEntries(params.map(([name, value]) => [name, typedOf(value)]));
    open(one);
  });
}

function typedOf(value: Value): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The drafts of this tab, so that a page that is loaded anew shows its answer again. A link alone registers nothing. */
function drafts(): Record<string, string> {
  return JSON.parse(sessionStorage.getItem(DRAFTS) ?? "{}");
}

function remember(sql: string, handle: string): void {
  sessionStorage.setItem(DRAFTS, JSON.stringify({ ...drafts(), [sql]: handle }));
}

/** Find the query that a place names. */
async function find(name: string | undefined, handle: string | undefined): Promise<Query | null> {
  if (handle) return ask<Query>(`/v1/queries/${at(handle)}`);
  const listed = await ask<{ queries: Query[] }>(`/v1/queries?name=${at(name!)}`).catch(async (error) => {
    if (refusalOf(error).code !== "unknown-field") throw error;
    return ask<{ queries: Query[] }>("/v1/queries?limit=1000");
  });
  return listed.queries.find((one) => one.name === name) ?? null;
}

/** Show the query that the URL names, whenever it names another one. */
export function openPlaces(): void {
  const named = computed(() => {
    const { name, q, sql } = place.value;
    return page.value === "query" ? JSON.stringify([name ?? null, q ?? null, sql ?? null]) : null;
  });
  effect(() => {
    if (named.value !== null) untracked(() => void arrive());
  });
}

async function arrive(): Promise<void> {
  const { name, q, sql } = place.peek();
  const one = query.peek();
  try {
    if (sql !== undefined) await arriveAtText(sql);
    else if (name === undefined && q === undefined) query.value = null;
    else if (!one || (one.name !== name && one.id !== q)) await arriveAtQuery(name, q);
  } catch (error) {
    batch(() => {
      query.value = null;
      refusal.value = refusalOf(error);
    });
  }
}

async function arriveAtText(sql: string): Promise<void> {
  const handle = drafts()[sql];
  if (handle !== undefined && query.peek()?.id === handle) return;
  batch(() => {
    text.value = sql;
    query.value = null;
  });
  const draft = handle === undefined ? null : await ask<Query>(`/v1/queries/${at(handle)}`).catch(() => null);
  if (draft) openAs(draft, sql);
}

async function arriveAtQuery(name: string | undefined, handle: string | undefined): Promise<void> {
  const found = await find(name, handle);
  if (!found) throw new Problem({ code: "not-found", detail: `No query is called ${name}.` });
  openAs(found, found.sql ?? found.canonical);
}

/** Ask what the service says of the text, a moment after it was edited. */
export function keepChecking(): void {
  let isThere = true;
  let asking = new AbortController();
  effect(() => {
    const body = definition();
    const isNew = query.value === null || isEdited.value;
    asking.abort();
    const mine = (asking = new AbortController());
    if (!body.sql.trim() || !isNew) {
      batch(() => {
        checked.value = null;
        if (untracked(() => refusal.value)?.position) refusal.value = null;
      });
      return;
    }
    if (!isThere) return;
    setTimeout(async () => {
      if (mine.signal.aborted) return;
      try {
        const validation = await ask<Validation>("/v1/validate", { method: "POST", body, signal: mine.signal });
        batch(() => {
          checked.value = validation;
          refusal.value = null;
        });
      } catch (error) {
        if (mine.signal.aborted) return;
        isThere = !isMissing(error);
        if (isThere) {
          batch(() => {
            checked.value = null;
            refusal.value = refusalOf(error);
          });
        }
      }
    }, CHECK_AFTER_MS);
  });
}

/** Leave the answer that is shown, and begin with an empty text. */
export function begin(): void {
  batch(() => {
    query.value = null;
    text.value = "";
    refusal.value = null;
    go({});
  });
}

/** Show the answer to another text. */
export async function askFor(sql: string): Promise<void> {
  batch(() => {
    query.value = null;
    text.value = sql;
    go({ sql });
  });
  await run();
}
