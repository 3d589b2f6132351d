/** How the service finds the rows of a query, and what that costs: as it says itself. */

import { bytes, count } from "./format.ts";
import type { Plan, StreamPlan, Validation } from "./contract.ts";
import { checked, query } from "./workspace.ts";

export function PlanView() {
  const one: Validation = checked.value ?? query.value!;
  const window = [one.window.begin, one.window.end].map((end) => end ?? "open").join(" to ");
  return (
    <div class="plan">
      <dl>
        <dt>Canonical text</dt>
        <dd>
          <code class="block">{one.canonical}</code>
        </dd>
        <dt>Window</dt>
        <dd>
          {one.window.kind}, {window}
        </dd>
        <dt>Changes are told</dt>
        <dd>{one.delta === "rows" ? "row by row" : "as a whole answer"}</dd>
        {one.forecast && (
          <>
            <dt>Forecast</dt>
            <dd>
              {figure(one.forecast.rows, "rows")}, {one.forecast.bytes === null ? "unknown size" : bytes(one.forecast.bytes)},{" "}
              {figure(one.forecast.matches_per_s, "matches/s")}
              {one.forecast.basis && <span class="quiet"> from the {one.forecast.basis}</span>}
            </dd>
          </>
        )}
        {one.plan && <PlanLines plan={one.plan} />}
        {one.warnings.map(({ code, detail }) => (
          <>
            <dt class="warn">{code}</dt>
            <dd>{detail}</dd>
          </>
        ))}
      </dl>
    </div>
  );
}

function figure(value: number | null, noun: string): string {
  return value === null ? `unknown ${noun}` : `${count(value)} ${noun}`;
}

function PlanLines({ plan }: { plan: Plan }) {
  const streams: StreamPlan[] = plan.streams ?? [{ driver: plan.driver ?? null, index: plan.index ?? null, residual: plan.residual ?? [] }];
  return (
    <>
      {streams.map((one) => (
        <>
          <dt>{one.alias ?? one.stream ?? "Found by"}</dt>
          <dd>
            {one.driver ? <code>{one.driver}</code> : "every row is looked at"}
            {one.index && <span class="quiet"> by {one.index}</span>}
            {one.residual.map((condition) => (
              <div key={condition}>
                then <code>{condition}</code>
              </div>
            ))}
          </dd>
        </>
      ))}
      {(plan.joined_on ?? []).length > 0 && (
        <>
          <dt>Joined on</dt>
          <dd>
            {plan.joined_on!.map((condition) => (
              <div key={condition}>
                <code>{condition}</code>
              </div>
            ))}
          </dd>
        </>
      )}
      <dt>Shared with</dt>
      <dd>{plan.shared_with === 1 ? "1 other query" : `${count(plan.shared_with)} other queries`}</dd>
    </>
  );
}
