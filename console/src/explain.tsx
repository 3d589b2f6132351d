/** Why a row is in an answer, or why not: each condition with the value that it met. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { pastNow } from "./answer.ts";
import type { Explanation, Reasons, Refusal } from "./contract.ts";
import { instant } from "./format.ts";
import { ask, at, isAbort, refusalOf } from "./service.ts";

const RESULTS = new Map([
  [true, { mark: "✓", word: "true", kind: "good" }],
  [false, { mark: "✗", word: "false", kind: "bad" }],
  [null, { mark: "?", word: "unknown", kind: "warn" }],
]);

const INSTANT = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** What is explained: a row that is held, by its id, or one that need not be stored. */
export interface Question {
  handle: string;
  rowId?: string;
  row?: unknown;
  /** Where the query reads several streams: in the place of which one the row is asked about. */
  alias?: string | undefined;
}

function sendQuestion({ handle, rowId, row, alias }: Question, signal: AbortSignal): Promise<Explanation> {
  const path = `/v1/queries/${at(handle)}/explain`;
  const body = alias === undefined ? { row } : { rows: { [alias]: row } };
  if (row !== undefined) return ask<Explanation>(path, { method: "POST", body, signal });
  const now = pastNow.peek();
  return ask<Explanation>(`${path}?row_id=${at(rowId!)}${now === null ? "" : `&now=${at(now)}`}`, { signal });
}

export function Explained({ question }: { question: Question }) {
  const found = useSignal<Explanation | null>(null);
  const problem = useSignal<Refusal | null>(null);
  useEffect(() => {
    const asking = new AbortController();
    sendQuestion(question, asking.signal).then(
      (explanation) => (found.value = explanation),
      (error) => {
        if (!isAbort(error)) problem.value = refusalOf(error);
      },
    );
    return () => asking.abort();
  }, [JSON.stringify(question)]);
  if (problem.value) return <p class="quiet">{problem.value.detail}</p>;
  if (!found.value) return null;
  const { parts } = found.value;
  if (!parts) return <Told {...found.value} />;
  return (
    <>
      {parts.map((part) => (
        <Told key={part.alias} place={part.alias} {...part} />
      ))}
    </>
  );
}

function Told({ place, matches, predicates, window }: Reasons & { place?: string }) {
  return (
    <div class="explained">
      {place && <h3>As {place}</h3>}
      <p class={window?.visible ? "verdict good" : "verdict bad"}>{verdict(matches, window)}</p>
      <ul>
        {predicates.map((one) => (
          <Predicate key={one.sql} {...one} />
        ))}
      </ul>
      {window?.in && (
        <p class="quiet">
          In the window from {instant(window.in)} {window.out ? `until ${instant(window.out)}` : "on, for ever"}
        </p>
      )}
    </div>
  );
}

function verdict(matches: boolean, window: Reasons["window"]): string {
  if (!matches) return "Not in the answer: a condition is not met";
  return `${window?.visible ? "In the answer" : "Not in the answer"}: ${window?.because ?? "it has no window"}`;
}

function Predicate({ sql, value, result }: Reasons["predicates"][number]) {
  const { mark, word, kind } = RESULTS.get(result)!;
  return (
    <li>
      <span class={kind} aria-hidden="true">
        {mark}
      </span>
      <code>{sql}</code>
      <span class="quiet">
        {word}: the row has {valueText(value)}
      </span>
    </li>
  );
}

/** The value of one column, or of several by their names. */
function valueText(value: unknown): string {
  if (value === null || value === undefined) return "NULL";
  if (typeof value === "string" && INSTANT.test(value)) return instant(value);
  if (typeof value !== "object") return JSON.stringify(value, (_, one) => (typeof one === "bigint" ? String(one) : one));
  return Object.entries(value)
    .map(([name, one]) => `${name} ${valueText(one)}`)
    .join(", ");
}
