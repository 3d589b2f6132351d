/** Values, instants and sizes as people read them. */

import type { Type } from "./contract.ts";

const UNITS: [number, string][] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1_000, "s"],
];

/** A value of a row as text; the empty text for NULL, which the table marks by itself. */
export function cell(value: unknown, type: Type | undefined): string {
  if (value === null || value === undefined) return "";
  if (type === "timestamp" && typeof value === "string") return instant(value);
  return String(value);
}

/** `2026-01-05T10:00:00.250000Z` as `2026-01-05 10:00:00.25`, in UTC as the service tells it. */
export function instant(text: string): string {
  const [day, time] = text.replace("Z", "").split("T");
  if (time === undefined) return text;
  return `${day} ${time.replace(/\.(\d*?)0+$/, (_, digits) => (digits ? `.${digits}` : ""))}`;
}

/** The time of day of an instant. */
export function timeOfDay(text: string): string {
  return text.slice(11, 19);
}

/** How long, in its largest unit: `12 s`, `3.5 min`. */
export function duration(ms: number): string {
  for (const [unit, name] of UNITS) {
    if (ms >= unit) return `${trimmed(ms / unit)} ${name}`;
  }
  return ms >= 1 ? `${Math.round(ms)} ms` : "0 s";
}

function trimmed(value: number): string {
  return value < 10 ? value.toFixed(1).replace(/\.0$/, "") : Math.round(value).toString();
}

export function count(value: number): string {
  return value.toLocaleString("en");
}

export function plural(value: number, noun: string, nouns = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : nouns}`;
}

export function bytes(value: number): string {
  const names = ["B", "kB", "MB", "GB", "TB"];
  let index = 0;
  let rest = value;
  while (rest >= 1_000 && index < names.length - 1) {
    rest /= 1_000;
    index += 1;
  }
  return `${index === 0 ? rest : trimmed(rest)} ${names[index]}`;
}

/** Milliseconds since 1970 of an instant of the service. */
export function millis(text: string): number {
  return Date.parse(text);
}

/** An instant as the service writes it. */
export function written(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}
