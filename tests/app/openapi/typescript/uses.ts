/** What a program does with the types that openapi-typescript makes of the description: it compiles, or the test fails. */

import type { components, paths } from "./schema.ts";

type Problem = components["schemas"]["Problem"];
type Answer = paths["/v1/queries/{id}/results"]["get"]["responses"][200]["content"]["application/json"];
type Refused = paths["/v1/queries"]["post"]["responses"][422]["content"]["application/problem+json"];

/** A code says which members there are. */
export function advice(problem: Problem): string {
  switch (problem.code) {
    case "unknown-column":
      return `${problem.hint} (column ${problem.position.column.toFixed(0)})`;
    case "rows-rejected":
      return problem.errors.map((one) => `${one.pointer}: ${one.expected}`).join("; ");
    case "unknown-field":
      return problem.nearest ?? problem.detail;
    default:
      return problem.detail;
  }
}

export const text = (refused: Refused): string => advice(refused);

export const cursorOf = (answer: Answer): string | null => answer.cursor;

export const query: components["schemas"]["QueryBody"] = { sql: "SELECT px FROM trades" };

// @ts-expect-error there is no such code
export const code: Problem["code"] = "no-such-code";

// @ts-expect-error a query has a text
export const bare: components["schemas"]["QueryBody"] = { name: "dear" };
