/** The standing queries that cost most. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { placeOf, titleOf } from "./catalogue.ts";
import type { Refusal, TopQuery } from "./contract.ts";
import { bytes, count } from "./format.ts";
import { follow, place, urlOf } from "./place.ts";
import { ask, isAbort, refusalOf } from "./service.ts";

const MEASURES = { bytes: "bytes of matches", matches: "matches", invokes: "invocations" } as const;
type Measure = keyof typeof MEASURES;
const LISTED = 50;

export function TopPage() {
  const by: Measure = place.value.top !== undefined && place.value.top in MEASURES ? (place.value.top as Measure) : "bytes";
  const found = useSignal<TopQuery[] | null>(null);
  const problem = useSignal<Refusal | null>(null);
  useEffect(() => {
    const asking = new AbortController();
    ask<{ queries: TopQuery[] }>(`/v1/top?by=${by}&limit=${LISTED}`, { signal: asking.signal }).then(
      (told) => (found.value = told.queries),
      (error) => {
        if (!isAbort(error)) problem.value = refusalOf(error);
      },
    );
    return () => asking.abort();
  }, [by]);
  const most = Math.max(1, ...(found.value ?? []).map((one) => one[by] ?? 0));
  return (
    <main id="main">
      <h1 class="title">What costs most</h1>
      <section class="card answer" aria-label="Queries by cost">
        <div class="heading">
          <nav class="tabs" aria-label="Measures">
            {Object.entries(MEASURES).map(([name, label]) => (
              <a key={name} href={urlOf({ top: name })} class={by === name ? "on" : ""} aria-current={by === name ? "page" : undefined} onClick={follow({ top: name })}>
                {label}
              </a>
            ))}
          </nav>
        </div>
        {problem.value && <p class="refusal">{problem.value.detail}</p>}
        {found.value?.length === 0 && <p class="empty">There are no standing queries.</p>}
        <ol class="costs">
          {(found.value ?? []).map((one) => (
            <li key={one.id}>
              <a href={urlOf(placeOf(one))} onClick={follow(placeOf(one))} title={one.canonical}>
                {titleOf(one)}
              </a>
              <span class="bar" aria-hidden="true">
                <span style={{ width: `${Math.round((100 * (one[by] ?? 0)) / most)}%` }} />
              </span>
              <span class="figure">{one[by] === null ? "–" : by === "bytes" ? bytes(one[by]!) : count(one[by]!)}</span>
            </li>
          ))}
        </ol>
      </section>
    </main>
  );
}
