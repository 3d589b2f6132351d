/** One connection for many mirrors: a stream of events, or polls where streams do not come through. For ever. */

import type { Mirror } from "./mirror.ts";
import type { Answer } from "./rule.ts";
import { LONGEST_TIMER_MS, Problem, type ProblemBody, type Service, events, read } from "./service.ts";

interface Told {
  results: Record<string, Answer>;
  gone: Record<string, ProblemBody>;
  more: boolean;
  poll_after_ms: number;
}

/** The cursors that a request has carried. */
type Asked = ReadonlyMap<string, string | null>;

const QUICK_MAX = 3;
const STREAM = "text/event-stream";

export class Line {
  readonly #service: Service;
  #mirrors = new Map<string, Mirror>();
  #turn = new AbortController();
  #failures = 0;
  #quick = 0;
  #pollsUntilMs = 0;

  constructor(service: Service) {
    this.#service = service;
  }

  /** Follow these mirrors from now on. */
  follow(mirrors: ReadonlyMap<string, Mirror>): void {
    const added = [...mirrors.keys()].some((handle) => !this.#mirrors.has(handle));
    const isOther = added || mirrors.size !== this.#mirrors.size;
    this.#mirrors = new Map(mirrors);
    if (isOther) this.kick();
  }

  /** Connect anew at once: the network is back, or other queries are followed. */
  kick(): void {
    this.#turn.abort();
  }

  /** Keep the mirrors up to date until `ended` is aborted. */
  async run(ended: AbortSignal): Promise<void> {
    const { token } = this.#service.options;
    ended.addEventListener("abort", () => this.kick());
    while (!ended.aborted) {
      const turn = (this.#turn = new AbortController());
      try {
        await this.#connect(turn.signal);
      } catch (error) {
        if (turn.signal.aborted) continue;
        this.#service.report(error);
        const mayRenew = error instanceof Problem && error.status === 401 && typeof token === "function";
        if (error instanceof Problem && !error.retryable && !mayRenew) this.#end(error);
        else await pause(this.#service.pauseMs(this.#failures++, error), turn.signal);
      }
    }
  }

  /** Connect once, by what comes through, and return when that has ended. */
  async #connect(turn: AbortSignal): Promise<void> {
    await Promise.all([...this.#mirrors.values()].map((mirror) => mirror.loaded));
    if (turn.aborted) return;
    const open = [...this.#mirrors.values()].filter((one) => !one.problem && !one.mark.complete);
    if (open.length === 0) return pause(Infinity, turn);
    const asked: Asked = new Map(open.map((one) => [one.handle, one.mark.cursor]));
    const watch = new Watch(turn);
    try {
      if (performance.now() < this.#pollsUntilMs) await this.#poll(asked, watch);
      else await this.#stream(asked, watch);
    } finally {
      watch.end();
    }
  }

  async #stream(asked: Asked, watch: Watch): Promise<void> {
    const { firstSilenceMs, silenceMs, quickMs, pollingMs, firstPauseMs } = this.#service.pace;
    let openedMs = Infinity;
    let retryMs = firstPauseMs;
    try {
      watch.allow(firstSilenceMs);
      const reply = await this.#send(asked, {}, STREAM, watch);
      openedMs = performance.now();
      if (!reply.headers.get("Content-Type")?.startsWith(STREAM)) {
        return await this.#hear(read<Told>(await reply.text()), asked, watch); // something between makes no streams
      }
      for await (const event of events(reply.body!, () => watch.allow(silenceMs))) {
        if (event.name === "retry") retryMs = Number(event.data);
        if (event.name === "result") await this.#hear(read<Told>(event.data), asked, watch);
      }
    } finally {
      if (!watch.turn.aborted) {
        const isQuick = watch.isSilent || performance.now() - openedMs < quickMs;
        if (openedMs < Infinity || watch.isSilent) this.#quick = isQuick ? this.#quick + 1 : 0;
        if (this.#quick === QUICK_MAX) {
          this.#pollsUntilMs = performance.now() + pollingMs;
          this.#quick = 0;
        }
      }
    }
    await pause(retryMs * (1 + this.#service.random()) / 2, watch.turn);
  }

  async #poll(asked: Asked, watch: Watch): Promise<void> {
    const { waitMs, silenceMs } = this.#service.pace;
    const begunMs = performance.now();
    watch.allow(waitMs + silenceMs);
    const reply = await this.#send(asked, { wait: waitMs / 1_000 }, "application/json", watch);
    const told = read<Told>(await reply.text());
    await this.#hear(told, asked, watch);
    const isNews = told.more || Object.keys({ ...told.results, ...told.gone }).length > 0;
    if (!isNews && performance.now() - begunMs < waitMs) await pause(told.poll_after_ms, watch.turn);
  }

  #send(asked: Asked, members: object, accept: string, { signal }: Watch): Promise<Response> {
    const queries = Object.fromEntries([...asked].map(([handle, cursor]) => [handle, cursor ? { cursor } : {}]));
    const headers = { "Content-Type": "application/json", Accept: accept };
    const body = JSON.stringify({ queries, ...members });
    return this.#service.send("/v1/sync", { method: "POST", headers, body, signal });
  }

  /** Let the mirrors take their answers. Throws what is to be asked for again. */
  async #hear(told: Told, asked: Asked, { signal }: Watch): Promise<void> {
    let again: Problem | null = null;
    for (const [handle, answer] of Object.entries(told.results)) {
      const mirror = this.#mirrors.get(handle);
      if (!mirror || mirror.problem) continue;
      const isTaken = await mirror.take(answer, asked.get(handle) ?? null, signal).catch((error: unknown) => {
        if (!(error instanceof Problem && error.endsQuery)) throw error;
        mirror.end(error); // it went while its pages were read: the others go on
      });
      if (isTaken === false) again = new Problem({ detail: `the rows of ${handle} do not add up to their count` });
    }
    for (const [handle, body] of Object.entries(told.gone)) {
      const problem = new Problem(body);
      if (problem.retryable) again = problem;
      else this.#mirrors.get(handle)?.end(problem);
    }
    if (again) throw again;
    this.#failures = 0;
  }

  #end(problem: Problem): void {
    for (const mirror of this.#mirrors.values()) mirror.end(problem);
  }
}

/** Aborts a connection with its turn, or when nothing was heard for as long as was allowed last. */
class Watch {
  readonly turn: AbortSignal;
  isSilent = false;
  readonly #own = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(turn: AbortSignal) {
    this.turn = turn;
    turn.addEventListener("abort", () => this.end());
  }

  get signal(): AbortSignal {
    return this.#own.signal;
  }

  allow(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.isSilent = true;
      this.#own.abort(new Problem({ detail: `nothing was heard for ${ms} ms` }));
    }, ms);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#own.abort();
  }
}

/** Wait, or until the signal is aborted. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = ms < Infinity ? setTimeout(resolve, Math.min(ms, LONGEST_TIMER_MS)) : undefined;
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
