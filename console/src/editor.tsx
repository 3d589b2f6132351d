/** The text of the query. CodeMirror comes a moment later than the page: until then it is a plain field. */

import { effect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";

import { streams } from "./catalogue.ts";
import type { Editor } from "./codemirror.ts";
import { given, parameters, refusal, refusedRuns, text } from "./workspace.ts";

export function SqlEditor() {
  const host = useRef<HTMLDivElement>(null);
  const [isThere, setIsThere] = useState(false);
  useEffect(() => {
    let editor: Editor | undefined;
    let ends: (() => void)[] = [];
    let isGone = false;
    void import("./codemirror.ts").then(({ edit }) => {
      if (isGone) return;
      const known = () => streams.peek() ?? [];
      const one = (editor = edit(host.current!, {
        text: text.peek(),
        known,
        onEdit: (value) => (text.value = value),
      }));
      let runs = refusedRuns.peek();
      ends = [
        effect(() => one.setText(text.value)),
        effect(() => {
          one.setRefusal(refusal.value);
          if (refusedRuns.value !== runs) one.goToRefusal();
          runs = refusedRuns.value;
        }),
      ];
      setIsThere(true);
      if (!text.peek()) one.focus();
    });
    return () => {
      isGone = true;
      ends.forEach((end) => end());
      editor?.close();
    };
  }, []);
  return (
    <div class="editor">
      <div ref={host} class="sql" hidden={!isThere} />
      {!isThere && (
        <textarea
          aria-label="SQL"
          spellcheck={false}
          value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
      )}
      <Parameters />
    </div>
  );
}

/** A field for each `:name` in the text. */
function Parameters() {
  if (parameters.value.length === 0) return null;
  return (
    <div class="parameters">
      {parameters.value.map((name) => (
        <label key={name}>
          <span>:{name}</span>
          <input
            value={given.value[name] ?? ""}
            placeholder="40, text or null"
            onInput={(event) => (given.value = { ...given.peek(), [name]: event.currentTarget.value })}
          />
        </label>
      ))}
    </div>
  );
}
