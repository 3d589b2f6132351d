/** The query that is worked at: its text, what the service says of it, and the standing query that answers. */

import { batch, computed, effect, signal, untracked } from "@preact/signals";

import { Problem } from "../../clients/js/src/service.ts";
import { draftLabels, isDraft, queries, refresh } from "./catalogue.ts";
import type { Query, Refusal, Validation, Value } from "./contract.ts";
import { go, page, place } from "./place.ts";
import { ask, at, refusalOf } from "./service.ts";

const CHECK_AFTER_MS = 350;
/** Texts that this tab has run, with what was typed for their parameters. */
const OWN = "psoup-own-texts";

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

interface Definition {
  sql: string;
  params?: Record<string, Value>;
}

/** The definition that the query that is shown was registered by. */
const shown = signal<Definition | null>(null);
/** Whether the text is another one by now. */
export const isEdited = computed(() => query.value !== null && JSON.stringify(definition()) !== JSON.stringify(shown.value));

/** Whether there is a text whose answer is not shown yet. */
export const canRun = computed(() => text.value.trim() !== "" && (query.value === null || isEdited.value));

/** The body that registers the text. */
export function definition(): Definition {
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
  await busy(async () => {
    const { sql } = await openDraft();
    const { name, q, now, row, ...kept } = place.peek();
    go({ ...kept, sql });
  });
}

/** Register the text as it stands, and show the answer, though the text may have been edited meanwhile. */
async function openDraft(): Promise<Definition> {
  const registered = definition();
  const typed = given.peek();
  const draft = await register({ ...registered, labels: draftLabels() });
  addOwnText(registered.sql, typed);
  open(draft, registered);
  return registered;
}

function register(body: object): Promise<Query> {
  return ask<Query>("/v1/queries", { method: "POST", body });
}

/** Keep the text under a name. False: the name stands for another query, which was not to be replaced. */
export async function save(name: string, { replace = false } = {}): Promise<boolean> {
  let isKept = true;
  await busy(async () => {
    const registered = definition();
    let named: Query;
    try {
      named = await put(name, registered, replace);
    } catch (error) {
      if (refusalOf(error).code !== "name-taken") throw error;
      isKept = false;
      return;
    }
    const { sql, q, ...kept } = place.peek();
    open(named, registered);
    go({ ...kept, name });
    await refresh();
  });
  return isKept;
}

async function put(name: string, body: Definition, replace: boolean): Promise<Query> {
  if (name.includes("/")) return register({ ...body, name }); // it has no path
  const path = `/v1/queries/${at(name)}${replace ? "?replace=true" : ""}`;
  const named = await ask<Query | { state: "replacing" }>(path, { method: "PUT", body });
  return "columns" in named ? named : (await find(name, undefined))!;
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

/** Show the answer of a query that was registered by this definition. */
function open(one: Query, registered: Definition): void {
  batch(() => {
    query.value = one;
    shown.value = registered;
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
    open(one, definition());
  });
}

function typedOf(value: Value): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A page that is loaded anew shows the answer of its own text again. That of somebody else waits for Run. */
function ownTexts(): Record<string, Record<string, string>> {
  return JSON.parse(sessionStorage.getItem(OWN) ?? "{}");
}

function addOwnText(sql: string, typed: Record<string, string>): void {
  sessionStorage.setItem(OWN, JSON.stringify({ ...ownTexts(), [sql]: typed }));
}

/** Remove a draft when another query is shown, or the page is left. */
export function leaveNoDraft(): void {
  let last: Query | null = null;
  const remove = () => {
    if (last && isDraft(last)) ask(`/v1/queries/${last.id}`, { method: "DELETE", keepalive: true }).catch(() => {});
  };
  effect(() => {
    if (last?.id !== query.value?.id) remove();
    last = query.value;
  });
  addEventListener("pagehide", ({ persisted }) => !persisted && remove());
}

/** Find the query that a place names. */
async function find(name: string | undefined, handle: string | undefined): Promise<Query | null> {
  if (handle !== undefined) return ask<Query>(`/v1/queries/${at(handle)}`);
  const listed = await ask<{ queries: Query[] }>(`/v1/queries?name=${at(name!)}`);
  return listed.queries[0] ?? null;
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

/** Show the text of the query anew where somebody has replaced it, unless it is being edited. */
export function seeReplacements(): void {
  effect(() => {
    const one = query.peek();
    const listed = queries.value?.find(({ id }) => id === one?.id);
    const isNewer = listed && one && listed.version > one.version;
    if (isNewer && !isEdited.peek()) untracked(() => openAs(listed, listed.sql ?? listed.canonical));
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
  if (query.peek() && shown.peek()?.sql === sql) return;
  const own = ownTexts()[sql];
  batch(() => {
    text.value = sql;
    given.value = own ?? {};
    query.value = null;
  });
  if (own === undefined) return;
  await busy(async () => void (await openDraft()));
}

async function arriveAtQuery(name: string | undefined, handle: string | undefined): Promise<void> {
  const found = await find(name, handle);
  if (!found) throw new Problem({ code: "not-found", detail: `No query is called ${name}.` });
  openAs(found, found.sql ?? found.canonical);
}

/** Ask what the service says of the text, a moment after it was edited. */
export function keepChecking(): void {
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
        batch(() => {
          checked.value = null;
          refusal.value = refusalOf(error);
        });
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

/** Show the answer to another text, which is that of this page. */
export async function askFor(sql: string): Promise<void> {
  addOwnText(sql, {});
  if (place.peek().sql !== sql || page.peek() !== "query") return go({ sql });
  text.value = sql;
  await run();
}
