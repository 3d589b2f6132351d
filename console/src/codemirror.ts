/** The editor of SQL, on CodeMirror: colours, completion, and what is wrong written under its place. */

import { acceptCompletion, autocompletion, closeBrackets, closeCompletion, completionKeymap, type CompletionContext } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { EditorState, Prec, RangeSetBuilder, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, ViewPlugin, type ViewUpdate, WidgetType, keymap, placeholder } from "@codemirror/view";

import type { Refusal } from "./contract.ts";
import { type Known, offers, tokens } from "./sql.ts";

export interface Editor {
  setText(text: string): void;
  setRefusal(refusal: Refusal | null): void;
  /** Select what is refused, so that typing takes its place. */
  goToRefusal(): void;
  focus(): void;
  close(): void;
}

interface Listener {
  text: string;
  known: () => readonly Known[];
  onEdit: (text: string) => void;
}

const marks = Object.fromEntries(
  ["keyword", "function", "text", "number", "comment", "parameter"].map((kind) => [kind, Decoration.mark({ class: `sql-${kind}` })]),
);

const colours = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;

    constructor(view: EditorView) {
      this.decorations = coloursOf(view.state.doc.toString());
    }

    update(update: ViewUpdate): void {
      if (update.docChanged) this.decorations = coloursOf(update.state.doc.toString());
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

function coloursOf(text: string): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  for (const { kind, from, to } of tokens(text)) {
    const mark = marks[kind];
    if (mark) builder.add(from, to, mark);
  }
  return builder.finish();
}

interface Wrong {
  from: number;
  to: number;
  message: string;
}

/** A line under the one that is wrong: a caret at its place, and what the service says. */
class Caret extends WidgetType {
  readonly wrong: Wrong;
  readonly column: number;

  constructor(wrong: Wrong, column: number) {
    super();
    this.wrong = wrong;
    this.column = column;
  }

  override eq(other: Caret): boolean {
    return other.wrong.message === this.wrong.message && other.column === this.column;
  }

  override toDOM(): HTMLElement {
    const line = document.createElement("div");
    line.className = "sql-wrong";
    line.style.setProperty("--column", `${this.column}ch`);
    const caret = document.createElement("span");
    caret.setAttribute("aria-hidden", "true");
    caret.textContent = "^";
    const message = document.createElement("span");
    message.className = "sql-message";
    message.textContent = this.wrong.message;
    line.append(caret, message);
    return line;
  }
}

const setWrong = StateEffect.define<Wrong | null>();
const underline = Decoration.mark({ class: "sql-underline" });

const wrongField = StateField.define<{ wrong: Wrong | null; decorations: DecorationSet }>({
  create: () => ({ wrong: null, decorations: Decoration.none }),
  update(value, transaction) {
    const effect = transaction.effects.find((one) => one.is(setWrong));
    if (!effect) {
      if (!transaction.docChanged || !value.wrong) return value;
      return { wrong: null, decorations: Decoration.none };
    }
    const wrong = effect.value as Wrong | null;
    if (!wrong) return { wrong, decorations: Decoration.none };
    const line = transaction.state.doc.lineAt(wrong.from);
    const block = Decoration.widget({ widget: new Caret(wrong, wrong.from - line.from), block: true, side: 1 });
    const ranges = [block.range(line.to)];
    if (wrong.to > wrong.from) ranges.unshift(underline.range(wrong.from, wrong.to));
    return { wrong, decorations: Decoration.set(ranges, true) };
  },
  provide: (field) => EditorView.decorations.from(field, (value) => value.decorations),
});

const theme = EditorView.theme({
  "&": { color: "var(--text)", fontSize: "13.5px", backgroundColor: "transparent" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "21px" },
  ".cm-content": { padding: "12px 0", caretColor: "var(--accent)" },
  ".cm-line": { padding: "0 14px" },
  ".cm-placeholder": { color: "var(--quiet)" },
  ".sql-keyword": { color: "var(--sql-keyword)", fontWeight: "600" },
  ".sql-function": { color: "var(--sql-function)" },
  ".sql-text": { color: "var(--sql-text)" },
  ".sql-number": { color: "var(--sql-number)" },
  ".sql-parameter": { color: "var(--sql-number)" },
  ".sql-comment": { color: "var(--quiet)", fontStyle: "italic" },
  ".sql-underline": { textDecoration: "underline wavy var(--bad)", textUnderlineOffset: "3px" },
  ".sql-wrong": {
    display: "flex",
    gap: "1ch",
    color: "var(--bad)",
    background: "var(--bad-ground)",
    margin: "2px",
    padding: "1px 12px 2px calc(12px + min(var(--column), 45%))",
  },
  ".sql-message": { fontFamily: "var(--sans)", fontSize: "13px", whiteSpace: "normal" },
  ".cm-tooltip": { background: "var(--raised)", border: "1px solid var(--line)", borderRadius: "6px", boxShadow: "var(--shadow)", overflow: "hidden" },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "12.5px", maxHeight: "15em" },
  ".cm-tooltip-autocomplete > ul > li": { padding: "3px 10px 3px 6px", color: "var(--text)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { background: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionDetail": { fontFamily: "var(--sans)", fontStyle: "normal", marginLeft: "12px", opacity: "0.8" },
  ".cm-completionIcon": { display: "none" },
});

function complete(known: () => readonly Known[]) {
  return (context: CompletionContext) => {
    const word = context.matchBefore(/[\w"]*/)!;
    const before = context.state.sliceDoc(Math.max(0, word.from - 1), word.from);
    const isAsked = context.explicit || word.from < word.to || before === ".";
    if (!isAsked || /^\d/.test(word.text)) return null;
    const boosts = { column: 4, stream: 3, keyword: 1, function: 0, window: 2 };
    const options = offers(context.state.doc.toString(), context.pos, known()).map(({ label, kind, detail, text }) => ({
      label,
      type: kind,
      boost: boosts[kind],
      ...(detail ? { detail } : {}),
      ...(text ? { apply: text } : {}),
    }));
    return { from: word.from, options, validFor: /^[\w"]*$/ };
  };
}

/**
 * Put an editor into `parent`.
 *
 * It stands in a shadow root: there CodeMirror adopts its styles, which the page's content policy allows, whereas in the
 * document it would write them into the page.
 */
export function edit(parent: HTMLElement, listener: Listener): Editor {
  const root = parent.shadowRoot ?? parent.attachShadow({ mode: "open" });
  const own = keymap.of([
    { key: "Mod-Enter", run: (view) => closeCompletion(view) || true }, // the page runs the query
    { key: "Tab", run: acceptCompletion },
  ]);
  const state = EditorState.create({
    doc: listener.text,
    extensions: [
      Prec.highest(own),
      history(),
      closeBrackets(),
      autocompletion({ override: [complete(listener.known)], icons: false, activateOnTypingDelay: 60 }),
      keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
      colours,
      wrongField,
      EditorView.lineWrapping,
      placeholder("SELECT sym, px FROM trades WHERE px > 40 BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)"),
      EditorView.contentAttributes.of({ "aria-label": "SQL", spellcheck: "false", autocapitalize: "off", autocorrect: "off" }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) listener.onEdit(update.state.doc.toString());
      }),
      theme,
    ],
  });
  const view = new EditorView({ state, parent: root, root });
  return {
    setText(text) {
      const held = view.state.doc.toString();
      if (text !== held) view.dispatch({ changes: { from: 0, to: held.length, insert: text } });
    },
    setRefusal(refusal) {
      const wrong = refusal?.position ? wrongOf(view.state, refusal) : null;
      view.dispatch({ effects: setWrong.of(wrong) });
    },
    goToRefusal() {
      const { wrong } = view.state.field(wrongField);
      if (wrong) view.dispatch({ selection: { anchor: wrong.from, head: wrong.to }, scrollIntoView: true });
      view.focus();
    },
    focus: () => view.focus(),
    close: () => view.destroy(),
  };
}

function wrongOf(state: EditorState, { position, hint, detail }: Refusal): Wrong {
  const line = state.doc.line(Math.min(position!.line, state.doc.lines));
  const from = Math.min(line.from + position!.column - 1, line.to);
  const to = Math.min(from + position!.length, line.to);
  return { from, to, message: hint ?? detail ?? "" };
}
