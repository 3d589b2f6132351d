/** The service that a test talks to, and what tests share. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import type { Mirror } from "../src/index.ts";
import type * as Rule from "../src/rule.ts";

const given = process.env["PSOUP_URL"];
assert(given, "PSOUP_URL is the address of a service with an empty store");
export const url: string = given;
export const WAIT_MS = 60_000;
export const LOOK_MS = 20;

let names = 0;

/** A name of a stream that no other test of this process has. */
export function newName(): string {
  return `s_${process.pid}_${++names}`;
}

export async function call(method: string, path: string, body?: unknown): Promise<any> {
  const text = typeof body === "string" ? body : body === undefined ? null : JSON.stringify(body);
  const headers = { "Content-Type": "application/json" };
  const reply = await fetch(url + path, { method, headers, body: text });
  const told = await reply.text();
  assert(reply.ok, `${method} ${path}: ${reply.status} ${told}`);
  return told && JSON.parse(told);
}

/** Declare a stream of numbers; with `clock` "server" its rows leave by the clock. */
export async function declare(clock: "high-water" | "server" = "high-water", more: object = {}): Promise<string> {
  const name = newName();
  const columns = [{ name: "ts", type: "timestamp" }, { name: "n", type: "int64" }];
  await call("PUT", `/v1/streams/${name}`, { columns, time: "ts", clock, ...more });
  return name;
}

export async function register(sql: string, more: object = {}): Promise<string> {
  return (await call("POST", "/v1/queries", { sql, ...more })).id;
}

export async function append(stream: string, rows: readonly object[]): Promise<number> {
  return (await call("POST", `/v1/streams/${stream}/rows`, rows)).seq;
}

/** The text of an instant so many seconds after the beginning of 2026. */
export function at(seconds: number): string {
  return new Date(Date.UTC(2026, 0, 1) + seconds * 1_000).toISOString();
}

/** What the query shows to somebody who has nothing. */
export async function wholeOf(handle: string): Promise<Rule.Answer> {
  const answer = await call("GET", `/v1/queries/${handle}/results`);
  for (let page = answer; page.next !== null; answer.rows.push(...page.rows)) page = await call("GET", page.next);
  return answer;
}

export function numbers(one: Mirror): number[] {
  return one.rows.map((row) => row["n"] as number);
}

/** Whether a mirror holds exactly what the query shows. */
export async function isRight(one: Mirror): Promise<boolean> {
  const shown = (await wholeOf(one.handle)).rows;
  const held = new Map(one.rows.map((row) => [row._id, row]));
  return shown.length === held.size && shown.every((row) => JSON.stringify(held.get(row._id)) === JSON.stringify(row));
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const latestMs = performance.now() + WAIT_MS;
  while (!(await holds())) {
    assert(performance.now() < latestMs, `not in ${WAIT_MS / 1_000} s: ${what}`);
    await sleep(LOOK_MS);
  }
}

/** Numbers between 0 and 1, the same for the same seed (mulberry32). */
export function drawing(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The client's rule with one text of its source replaced by another. */
export async function broken(text: string, by: string): Promise<typeof Rule> {
  const source = readFileSync(new URL("../src/rule.ts", import.meta.url), "utf-8");
  assert.equal(source.split(text).length, 2, `the rule has once: ${text}`);
  const script = stripTypeScriptTypes(source.replace(text, () => by));
  return import(`data:text/javascript,${encodeURIComponent(script)}`);
}
