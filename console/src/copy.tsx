/** A menu that copies: the query as a program, the rows as text, the URL of this view. */

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { past } from "./place.ts";
import { ORIGIN, key } from "./service.ts";
import { LANGUAGES, csvOf, program } from "./snippets.ts";
import { ordered } from "./table.tsx";
import { definition, query } from "./workspace.ts";

const SAID_MS = 1_500;

export function CopyMenu() {
  const menu = useRef<HTMLDetailsElement>(null);
  const said = useSignal("Copy as");
  const copy = (what: string, text: string) => {
    menu.current!.open = false;
    menu.current!.querySelector("summary")!.focus();
    void navigator.clipboard.writeText(text).then(
      () => (said.value = `Copied ${what}`),
      () => (said.value = "Not copied"),
    );
    setTimeout(() => (said.value = "Copy as"), SAID_MS);
  };
  const copied = {
    url: ORIGIN,
    handle: query.value!.id,
    ...definition(),
    past: past.value,
    hasKey: key.value !== "",
  };
  return (
    <details
      ref={menu}
      class="menu"
      onKeyDown={(event) => event.key === "Escape" && (menu.current!.open = false)}
      onFocusOut={(event) => {
        if (!menu.current!.contains(event.relatedTarget as Node | null)) menu.current!.open = false;
      }}
    >
      <summary>
        <span aria-live="polite">{said.value}</span>
      </summary>
      <div>
        {LANGUAGES.map((language) => (
          <button key={language} type="button" onClick={() => copy(language, program(language, copied))}>
            {language}
          </button>
        ))}
        <button type="button" onClick={() => copy("link", location.href)}>
          Link to this view
        </button>
        <button type="button" onClick={() => copy("rows", csvOf(query.value!.columns, ordered.value))}>
          Rows as CSV
        </button>
      </div>
    </details>
  );
}
