/** A client of psoup: mirrors of standing queries that survive everything but the loss of their own store. */

export { Mirror, mirror } from "./mirror.ts";
export { type Answer, type Change, type Mark, type Row, type State, apply, nothing, patch, whole } from "./rule.ts";
export { type Options, PACE, Problem } from "./service.ts";
export { type Store, indexedDb, memory } from "./stores.ts";
export { type Sync, type SyncOptions, sync } from "./sync.ts";
