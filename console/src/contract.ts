/** What the service answers, as far as the console reads it: docs/http_api.md. */

import type { Answer, Row } from "../../clients/js/src/rule.ts";
import type { ProblemBody } from "../../clients/js/src/service.ts";

export type Type = "int64" | "float64" | "bool" | "string" | "timestamp";

export interface Column {
  name: string;
  type: Type;
  nullable?: boolean;
}

export interface Stream {
  name: string;
  columns: Column[];
  time: string | null;
  clock: "high-water" | "server";
  retention: { time: string | null; rows: number | null; bytes: number | null };
  rows: number;
  bytes: number;
  oldest: string | null;
  newest: string | null;
  queries: number;
}

export interface Warning {
  code: string;
  detail: string;
}

/** How the rows of one stream of FROM are found. */
export interface StreamPlan {
  stream: string;
  alias: string;
  driver: string | null;
  index: "hash" | "ordered" | "none";
  residual: string[];
}

export interface Plan {
  streams: StreamPlan[];
  joined_on: string[];
  residual: string[];
  shared_with: number | null;
}

export interface Forecast {
  rows: number | null;
  rows_at_most: number | null;
  bytes: number | null;
  matches_per_s: number | null;
  basis: string | null;
}

/** What is known of a query before it is registered. */
export interface Validation {
  canonical: string;
  window: { kind: string; begin: string | null; end: string | null };
  columns: Column[];
  delta: "rows" | "replace";
  warnings: Warning[];
  plan?: Plan;
  forecast?: Forecast;
}

/** The description of a standing query. */
export interface Query extends Validation {
  id: string;
  /** Grows when the query is replaced. */
  version: number;
  state: "live" | "filling" | "suspended";
  suspended: { reason: string } | null;
  name: string | null;
  labels: Record<string, string>;
  /** How long it stands unused; null: for ever. */
  ttl: string | null;
  expires_at: string | null;
  sql?: string;
  params?: Record<string, Value>;
}

export type Value = string | number | boolean | null;

export interface Result extends Answer {
  window: { begin: string | null; end: string | null };
}

export interface Point {
  now: string;
  count: number;
  rows?: Omit<Row, "_id" | "_x">[];
}

export interface Series {
  from: string;
  to: string;
  points: Point[];
}

/** Why a row is in an answer, or why not: as a whole, or what is asked of it in one place of FROM. */
export interface Reasons {
  matches: boolean;
  predicates: { sql: string; value: unknown; result: boolean | null }[];
  window: { in: string | null; out: string | null; visible: boolean; because: string } | null;
}

export interface Explanation extends Reasons {
  now: string;
  parts?: (Reasons & { alias: string; stream: string })[];
}

export interface TopQuery {
  id: string;
  name: string | null;
  labels?: Record<string, string>;
  canonical: string;
  bytes: number | null;
  matches: number | null;
  invokes: number | null;
  shared_with: number | null;
}

/** A refusal of SQL says where, and what was probably meant. */
export interface Refusal extends ProblemBody {
  title?: string;
  hint?: string;
  /** The first position, or instant, that may be asked about. */
  oldest?: number | string;
  position?: { line: number; column: number; length: number };
  errors?: { index: number | null; pointer: string | null; code: string; expected: string; got: string | null }[];
}
