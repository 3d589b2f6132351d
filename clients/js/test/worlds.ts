/** Worlds of the conformance kit, played on a service: what came, and what a client has to hold then. */

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { mirror } from "../src/index.ts";
import type * as Rule from "../src/rule.ts";
import { LOOK_MS, WAIT_MS, append, call, newName, register, sleep, url, wholeOf } from "./here.ts";

type Rule = Pick<typeof Rule, "apply" | "nothing">;
type World = Record<string, any>;

/** One thing that a client is given, and what it holds then, where the world says it. */
interface Move {
  client: string;
  step: number;
  answer?: Rule.Answer;
  asked?: string | null;
  savesCursor?: boolean;
  /** Values of the rows, in any order. */
  holds?: unknown[][];
  /** The rows of a full answer, `_id` and `_x` too. */
  shows?: readonly Rule.Row[];
}

export interface Played {
  world: string;
  columns: string[];
  moves: Move[];
}

const FOLDER = new URL("../../../conformance/worlds/", import.meta.url);

/** The worlds that take a minute, or the others: all of them, or those that PSOUP_WORLDS names, one after another. */
export function worlds({ slow = false } = {}): World[] {
  const named = process.env["PSOUP_WORLDS"]?.split(",");
  const files = readdirSync(FOLDER).filter((name) => !named || named.includes(name));
  const all = files.map((name) => JSON.parse(readFileSync(new URL(name, FOLDER), "utf-8")));
  return all.filter((world) => Boolean(world.slow) === slow);
}

export async function play(world: World): Promise<Played> {
  const names = new Map<string, string>();
  for (const [stream, definition] of Object.entries(world.streams)) {
    names.set(stream, newName());
    await call("PUT", `/v1/streams/${names.get(stream)}`, definition);
  }
  const named = (sql: string) => sql.replace(/\{(\w+)\}/g, (_, stream) => names.get(stream)!);
  const handle = await register(named(world.sql), world.ttl ? { ttl: world.ttl } : {});
  const by = world.clock ? byTheClock : byRows;
  const moves = await by(world, handle, (stream) => names.get(stream)!, named);
  for (const name of names.values()) await call("DELETE", `/v1/streams/${name}?cascade=true`);
  return { world: world.world, columns: world.columns ?? ["n"], moves };
}

interface Came {
  answer: Rule.Answer;
  asked: string | null;
}

async function byRows(world: World, handle: string, name: (s: string) => string, named: (sql: string) => string) {
  const came = new Map<string, Came>();
  const moves: Move[] = [];
  for (const [index, step] of world.steps.entries()) {
    if (step.do === "append") await append(name(step.stream), step.rows);
    if (step.do === "add_columns") {
      await call("PATCH", `/v1/streams/${name(step.stream)}`, { add_columns: step.columns });
    }
    if (step.do === "replace") await call("PATCH", `/v1/queries/${handle}`, { sql: named(step.sql) });
    if (step.do === "expire") await awaitEnd(handle);
    if (step.do === "remove") await call("DELETE", `/v1/queries/${handle}`);
    if (step.do === "ask" && step.expect.status) await refused(handle, came.get(step.cursor) ?? null, step.expect);
    if (step.do === "ask" && !step.expect.status) {
      const other = step.cursor_of && (await wholeOf(await register(named(step.cursor_of)))).cursor;
      const asked = other ?? (step.cursor ? came.get(step.cursor)!.answer.cursor : (step.cursor_text ?? null));
      came.set(step.answer, { answer: await results(handle, { cursor: asked, limit: step.limit }), asked });
    }
    if (step.do === "page") {
      const { answer, asked } = came.get(step.of)!;
      came.set(step.answer, { answer: await call("GET", answer.next!), asked });
    }
    const move = { client: step.client, step: index + 1 };
    if (step.do === "apply") {
      moves.push({ ...move, ...came.get(step.answer)!, savesCursor: step.saves_cursor ?? true, holds: step.holds });
    }
    if (step.do === "compare") moves.push({ ...move, shows: (await wholeOf(handle)).rows });
  }
  return moves;
}

/** Return once the query is there no more; descriptions are no use of it. */
async function awaitEnd(handle: string): Promise<void> {
  const latestMs = performance.now() + 2 * WAIT_MS;
  while ((await fetch(`${url}/v1/queries/${handle}`)).ok) {
    assert(performance.now() < latestMs, "the query expires");
    await sleep(50 * LOOK_MS);
  }
}

/** Ask as a mirror does, with an earlier answer: it ends for the reason of the world, and keeps its rows. */
async function refused(handle: string, held: Came | null, { status, code }: World): Promise<void> {
  const one = mirror(url, handle);
  if (held) await one.take(held.answer, held.asked);
  const { rows } = one;
  await assert.rejects(one.refresh(), { status, code, retryable: false });
  assert.equal(one.problem?.code, code);
  assert.deepEqual(one.rows, rows);
}

/** Rows say when they are shown, in milliseconds since the world began. */
async function byTheClock(world: World, handle: string, name: (s: string) => string) {
  const began = microseconds((await wholeOf(handle)).now!);
  const rows: { n: number; entersUs: number; leavesUs: number }[] = [];
  const came = new Map<string, Came>();
  const moves: Move[] = [];
  const send = (step: World) => {
    const given = step.rows.map((row: World) => {
      const entersUs = began + row.in_ms * 1_000;
      const leavesUs = row.out_ms === null ? Infinity : began + row.out_ms * 1_000 + 1;
      rows.push({ n: rows.length + 1, entersUs, leavesUs });
      return { ts: entersUs - world.delay_ms * 1_000, n: rows.length };
    });
    return append(name(step.stream), given);
  };
  for (const [index, step] of world.steps.entries()) {
    if (step.do === "append") await send(step);
    while (step.do === "wait" && microseconds((await wholeOf(handle)).now!) <= began + step.until_ms * 1_000) {
      await sleep(LOOK_MS);
    }
    if (step.do !== "ask") continue;
    const asked = step.cursor ? came.get(step.cursor)!.answer.cursor : null;
    const coming = results(handle, { cursor: asked, wait: step.wait_s, on: step.on });
    if (step.meanwhile) await sleep(30 * LOOK_MS).then(() => send(step.meanwhile));
    const answer = await coming;
    const nowUs = microseconds(answer.now!);
    const holds = rows.filter((row) => row.entersUs <= nowUs && nowUs < row.leavesUs).map((row) => [row.n]);
    came.set(step.answer, { answer, asked });
    moves.push({ client: "ann", step: index + 1, answer, asked, savesCursor: true, holds });
  }
  return moves;
}

function results(handle: string, parameters: Record<string, unknown>): Promise<Rule.Answer> {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null);
  return call("GET", `/v1/queries/${handle}/results?${new URLSearchParams(given as [string, string][])}`);
}

function microseconds(instant: string): number {
  return Date.parse(instant) * 1_000 + Number(instant.slice(-4, -1));
}

/** What is wrong with a rule; null: nothing, in this world. */
export function fault({ apply, nothing }: Rule, { world, columns, moves }: Played): string | null {
  const clients = new Map<string, Rule.State>();
  for (const { client, step, answer, asked, savesCursor, holds, shows } of moves) {
    const mine = clients.get(client) ?? nothing();
    const place = `${world}, step ${step}: ${client}`;
    if (answer) {
      const before = mine.mark;
      apply(mine, answer, asked!, 0, `${step}`);
      if (answer.next === null && mine.mark.cursor === null) return `${place} does not hold ${answer.count} rows`;
      if (!savesCursor) mine.mark = { ...mine.mark, cursor: before.cursor, at: null };
    }
    clients.set(client, mine);
    const rows = [...mine.rows.values()];
    if (holds && sorted(holds) !== sorted(rows.map((row) => columns.map((name) => row[name])))) {
      return `${place} holds ${sorted(rows)} and not ${sorted(holds)}`;
    }
    if (shows && sorted(shows) !== sorted(rows)) return `${place} holds other rows than a full answer`;
  }
  return null;
}

function sorted(values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value)).sort().join("\n");
}
