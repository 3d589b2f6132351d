/** The order of rows: one order for rows, however they came to be known. */

import type { Row } from "../../clients/js/src/rule.ts";

const FOREVER = "~";

/**
 * Compares rows as an answer has them: by tuple time, then tuple ids.
 *
 * A row that comes late is told last, and stands where its time puts it. The time of a row is known by when it leaves, and by `time`, the
 * column that has it, if rows have such a column.
 */
export function byTime(time: string | null): (one: Row, other: Row) => number {
  return (one, other) =>
    compareTexts(one._x ?? FOREVER, other._x ?? FOREVER) ||
    (time === null ? 0 : compareTexts(String(one[time]), String(other[time]))) ||
    compareIds(one._id, other._id);
}

type Comparable = number | string | bigint | boolean | null | undefined;

/** Compares two values of a column; NULL comes last. */
export function compareValues(left: unknown, right: unknown): number {
  const [a, b] = [left as Comparable, right as Comparable];
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  return a < b ? -1 : 1;
}

/** Compares tuple ids as numbers, those of a join one after the other. */
function compareIds(one: string, other: string): number {
  const [ids, others] = [one.split("-"), other.split("-")];
  const signs = ids.map((id, index) => compareNumbers(id, others[index] ?? ""));
  return signs.find((sign) => sign !== 0) ?? ids.length - others.length;
}

/** Compares digits, however many. */
function compareNumbers(one: string, other: string): number {
  return one.length - other.length || compareTexts(one, other);
}

function compareTexts(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
