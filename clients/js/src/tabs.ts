/** One tab of a page has the connection, and tells the others what has changed. */

import type { Line } from "./line.ts";
import { Mirror, type News } from "./mirror.ts";
import type { Service } from "./service.ts";

type Mirrors = ReadonlyMap<string, Mirror>;

interface Message {
  from: string;
  /** The sender has the connection from now on: say what you follow. */
  leads?: boolean;
  follows?: [handle: string, version: string][];
  handle?: string;
  news?: News;
}

export function canShare(): boolean {
  return typeof BroadcastChannel === "function" && !!globalThis.navigator?.locks;
}

/**
 * Tabs that use the same name follow their queries together, until `ended` is aborted.
 *
 * The tab that holds the lock of that name has the connection. Each tab holds another lock of its own, so the others
 * know when it has gone, however it went. A tab that was frozen with the connection is silent: another one takes it.
 */
export class Tabs {
  readonly #name: string;
  readonly #me: string;
  readonly #service: Service;
  readonly #line: Line;
  readonly #mirrors: Mirrors;
  readonly #ended: AbortSignal;
  readonly #channel: BroadcastChannel;
  /** What the other tabs follow, where this one has the connection. */
  readonly #others = new Map<string, string[]>();
  #served: Mirrors;
  #candidacy = new AbortController();
  #leads = false;
  #heardMs = performance.now();

  constructor(name: string, service: Service, line: Line, mirrors: Mirrors, ended: AbortSignal) {
    this.#name = name;
    this.#me = service.name();
    this.#service = service;
    this.#line = line;
    this.#mirrors = this.#served = mirrors;
    this.#ended = ended;
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = ({ data }) => this.#hear(data);
    for (const mirror of mirrors.values()) this.#tellNewsOf(mirror);
    const beat = setInterval(() => this.#beat(), service.pace.beatMs);
    const gone = new Promise<void>((resolve) => ended.addEventListener("abort", () => resolve()));
    void navigator.locks.request(`${name} ${this.#me}`, () => {
      if (ended.aborted) return;
      this.#sayFollows();
      this.#stand();
      return gone;
    });
    void gone.then(() => {
      clearInterval(beat);
      this.#candidacy.abort();
      this.#channel.close();
    });
  }

  #say(message: Omit<Message, "from">): void {
    if (!this.#ended.aborted) this.#channel.postMessage({ from: this.#me, ...message });
  }

  #sayFollows(): void {
    this.#say({ follows: [...this.#mirrors.values()].map((one) => [one.handle, one.mark.version]) });
  }

  #tellNewsOf(mirror: Mirror): Mirror {
    mirror.onnews = (news) => {
      if (this.#leads && this.#others.size > 0) this.#say({ handle: mirror.handle, news });
    };
    return mirror;
  }

  #hear({ from, leads, follows, handle, news }: Message): void {
    this.#heardMs = performance.now();
    if (this.#leads) {
      if (follows) void this.#admit(from, follows);
    } else {
      const isOther = news && this.#mirrors.get(handle!)?.hear(news) === false;
      if (leads || isOther) this.#sayFollows();
    }
  }

  /** Follow what another tab follows until it has gone, and tell it what it lacks. */
  async #admit(tab: string, follows: [string, string][]): Promise<void> {
    const isNew = !this.#others.has(tab);
    this.#others.set(tab, follows.map(([handle]) => handle));
    this.#serve();
    if (isNew) void navigator.locks.request(`${this.#name} ${tab}`, () => this.#forget(tab));
    for (const [handle, version] of follows) {
      const mirror = this.#served.get(handle)!;
      await mirror.loaded;
      const lacks = mirror.mark.version !== "" && mirror.mark.version !== version;
      if (lacks) this.#say({ handle, news: { change: mirror.whole() } });
      if (mirror.problem) this.#say({ handle, news: { ended: mirror.problem.body } });
    }
  }

  #forget(tab: string): void {
    this.#others.delete(tab);
    if (this.#leads) this.#serve();
  }

  /** Let the line follow what all tabs follow. */
  #serve(): void {
    const next = new Map(this.#mirrors);
    for (const handle of new Set([...this.#others.values()].flat())) {
      if (next.has(handle)) continue;
      next.set(handle, this.#served.get(handle) ?? this.#tellNewsOf(new Mirror(this.#service, handle)));
    }
    this.#served = next;
    this.#line.follow(next);
  }

  /** Wait for the connection, or take it from a tab that is silent. */
  #stand(steal = false): void {
    this.#candidacy.abort();
    const mine = (this.#candidacy = new AbortController());
    const lead = () => {
      this.#leads = true;
      this.#serve();
      this.#say({ leads: true });
      return this.#line.run(mine.signal);
    };
    const done = () => {
      if (mine !== this.#candidacy) return;
      mine.abort();
      this.#leads = false;
      this.#others.clear();
      if (!this.#ended.aborted) this.#stand();
    };
    navigator.locks.request(this.#name, steal ? { steal } : { signal: mine.signal }, lead).then(done, done);
  }

  #beat(): void {
    const isSilent = performance.now() - this.#heardMs > this.#service.pace.frozenMs;
    if (this.#leads) this.#say({});
    else if (isSilent && globalThis.document?.visibilityState !== "hidden") this.#stand(true);
  }
}
