/** Files become columns: what is read of CSV and NDJSON, which types are found, and what is sent. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { readCsv, readJson } from "../src/files/csv.ts";
import { infer, streamName, typed } from "../src/files/infer.ts";

test("CSV: quotes, separators inside of them, line ends of both kinds, empty cells", () => {
  const { names, rows } = readCsv('\uFEFFa,"b ""x""",c\r\n1,"x, y\nz",\n\n,"",3');
  assert.deepEqual(names, ["a", 'b "x"', "c"]);
  assert.deepEqual(rows, [["1", "x, y\nz", null], [null, "", "3"]]);
});

test("CSV: other separators, a last cell that is empty, a file without a last line end", () => {
  assert.deepEqual(readCsv("a;b\n1;2\n3;").rows, [["1", "2"], ["3", null]]);
  assert.deepEqual(readCsv("a\tb\n1\t2").rows, [["1", "2"]]);
});

test("CSV: a row with other than the header's number of cells is told, and so is a quote without end", () => {
  assert.throws(() => readCsv("a,b\n1,2\n3\n"), /Row 2 has 1 cells, and the header 2/);
  assert.throws(() => readCsv('a\n"x'), /does not end/);
  assert.throws(() => readCsv(""), /empty/);
});

test("NDJSON and an array of objects are the same rows; members that are missing are NULL", () => {
  const expected = { names: ["a", "b"], rows: [[1, null], [2, "x"]] };
  assert.deepEqual(readJson('{"a":1}\n\n{"a":2,"b":"x"}\n'), expected);
  assert.deepEqual(readJson('[{"a":1},{"a":2,"b":"x"}]'), expected);
  assert.throws(() => readJson('{"a":1}\n{a}'), /Line 2/);
});

const TYPES: [string, unknown[], string][] = [
  ["whole numbers", ["1", "-2", null], "int64"],
  ["numbers", ["1", "2.5", "1e3"], "float64"],
  ["words of truth", ["true", "FALSE"], "bool"],
  ["codes with leading zeros", ["01234", "20095"], "string"],
  ["identifiers too long for a number", ["12345678901234567", "1"], "string"],
  ["days", ["2026-01-05", "2026-01-06"], "timestamp"],
  ["times with and without an offset", ["2026-01-05 10:00", "2026-01-05T10:00:00.25+01:00"], "timestamp"],
  ["a day that is none", ["2026-01-05", "2026-13-45"], "string"],
  ["nothing at all", [null, null], "string"],
  ["one value that does not fit", ["1", "2", "n/a"], "string"],
];

for (const [what, values, type] of TYPES) {
  test(`a column of ${what} is of ${type}`, () => {
    const { columns } = infer({ names: ["x"], rows: values.map((value) => [value]) });
    assert.equal(columns[0]!.type, type);
  });
}

test("integers are instants where the name says so and they are of this century, in any unit", () => {
  for (const unit of [1, 1_000, 1_000_000]) {
    const records = { names: ["ts"], rows: [[String(1_767_607_200 * unit)]] };
    const { columns, time } = infer(records);
    assert.deepEqual([columns[0]!.type, time], ["timestamp", "ts"]);
    assert.deepEqual(typed(records, columns), { ts: [1_767_607_200_000_000] });
  }
  assert.equal(infer({ names: ["count"], rows: [["1767607200"]] }).columns[0]!.type, "int64");
  assert.equal(infer({ names: ["time"], rows: [["12"]] }).columns[0]!.type, "int64");
});

test("a column of instants with a gap dates no row", () => {
  assert.equal(infer({ names: ["a", "b"], rows: [["2026-01-05", null], [null, "2026-01-05"]] }).time, null);
});

test("values are sent as the service takes them, and what does not fit as it stands", () => {
  const records = { names: ["at", "n", "ok", "s"], rows: [["2026-01-05 10:00", "7", "True", "x"], [null, "many", null, null]] };
  const columns = [
    { name: "at", type: "timestamp" as const },
    { name: "n", type: "int64" as const },
    { name: "ok", type: "bool" as const },
    { name: "s", type: "string" as const },
  ];
  assert.deepEqual(typed(records, columns), {
    at: ["2026-01-05T10:00:00Z", null],
    n: [7, "many"],
    ok: [true, null],
    s: ["x", null],
  });
});

test("names that the service would refuse are made to fit", () => {
  assert.equal(streamName("My trades 2026.csv"), "My_trades_2026");
  assert.equal(streamName("2026-01.csv"), "stream_2026_01");
  assert.deepEqual(infer({ names: ["_id", "a", "a"], rows: [] }).columns.map(({ name }) => name), ["id", "a", "a_2"]);
});
