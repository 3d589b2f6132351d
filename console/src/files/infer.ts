/** What type each column of a file has, so that every value of it fits; and the values as the service takes them. */

import type { Column, Type } from "../contract.ts";
import type { Records } from "./csv.ts";

const INTEGER = /^[-+]?\d{1,15}$/;
const NUMBER = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/;
/** Article numbers and zip codes: a number would lose their zeros, or their last digits. */
const CODE = /^0\d|^\d{16,}$/;
const BOOL = /^(?:true|false)$/i;
/** A day, or a day and a time, with or without an offset; without one it is UTC. */
const INSTANT = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?)? ?(Z|[-+]\d\d:?\d\d)?$/;
/** A column of integers is a time where its name says so and all its values lie in these years, in one of these units. */
const TIME_NAME = /^(?:ts|time|timestamp|date|datetime|at|.*_(?:at|ts|time))$/i;
const SECONDS = { least: 946_684_800, most: 4_102_444_800 };
const PER_SECOND = [1, 1_000, 1_000_000];

export interface Inferred {
  columns: Column[];
  /** The first column of instants: the one that dates a row. */
  time: string | null;
}

/** The types of the columns, from all rows. A column without a value is of texts. */
export function infer({ names, rows }: Records): Inferred {
  const columns = names.map((name, index): Column => {
    const values = rows.map((row) => row[index]).filter((value) => value !== null && value !== undefined);
    return { name: columnName(name, index), type: typeOf(name, values) };
  });
  const time = columns.find(({ type }, index) => type === "timestamp" && rows.every((row) => row[index] !== null));
  return { columns: distinct(columns), time: time?.name ?? null };
}

function typeOf(name: string, values: unknown[]): Type {
  if (values.length === 0) return "string";
  const texts = values.map(String);
  if (values.every((value) => typeof value === "boolean" || typeof value === "string") && texts.every((one) => BOOL.test(one))) return "bool";
  if (TIME_NAME.test(name) && perSecond(texts) !== undefined) return "timestamp";
  if (texts.some((one) => CODE.test(one))) return "string";
  if (texts.every((one) => INTEGER.test(one))) return "int64";
  if (texts.every((one) => NUMBER.test(one))) return "float64";
  return texts.every((one) => INSTANT.test(one) && !Number.isNaN(Date.parse(rfc3339(one)))) ? "timestamp" : "string";
}

/** The unit in which integers count the time since 1970; undefined: none that makes dates of this century of all. */
function perSecond(texts: readonly string[]): number | undefined {
  return PER_SECOND.find((per) =>
    texts.every((one) => /^\d+$/.test(one) && Number(one) >= SECONDS.least * per && Number(one) <= SECONDS.most * per),
  );
}

/** A name that the service takes for a column. */
function columnName(name: string, index: number): string {
  const clean = name.trim().replace(/^_(?=id$|x$|seq$|op$)/, "");
  return clean || `column_${index + 1}`;
}

function distinct(columns: Column[]): Column[] {
  const seen = new Map<string, number>();
  return columns.map((column) => {
    const times = (seen.get(column.name) ?? 0) + 1;
    seen.set(column.name, times);
    return times === 1 ? column : { ...column, name: `${column.name}_${times}` };
  });
}

/** The rows as columns of values that the service takes for these types: `application/vnd.psoup.columns+json`. */
export function typed({ rows }: Records, columns: readonly Column[]): Record<string, unknown[]> {
  return Object.fromEntries(
    columns.map(({ name, type }, index) => {
      const values = rows.map((row) => row[index] ?? null);
      const per = type === "timestamp" ? perSecond(values.filter((one) => one !== null).map(String)) : undefined;
      return [name, values.map((value) => (value === null ? null : valueOf(value, type, per)))];
    }),
  );
}

function valueOf(value: unknown, type: Type, per: number | undefined): unknown {
  const text = String(value);
  if (type === "string") return text;
  if (type === "bool") return BOOL.test(text) ? text.toLowerCase() === "true" : text;
  if (type !== "timestamp") return NUMBER.test(text) ? Number(text) : text;
  if (per !== undefined) return Number(text) * (1_000_000 / per);
  return INSTANT.test(text) ? rfc3339(text) : text;
}

/** `2016-12-29 10:00` as `2016-12-29T10:00:00Z`. */
function rfc3339(text: string): string {
  const [, year, month, day, hour = "00", minute = "00", second = "00", fraction, zone = "Z"] = INSTANT.exec(text)!;
  const offset = zone === "Z" ? "Z" : zone.includes(":") ? zone : `${zone.slice(0, 3)}:${zone.slice(3)}`;
  return `${year}-${month}-${day}T${hour}:${minute}:${second}${fraction ? `.${fraction}` : ""}${offset}`;
}

/** A name for a stream, made of that of the file. */
export function streamName(file: string): string {
  const name = file.replace(/\.[^.]*$/, "").replace(/\W+/g, "_").replace(/^_+|_+$/g, "").slice(0, 63);
  return /^[A-Za-z]/.test(name) ? name : `stream_${name}`;
}
