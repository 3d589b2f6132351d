/** What is offered while one types SQL, and what one copies. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { csvOf, program } from "../src/snippets.ts";
import { offers, quoted, tokens } from "../src/sql.ts";

const KNOWN = [
  { name: "trades", columns: [{ name: "sym", type: "string" as const }, { name: "px", type: "float64" as const }] },
  { name: "news", columns: [{ name: "head line", type: "string" as const }] },
];

/** The labels offered at the bar in a text. */
function offered(text: string): string[] {
  return offers(text.replace("|", ""), text.indexOf("|"), KNOWN).map(({ label }) => label);
}

test("behind FROM and JOIN streams are offered, and nothing else", () => {
  assert.deepEqual(offered("SELECT * FROM |"), ["trades", "news"]);
  assert.deepEqual(offered("SELECT * FROM trades AS t JOIN ne|"), ["trades", "news"]);
});

test("behind a stream's name or its alias its columns are", () => {
  assert.deepEqual(offered("SELECT t.| FROM trades AS t, news n"), ["sym", "px"]);
  assert.deepEqual(offered("SELECT n.he| FROM trades AS t, news n"), ["head line"]);
  assert.deepEqual(offered("SELECT x.| FROM trades"), []);
});

test("elsewhere columns of the streams that are read come first; without any, those of all", () => {
  assert.deepEqual(offered("SELECT | FROM trades").slice(0, 3), ["sym", "px", "trades"]);
  assert.deepEqual(offered("SELECT |").slice(0, 3), ["sym", "px", "head line"]);
  assert.ok(offered("SELECT sym FROM trades WHERE px > 1 |").includes("BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)"));
});

test("a name that is no plain word, or a keyword, is quoted", () => {
  assert.deepEqual(["px", "head line", "order", 'a"b'].map(quoted), ["px", '"head line"', '"order"', '"a""b"']);
});

test("tokens cover texts, comments, numbers, parameters, and calls apart from names", () => {
  const sql = "SELECT LEFT(a, 2) AS left -- x\nFROM t LEFT JOIN u ON a = :min AND b <> 'it''s'";
  const kinds = tokens(sql).map(({ kind, from, to }) => `${kind} ${sql.slice(from, to)}`);
  for (const expected of ["function LEFT", "number 2", "comment -- x", "parameter :min", "text 'it''s'", "keyword AND", "word b"]) {
    assert.ok(kinds.includes(expected), expected);
  }
  assert.equal(tokens("'open")[0]!.to, 5);
});

const COPIED = { url: "http://localhost:8000", handle: "q_1", sql: "SELECT 'it''s' AS x FROM t", past: null, hasKey: false };

test("copied programs hold the query, the instant and no key", () => {
  const shell = program("curl", COPIED);
  assert.ok(shell.includes(`-d '{"sql":"SELECT '"'"'it'"'"''"'"'s'"'"' AS x FROM t"}'`), shell);
  assert.ok(program("curl", { ...COPIED, past: { now: "2026-01-05T10:00:00Z" } }).includes("?now=2026-01-05T10%3A00%3A00Z"));
  assert.ok(program("Python", { ...COPIED, past: { seq: "7" } }).includes('params={"seq":"7"}'));
  assert.ok(program("JavaScript", COPIED).includes('sync("http://localhost:8000", ["q_1"])'));
  for (const language of ["curl", "Python", "JavaScript"] as const) {
    assert.equal(program(language, COPIED).includes("PSOUP_TOKEN"), false);
    assert.ok(program(language, { ...COPIED, hasKey: true }).includes("PSOUP_TOKEN"));
  }
});

test("constants of Python are Python's", () => {
  const text = program("Python", { ...COPIED, params: { a: null, b: true, c: 1, d: "x" } });
  assert.ok(text.includes('"params": {"a": None, "b": True, "c": 1, "d": "x"}'), text);
});

test("rows are copied as the service writes CSV", () => {
  const columns = [{ name: "a", type: "string" as const }, { name: "b,c", type: "int64" as const }];
  const rows = [{ a: 'x "y"\nz', "b,c": 1 }, { a: "", "b,c": null }, { a: null, "b,c": 2n ** 60n }];
  assert.equal(csvOf(columns, rows), 'a,"b,c"\n"x ""y""\nz",1\n"",\n,1152921504606846976\n');
});
