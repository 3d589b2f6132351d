/** A copy of what one query shows, that is brought up to date by what has changed. */

import { type Answer, type Change, type Mark, type Row, apply, nothing, patch, whole } from "./rule.ts";
import { LONGEST_TIMER_MS, type Options, Problem, type ProblemBody, Service, read } from "./service.ts";

const TRIES = 3;

/** A mirror of a query: it shows what was saved, and what has changed after each `refresh`. */
export function mirror(url: string, handle: string, options: Options = {}): Mirror {
  return new Mirror(new Service(url, options), handle);
}

/** What one tab tells another of a query. */
export interface News {
  change?: Change;
  ended?: ProblemBody;
}

export class Mirror {
  readonly handle: string;
  /** Fulfilled when what the store has is shown. */
  readonly loaded: Promise<void>;
  /** Why there will be no further answer; null: there may be. */
  problem: Problem | null = null;
  /** Told what other tabs need to know. */
  onnews: (news: News) => void = () => {};
  readonly #service: Service;
  readonly #name: string;
  readonly #listeners = new Set<() => void>();
  #state = nothing();
  #changes = 0;
  #shown: readonly Row[] = [];
  /** What listeners were told of last: the clock moves on while they look. */
  #told = this.#shown;
  #until = "~";
  #timer: ReturnType<typeof setTimeout> | undefined;
  #tag: { path: string; etag: string } | null = null;

  constructor(service: Service, handle: string) {
    this.#service = service;
    this.handle = handle;
    this.#name = service.name();
    this.loaded = this.#load();
  }

  get mark(): Mark {
    return this.#state.mark;
  }

  /** The rows that the query shows now: the same array until they change. Where the clock moves NOW, offline too. */
  get rows(): readonly Row[] {
    const now = this.#now();
    if (now < this.#until) return this.#shown;
    this.#shown = [...this.#state.rows.values()].filter((row) => row._x === null || row._x > now);
    this.#until = this.#shown.reduce((least, row) => (row._x && row._x < least ? row._x : least), "~");
    return this.#shown;
  }

  /** Call `listener` whenever other rows are shown. Returns what ends that. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    this.#arm();
    return () => {
      this.#listeners.delete(listener);
      this.#arm();
    };
  }

  /**
   * Ask what has changed. Throws where nobody answers; then nothing is lost, and what was shown stays.
   *
   * Where the query was removed, or has expired, `problem` is what it throws: this mirror will show nothing new.
   */
  async refresh(): Promise<void> {
    await this.loaded;
    try {
      for (let tries = 0; tries < TRIES; tries++) if (await this.#ask()) return;
    } catch (error) {
      if (error instanceof Problem && error.endsQuery) this.end(error);
      throw error;
    }
    throw new Problem({ detail: `${TRIES} answers did not add up to their count` });
  }

  /** Apply an answer and its further pages. False: it has to be asked for anew. */
  async take(answer: Answer, asked: string | null, signal?: AbortSignal): Promise<boolean> {
    if (!this.#apply(answer, asked)) return true;
    for (let page = answer; page.next !== null; this.#apply(page, asked)) {
      try {
        const reply = await this.#service.send(page.next, signal ? { signal } : {});
        page = read<Answer>(await reply.text());
      } catch (error) {
        if (error instanceof Problem && error.code === "page-expired") return false;
        throw error;
      }
    }
    return this.mark.cursor !== null;
  }

  /** Take what another tab tells. False: it is a change of another state than this one. */
  hear({ change, ended }: News): boolean {
    const isOurs = !change || patch(this.#state, change);
    if (ended) this.problem = new Problem(ended);
    if (isOurs) this.#changed();
    return isOurs;
  }

  /** A change that makes any mirror of this query this one. */
  whole(): Change {
    return whole(this.#state);
  }

  /** Tell no listener any more. */
  close(): void {
    this.#listeners.clear();
    clearTimeout(this.#timer);
  }

  /** Say why there will be no further answer. */
  end(problem: Problem): void {
    this.problem = problem;
    this.onnews({ ended: problem.body });
    this.#changed();
  }

  async #load(): Promise<void> {
    try {
      const stored = await this.#service.options.store?.load(this.handle);
      if (!stored || this.mark.version) return;
      this.#state = stored;
      this.#changed();
    } catch (error) {
      this.#service.report(error);
    }
  }

  async #ask(): Promise<boolean> {
    const asked = this.mark.cursor;
    const path = `/v1/queries/${this.handle}/results?cursor=${encodeURIComponent(asked ?? "")}`;
    const headers: HeadersInit = this.#tag?.path === path ? { "If-None-Match": this.#tag.etag } : {};
    const reply = await this.#service.send(path, { headers });
    if (reply.status === 304) return true;
    const answer = read<Answer>(await reply.text());
    const etag = asked !== null && answer.cursor === asked ? reply.headers.get("ETag") : null; // nothing was new
    this.#tag = etag ? { path, etag } : null;
    return this.take(answer, asked);
  }

  #apply(answer: Answer, asked: string | null): boolean {
    const change = apply(this.#state, answer, asked, Date.now(), `${this.#name}.${++this.#changes}`);
    if (!change) return false;
    const saving = this.#service.options.store?.save(this.handle, change, () => this.whole());
    saving?.catch((error) => this.#service.report(error));
    this.onnews({ change });
    if (change.from && !change.cleared && change.drop.length + change.put.length === 0) this.#arm();
    else this.#changed();
    return true;
  }

  /** The service's instant, a moment late. "": rows alone move NOW, and none leaves between two answers. */
  #now(): string {
    const { aheadMs } = this.mark;
    if (aheadMs === null) return "";
    const shownMs = Date.now() - aheadMs - this.#service.pace.graceMs;
    return new Date(shownMs).toISOString().replace("Z", "000Z");
  }

  #changed(): void {
    this.#until = "";
    this.#told = this.rows;
    for (const listener of [...this.#listeners]) {
      try {
        listener();
      } catch (error) {
        this.#service.report(error); // a page that cannot show rows is no reason to lose the connection
      }
    }
    this.#arm();
  }

  /** Tell listeners when the next row leaves by the clock. */
  #arm(): void {
    clearTimeout(this.#timer);
    if (this.#listeners.size === 0) return;
    const isTold = this.rows === this.#told;
    const inMs = isTold ? Date.parse(this.#until) - Date.parse(this.#now()) : 0;
    if (Number.isNaN(inMs)) return;
    this.#timer = setTimeout(() => this.#changed(), Math.min(Math.max(inMs, 0) + 1, LONGEST_TIMER_MS));
  }
}
