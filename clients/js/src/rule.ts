/** The client's rule: what one answer does to what a client holds of one query. docs/coming_back.md explains it. */

/** A row of an answer. `_x` is the instant at which it leaves the window; null: never. */
export interface Row {
  readonly _id: string;
  readonly _x: string | null;
  readonly [column: string]: unknown;
}

/** The envelope of an answer to a cursor. Further members are ignored. */
export interface Answer {
  gen: number;
  seq: number;
  now: string | null;
  reset: boolean;
  rows: Row[];
  removed: string[];
  keep: string[] | null;
  count: number;
  changes_at: string | null;
  complete: boolean;
  cursor: string | null;
  next: string | null;
}

type Position = readonly [gen: number, seq: number, now: string];

/** What a client keeps beside its rows. */
export interface Mark {
  readonly cursor: string | null;
  readonly at: Position | null;
  /** Of the answer that gave the cursor; the same one may have come back since. Absent: `at`. */
  readonly given?: Position | null;
  /** Milliseconds by which the local clock is ahead of the service's. Null: rows alone move NOW. */
  readonly aheadMs: number | null;
  /** Nothing will enter or leave any more. */
  readonly complete: boolean;
  /** Names these rows with this cursor; "" names nothing at all. */
  readonly version: string;
}

export interface State {
  readonly rows: Map<string, Row>;
  mark: Mark;
}

/** How one state becomes the next one. A store and another tab are told this. */
export interface Change {
  /** The version that it changes; null: any, since it holds all rows. */
  readonly from: string | null;
  readonly cleared: boolean;
  readonly drop: readonly string[];
  readonly put: readonly Row[];
  readonly mark: Mark;
}

export function nothing(): State {
  return {
    rows: new Map(),
    mark: { cursor: null, at: null, aheadMs: null, complete: false, version: "" },
  };
}

/**
 * Apply the answer to a request, or to a stream, that carried the cursor `asked`.
 *
 * Returns the change that was made to `mine`, named `version`; null: the answer is late, and nothing has changed.
 * The cursor is null afterwards where the rows do not add up to `count`: then the query is asked anew.
 */
export function apply(
  mine: State,
  answer: Answer,
  asked: string | null,
  localMs: number,
  version: string,
): Change | null {
  const { mark, rows } = mine;
  const at: Position = [answer.gen, answer.seq, answer.now ?? ""];
  const from = mark.given ?? mark.at;
  // The service was restored from a copy: it stands before the answer that gave the cursor.
  const goesBack = answer.reset && asked === mark.cursor && (!from || isBefore(at, from));
  if (mark.at && isBefore(at, mark.at) && !goesBack) return null;
  const stays = (row: Row) => row._x === null || row._x > at[2];
  const keep = answer.keep && new Set(answer.keep);
  const gone = new Set(answer.removed);
  for (const row of answer.rows) if (!stays(row)) gone.add(row._id);
  const leaves = (row: Row) => gone.has(row._id) || (keep && !keep.has(row._id)) || !stays(row);
  const drop = answer.reset ? [] : [...rows.values()].filter(leaves).map((row) => row._id);
  const change = { from: mark.version, cleared: answer.reset, drop, put: answer.rows.filter(stays) };
  alter(rows, change);
  const before = answer.reset ? null : mark.cursor;
  const ended = rows.size === answer.count ? answer.cursor : null;
  const cursor = answer.next === null ? ended : before;
  const byClock = answer.now !== null && answer.changes_at !== null;
  const aheadMs = byClock ? localMs - Date.parse(answer.now!) : null;
  const complete = answer.complete && cursor !== null;
  const given = answer.reset || cursor !== mark.cursor ? at : from;
  mine.mark = { cursor, at, given, aheadMs, complete, version };
  return { ...change, mark: mine.mark };
}

/** Make a change that was made elsewhere. False: it is one of another state, and nothing has changed. */
export function patch(mine: State, change: Change): boolean {
  if (change.from !== null && change.from !== mine.mark.version) return false;
  alter(mine.rows, change);
  mine.mark = change.mark;
  return true;
}

/** A change that makes any state this one. */
export function whole(mine: State): Change {
  return { from: null, cleared: true, drop: [], put: [...mine.rows.values()], mark: mine.mark };
}

function alter(rows: Map<string, Row>, change: Pick<Change, "cleared" | "drop" | "put">): void {
  if (change.cleared) rows.clear();
  for (const id of change.drop) rows.delete(id);
  for (const row of change.put) {
    rows.delete(row._id); // what is sent again comes last, in a store as well
    rows.set(row._id, row);
  }
}

function isBefore(one: Position, other: Position): boolean {
  const differs = one.findIndex((part, index) => part !== other[index]);
  return differs >= 0 && one[differs]! < other[differs]!;
}
