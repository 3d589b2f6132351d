/** The page of a query: its text, what the service says of it, and its answer as a table, a chart or a plan. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { isAwaited, PAST_ROWS_MAX, problem, rows, total } from "./answer.ts";
import { Chart } from "./chart.tsx";
import { isDraft } from "./catalogue.ts";
import type { Forecast } from "./contract.ts";
import { CopyMenu } from "./copy.tsx";
import { SqlEditor } from "./editor.tsx";
import { count, plural } from "./format.ts";
import { type View, follow, past, place, urlOf } from "./place.ts";
import { PlanView } from "./plan.tsx";
import { TimeSlider } from "./slider.tsx";
import { AnswerTable } from "./table.tsx";
import { Welcome } from "./welcome.tsx";
import { canRun, checked, isBusy, isEdited, query, refusal, remove, run, save, text } from "./workspace.ts";

const VIEWS: [View, string][] = [
  ["table", "Table"],
  ["chart", "Chart"],
  ["plan", "Plan"],
];

export function QueryPage() {
  const isSaving = useSignal(false);
  const one = query.value;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      if (event.key === "Enter") void run();
      else if (event.key === "s" && text.peek().trim()) isSaving.value = true;
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return (
    <main id="main">
      <Title />
      <section class="card" aria-label="Query">
        <SqlEditor />
        <div class="bar-below">
          <button type="button" class="primary" disabled={isBusy.value || !canRun.value} onClick={() => void run()}>
            Run <kbd>Ctrl ⏎</kbd>
          </button>
          <button type="button" disabled={!text.value.trim()} onClick={() => (isSaving.value = !isSaving.value)}>
            Save as…
          </button>
          {one && <CopyMenu />}
          {one && !isDraft(one) && <RemoveButton />}
          <Said />
        </div>
        {isSaving.value && <SaveForm done={() => (isSaving.value = false)} />}
      </section>
      {one ? <Answer /> : <Welcome />}
    </main>
  );
}

function Title() {
  const one = query.value;
  if (!one) return <h1 class="title">New query</h1>;
  if (isDraft(one)) return <h1 class="title">Draft</h1>;
  const name = one.name ?? one.labels.title;
  return (
    <h1 class="title">
      {name ?? "Standing query"} {one.name === null && <code class="quiet">{one.id}</code>}
    </h1>
  );
}

/** What the service says of the text as it stands, in a line. */
function Said() {
  const refused = refusal.value;
  const warnings = checked.value?.warnings ?? query.value?.warnings ?? [];
  const parts: ComponentChildren[] = [];
  if (refused) {
    const where = refused.position ? `Line ${refused.position.line}, column ${refused.position.column}: ` : "";
    parts.push(<span class="bad">{where + (refused.position ? (refused.title ?? refused.detail) : refused.detail)}</span>);
  } else if (isEdited.value) {
    parts.push(<span>edited; the answer below is that of the text before</span>);
  }
  if (!refused && checked.value?.forecast) parts.push(<span>{forecast(checked.value.forecast)}</span>);
  for (const { code, detail } of refused ? [] : warnings) {
    parts.push(
      <span class="warn" title={detail}>
        {code}: {detail}
      </span>,
    );
  }
  return (
    <p class="said" role="status">
      {parts}
    </p>
  );
}

function forecast({ rows, rows_at_most, matches_per_s }: Forecast): string {
  const rounded = (value: number) => count(Number(value.toPrecision(2)));
  const atMost = rows_at_most === null ? "" : `at most ${plural(rows_at_most, "row")}`;
  const parts = [rows === null ? atMost : `about ${plural(rows, "row")}`, matches_per_s !== null && `${rounded(matches_per_s)} matches/s`];
  return parts.filter(Boolean).join(", ");
}

function SaveForm({ done }: { done: () => void }) {
  const name = useSignal(query.peek()?.name ?? query.peek()?.labels.title ?? "");
  const isTaken = useSignal(false);
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => field.current!.focus(), []); // before the next key
  const submit = async (event: Event) => {
    event.preventDefault();
    isTaken.value = !(await save(name.value.trim(), { replace: isTaken.value }));
    if (!isTaken.value && refusal.peek() === null) done();
  };
  return (
    <form class="save" onSubmit={submit}>
      <label>
        <span>Name</span>
        <input
          required
          maxLength={128}
          value={name.value}
          ref={field}
          onInput={(event) => ((name.value = event.currentTarget.value), (isTaken.value = false))}
        />
      </label>
      <button type="submit" class="primary">
        {isTaken.value ? "Replace" : "Save"}
      </button>
      <button type="button" onClick={done}>
        Cancel
      </button>
      {isTaken.value && (
        <p class="warn" role="alert">
          Another query has this name. Replace it?
        </p>
      )}
    </form>
  );
}

function RemoveButton() {
  const isAsked = useSignal(false);
  if (!isAsked.value) {
    return (
      <button type="button" onClick={() => (isAsked.value = true)}>
        Remove
      </button>
    );
  }
  return (
    <>
      <button type="button" class="danger" onClick={() => void remove()}>
        Remove for everybody
      </button>
      <button type="button" onClick={() => (isAsked.value = false)}>
        Keep
      </button>
    </>
  );
}

function Answer() {
  const one = query.value!;
  const view = place.value.view ?? "table";
  return (
    <section class="card answer" aria-label="Answer">
      <div class="heading">
        <nav class="tabs" aria-label="Views of the answer">
          {VIEWS.map(([name, label]) => {
            const to = { ...place.value, view: name };
            const shown = view === name;
            return (
              <a key={name} href={urlOf(to)} class={shown ? "on" : ""} aria-current={shown ? "page" : undefined} onClick={follow(to)}>
                {label}
              </a>
            );
          })}
        </nav>
        <Counted />
      </div>
      {view !== "plan" && <TimeSlider key={one.id} />}
      {problem.value && <p class="refusal">{problem.value.detail}</p>}
      {one.state === "suspended" && <p class="refusal">{one.suspended?.reason}</p>}
      {view === "table" && <AnswerTable key={one.id} columns={one.columns} />}
      {view === "chart" && <Chart />}
      {view === "plan" && <PlanView />}
    </section>
  );
}

function Counted() {
  const shown = rows.value.length;
  const isCut = past.value !== null && shown < total.value && shown === PAST_ROWS_MAX;
  const said = isAwaited.value ? "waiting for the answer…" : plural(total.value, "row") + (isCut ? `, the first ${count(shown)}` : "");
  return (
    <p class="counted" aria-live="polite">
      {said}
    </p>
  );
}
