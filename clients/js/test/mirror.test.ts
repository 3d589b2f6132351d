/** One mirror: refreshes, pages, stores, and how long to wait for a service. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem, memory, mirror } from "../src/index.ts";
import { Service } from "../src/service.ts";
import { append, at, call, declare, numbers, register, until, url } from "./here.ts";

test("a mirror is brought up to date by what has changed, and by no byte where nothing has", async () => {
  const stream = await declare();
  const handle = await register(`SELECT n FROM ${stream} WHERE n > 1`);
  const statuses: number[] = [];
  const one = mirror(url, handle, {
    fetch: async (input, init) => {
      const reply = await fetch(input, init);
      statuses.push(reply.status);
      return reply;
    },
  });
  await append(stream, [1, 2, 3].map((n) => ({ ts: at(n), n })));
  await one.refresh();
  assert.deepEqual(numbers(one), [2, 3]);
  const { rows } = one;
  await one.refresh();
  await one.refresh();
  assert.deepEqual(statuses, [200, 200, 304]);
  assert.equal(one.rows, rows, "nothing is shown anew");
  await append(stream, [{ ts: at(4), n: 4 }]);
  await one.refresh();
  assert.deepEqual(numbers(one), [2, 3, 4]);
});

test("a mirror reads pages, and begins anew where one has gone", async () => {
  const stream = await declare();
  const handle = await register(`SELECT n FROM ${stream}`);
  await append(stream, Array.from({ length: 2_500 }, (_, n) => ({ ts: at(n), n })));
  const gone = { status: 410, code: "page-expired", retryable: false };
  let pages = 0;
  const one = mirror(url, handle, {
    fetch: async (input, init) => {
      const isGone = String(input).includes("page=") && [2, 3].includes(++pages);
      return isGone ? Response.json(gone, { status: 410 }) : fetch(input, init);
    },
  });
  await one.refresh();
  assert.deepEqual([one.rows.length, pages], [2_500, 5]);
});

test("listeners are told of a row that leaves while they look", async (t) => {
  let localMs = Date.parse("2026-01-01T00:00:00Z");
  t.mock.method(Date, "now", () => localMs);
  const leaves = "2026-01-01T00:00:00.002000Z";
  const answer = {
    query: "q_1", gen: 1, seq: 1, now: "2026-01-01T00:00:00.000000Z", reset: true, rows: [{ _id: "1", _x: leaves, n: 1 }],
    removed: [], keep: null, count: 1, changes_at: leaves, complete: false, cursor: "c", next: null, poll_after_ms: 5_000,
  };
  const one = mirror(url, "q_1", { pace: { graceMs: 0 }, fetch: async () => Response.json(answer) });
  const counts: number[] = [];
  one.subscribe(() => {
    counts.push(one.rows.length);
    localMs += 1;
  });
  await one.refresh();
  await until(() => counts.at(-1) === 0, "the row has left");
  assert.deepEqual(counts, [1, 1, 0]);
});

test("a query that was removed, or has expired, ends its mirror, which shows what it has", async () => {
  const stream = await declare();
  const gone = { status: 410, code: "query-expired", retryable: false, expired_at: "2026-01-01T00:00:00.000000Z" };
  for (const expired of [false, true]) {
    const handle = await register(`SELECT n FROM ${stream}`);
    let isGone = false;
    const one = mirror(url, handle, {
      fetch: (input, init) =>
        isGone && expired ? Promise.resolve(Response.json(gone, { status: 410 })) : fetch(input, init),
    });
    let told = 0;
    one.subscribe(() => told++);
    await append(stream, [{ ts: at(1), n: 1 }]);
    await one.refresh();
    const { rows } = one;
    await call("DELETE", `/v1/queries/${handle}`);
    isGone = true;
    const code = expired ? "query-expired" : "not-found";
    await assert.rejects(one.refresh(), (problem: Problem) => problem.code === code && problem.endsQuery);
    assert.equal(one.problem?.code, code);
    assert.deepEqual([one.rows, told], [rows, 2], "rows, and the end, are told");
  }
});

test("a page that has gone, and a service that is away, end no mirror", async () => {
  const stream = await declare();
  const handle = await register(`SELECT n FROM ${stream}`);
  for (const body of [{ status: 410, code: "page-expired" }, { status: 503, code: "recovering", retryable: true }]) {
    const one = mirror(url, handle, { fetch: async () => Response.json(body, { status: body.status }) });
    await assert.rejects(one.refresh(), (problem: Problem) => !problem.endsQuery);
    assert.equal(one.problem, null);
  }
});

test("a query that is changed under its handle begins anew, and a column of its stream changes nothing", async () => {
  const stream = await declare();
  const handle = await register(`SELECT n FROM ${stream} WHERE n > 1`);
  const one = mirror(url, handle);
  await append(stream, [1, 2, 3].map((n) => ({ ts: at(n), n })));
  await one.refresh();
  await call("PATCH", `/v1/streams/${stream}`, { add_columns: [{ name: "note", type: "string" }] });
  await append(stream, [{ ts: at(4), n: 4, note: "new" }]);
  const { cursor } = one.mark;
  await one.refresh();
  assert.deepEqual(numbers(one), [2, 3, 4]);
  assert.notEqual(one.mark.cursor, cursor);
  await call("PATCH", `/v1/queries/${handle}`, { sql: `SELECT n, note FROM ${stream} WHERE n < 3 OR n = 4`, ttl: "1h" });
  await one.refresh();
  assert.deepEqual(one.rows.map(({ n, note }) => [n, note]), [[1, null], [2, null], [4, "new"]]);
});

test("rows that do not add up are asked for anew, and never with a cursor that they do not have", async () => {
  const stream = await declare();
  const handle = await register(`SELECT n FROM ${stream}`);
  await append(stream, [{ ts: at(0), n: 0 }]);
  const asked: (string | null)[] = [];
  const one = mirror(url, handle, {
    fetch: async (input, init) => {
      asked.push(new URL(String(input)).searchParams.get("cursor"));
      const answer = await (await fetch(input, init)).json();
      return Response.json({ ...answer, count: 2 });
    },
  });
  await assert.rejects(one.refresh(), /did not add up/);
  assert.deepEqual(asked, ["", "", ""]);
});

test("a mirror goes on from its store, and without the network shows what is there", async () => {
  const stream = await declare();
  const handle = await register(`SELECT n FROM ${stream}`);
  await append(stream, [{ ts: at(1), n: 1 }]);
  const store = memory();
  await mirror(url, handle, { store }).refresh();
  const offline = mirror("http://127.0.0.1:1", handle, { store });
  await assert.rejects(offline.refresh());
  assert.deepEqual(numbers(offline), [1]);
  await append(stream, [{ ts: at(2), n: 2 }]);
  const told: number[] = [];
  const again = mirror(url, handle, {
    store,
    fetch: async (input, init) => {
      const reply = await fetch(input, init);
      told.push((await reply.clone().json()).rows.length);
      return reply;
    },
  });
  await again.refresh();
  assert.deepEqual([told, numbers(again)], [[1], [1, 2]]);
});

test("a store that another mirror has written is written whole", async () => {
  const stream = await declare();
  const handle = await register(`SELECT n FROM ${stream}`);
  const store = memory();
  const [one, other] = [mirror(url, handle, { store }), mirror(url, handle, { store })];
  for (let n = 0; n < 6; n++) {
    await append(stream, [{ ts: at(n), n }]);
    await (n % 3 ? one : other).refresh();
    const stored = await store.load(handle);
    assert.deepEqual([...stored!.rows.values()].map((row) => row["n"]), Array.from({ length: n + 1 }, (_, i) => i));
  }
});

test("a store that fails is told of, and nothing is lost by it", async () => {
  const stream = await declare();
  const handle = await register(`SELECT n FROM ${stream}`);
  await append(stream, [{ ts: at(1), n: 1 }]);
  const errors: unknown[] = [];
  const fails = () => Promise.reject(new Error("full"));
  const one = mirror(url, handle, { store: { load: fails, save: fails }, onerror: (error) => errors.push(error) });
  await one.refresh();
  assert.deepEqual(numbers(one), [1]);
  await until(() => errors.length === 2, "both are told");
});

test("an integer past 2^53 is a BigInt, and a text of digits a text", async () => {
  const name = await declare();
  const handle = await register(`SELECT n, n / 3.0 AS third, '9007199254740993' AS t FROM ${name}`);
  await call("POST", `/v1/streams/${name}/rows`, `[{"ts":"${at(0)}","n":-9007199254740993},{"ts":"${at(1)}","n":7}]`);
  const one = mirror(url, handle);
  await one.refresh();
  assert.deepEqual(one.rows.map((row) => row["n"]), [-9007199254740993n, 7]);
  assert.deepEqual(one.rows.map((row) => row["t"]), ["9007199254740993", "9007199254740993"]);
  assert(one.rows.every((row) => typeof row["third"] === "number"));
});

test("a service that says when to come back is heard, and never by all at once", () => {
  const pauses = [0, 0.5, 0.999].map((drawn) => {
    const service = new Service(url, { random: () => drawn });
    const asked = new Problem({ status: 503 }, 7_000);
    return [...[0, 1, 20].map((failures) => service.pauseMs(failures, new TypeError())), service.pauseMs(0, asked)];
  });
  assert.deepEqual(pauses, [[0, 0, 0, 7_000], [250, 500, 15_000, 7_875], [499.5, 999, 29_970, 8_748.25]]);
});

test("Retry-After is read as seconds and as a date", async () => {
  const date = new Date(Date.now() + 60_000).toUTCString();
  const pauses = [];
  for (const value of ["7", date, "soon", null]) {
    const headers: Record<string, string> = value === null ? {} : { "Retry-After": value };
    const reply = Response.json({ code: "overloaded", retryable: true }, { status: 503, headers });
    const service = new Service(url, { fetch: () => Promise.resolve(reply) });
    const pauseMs = await service.send("/").then(() => NaN, (problem: Problem) => problem.pauseMs);
    pauses.push(Math.round(pauseMs / 10_000));
  }
  assert.deepEqual(pauses, [1, 6, 0, 0]);
});

