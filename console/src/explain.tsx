/** Why a row is in an answer, or why not: each condition with the value that it met. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import type { Explanation, Refusal } from "./contract.ts";
import { instant } from "./format.ts";
import { place } from "./place.ts";
import { ask, at, isAbort, isMissing, refusalOf } from "./service.ts";

const RESULTS = new Map([
  [true, { mark: "✓", word: "true", kind: "good" }],
  [false, { mark: "✗", word: "false", kind: "bad" }],
  [null, { mark: "?", word: "unknown", kind: "warn" }],
]);

/** What is explained: a row that is held, by its id, or one that need not be stored. */
export interface Question {
  handle: string;
  rowId?: string;
  row?: unknown;
}

function sendQuestion({ handle, rowId, row }: Question, signal: AbortSignal): Promise<Explanation> {
  const path = `/v1/queries/${at(handle)}/explain`;
  if (row !== undefined) return ask<Explanation>(path, { method: "POST", body: { row }, signal });
  const now = place.peek().now;
  return ask<Explanation>(`${path}?row_id=${at(rowId!)}${now === undefined ? "" : `&now=${at(now)}`}`, { signal });
}

export function Explained({ question }: { question: Question }) {
  const found = useSignal<Explanation | null>(null);
  const problem = useSignal<Refusal | null>(null);
  useEffect(() => {
    const asking = new AbortController();
    sendQuestion(question, asking.signal).then(
      (explanation) => (found.value = explanation),
      (error) => {
        if (!isAbort(error) && !isMissing(error)) problem.value = refusalOf(error);
      },
    );
    return () => asking.abort();
  }, [JSON.stringify(question)]);
  if (problem.value) return <p class="quiet">{problem.value.detail}</p>;
  if (!found.value) return null;
  const { matches, predicates, window } = found.value;
  return (
    <div class="explained">
      <p class={matches && window.visible ? "verdict good" : "verdict bad"}>
        {matches && window.visible ? "In the answer: " : "Not in the answer: "}
        {matches ? window.because : "a condition is not met"}
      </p>
      <ul>
        {predicates.map(({ sql, value, result }) => {
          const told = RESULTS.get(result)!;
          return (
            <li key={sql}>
              <span class={told.kind} aria-hidden="true">
                {told.mark}
              </span>
              <code>{sql}</code>
              <span class="quiet">
                {value !== undefined && `the row has ${JSON.stringify(value)}: `}
                {told.word}
              </span>
            </li>
          );
        })}
      </ul>
      {window.in && (
        <p class="quiet">
          In the window from {instant(window.in)} {window.out ? `until ${instant(window.out)}` : "on, for ever"}
        </p>
      )}
    </div>
  );
}
