/** The adapter for TanStack DB, written into a collection that is as strict as theirs. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { psoupCollectionOptions } from "../src/tanstack.ts";
import { append, at, call, declare, register, until, url, wholeOf } from "./here.ts";

/** A collection: rows written twice, or missed, are errors, and nothing is written outside of a transaction. */
class Collection {
  readonly rows = new Map<string, any>();
  readonly done: string[] = [];
  isReady = false;
  error: any = null;
  #isOpen = false;

  readonly parameters = {
    begin: () => {
      assert(!this.#isOpen);
      this.#isOpen = true;
    },
    write: (message: any) => {
      assert(this.#isOpen);
      const key = message.type === "delete" ? message.key : message.value._id;
      assert.equal(this.rows.has(key), message.type !== "insert", `${message.type} of ${key}`);
      if (message.type === "delete") this.rows.delete(key);
      else this.rows.set(key, message.value);
      this.done.push(message.type);
    },
    truncate: () => {
      assert(this.#isOpen);
      this.rows.clear();
      this.done.push("truncate");
    },
    commit: () => {
      assert(this.#isOpen);
      this.#isOpen = false;
    },
    markReady: () => void (this.isReady = true),
    markError: (error: unknown) => void (this.error = error),
  };

  get numbers(): number[] {
    return [...this.rows.values()].map((row) => row.n).sort((a, b) => a - b);
  }
}

test("a collection holds what the query shows, through inserts, updates, deletes and a new beginning", async (t) => {
  const stream = await declare();
  const groups = "GROUP BY odd BEGIN (NOW - 10) END (NOW)";
  const handle = await register(`SELECT n % 2 AS odd, MAX(n) AS n FROM ${stream} ${groups}`);
  const options = psoupCollectionOptions({ url, handle, share: false });
  const collection = new Collection();
  t.after(options.sync.sync(collection.parameters));
  const holds = (...numbers: number[]) =>
    until(() => collection.isReady && JSON.stringify(collection.numbers) === JSON.stringify(numbers), `${numbers}`);
  await holds();
  await append(stream, [1, 2].map((n) => ({ ts: at(n), n })));
  await holds(1, 2);
  await append(stream, [{ ts: at(5), n: 4 }]);
  await holds(1, 4);
  await append(stream, [{ ts: at(12), n: 6 }]);
  await holds(6);
  await append(stream, [{ ts: at(40), n: 7 }]);
  await holds(7);
  assert.deepEqual(collection.done.slice(0, 2), ["insert", "insert"]);
  for (const verb of ["update", "delete", "truncate"]) assert(collection.done.includes(verb), verb);
  assert.deepEqual((await wholeOf(handle)).rows.map(options.getKey), [...collection.rows.keys()]);
});

test("a collection of a query that is gone says so", async (t) => {
  const handle = await register(`SELECT n FROM ${await declare()}`);
  await call("DELETE", `/v1/queries/${handle}`);
  const collection = new Collection();
  t.after(psoupCollectionOptions({ url, handle, share: false }).sync.sync(collection.parameters));
  await until(() => collection.error !== null, "the error is told");
  assert.deepEqual([collection.error.code, collection.isReady], ["not-found", false]);
});
