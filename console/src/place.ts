/** Where the page is: all of it stands in the URL, so that a view can be kept, sent and come back to. */

import { computed, signal } from "@preact/signals";

export type View = "table" | "chart" | "plan";

/** The parameters of the URL. A page without `stream`, `top` or `load` is that of a query. */
export interface Place {
  /** A query by its name, by its handle, or as a text that has no query yet. */
  name?: string;
  q?: string;
  sql?: string;
  view?: View;
  /** The instant that is looked at, or the position: what was answered then. Without both, the answer is live. */
  now?: string;
  seq?: string;
  /** The column that rows are sorted by, `-` before it: largest first. */
  sort?: string;
  /** What the chart draws: a column, and the column whose values are lines of their own. */
  y?: string;
  by?: string;
  /** The row that is explained. */
  row?: string;
  stream?: string;
  top?: string;
}

/** What is said of the past that is looked at. */
export type Past = Pick<Place, "now" | "seq">;

function read(): Place {
  const given = [...new URLSearchParams(location.search)].filter(([, value]) => value !== "");
  return Object.fromEntries(given) as Place;
}

export const place = signal<Place>(read());
export const page = computed<"query" | "stream" | "top">(() => {
  if (place.value.stream !== undefined) return "stream";
  return place.value.top !== undefined ? "top" : "query";
});

/** Parameters that ask for the answer of before; null: the answer is live. */
export const past = computed<Past | null>(() => {
  const { now, seq } = place.value;
  if (now === undefined && seq === undefined) return null;
  return { ...(now === undefined ? {} : { now }), ...(seq === undefined ? {} : { seq }) };
});

addEventListener("popstate", () => (place.value = read()));

/** The URL of a place. */
export function urlOf(to: Place): string {
  const given = Object.entries(to).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(given as [string, string][]).toString();
  return location.pathname + (search ? `?${search}` : "");
}

/** Go to another place, which the Back key leaves again. */
export function go(to: Place): void {
  const url = urlOf(to);
  if (url !== location.pathname + location.search) history.pushState(null, "", url);
  place.value = to;
}

/** Change what is looked at here. `undefined` takes a parameter away. */
export function look(changes: { [Name in keyof Place]: Place[Name] | undefined }): void {
  const to = Object.fromEntries(
    Object.entries({ ...place.peek(), ...changes }).filter(([, value]) => value !== undefined),
  ) as Place;
  history.replaceState(null, "", urlOf(to));
  place.value = to;
}

/** What a link does: another page of the console, unless it is opened in a tab of its own. */
export function follow(to: Place) {
  return (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(to);
  };
}
