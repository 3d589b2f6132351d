/** The client's rule: worlds of the conformance kit, what they cannot show, and mutants that both find. */

import assert from "node:assert/strict";
import { test } from "node:test";
import * as rule from "../src/rule.ts";
import { broken } from "./here.ts";
import { type Played, fault, play, worlds } from "./worlds.ts";

const NOW = "2026-01-01T00:00:10.000000Z";
const LATER = "2026-01-01T00:00:20.000000Z";

function answer(more: Partial<rule.Answer>): rule.Answer {
  const rows = more.rows ?? [];
  return {
    gen: 1, seq: 1, now: NOW, reset: false, rows, removed: [], keep: null, count: rows.length,
    changes_at: null, complete: false, cursor: "c1", next: null, ...more,
  };
}

function row(id: string, leaves: string | null = null): rule.Row {
  return { _id: id, _x: leaves };
}

type Given = [answer: Partial<rule.Answer>, asked: string | null];
interface Case {
  given: Given[];
  ids: string;
  cursor: string | null;
}

const FIRST: Given = [{ reset: true, rows: [row("a"), row("b")] }, null];
const CASES: Record<string, Case> = {
  "a first load": { given: [FIRST], ids: "a b", cursor: "c1" },
  "a late answer is ignored": {
    given: [FIRST, [{ seq: 3, rows: [row("d")], count: 3, cursor: "c3" }, "c1"],
      [{ seq: 2, rows: [row("e")], count: 3, cursor: "c2" }, "c1"]],
    ids: "a b d", cursor: "c3",
  },
  "so is one of an earlier instant": {
    given: [[{ reset: true, now: LATER, cursor: "c2" }, null], [{ rows: [row("a", LATER)], count: 1 }, null]],
    ids: "", cursor: "c2",
  },
  "a late reset that answers another request is ignored": {
    given: [[{ reset: true, seq: 5, cursor: "c5" }, null], [{ reset: true, rows: [row("a")] }, "c0"]],
    ids: "", cursor: "c5",
  },
  "a service that was restored from a copy": {
    given: [[{ reset: true, seq: 5, cursor: "c5" }, null], [{ reset: true, rows: [row("a")] }, "c5"]],
    ids: "a", cursor: "c1",
  },
  "a reset that was asked for with a cursor that has come back since, and is late": {
    given: [FIRST, [{ seq: 3, count: 2, cursor: "c1" }, "c1"],
      [{ seq: 2, reset: true, rows: [row("c")], cursor: "c2" }, "c1"]],
    ids: "a b", cursor: "c1",
  },
  "a new history goes before every position of the old one": {
    given: [[{ reset: true, seq: 5, cursor: "c5" }, null], [{ gen: 2, reset: true, rows: [row("a")] }, "c0"]],
    ids: "a", cursor: "c1",
  },
  "a reset": {
    given: [FIRST, [{ seq: 2, reset: true, rows: [row("c")], cursor: "c2" }, "c1"]], ids: "c", cursor: "c2",
  },
  "rows that retention has dropped, by name": {
    given: [FIRST, [{ seq: 2, removed: ["a"], count: 1, cursor: "c2" }, "c1"]], ids: "b", cursor: "c2",
  },
  "rows that retention has kept, by name": {
    given: [FIRST, [{ seq: 2, keep: ["b"], rows: [row("c")], count: 2, cursor: "c2" }, "c1"]],
    ids: "b c", cursor: "c2",
  },
  "a row that is removed and comes": {
    given: [FIRST, [{ seq: 2, removed: ["a"], rows: [row("a")], count: 2, cursor: "c2" }, "c1"]],
    ids: "b a", cursor: "c2",
  },
  "a row leaves when now is there": {
    given: [[{ reset: true, rows: [row("a", LATER), row("b")] }, null],
      [{ now: LATER, count: 1, cursor: "c2" }, "c1"]],
    ids: "b", cursor: "c2",
  },
  "a row that comes again too late": {
    given: [[{ reset: true, rows: [row("a", LATER), row("b")] }, null],
      [{ seq: 2, rows: [row("a", NOW)], count: 1, cursor: "c2" }, "c1"]],
    ids: "b", cursor: "c2",
  },
  "rows that do not add up": {
    given: [FIRST, [{ seq: 2, rows: [row("c")], count: 4, cursor: "c2" }, "c1"]], ids: "a b c", cursor: null,
  },
  "a page of a first load has no cursor": {
    given: [FIRST, [{ seq: 2, reset: true, rows: [row("c")], count: 2, cursor: null, next: "/2" }, "c1"]],
    ids: "c", cursor: null,
  },
  "a page of a change leaves the cursor": {
    given: [FIRST, [{ seq: 2, rows: [row("c")], count: 4, cursor: null, next: "/2" }, "c1"]],
    ids: "a b c", cursor: "c1",
  },
  "the last page has the cursor": {
    given: [FIRST, [{ seq: 2, rows: [row("c")], count: 4, cursor: null, next: "/2" }, "c1"],
      [{ seq: 2, rows: [row("d")], count: 4, cursor: "c2" }, "c1"]],
    ids: "a b c d", cursor: "c2",
  },
  "a group takes its own place": {
    given: [FIRST, [{ seq: 2, rows: [row("a", LATER)], count: 2, cursor: "c2" }, "c1"]], ids: "b a", cursor: "c2",
  },
};

/** What a rule does wrong in a case; null: nothing. */
function wrong({ apply, nothing }: typeof rule, { given, ids, cursor }: Case): string | null {
  const mine = nothing();
  for (const [more, asked] of given) apply(mine, answer(more), asked, 0, "");
  const held = [...mine.rows.keys()].join(" ");
  return held === ids && mine.mark.cursor === cursor ? null : `${held}, cursor ${mine.mark.cursor}`;
}

for (const [name, one] of Object.entries(CASES)) {
  test(name, () => assert.equal(wrong(rule, one), null));
}

const played: Promise<Played[]> = (async () => {
  const left = worlds();
  const done: Played[] = [];
  const player = async () => {
    for (let world = left.shift(); world; world = left.shift()) done.push(await play(world));
  };
  await Promise.all([player(), player(), player(), player()]);
  return done;
})();

test("a client holds what the worlds of the conformance kit say", async () => {
  const faults = (await played).map((one) => fault(rule, one)).filter((found) => found !== null);
  assert.deepEqual(faults, []);
  const moves = (await played).flatMap((one) => one.moves);
  const { length } = await played;
  const least = process.env["PSOUP_WORLDS"] ? 10 : 50;
  assert(length >= least && moves.length >= 20 * length, `${moves.length} moves in ${length} worlds`);
});

const MUTANTS: Record<string, [text: string, by: string]> = {
  "late answers are applied": ["isBefore(at, mark.at) && !goesBack", "false"],
  "a service never goes back": ["answer.reset && asked === mark.cursor", "false"],
  "any reset may go back": ["answer.reset && asked === mark.cursor", "answer.reset"],
  "whatever resets late goes back": ["(!from || isBefore(at, from))", "true"],
  "a reset adds rows": ["cleared: answer.reset", "cleared: false"],
  "keep is forgotten": ["keep && !keep.has(row._id)", "false"],
  "removed is forgotten": ["new Set(answer.removed)", "new Set()"],
  "rows never leave": ["row._x === null || row._x > at[2]", "true"],
  "rows leave a microsecond late": ["row._x > at[2]", "row._x >= at[2]"],
  "an expired row stays beside": ["gone.add(row._id)", "0"],
  "the count is not compared": ["rows.size === answer.count ? answer.cursor : null", "answer.cursor"],
  "a page has the cursor of before, after a reset": ["answer.reset ? null : mark.cursor", "mark.cursor"],
  "a page ends the cursor": ["answer.next === null ? ended : before", "ended"],
  "groups are put beside": ["rows.set(row._id, row)", "rows.set(row._id + row._x, row)"],
  "the position stays": ["{ cursor, at, given,", "{ cursor, at: mark.at, given,"],
  "positions are compared from behind": ["one.findIndex(", "one.findLastIndex("],
};

for (const [name, [text, by]] of Object.entries(MUTANTS)) {
  test(`a mutant is found: ${name}`, async () => {
    const mutant = await broken(text, by);
    const cases = Object.entries(CASES).filter(([, one]) => wrong(mutant, one) !== null);
    const inWorlds = (await played).filter((one) => fault(mutant, one) !== null);
    assert(cases.length + inWorlds.length > 0, "no case and no world finds it");
  });
}

test("a change made here is the same change elsewhere", async () => {
  for (const { moves } of await played) {
    const here = rule.nothing();
    const there = rule.nothing();
    for (const [index, { answer, asked, client }] of moves.entries()) {
      if (!answer || client !== moves[0]!.client) continue;
      const change = rule.apply(here, answer, asked!, 0, `${index}`);
      if (change) assert(rule.patch(there, change));
      assert.deepEqual(there, here);
      assert.deepEqual([...there.rows.keys()], [...here.rows.keys()]);
    }
  }
});

test("a change of another state is refused, the whole of one is not", () => {
  const [here, there] = [rule.nothing(), rule.nothing()];
  rule.apply(here, answer({ reset: true, rows: [row("a")] }), null, 0, "1");
  const change = rule.apply(here, answer({ seq: 2, rows: [row("b")], count: 2 }), "c1", 0, "2")!;
  assert.equal(rule.patch(there, change), false);
  assert.deepEqual(there, rule.nothing());
  assert.equal(rule.patch(there, rule.whole(here)), true);
  assert.deepEqual(there, here);
});
