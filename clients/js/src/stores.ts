/** Where a mirror keeps its rows and its cursor: always both, or neither. */

import { type Change, type Mark, type Row, type State, nothing, patch } from "./rule.ts";

export interface Store {
  /** What was saved of a query; null: nothing. */
  load(handle: string): Promise<State | null>;
  /**
   * Save a change in one transaction. Where another state is stored than the one that it changes, `whole()` is saved
   * instead: another tab has written, or an earlier change was lost.
   */
  save(handle: string, change: Change, whole: () => Change): Promise<void>;
}

/** A store that lasts as long as the page. */
export function memory(): Store {
  const states = new Map<string, State>();
  return {
    async load(handle) {
      const held = states.get(handle);
      return held ? { rows: new Map(held.rows), mark: held.mark } : null;
    },
    async save(handle, change, whole) {
      const held = states.get(handle) ?? nothing();
      if (!patch(held, change)) patch(held, whole());
      states.set(handle, held);
    },
  };
}

interface StoredMark extends Mark {
  /** How many rows were ever put: each is stored with its number, so that their order is kept. */
  puts: number;
}

/** A store that outlives the page: a database of the browser. */
export function indexedDb(name = "psoup"): Store {
  let opened: Promise<IDBDatabase> | undefined;
  async function begin(mode: IDBTransactionMode) {
    opened ??= open(name);
    const transaction = (await opened).transaction(["rows", "marks"], mode);
    return {
      rows: transaction.objectStore("rows"),
      marks: transaction.objectStore("marks"),
      done: new Promise<void>((resolve, reject) => {
        transaction.oncomplete = () => resolve();
        transaction.onabort = () => reject(transaction.error);
      }),
    };
  }
  return {
    async load(handle) {
      const { rows, marks } = await begin("readonly");
      const found = result(rows.getAll(allOf(handle))) as Promise<{ put: number; row: Row }[]>;
      const mark = (await result(marks.get(handle))) as StoredMark | undefined;
      const inOrder = (await found).sort((a, b) => a.put - b.put);
      return mark ? { rows: new Map(inOrder.map(({ row }) => [row._id, row])), mark } : null;
    },
    async save(handle, change, whole) {
      const { rows, marks, done } = await begin("readwrite");
      const held = (await result(marks.get(handle))) as StoredMark | undefined;
      const given = change.from === (held?.version ?? "") ? change : whole();
      let puts = held?.puts ?? 0;
      if (given.cleared) rows.delete(allOf(handle));
      for (const id of given.drop) rows.delete([handle, id]);
      for (const row of given.put) rows.put({ put: puts++, row }, [handle, row._id]);
      marks.put({ ...given.mark, puts }, handle);
      await done;
    },
  };
}

function open(name: string): Promise<IDBDatabase> {
  const request = indexedDB.open(name, 1);
  request.onupgradeneeded = () => {
    request.result.createObjectStore("rows");
    request.result.createObjectStore("marks");
  };
  return result(request);
}

function result<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function allOf(handle: string): IDBKeyRange {
  return IDBKeyRange.bound([handle], [handle, []]); // a list comes behind every text
}
