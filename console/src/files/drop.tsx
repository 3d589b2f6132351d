/** A file that was dropped or chosen: its columns to look over, and then its rows in a stream. */

import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { refresh } from "../catalogue.ts";
import type { Column, Refusal, Type } from "../contract.ts";
import { bytes, cell, count, plural } from "../format.ts";
import { refusalOf } from "../service.ts";
import { askFor } from "../workspace.ts";
import { type Records, readCsv, readJson } from "./csv.ts";
import { infer, streamName } from "./infer.ts";
import { digestOf, load } from "./load.ts";

const FILE_BYTES_MAX = 64_000_000;
const TYPES: Type[] = ["int64", "float64", "bool", "string", "timestamp"];
const SAMPLE = 4;

interface Chosen {
  name: string;
  text: string;
  records: Records;
  columns: Column[];
  time: string | null;
}

const chosen = signal<Chosen | null>(null);
const unread = signal<string | null>(null);
const isOver = signal(false);

/** Read a file, and show what is in it. */
async function choose(file: File): Promise<void> {
  unread.value = null;
  try {
    if (file.size > FILE_BYTES_MAX) {
      throw new RangeError(`The file has ${bytes(file.size)}; here ${bytes(FILE_BYTES_MAX)} is the most. The command psoup load takes files of any size.`);
    }
    const text = await file.text();
    const isJson = /\.(?:nd)?jsonl?$/i.test(file.name) || /^\s*[[{]/.test(text);
    const records = isJson ? readJson(text) : readCsv(text);
    if (records.rows.length === 0) throw new RangeError("The file has no rows.");
    chosen.value = { name: file.name, text, records, ...infer(records) };
  } catch (error) {
    unread.value = `${file.name}: ${error instanceof Error ? error.message : error}`;
  }
}

/** Take files that are dropped anywhere on the page. */
export function takeFiles(): void {
  const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    isOver.value = true;
  });
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) isOver.value = false;
  });
  addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    isOver.value = false;
    const file = event.dataTransfer?.files[0];
    if (file) void choose(file);
  });
}

export function FilePicker() {
  const field = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" onClick={() => field.current!.click()}>
        Load a file…
      </button>
      <input
        ref={field}
        type="file"
        hidden
        accept=".csv,.tsv,.json,.jsonl,.ndjson,text/csv,application/json"
        aria-label="CSV or NDJSON file"
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          event.currentTarget.value = "";
          if (file) void choose(file);
        }}
      />
    </>
  );
}

export function DroppedFile() {
  return (
    <>
      {isOver.value && <div class="dropping">Drop the file to see its columns</div>}
      {unread.value && (
        <div class="toast" role="alert">
          {unread.value}
          <button type="button" class="icon" aria-label="Close" onClick={() => (unread.value = null)}>
            ✕
          </button>
        </div>
      )}
      {chosen.value && <FileDialog key={chosen.value.name + chosen.value.text.length} file={chosen.value} />}
    </>
  );
}

function FileDialog({ file }: { file: Chosen }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const stream = useSignal(streamName(file.name));
  const columns = useSignal(file.columns);
  const time = useSignal(file.time);
  const done = useSignal<number | null>(null);
  const problem = useSignal<Refusal | null>(null);
  useEffect(() => dialog.current!.showModal(), []);
  const all = file.records.rows.length;
  const submit = async (event: Event) => {
    event.preventDefault();
    problem.value = null;
    done.value = 0;
    try {
      const digest = await digestOf(file.text);
      await load({ stream: stream.value, columns: columns.value, time: time.value, records: file.records, digest }, (rows) => (done.value = rows));
      await refresh();
      chosen.value = null;
      await askFor(`SELECT * FROM ${stream.value}`);
    } catch (error) {
      problem.value = refusalOf(error);
      done.value = null;
    }
  };
  const retype = (index: number, type: Type) => {
    const next = columns.value.map((one, at) => (at === index ? { ...one, type } : one));
    columns.value = next;
    if (next.find(({ name }) => name === time.value)?.type !== "timestamp") time.value = null;
  };
  return (
    <dialog ref={dialog} aria-labelledby="file-title" onClose={() => (chosen.value = null)}>
      <form onSubmit={submit}>
        <h2 id="file-title">{file.name}</h2>
        <p class="quiet">{plural(all, "row")}. The columns are inferred from all of them.</p>
        <div class="fields">
          <label>
            <span>Stream</span>
            <input required pattern="[A-Za-z_][A-Za-z0-9_]{0,63}" value={stream.value} onInput={(event) => (stream.value = event.currentTarget.value)} />
          </label>
          <label>
            <span>Dated by</span>
            <select value={time.value ?? ""} onChange={(event) => (time.value = event.currentTarget.value || null)}>
              <option value="">arrival</option>
              {columns.value
                .filter(({ type }) => type === "timestamp")
                .map(({ name }) => (
                  <option key={name}>{name}</option>
                ))}
            </select>
          </label>
        </div>
        <div class="sample" tabIndex={0} role="region" aria-label="Columns and first rows">
          <table>
            <thead>
              <tr>
                {columns.value.map(({ name, type }, index) => (
                  <th key={name} scope="col">
                    {name}
                    <select aria-label={`Type of ${name}`} value={type} onChange={(event) => retype(index, event.currentTarget.value as Type)}>
                      {TYPES.map((one) => (
                        <option key={one}>{one}</option>
                      ))}
                    </select>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {file.records.rows.slice(0, SAMPLE).map((row, index) => (
                <tr key={index}>
                  {row.map((value, at) => (
                    <td key={at}>{value === null ? <span class="null">NULL</span> : cell(value, undefined)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {problem.value && <Refused problem={problem.value} />}
        <div class="actions">
          {done.value !== null && (
            <progress max={all} value={done.value} aria-label="Rows loaded">
              {count(done.value)}
            </progress>
          )}
          <button type="button" onClick={() => dialog.current!.close()}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={done.value !== null}>
            Load {plural(all, "row")}
          </button>
        </div>
      </form>
    </dialog>
  );
}

function Refused({ problem }: { problem: Refusal }) {
  return (
    <div class="refusal" role="alert">
      {problem.detail}
      {problem.errors && (
        <ul>
          {problem.errors.slice(0, 3).map((one) => (
            <li>
              row {(one.index ?? 0) + 1}, {one.pointer}: {one.expected}, got {one.got}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
