/** What stands below an editor whose text has no answer yet. */

import { streams } from "./catalogue.ts";
import { FilePicker } from "./files/drop.tsx";
import { plural } from "./format.ts";
import { quoted } from "./sql.ts";
import { askFor, text } from "./workspace.ts";

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
    <section class="card welcome">
      <h2>Begin with a stream</h2>
      <ul>
        {all.slice(0, 8).map(({ name, time, rows }) => (
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
  );
}

/** A query over a stream to begin with. */
export function firstQuery(stream: string, hasTime: boolean): string {
  return `SELECT * FROM ${quoted(stream)}${hasTime ? "\nBEGIN (NOW - INTERVAL '1' HOUR) END (NOW)" : ""}`;
}
