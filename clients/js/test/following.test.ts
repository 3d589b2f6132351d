/** Many mirrors over one connection: by the real service, and through what cuts, delays, holds back and doubles. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type PACE, Problem, type SyncOptions, memory, sync } from "../src/index.ts";
import { Between, serving } from "./between.ts";
import { append, at, call, declare, drawing, isRight, numbers, register, sleep, until, url } from "./here.ts";

const FAST: Partial<typeof PACE> = {
  firstPauseMs: 5, lastPauseMs: 20, firstSilenceMs: 300, silenceMs: 300, quickMs: 150, pollingMs: 400, waitMs: 200,
};

/** Follow queries until the end of the test; `sent` are the requests that were made. */
function following(t: TestContext, handles: string[], options: SyncOptions = {}, base = url) {
  const sent: { path: string; body: any; accept: string }[] = [];
  const errors: unknown[] = [];
  const one = sync(base, handles, {
    share: false,
    onerror: (error) => errors.push(error),
    fetch: (input, init) => {
      const headers = new Headers(init?.headers);
      const body = init?.body ? JSON.parse(init.body as string) : null;
      sent.push({ path: String(input).slice(base.length), body, accept: headers.get("Accept") ?? "" });
      return fetch(input, init);
    },
    ...options,
  });
  t.after(() => one.close());
  return { ...one, sent, errors };
}

test("rows leave by the clock, and a client whose clock is wrong is no worse off", async (t) => {
  const stream = await declare("server");
  const handle = await register(`SELECT n FROM ${stream} BEGIN (NOW - INTERVAL '3' SECOND) END (NOW)`);
  t.mock.method(Date, "now", () => Math.round(performance.timeOrigin + performance.now()) + 3_600_000);
  const { subscribe, sent } = following(t, [handle], { pace: { graceMs: 0 } });
  const counts: number[] = [];
  subscribe((one) => counts.push(one.rows.length));
  await append(stream, [{ ts: new Date(performance.timeOrigin + performance.now()).toISOString(), n: 1 }]);
  await until(() => counts.includes(1), "the row is shown");
  await until(() => counts.at(-1) === 0, "the row has left");
  assert.equal(sent.length, 1);
});

test("three queries are followed by one connection", async (t) => {
  const stream = await declare();
  const sqls = [
    `SELECT n FROM ${stream} WHERE n > 2`,
    `SELECT n % 2 AS odd, COUNT(*) AS c FROM ${stream} GROUP BY odd`,
    `SELECT n FROM ${stream} ORDER BY n DESC LIMIT 3`,
  ];
  const handles = await Promise.all(sqls.map(register));
  const { mirrors, sent, errors } = following(t, handles);
  for (let n = 0; n < 12; n++) {
    await append(stream, [{ ts: at(n), n }]);
    if (n % 4 === 3) {
      await until(async () => (await Promise.all([...mirrors.values()].map(isRight))).every(Boolean), `${n} rows`);
    }
  }
  assert.deepEqual(numbers(mirrors.get(handles[2]!)!), [11, 10, 9], "an answer that is sent whole has its order");
  assert.deepEqual([sent.map(({ path }) => path), errors], [["/v1/sync"], []]);
});

test("an answer of many pages comes over the connection, and what follows after it", async (t) => {
  const stream = await declare();
  const handle = await register(`SELECT n FROM ${stream}`);
  await append(stream, Array.from({ length: 3_200 }, (_, n) => ({ ts: at(n), n })));
  const { mirrors, errors } = following(t, [handle]);
  await until(() => mirrors.get(handle)!.rows.length === 3_200, "all pages are there");
  await append(stream, [{ ts: at(4_000), n: 4_000 }]);
  await until(() => isRight(mirrors.get(handle)!), "the row behind them is there");
  assert.deepEqual(errors, []);
});

test("a query whose window is over is not asked for again", async (t) => {
  const stream = await declare("server", { time: null });
  const window = "BEGIN (TIMESTAMP '2020-01-01 00:00:00') END (TIMESTAMP '2020-01-02 00:00:00')";
  const handle = await register(`SELECT n FROM ${stream} ${window}`);
  const store = memory();
  const one = following(t, [handle], { store });
  await until(() => one.mirrors.get(handle)!.mark.complete, "it is complete");
  one.close();
  const again = following(t, [handle], { store });
  await again.mirrors.get(handle)!.loaded;
  await sleep(200);
  assert.deepEqual([again.mirrors.get(handle)!.mark.complete, again.sent.length], [true, 0]);
});

test("who closes before its store has answered asks for nothing", async (t) => {
  let answer: (state: null) => void = () => {};
  const load = () => new Promise<null>((resolve) => (answer = resolve));
  const one = following(t, ["q_1"], { store: { load, save: async () => {} } });
  one.close();
  answer(null);
  await sleep(100);
  assert.equal(one.sent.length, 0);
});

test("a listener that fails is told of, and loses no connection", async (t) => {
  const stream = await declare();
  const handle = await register(`SELECT n FROM ${stream}`);
  const { mirrors, subscribe, sent, errors } = following(t, [handle]);
  subscribe(() => {
    throw new Error("cannot show it");
  });
  for (const n of [1, 2]) {
    await append(stream, [{ ts: at(n), n }]);
    await until(() => isRight(mirrors.get(handle)!), `row ${n}`);
  }
  assert.deepEqual([sent.length, new Set(errors.map(String))], [1, new Set(["Error: cannot show it"])]);
});

test("a query that is removed ends, alone", async (t) => {
  const stream = await declare();
  const [goes, stays] = await Promise.all(["0", "1"].map((n) => register(`SELECT n FROM ${stream} WHERE n > ${n}`)));
  const { mirrors } = following(t, [goes!, stays!]);
  await until(() => mirrors.get(stays!)!.mark.version !== "", "both are followed");
  await call("DELETE", `/v1/queries/${goes}`);
  await until(() => mirrors.get(goes!)!.problem?.code === "not-found", "the end is told");
  await append(stream, [{ ts: at(1), n: 5 }]);
  await until(() => isRight(mirrors.get(stays!)!), "the other one goes on");
});

test("a query that expires ends, alone, also while its pages are read", async (t) => {
  const stream = await declare();
  const [goes, stays] = await Promise.all(["0", "1"].map((n) => register(`SELECT n FROM ${stream} WHERE n > ${n}`)));
  await append(stream, Array.from({ length: 1_200 }, (_, n) => ({ ts: at(n), n })));
  const gone = { status: 410, code: "query-expired", retryable: false, expired_at: "2026-01-01T00:00:00.000000Z" };
  const { mirrors, errors } = following(t, [goes!, stays!], {
    fetch: (input, init) => {
      const isPage = String(input).includes("page=") && String(input).includes(goes!);
      return isPage ? Promise.resolve(Response.json(gone, { status: 410 })) : fetch(input, init);
    },
  });
  await until(() => mirrors.get(goes!)!.problem?.code === "query-expired", "the end is told");
  await append(stream, [{ ts: at(1_300), n: 1_300 }]);
  await until(() => isRight(mirrors.get(stays!)!), "the other one goes on");
  assert.deepEqual([mirrors.get(stays!)!.problem, errors], [null, []]);
});

test("what the service says has expired ends, and is not asked for again", async (t) => {
  const asked: string[][] = [];
  const gone = { q_1: { status: 410, code: "query-expired", retryable: false, detail: "nobody used it" } };
  const answer = {
    gen: 1, seq: 1, now: null, reset: true, rows: [{ _id: "1", _x: null }], removed: [], keep: null, count: 1,
    changes_at: null, complete: false, cursor: "c1", next: null,
  };
  const fake = await serving((queries, _, reply) => {
    asked.push(Object.keys(queries));
    const told = { results: { q_2: answer }, gone: "q_1" in queries ? gone : {}, more: false };
    reply.end(`event: result\ndata: ${JSON.stringify(told)}\n\n`);
  });
  t.after(fake.close);
  const { mirrors } = following(t, ["q_1", "q_2"], { pace: FAST }, fake.url);
  await until(() => asked.length > 2, "it is asked again");
  assert.deepEqual([mirrors.get("q_1")!.problem!.message, mirrors.get("q_2")!.problem], ["nobody used it", null]);
  assert.deepEqual(asked.slice(0, 3), [["q_1", "q_2"], ["q_2"], ["q_2"]]);
});

test("two that follow the same share one connection, and the second takes over", async (t) => {
  const stream = await declare();
  const [mine, both] = await Promise.all(["0", "1"].map((n) => register(`SELECT n FROM ${stream} WHERE n > ${n}`)));
  await append(stream, [{ ts: at(1), n: 5 }]);
  const share = `shared ${stream}`;
  const first = following(t, [both!], { share });
  await until(() => first.mirrors.get(both!)!.rows.length === 1, "the first one leads");
  const second = following(t, [both!, mine!], { share });
  await until(() => [...second.mirrors.values()].every((one) => one.rows.length === 1), "the second one is told");
  await append(stream, [{ ts: at(2), n: 6 }]);
  await until(() => [...second.mirrors.values()].every((one) => one.rows.length === 2), "and of what has changed");
  assert.equal(second.sent.length, 0, "it has no connection");
  assert.deepEqual(Object.keys(first.sent.at(-1)!.body.queries).sort(), [both, mine].sort());
  first.close();
  await until(() => second.sent.length > 0, "it has one now");
  assert(Object.values<any>(second.sent[0]!.body.queries).every(({ cursor }) => cursor), "it goes on from its cursors");
  await append(stream, [{ ts: at(3), n: 7 }]);
  await until(() => isRight(second.mirrors.get(mine!)!), "it goes on");
});

test("who has the connection forgets what nobody follows any more", async (t) => {
  const stream = await declare();
  const [mine, other] = await Promise.all(["0", "1"].map((n) => register(`SELECT n FROM ${stream} WHERE n > ${n}`)));
  const share = `shared ${stream}`;
  const first = following(t, [mine!], { share });
  await until(() => first.sent.length === 1, "the first one leads");
  const second = following(t, [other!], { share });
  await until(() => first.sent.length === 2, "it follows both");
  second.close();
  await until(() => first.sent.length === 3, "the second one has gone");
  assert.deepEqual(first.sent.map(({ body }) => Object.keys(body.queries).length), [1, 2, 1]);
});

test("a tab that is frozen with the connection loses it, and is told when it wakes", async (t) => {
  const stream = await declare();
  const handle = await register(`SELECT n FROM ${stream}`);
  await append(stream, [{ ts: at(1), n: 1 }]);
  const share = `shared ${stream}`;
  const frozen = navigator.locks.request(share, () => new Promise(() => {}));
  const lost = assert.rejects(frozen, { name: "AbortError" });
  const one = following(t, [handle], { share, pace: { beatMs: 20, frozenMs: 100 } });
  await until(() => one.mirrors.get(handle)!.rows.length === 1, "it has taken the connection");
  await lost;
  await navigator.locks.request(share, { steal: true }, () => until(() => true, "another tab has had it"));
  await append(stream, [{ ts: at(2), n: 2 }]);
  await until(() => one.mirrors.get(handle)!.rows.length === 2, "it has it again");
  assert.equal(one.sent.length, 2);
});

for (const [seed, mode] of [[7, "streams"], [11, "polls"]] as const) {
  test(`a bad line, by ${mode}: what is held is right whenever it is good`, async (t) => {
    const random = drawing(seed);
    const between = new Between(random);
    const base = await between.listen();
    t.after(() => between.close());
    const stream = await declare();
    const few = await declare("high-water", { retention: { rows: 12 } });
    const handles = await Promise.all([
      register(`SELECT n FROM ${stream} WHERE n % 3 <> 0 BEGIN (NOW - INTERVAL '20' SECOND) END (NOW)`),
      register(`SELECT n FROM ${stream} BEGIN (NOW - INTERVAL '18' SECOND) END (NOW - INTERVAL '6' SECOND)`),
      register(`SELECT n % 4 AS k, SUM(n) AS s FROM ${stream} GROUP BY k BEGIN (NOW - 15) END (NOW)`),
      register(`SELECT n FROM ${stream} ORDER BY n DESC LIMIT 4`),
      register(`SELECT n FROM ${few} WHERE n % 3 <> 1`),
    ]);
    const pace = mode === "polls" ? { ...FAST, quickMs: Infinity, pollingMs: Infinity } : FAST;
    const { mirrors, errors } = following(t, handles, { pace, random, store: memory() }, base);
    const polls = () => between.asked.filter((line) => line.startsWith("POST") && !line.includes("event-stream"));
    const isTried = () => between.isThrough && errors.length > 5 && (mode === "streams" || polls().length > 10);
    for (let turn = 0, n = 0; turn < 6 || !isTried(); turn++) {
      between.isGood = false;
      between.cut();
      for (let batch = 0; batch < 8; batch++, n += 3) {
        const rows = [0, 1, 2].map((i) => ({ ts: at(Math.max(0, n + i - Math.floor(random() * 6))), n: n + i }));
        await append(random() < 0.7 ? stream : few, rows);
        await sleep(random() * 40);
        if (random() < 0.3) between.cut();
      }
      between.isGood = true;
      for (const one of mirrors.values()) await until(() => isRight(one), `turn ${turn}: ${one.handle}`);
    }
    assert([...mirrors.values()].every((one) => one.mark.cursor !== null && one.rows.length > 0));
  });
}

for (const [what, said] of Object.entries({ "end quickly": null, "say nothing": "", "fall silent": "retry: 1\n\n" })) {
  test(`streams that ${what} three times give way to polls, and are tried again later`, async (t) => {
    const asked: string[] = [];
    const fake = await serving((_, isStream, reply) => {
      asked.push(isStream ? "stream" : "poll");
      if (!isStream) reply.end('{"results":{},"gone":{},"more":false,"poll_after_ms":40}');
      else if (said === null) reply.end("retry: 1\n\n");
      else reply.write(said), reply.flushHeaders();
    });
    t.after(fake.close);
    const { close } = following(t, ["q_1"], { pace: FAST }, fake.url);
    await until(() => asked.lastIndexOf("stream") > asked.indexOf("poll") && asked.includes("poll"), "both");
    close();
    assert.deepEqual(asked.slice(0, 5), ["stream", "stream", "stream", "poll", "poll"]);
  });
}

test("rows of a stream that do not add up are asked for anew, without a cursor", async (t) => {
  const asked: object[] = [];
  const answer = {
    gen: 1, seq: 1, now: null, reset: true, rows: [{ _id: "1", _x: null }], removed: [], keep: null,
    changes_at: null, complete: false, cursor: "c1", next: null,
  };
  const fake = await serving((queries, _, reply) => {
    asked.push(queries);
    const told = { results: { q_1: { ...answer, count: asked.length === 1 ? 2 : 1 } }, gone: {}, more: false };
    reply.write(`event: result\ndata: ${JSON.stringify(told)}\n\n`);
  });
  t.after(fake.close);
  const { mirrors, errors } = following(t, ["q_1"], { pace: FAST }, fake.url);
  await until(() => mirrors.get("q_1")!.mark.cursor === "c1", "the second answer adds up");
  assert.deepEqual(asked, [{ q_1: {} }, { q_1: {} }]);
  assert.match(String(errors), /^Error: the rows of q_1 do not add up to their count$/);
});

test("what knows no streams is answered by polls, and what it says counts", async (t) => {
  const stream = await declare();
  const handle = await register(`SELECT n FROM ${stream}`);
  const { mirrors } = following(t, [handle], {
    pace: FAST,
    fetch: (input, init) => fetch(input, { ...init, headers: { "Content-Type": "application/json" } }),
  });
  for (let n = 0; n < 5; n++) {
    await append(stream, [{ ts: at(n), n }]);
    await until(() => isRight(mirrors.get(handle)!), `row ${n}`);
  }
});

test("a token is sent, and one that has expired is asked for anew", async (t) => {
  const stream = await declare();
  const handle = await register(`SELECT n FROM ${stream}`);
  const seen: (string | null)[] = [];
  let tokens = 0;
  const { mirrors } = following(t, [handle], {
    pace: FAST,
    token: async () => `t${++tokens}`,
    fetch: (input, init) => {
      seen.push(new Headers(init?.headers).get("Authorization"));
      if (tokens > 1) return fetch(input, init);
      const body = { status: 401, code: "unauthenticated", retryable: false };
      return Promise.resolve(Response.json(body, { status: 401 }));
    },
  });
  await until(() => mirrors.get(handle)!.mark.version !== "", "it is answered");
  assert.deepEqual(seen, ["Bearer t1", "Bearer t2"]);
});

test("a refusal for good ends, and one that is none is tried again", async (t) => {
  const replies = [
    new Response("<html>", { status: 400 }), // of a proxy
    Response.json({ status: 503, code: "overloaded", retryable: true }, { status: 503 }),
    Response.json({ status: 401, code: "unauthenticated", retryable: false, detail: "no key" }, { status: 401 }),
  ];
  const { mirrors, errors } = following(t, ["q_1"], {
    pace: FAST, token: "t", fetch: () => Promise.resolve(replies.shift() ?? Response.error()),
  });
  await until(() => mirrors.get("q_1")!.problem !== null, "it ends");
  assert.deepEqual([mirrors.get("q_1")!.problem!.message, errors.length, replies.length], ["no key", 3, 0]);
  assert(errors.every((error) => error instanceof Problem));
});
