/** What stands below an editor whose text has no answer yet. */

import { hasTitle, placeOf, saved, streams, titleOf } from "./catalogue.ts";
import { FilePicker } from "./files/drop.tsx";
import { plural } from "./format.ts";
import { follow, urlOf } from "./place.ts";
import { quoted } from "./sql.ts";
import { askFor, text } from "./workspace.ts";

const SHOWN = 10;

export function Welcome() {
  const all = streams.value;
  if (all === null) return null;
  if (all.length === 0) {
    return (
      <section class="card welcome">
        <h2>No stream yet</h2>
        <p>Drop a CSV or NDJSON file anywhere on this page: its columns are inferred, and its rows are loaded into a stream.</p>
        <FilePicker />
      </section>
    );
  }
  if (text.value.trim()) return <p class="hint">Run the query to see its answer. It is then kept up to date, row by row.</p>;
  return (
    <div class="columns">
      {saved.value.length > 0 && (
        <section class="card welcome narrow-only">
          <h2>Open a standing query</h2>
          <ul>
            {saved.value.slice(0, SHOWN).map((one) => (
              <li key={one.id}>
                <a href={urlOf(placeOf(one))} class={hasTitle(one) ? "" : "sqltext"} onClick={follow(placeOf(one))}>
                  {titleOf(one)}
                </a>
              </li>
            ))}
          </ul>
        </section>
      )}
      <section class="card welcome wide">
        <h2>Begin with a stream</h2>
        <ul>
          {all.slice(0, SHOWN).map(({ name, time, rows }) => (
            <li key={name}>
              <button type="button" class="link" onClick={() => void askFor(firstQuery(name, time !== null))}>
                SELECT * FROM {quoted(name)}
              </button>{" "}
              <span class="quiet">{plural(rows, "row")}</span>
            </li>
          ))}
        </ul>
        <p class="quiet">Or drop a CSV or NDJSON file anywhere on this page.</p>
      </section>
    </div>
  );
}

/** A query over a stream to begin with. */
export function firstQuery(stream: string, hasTime: boolean): string {
  return `SELECT * FROM ${quoted(stream)}${hasTime ? "\nBEGIN (NOW - INTERVAL '1' HOUR) END (NOW)" : ""}`;
}
