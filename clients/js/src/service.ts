/** One request to the service, its problems, and how long to wait before the next one. */

import type { Store } from "./stores.ts";

export interface Options {
  /** Where rows and cursors are kept; without one, as long as the mirror lives. */
  store?: Store;
  /** The bearer token, or what gives the one of the moment. */
  token?: string | (() => string | Promise<string>);
  /** Told of what went wrong, though it is tried again: a lost network, a full store. By itself `console.warn`. */
  onerror?: (error: unknown) => void;
  /** In place of `fetch`, `Math.random` and the times of `PACE`. */
  fetch?: typeof fetch;
  random?: () => number;
  pace?: Partial<typeof PACE>;
}

/** Times in milliseconds. */
export const PACE = {
  /** A failure is followed by at most this pause, and by up to twice as much after each further one ... */
  firstPauseMs: 500,
  /** ... and by no longer one, but for what the service asks for. */
  lastPauseMs: 30_000,
  /** A stream of events is given up that says nothing at first, or later, for so long; the service pings every 15 s. */
  firstSilenceMs: 10_000,
  silenceMs: 40_000,
  /** A stream that ends sooner ends quickly. Three in a row: it is polled for `pollingMs`. */
  quickMs: 5_000,
  pollingMs: 600_000,
  /** How long a poll waits. */
  waitMs: 25_000,
  /** A row leaves so long after its `_x`: where a group only changes then, its new values come within. */
  graceMs: 500,
  /** The tab that has the connection gives a sign so often; one that gives none for `frozenMs` loses it. */
  beatMs: 20_000,
  frozenMs: 120_000,
};

export interface ProblemBody {
  status?: number;
  code?: string;
  detail?: string;
  retryable?: boolean;
}

/** A timer that is set for longer would ring at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A refusal (RFC 9457). `code` is that of docs/http_api.md; "" where something else has answered. */
export class Problem extends Error {
  readonly body: ProblemBody;
  readonly status: number;
  readonly code: string;
  readonly retryable: boolean;
  /** How long the service asks to wait. */
  readonly pauseMs: number;

  constructor(body: ProblemBody, pauseMs = 0) {
    super(body.detail ?? `status ${body.status}`);
    this.body = body;
    this.status = body.status ?? 0;
    this.code = body.code ?? "";
    this.retryable = body.retryable ?? this.code === "";
    this.pauseMs = pauseMs;
  }

  /** Whether its query is there no more: to go on, register it again and begin without a cursor. */
  get endsQuery(): boolean {
    return ["not-found", "query-expired"].includes(this.code);
  }
}

export class Service {
  readonly options: Options;
  readonly pace: typeof PACE;
  readonly #url: string;

  constructor(url: string, options: Options) {
    this.#url = url.replace(/\/+$/, "");
    this.options = options;
    this.pace = { ...PACE, ...options.pace };
  }

  report(error: unknown): void {
    (this.options.onerror ?? console.warn)(error);
  }

  random(): number {
    return (this.options.random ?? Math.random)();
  }

  /** A name that nobody else draws. */
  name(): string {
    return this.random().toString(36).slice(2);
  }

  /** Returns a reply of 200 or 304. Throws Problem, or what `fetch` throws where nobody answers. */
  async send(path: string, init: RequestInit = {}): Promise<Response> {
    const { token, fetch: send = fetch } = this.options;
    const headers = new Headers(init.headers);
    const bearer = typeof token === "function" ? await token() : token;
    if (bearer) headers.set("Authorization", `Bearer ${bearer}`);
    const reply = await send(this.#url + path, { ...init, headers });
    if (reply.ok || reply.status === 304) return reply;
    const told = await reply.json().catch(() => ({}));
    throw new Problem({ ...told, status: reply.status }, pauseOf(reply.headers.get("Retry-After")));
  }

  /** How long to wait after so many failures in a row, of which `error` is the last: never all clients at once. */
  pauseMs(failures: number, error: unknown): number {
    const { firstPauseMs, lastPauseMs } = this.pace;
    const drawn = this.random();
    const ownMs = drawn * Math.min(lastPauseMs, firstPauseMs * 2 ** failures);
    return error instanceof Problem ? Math.max(ownMs, error.pauseMs * (1 + drawn / 4)) : ownMs;
  }
}

function pauseOf(retryAfter: string | null): number {
  if (retryAfter === null) return 0;
  const seconds = Number(retryAfter);
  return Math.max(0, Number.isNaN(seconds) ? Date.parse(retryAfter) - Date.now() || 0 : seconds * 1_000);
}

const LONG = /[^.\d]\d{16}/;

/** Read JSON; an integer that a number cannot hold becomes a BigInt, where the engine tells its digits. */
export function read<T>(text: string): T {
  if (!LONG.test(text)) return JSON.parse(text);
  const exact = (_: string, value: unknown, context?: { source?: string }) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "")
      ? BigInt(context!.source!)
      : value;
  return JSON.parse(text, exact as (key: string, value: unknown) => unknown);
}

/** The events of a stream, one after the other: their names and data. */
export async function* events(body: ReadableStream<Uint8Array>, heard: () => void) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let held = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      const blocks = (held + decoder.decode(value, { stream: true })).split("\n\n");
      held = blocks.pop()!;
      for (const block of blocks) {
        const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, "m").exec(block)?.[1] ?? "";
        for (const name of ["retry", "data"]) {
          if (field(name)) yield { name: field("event") || name, data: field(name) };
        }
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
