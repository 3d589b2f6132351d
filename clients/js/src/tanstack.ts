/** A query of psoup as a collection of TanStack DB. */

import type { Row } from "./rule.ts";
import { type SyncOptions, sync } from "./sync.ts";

/** What a collection gives to its source of rows: as much of its `SyncConfig` as is used here. */
interface Collection<R extends object> {
  begin: () => void;
  write: (message: { type: "insert" | "update"; value: R } | { type: "delete"; key: string }) => void;
  commit: () => unknown;
  truncate: () => void;
  markReady: () => void;
  markError?: (error: unknown) => void;
}

export interface CollectionOptions extends SyncOptions {
  url: string;
  /** The handle of the query. */
  handle: string;
}

/** Options for `createCollection`: it is ready when the store, or else the service, has told its rows. */
export function psoupCollectionOptions<R extends Row = Row>({ url, handle, ...options }: CollectionOptions) {
  return {
    id: `psoup:${handle}`,
    getKey: (row: R): string => row._id,
    sync: {
      rowUpdateMode: "full" as const,
      sync: (collection: Collection<R>) => follow(url, handle, options, collection),
    },
  };
}

function follow<R extends Row>(url: string, handle: string, options: SyncOptions, collection: Collection<R>) {
  const following = sync(url, [handle], options);
  let written = new Map<string, R>();
  following.subscribe((mirror) => {
    if (mirror.problem) collection.markError?.(mirror.problem);
    if (!mirror.mark.version) return;
    const shown = new Map(mirror.rows.map((row) => [row._id, row as R]));
    write(collection, written, shown);
    written = shown;
    collection.markReady();
  });
  return () => following.close();
}

/** Write what differs: rows leave by answers, and by the clock between them. */
function write<R extends object>(
  { begin, write, commit, truncate }: Collection<R>,
  before: ReadonlyMap<string, R>,
  after: ReadonlyMap<string, R>,
): void {
  const left = [...before.keys()].filter((key) => !after.has(key));
  const isOther = left.length === before.size;
  begin();
  if (isOther && before.size > 0) truncate();
  else for (const key of left) write({ type: "delete", key });
  for (const [key, value] of after) {
    if (before.get(key) === value) continue;
    write({ type: before.has(key) ? "update" : "insert", value });
  }
  commit();
}
