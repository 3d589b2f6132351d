/** The order of rows, however they came to be known. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { byTime, compareValues } from "../src/order.ts";

/** The ids of rows in order. */
function ids(rows: { _id: string; _x: string | null; ts?: string }[], time: string | null = null): string[] {
  return rows.sort(byTime(time)).map((row) => row._id);
}

test("a row stands where its time puts it, and those of one time stand by their ids as numbers", () => {
  const row = (_id: string, second: number) => ({ _id, _x: `2026-01-05T10:00:0${second}.000001Z` });
  assert.deepEqual(ids([row("9", 5), row("10", 5), row("11", 3), row("8", 5)]), ["11", "8", "9", "10"]);
  assert.deepEqual(ids([row("10-3", 1), row("9-12", 1), row("9-4", 1), row("9-", 1)]), ["9-", "9-4", "9-12", "10-3"]);
});

test("rows that never leave stand by the column that has their time, else by their ids", () => {
  const row = (_id: string, second: number) => ({ _id, _x: null, ts: `2026-01-05T10:00:0${second}.000000Z` });
  const rows = [row("7", 5), row("12", 4)];
  assert.deepEqual(ids([...rows], "ts"), ["12", "7"]);
  assert.deepEqual(ids([...rows]), ["7", "12"]);
});

test("NULL comes last", () => {
  assert.deepEqual([null, 2, 1].sort(compareValues), [1, 2, null]);
});
