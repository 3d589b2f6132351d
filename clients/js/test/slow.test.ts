/** The worlds of the conformance kit that wait for a minute: a query that nobody uses expires. */

import assert from "node:assert/strict";
import { test } from "node:test";
import * as rule from "../src/rule.ts";
import { fault, play, worlds } from "./worlds.ts";

test("a client holds what the slow worlds of the conformance kit say, and is told the end", async () => {
  const played = await Promise.all(worlds({ slow: true }).map(play));
  assert.deepEqual(played.map((one) => fault(rule, one)), [null]);
});
