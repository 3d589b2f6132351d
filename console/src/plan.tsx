/** How the service finds the rows of a query, and what that costs: as it says itself. */

import { useSignal } from "@preact/signals";
import { Fragment } from "preact";
import { useEffect } from "preact/hooks";

import type { Forecast, Plan, Query, Validation } from "./contract.ts";
import { bytes, count, plural } from "./format.ts";
import { ask, at } from "./service.ts";
import { checked, definition, query } from "./workspace.ts";

/** What is known of the text as it stands; of a query that is registered, the service is asked for it. */
function usePlan(): Validation {
  const found = useSignal<Partial<Validation>>({});
  const { id } = query.value!;
  useEffect(() => {
    const asking = new AbortController();
    const body = definition();
    const add = (told: Partial<Validation>) => (found.value = { ...found.peek(), ...told });
    ask<Query>(`/v1/queries/${at(id)}`, { signal: asking.signal }).then(({ plan }) => plan && add({ plan }), () => {});
    ask<Validation>("/v1/validate", { method: "POST", body, signal: asking.signal }).then(
      ({ forecast }) => forecast && add({ forecast }),
      () => {}, // without the key or the endpoint for it there is no forecast
    );
    return () => asking.abort();
  }, [id]);
  return checked.value ?? { ...query.value!, ...found.value };
}

export function PlanView() {
  const one = usePlan();
  return (
    <div class="plan">
      <dl>
        <dt>Canonical text</dt>
        <dd>
          <code class="block">{one.canonical}</code>
        </dd>
        <dt>Window</dt>
        <dd>{windowText(one.window)}</dd>
        <dt>Changes are told</dt>
        <dd>{one.delta === "rows" ? "row by row" : "as a whole answer"}</dd>
        {query.value!.ttl !== null && <Lifetime />}
        {one.forecast && <ForecastLine {...one.forecast} />}
        {one.plan && <PlanLines plan={one.plan} />}
        {one.warnings.map(({ code, detail }) => (
          <Fragment key={code}>
            <dt class="warn">{code}</dt>
            <dd>{detail}</dd>
          </Fragment>
        ))}
      </dl>
    </div>
  );
}

function ForecastLine({ rows, rows_at_most, bytes: size, matches_per_s, basis }: Forecast) {
  const known = [
    rows !== null ? figure(rows, "rows") : rows_at_most !== null && `at most ${figure(rows_at_most, "rows")}`,
    size !== null && bytes(size),
    matches_per_s !== null && figure(matches_per_s, "matches/s"),
  ].filter(Boolean);
  return (
    <>
      <dt>Forecast</dt>
      <dd>
        {known.join(", ")}
        {basis && <div class="quiet">{known.length > 0 ? `from ${basis}` : basis}</div>}
      </dd>
    </>
  );
}

function figure(value: number, noun: string): string {
  return `${count(Number(value.toPrecision(3)))} ${noun}`;
}

/** How long the query stands unused. While it is shown it is used. */
function Lifetime() {
  return (
    <>
      <dt>Time to live</dt>
      <dd>
        {query.value!.ttl} <span class="quiet">after its last use; being shown here is one</span>
      </dd>
    </>
  );
}

function windowText({ kind, begin, end }: Validation["window"]): string {
  return kind === "none" ? "all rows that are kept" : `${kind}: ${begin ?? "the first row"} to ${end ?? "the last one"}`;
}

const FOUND_BY = {
  hash: "by the one value that it names",
  ordered: "by where its bounds lie",
  none: "evaluated for every row",
};

function PlanLines({ plan }: { plan: Plan }) {
  return (
    <>
      {plan.streams.map((one) => (
        <Fragment key={one.alias}>
          <dt>{plan.streams.length > 1 ? one.alias : "Rows are found by"}</dt>
          <dd>
            {one.driver === null ? (
              "every row is taken"
            ) : (
              <>
                <code>{one.driver}</code> <span class="quiet">{FOUND_BY[one.index]}</span>
              </>
            )}
            <Conditions then={one.residual} />
          </dd>
        </Fragment>
      ))}
      {plan.joined_on.length + plan.residual.length > 0 && (
        <>
          <dt>Joined on</dt>
          <dd>
            {plan.joined_on.map((condition) => (
              <div key={condition}>
                <code>{condition}</code>
              </div>
            ))}
            <Conditions then={plan.residual} />
          </dd>
        </>
      )}
      <dt>Shared with</dt>
      <dd>{shared(plan.shared_with)}</dd>
    </>
  );
}

function Conditions({ then }: { then: readonly string[] }) {
  return (
    <>
      {then.map((condition) => (
        <div key={condition}>
          <span class="quiet">then</span> <code>{condition}</code>
        </div>
      ))}
    </>
  );
}

function shared(others: number | null): string {
  if (others === null) return "not counted: too many queries stand";
  return others === 0 ? "no other query" : plural(others, "other query", "other queries");
}
