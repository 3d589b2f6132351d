/** The page of a stream: its columns, how much it holds, its latest rows, and which standing queries a row would hit. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import type { Row } from "../../clients/js/src/rule.ts";
import { queries, streams, streamsOf, titleOf } from "./catalogue.ts";
import type { Query, Refusal, Stream } from "./contract.ts";
import { Explained } from "./explain.tsx";
import { bytes, cell, count, instant, plural } from "./format.ts";
import { follow, place, urlOf } from "./place.ts";
import { ask, at, isAbort, isMissing, refusalOf } from "./service.ts";
import { askFor, query } from "./workspace.ts";
import { firstQuery } from "./welcome.tsx";

const SAMPLE_ROWS = 30;
const AGAIN_MS = 2_000;
const HITS_MAX = 50;

interface Sample {
  rows: Row[];
  count: number;
}

export function StreamPage() {
  const name = place.value.stream!;
  const stream = streams.value?.find((one) => one.name === name);
  const picked = useSignal<Row | null>(null);
  if (streams.value === null) return <main id="main" />;
  if (!stream) {
    return (
      <main id="main">
        <h1 class="title">{name}</h1>
        <p class="refusal">There is no such stream.</p>
      </main>
    );
  }
  return (
    <main id="main">
      <h1 class="title">{name}</h1>
      <section class="card" aria-label="What the stream holds">
        <Figures stream={stream} />
        <div class="bar-below">
          <button type="button" class="primary" onClick={() => void askFor(firstQuery(name, stream.time !== null))}>
            Query this stream
          </button>
        </div>
      </section>
      <div class="columns">
        <section class="card narrow" aria-label="Columns">
          <h2>Columns</h2>
          <ul class="types">
            {stream.columns.map((column) => (
              <li key={column.name}>
                <code>{column.name}</code>
                <span class="quiet">
                  {column.type}
                  {column.name === stream.time && ", dates a row"}
                </span>
              </li>
            ))}
          </ul>
        </section>
        <SampleRows stream={stream} picked={picked.value} pick={(row) => (picked.value = row)} />
      </div>
      <RowQuestions stream={stream} row={picked.value} />
    </main>
  );
}

function Figures({ stream }: { stream: Stream }) {
  const figures: [string, string][] = [
    ["rows", count(stream.rows)],
    ["held", bytes(stream.bytes)],
    ["oldest", stream.oldest ? instant(stream.oldest) : "–"],
    ["newest", stream.newest ? instant(stream.newest) : "–"],
    ["standing queries", count(stream.queries)],
    ["NOW", stream.clock === "server" ? "the server's clock" : "its newest row"],
  ];
  return (
    <dl class="figures">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function SampleRows({ stream, picked, pick }: { stream: Stream; picked: Row | null; pick: (row: Row) => void }) {
  const sample = useSignal<Sample | null>(null);
  useEffect(() => {
    const asking = new AbortController();
    const path = `/v1/streams/${at(stream.name)}/sample?limit=${SAMPLE_ROWS}`;
    const load = () =>
      ask<Sample>(path, { signal: asking.signal }).then(
        (told) => (sample.value = told),
        (error) => isMissing(error) && clearInterval(timer),
      );
    const timer = setInterval(() => document.visibilityState === "visible" && void load(), AGAIN_MS);
    void load();
    return () => {
      clearInterval(timer);
      asking.abort();
    };
  }, [stream.name]);
  if (!sample.value) return null;
  const rows = [...sample.value.rows].reverse();
  return (
    <section class="card wide" aria-label="Latest rows">
      <h2>
        Latest rows <span class="quiet">newest first; choose one to ask which queries it hits</span>
      </h2>
      <div class="sample tall" tabIndex={0} role="region" aria-label="Latest rows of the stream">
        <table>
          <thead>
            <tr>
              {stream.columns.map(({ name }) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
              <td />
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row._id} class={picked?._id === row._id ? "open" : ""} onClick={() => pick(row)}>
                {stream.columns.map(({ name, type }) => (
                  <td key={name}>{row[name] === null ? <span class="null">NULL</span> : cell(row[name], type)}</td>
                ))}
                <td class="why">
                  <button type="button" aria-label={`hits of row ${row._id}`} onClick={() => pick(row)}>
                    hits
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** Which standing queries a row would hit, and why the query that was open last shows it or not. */
function RowQuestions({ stream, row }: { stream: Stream; row: Row | null }) {
  const typed = useSignal("");
  const isThere = useSignal(true);
  const hits = useSignal<{ handles: string[]; total: number } | null>(null);
  const problem = useSignal<Refusal | null>(null);
  const asked = useSignal<unknown>(null);
  const send = async (value: unknown) => {
    problem.value = hits.value = null;
    asked.value = value;
    try {
      const { matches, total } = await ask<{ matches: string[][]; total: number[] }>(`/v1/streams/${at(stream.name)}/match`, {
        method: "POST",
        body: { rows: [value], limit: HITS_MAX },
      });
      hits.value = { handles: matches[0] ?? [], total: total[0] ?? 0 };
    } catch (error) {
      if (isMissing(error)) isThere.value = false;
      else if (!isAbort(error)) problem.value = refusalOf(error);
    }
  };
  useEffect(() => {
    if (!row) return;
    const { _id, _x, _seq, _arrival, ...values } = row;
    typed.value = JSON.stringify(values);
    void send(values);
  }, [row]);
  if (!isThere.value) return null;
  const submit = (event: Event) => {
    event.preventDefault();
    try {
      void send(JSON.parse(typed.value));
    } catch (error) {
      problem.value = { code: "", detail: `This is no JSON: ${(error as Error).message}` };
    }
  };
  const open = query.value;
  return (
    <section class="card" aria-label="Which standing queries would a row hit">
      <h2>Which standing queries would this row hit?</h2>
      <form class="ask" onSubmit={submit}>
        <label>
          <span class="unseen">A row, as JSON; it is not stored</span>
          <textarea rows={2} spellcheck={false} placeholder={example(stream)} value={typed.value} onInput={(event) => (typed.value = event.currentTarget.value)} />
        </label>
        <button type="submit" disabled={!typed.value.trim()}>
          Ask
        </button>
        <span class="quiet">Nothing is stored.</span>
      </form>
      {problem.value && (
        <p class="refusal" role="alert">
          {problem.value.errors?.[0] ? `${problem.value.errors[0].pointer}: ${problem.value.errors[0].expected}` : problem.value.detail}
        </p>
      )}
      {hits.value && <Hits {...hits.value} />}
      {hits.value && open && reads(open, stream) && (
        <>
          <h3>Why, or why not, {titleOf(open)}</h3>
          <Explained question={{ handle: open.id, row: asked.value, alias: aliasIn(open, stream) }} />
        </>
      )}
    </section>
  );
}

function reads(one: Query, stream: Stream): boolean {
  return streamsOf(one.canonical).some(({ name }) => name === stream.name);
}

/** The first place of FROM that a stream has in a query over several ones. */
function aliasIn({ plan }: Query, { name }: Stream): string | undefined {
  return plan && plan.streams.length > 1 ? plan.streams.find((one) => one.stream === name)?.alias : undefined;
}

function Hits({ handles, total }: { handles: string[]; total: number }) {
  const known = new Map((queries.value ?? []).map((one): [string, Query] => [one.id, one]));
  return (
    <div role="status">
      <p>{total === 0 ? "No standing query." : `${plural(total, "standing query", "standing queries")}${total > handles.length ? `, the first ${handles.length}` : ""}:`}</p>
      <ul class="hits">
        {handles.map((handle) => (
          <li key={handle}>
            <a href={urlOf({ q: handle })} onClick={follow({ q: handle })}>
              {known.has(handle) ? titleOf(known.get(handle)!) : handle}
            </a>
          </li>
        ))}
      </ul>
    </div>
  );
}

function example(stream: Stream): string {
  const values = { int64: 1, float64: 1.5, bool: true, string: "text", timestamp: "2026-01-05T10:00:00Z" };
  return JSON.stringify(Object.fromEntries(stream.columns.map(({ name, type }) => [name, values[type]])));
}
