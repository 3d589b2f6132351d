/** One row beside the answer: its values, and why it is there. */

import { useEffect, useRef } from "preact/hooks";

import { rows } from "./answer.ts";
import { Explained } from "./explain.tsx";
import { cell, instant } from "./format.ts";
import { look, place } from "./place.ts";
import { query } from "./workspace.ts";

export function RowPanel() {
  const id = place.value.row!;
  const { id: handle, columns } = query.value!;
  const shown = rows.value.find((one) => one._id === id);
  const held = useRef(shown);
  const row = (held.current = shown ?? held.current);
  const heading = useRef<HTMLHeadingElement>(null);
  const close = () => look({ row: undefined });
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <aside class="panel" aria-label="Row" onKeyDown={(event) => event.key === "Escape" && close()}>
      <header>
        <h2 ref={heading} tabIndex={-1}>
          Row <code>{id}</code>
        </h2>
        <button type="button" class="icon" aria-label="Close" onClick={close}>
          ✕
        </button>
      </header>
      {row && (
        <dl>
          {columns.map(({ name, type }) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{row[name] === null ? <span class="null">NULL</span> : cell(row[name], type)}</dd>
            </div>
          ))}
          <div>
            <dt>leaves</dt>
            <dd>{row._x === null ? "never" : instant(row._x)}</dd>
          </div>
        </dl>
      )}
      {!shown && <p class="quiet">The row is not in the answer of this instant.</p>}
      <Explained key={String(shown !== undefined)} question={{ handle, rowId: id }} />
    </aside>
  );
}
