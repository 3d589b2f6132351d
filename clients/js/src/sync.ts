/** Many queries over one connection, which all tabs of a page share. */

import { Line } from "./line.ts";
import { Mirror } from "./mirror.ts";
import { type Options, Service } from "./service.ts";
import { Tabs, canShare } from "./tabs.ts";

export interface SyncOptions extends Options {
  /** Tabs with the same name share a connection: by itself those with the same URL and token. False: none. */
  share?: string | false;
}

export interface Sync {
  readonly mirrors: ReadonlyMap<string, Mirror>;
  /** Call `listener` whenever a query shows other rows, or will have no further answer. Returns what ends that. */
  subscribe(listener: (mirror: Mirror) => void): () => void;
  /** End the connection, or leave it to the other tabs. The mirrors tell nobody any more, and show what they have. */
  close(): void;
}

/** Keep mirrors of these queries up to date from now on, for as long as it takes. */
export function sync(url: string, handles: Iterable<string>, options: SyncOptions = {}): Sync {
  const service = new Service(url, options);
  const mirrors = new Map([...handles].map((handle) => [handle, new Mirror(service, handle)]));
  const line = new Line(service);
  const ended = new AbortController();
  const { share = `psoup ${url} ${typeof options.token === "string" ? options.token : ""}` } = options;
  if (share !== false && canShare()) {
    new Tabs(share, service, line, mirrors, ended.signal);
  } else {
    line.follow(mirrors);
    void line.run(ended.signal);
  }
  const online = () => line.kick();
  globalThis.addEventListener?.("online", online);
  return {
    mirrors,
    subscribe(listener) {
      const ends = [...mirrors.values()].map((mirror) => mirror.subscribe(() => listener(mirror)));
      return () => ends.forEach((end) => end());
    },
    close() {
      globalThis.removeEventListener?.("online", online);
      ended.abort();
      for (const mirror of mirrors.values()) mirror.close();
    },
  };
}
