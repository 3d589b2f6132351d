/** Words of psoup's SQL: what is coloured, and what is offered while one types. docs/sql.md explains them. */

import type { Column } from "./contract.ts";

const KEYWORDS =
  "SELECT DISTINCT FROM WHERE GROUP BY HAVING ORDER ASC DESC NULLS FIRST LAST LIMIT OFFSET JOIN LEFT INNER CROSS ON AS AND OR NOT IN BETWEEN" +
  " LIKE ILIKE ESCAPE IS NULL TRUE FALSE CASE WHEN THEN ELSE END CAST BEGIN NOW INTERVAL TIMESTAMP EVERY ALIGN RANGE ROWS PARTITION FILTER" +
  " SECOND MINUTE HOUR DAY WEEK";
const AGGREGATES =
  "COUNT SUM AVG MIN MAX MEDIAN QUANTILE_CONT STDDEV_SAMP STDDEV_POP VAR_SAMP VAR_POP FIRST LAST ARG_MIN ARG_MAX BOOL_AND BOOL_OR";
const FUNCTIONS =
  "ABS CEIL FLOOR ROUND SIGN SQRT EXP LN LOG10 POWER MOD GREATEST LEAST COALESCE IFNULL NULLIF LOWER UPPER LENGTH TRIM SUBSTRING LEFT RIGHT" +
  " REPLACE POSITION STRPOS CONTAINS STARTS_WITH ENDS_WITH CONCAT DATE_TRUNC DATE_PART TIME_BUCKET EXTRACT EPOCH";
const WINDOWS: [string, string][] = [
  ["BEGIN (NOW - INTERVAL '1' MINUTE) END (NOW)", "last minute"],
  ["BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)", "last 10 minutes"],
  ["BEGIN (NOW - INTERVAL '1' HOUR) END (NOW)", "last hour"],
  ["BEGIN (NOW - INTERVAL '1' DAY) END (NOW)", "last day"],
];

const AGGREGATED = new RegExp(`\\bGROUP BY\\b|\\b(?:${AGGREGATES.replaceAll(" ", "|")})\\(`, "i");

/** Whether the rows of a query are groups: they change, and the clock takes rows out of them. */
export function isGrouped(canonical: string): boolean {
  return AGGREGATED.test(canonical.replace(/'(?:[^']|'')*'/g, ""));
}

const keywords = new Set(KEYWORDS.split(" "));
const functions = new Set(`${AGGREGATES} ${FUNCTIONS}`.split(" "));

export type Kind = "keyword" | "function" | "text" | "number" | "comment" | "parameter" | "word" | "other";

export interface Token {
  kind: Kind;
  from: number;
  to: number;
}

const TOKEN =
  /(?<comment>--[^\n]*)|(?<text>'(?:[^']|'')*'?)|(?<quoted>"(?:[^"]|"")*"?)|(?<number>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)|(?<parameter>[:$][A-Za-z_]\w*)|(?<word>[A-Za-z_]\w*)|(?<other>[^\s])/g;

/** The tokens of a text, one behind the other. */
export function tokens(sql: string): Token[] {
  return [...sql.matchAll(TOKEN)].map((found) => {
    const [name] = Object.entries(found.groups!).find(([, value]) => value !== undefined)!;
    const from = found.index;
    return { kind: kindOf(name, found[0], sql[from + found[0].length]), from, to: from + found[0].length };
  });
}

function kindOf(name: string, told: string, next: string | undefined): Kind {
  if (name === "quoted") return "word";
  if (name !== "word") return name as Kind;
  const upper = told.toUpperCase();
  if (functions.has(upper) && (next === "(" || !keywords.has(upper))) return next === "(" ? "function" : "word";
  return keywords.has(upper) ? "keyword" : "word";
}

export interface Known {
  name: string;
  columns: Column[];
}

export interface Offer {
  label: string;
  kind: "column" | "stream" | "function" | "keyword" | "window";
  detail?: string;
  /** What is written; without it, the label. */
  text?: string;
}

/** What may be written at `position`: names behind `alias.`, streams behind FROM, columns of the streams first. */
export function offers(sql: string, position: number, known: readonly Known[]): Offer[] {
  const before = tokens(sql.slice(0, position)).map((token) => sql.slice(token.from, token.to));
  if (/\w$/.test(sql.slice(0, position))) before.pop(); // the word that is being written
  const last = before.at(-1)?.toUpperCase();
  const sources = sourcesOf(sql, known);
  if (last === ".") return columnsOf(sources.get(before.at(-2) ?? "") ?? []);
  const streams = known.map(({ name, columns }) => ({ label: name, kind: "stream" as const, detail: `${columns.length} columns` }));
  if (last === "FROM" || last === "JOIN") return streams;
  const columns = sources.size > 0 ? [...sources.values()].flatMap(columnsOf) : known.flatMap((one) => columnsOf(one.columns));
  const words = (text: string, kind: Offer["kind"]) => text.split(" ").map((label) => ({ label, kind }));
  const calls = words(`${AGGREGATES} ${FUNCTIONS}`, "function").map((one) => ({ ...one, text: `${one.label}(` }));
  const windows = WINDOWS.map(([label, detail]) => ({ label, kind: "window" as const, detail }));
  return unique([...columns, ...streams, ...words(KEYWORDS, "keyword"), ...calls, ...windows]);
}

function columnsOf(columns: readonly Column[]): Offer[] {
  return columns.map(({ name, type }) => ({ label: name, kind: "column", detail: type, text: quoted(name) }));
}

/** A name that is no plain word stands in double quotes. */
export function quoted(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) && !keywords.has(name.toUpperCase()) ? name : `"${name.replaceAll('"', '""')}"`;
}

/** The streams that a text reads, by their names and by their aliases. */
function sourcesOf(sql: string, known: readonly Known[]): Map<string, Column[]> {
  const found = new Map<string, Column[]>();
  const words = tokens(sql)
    .filter(({ kind }) => kind !== "comment" && kind !== "text")
    .map((token) => sql.slice(token.from, token.to));
  words.forEach((word, index) => {
    const stream = known.find(({ name }) => name === word);
    if (!stream || !/^(FROM|JOIN|,)$/i.test(words[index - 1] ?? "")) return;
    found.set(word, stream.columns);
    const next = words[index + 1]?.toUpperCase() === "AS" ? words[index + 2] : words[index + 1];
    if (next && /^[A-Za-z_]\w*$/.test(next) && !keywords.has(next.toUpperCase())) found.set(next, stream.columns);
  });
  return found;
}

function unique(all: Offer[]): Offer[] {
  const seen = new Set<string>();
  return all.filter(({ label, kind }) => !seen.has(`${kind} ${label}`) && seen.add(`${kind} ${label}`));
}
