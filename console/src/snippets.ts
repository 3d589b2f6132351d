/** The query that is shown as a program, and its rows as a table: what one copies into a shell, a notebook or a page. */

import type { Column, Value } from "./contract.ts";
import type { Past } from "./place.ts";

export interface Copied {
  url: string;
  handle: string;
  sql: string;
  params?: Record<string, Value>;
  /** The instant or the position that is looked at; null: the answer is live. */
  past: Past | null;
  hasKey: boolean;
}

export const LANGUAGES = ["curl", "Python", "JavaScript"] as const;
export type Language = (typeof LANGUAGES)[number];

/** A program that asks for the answer that is shown. Where the service wants a key, it takes PSOUP_TOKEN of the environment. */
export function program(language: Language, copied: Copied): string {
  return { curl, Python: python, JavaScript: javascript }[language](copied);
}

function definition({ sql, params }: Copied): string {
  return JSON.stringify(params ? { sql, params } : { sql });
}

/** The path of the answer that is shown. */
function results({ handle, past }: Copied): string {
  return `/v1/queries/${handle}/results${past ? `?${new URLSearchParams({ ...past })}` : ""}`;
}

function curl(copied: Copied): string {
  const { url, handle, hasKey } = copied;
  const key = hasKey ? ' -H "authorization: Bearer $PSOUP_TOKEN"' : "";
  const shell = (text: string) => `'${text.replaceAll("'", "'\"'\"'")}'`;
  return [
    `# register it once; the answer has its handle, ${handle} here`,
    `curl -s${key} ${url}/v1/queries -H 'content-type: application/json' -d ${shell(definition(copied))}`,
    "# invoke it whenever you like",
    `curl -s${key} ${shell(url + results(copied))}`,
    "",
  ].join("\n");
}

function python(copied: Copied): string {
  const { url, handle, past, hasKey } = copied;
  const headers = hasKey ? ', headers={"Authorization": f"Bearer {os.environ[\'PSOUP_TOKEN\']}"}' : "";
  return [
    ...(hasKey ? ["import os", ""] : []),
    "import httpx",
    "",
    `with httpx.Client(base_url="${url}/v1"${headers}) as psoup:`,
    `    # registered by: psoup.post("/queries", json=${pythonOf(copied)})`,
    `    answer = psoup.get("/queries/${handle}/results"${past ? `, params=${JSON.stringify(past)}` : ""}).json()`,
    '    for row in answer["rows"]:',
    "        print(row)",
    "",
  ].join("\n");
}

function pythonOf({ sql, params }: Copied): string {
  const constants = { null: "None", true: "True", false: "False" } as Record<string, string>;
  const value = (one: Value) => constants[String(one)] ?? JSON.stringify(one);
  const pairs = Object.entries(params ?? {}).map(([name, one]) => `${JSON.stringify(name)}: ${value(one)}`);
  return `{"sql": ${JSON.stringify(sql)}${params ? `, "params": {${pairs.join(", ")}}` : ""}}`;
}

function javascript(copied: Copied): string {
  const { url, handle, hasKey } = copied;
  if (copied.past) {
    const init = hasKey ? ", { headers: { Authorization: `Bearer ${process.env.PSOUP_TOKEN}` } }" : "";
    return [
      `const reply = await fetch("${url}${results(copied)}"${init});`,
      "console.log((await reply.json()).rows);",
      "",
    ].join("\n");
  }
  return [
    'import { sync } from "psoup";',
    "",
    `const following = sync("${url}", ["${handle}"]${hasKey ? ", { token: process.env.PSOUP_TOKEN }" : ""});`,
    "following.subscribe((mirror) => console.log(mirror.rows));",
    "",
  ].join("\n");
}

/** Rows as CSV with a header, as the service writes it: NULL is an empty cell, and the empty text `""`. */
export function csvOf(columns: readonly Column[], rows: readonly Record<string, unknown>[]): string {
  const cell = (value: unknown) => {
    if (value === null || value === undefined) return "";
    const text = String(value);
    return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [columns.map(({ name }) => cell(name)), ...rows.map((row) => columns.map(({ name }) => cell(row[name])))];
  return lines.map((line) => `${line.join(",")}\n`).join("");
}
