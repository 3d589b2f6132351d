/** What stands around every page: where one can go, what there is, the theme, and the key where one is needed. */

import { effect, signal, useSignal } from "@preact/signals";

import { hasMore, hasTitle, placeOf, queries, saved, streams, titleOf } from "./catalogue.ts";
import { DroppedFile, FilePicker } from "./files/drop.tsx";
import { count, plural } from "./format.ts";
import { type Place, follow, page, place, urlOf } from "./place.ts";
import { QueryPage } from "./query_page.tsx";
import { RowPanel } from "./row_panel.tsx";
import { isOnline, key, needsKey, useKey } from "./service.ts";
import { StreamPage } from "./stream_page.tsx";
import { TopPage } from "./top_page.tsx";
import { begin, query } from "./workspace.ts";

const THEME = "psoup-theme";
const LISTED_MAX = 200;
const SEARCHED_FROM = 8;

const theme = signal(localStorage.getItem(THEME) ?? "");
const isMenuOpen = signal(false);

/** The title of the tab says where it is. */
export function keepTitle(): void {
  effect(() => {
    const { stream } = place.value;
    const names = { query: query.value ? titleOf(query.value) : "New query", stream: stream ?? "", top: "What costs most" };
    document.title = `${names[page.value]} – psoup`;
  });
}

export function applyTheme(): void {
  theme.subscribe((name) => {
    if (name) document.documentElement.dataset.theme = name;
    else delete document.documentElement.dataset.theme;
  });
}

export function Shell() {
  return (
    <>
      <a class="skip" href="#main">
        Skip to the query
      </a>
      <Top />
      <div class="page">
        <Rail />
        {page.value === "query" && <QueryPage />}
        {page.value === "query" && query.value && place.value.row !== undefined && <RowPanel key={`${query.value.id} ${place.value.row}`} />}
        {page.value === "stream" && <StreamPage key={place.value.stream} />}
        {page.value === "top" && <TopPage />}
      </div>
      <DroppedFile />
    </>
  );
}

function Top() {
  return (
    <header class="top">
      <button
        type="button"
        class="icon burger"
        aria-label="Streams and queries"
        aria-expanded={isMenuOpen.value}
        aria-controls="rail"
        onClick={() => (isMenuOpen.value = !isMenuOpen.value)}
      >
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d="M2 3.5h12M2 8h12M2 12.5h12" />
        </svg>
      </button>
      <a class="brand" href={urlOf({})} onClick={(event) => (follow({})(event), begin())}>
        psoup
      </a>
      <span class="grow" />
      {!isOnline.value && (
        <span class="bad" role="status">
          no answer
        </span>
      )}
      <nav aria-label="Pages">
        <a href="/docs">API</a>
      </nav>
      <ThemeButton />
      {(key.value !== "" || needsKey.value) && <KeyForm />}
    </header>
  );
}

function ThemeButton() {
  const isDark = theme.value ? theme.value === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const toggle = () => {
    theme.value = isDark ? "light" : "dark";
    localStorage.setItem(THEME, theme.value);
  };
  return (
    <button type="button" class="icon" aria-label={isDark ? "Light colours" : "Dark colours"} onClick={toggle}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <circle cx="8" cy="8" r="5.5" class="ring" />
        <path d="M8 2.5a5.5 5.5 0 0 1 0 11z" />
      </svg>
    </button>
  );
}

/** Asks for the key where the service refused a request without one, and forgets it. */
function KeyForm() {
  const typed = useSignal("");
  if (!needsKey.value) {
    return (
      <button type="button" class="small" onClick={() => useKey("")}>
        Forget key
      </button>
    );
  }
  const submit = (event: Event) => {
    event.preventDefault();
    useKey(typed.value.trim());
    location.reload();
  };
  return (
    <form class="key" onSubmit={submit}>
      <label>
        <span class="unseen">Key</span>
        <input type="password" required placeholder="Key of this service" autocomplete="off" value={typed.value} onInput={(event) => (typed.value = event.currentTarget.value)} />
      </label>
      <button type="submit" class="primary">
        Use
      </button>
    </form>
  );
}

function Rail() {
  const filter = useSignal("");
  const has = (text: string) => text.toLowerCase().includes(filter.value.toLowerCase());
  const listed = saved.value.filter((one) => has(titleOf(one)));
  return (
    <div id="rail" class={isMenuOpen.value ? "rail open" : "rail"} onClick={(event) => (event.target as Element).closest("a") && (isMenuOpen.value = false)}>
      <div class="rail-actions">
        <button type="button" onClick={() => ((isMenuOpen.value = false), begin())}>
          New query
        </button>
        <FilePicker />
      </div>
      <nav aria-label="Streams">
        <h2>Streams</h2>
        {streams.value?.length === 0 && <p class="quiet">none</p>}
        <ul>
          {(streams.value ?? []).map(({ name, rows }) => (
            <Item key={name} to={{ stream: name }} isOn={place.value.stream === name} name={name} figure={count(rows)} told={plural(rows, "row")} />
          ))}
        </ul>
      </nav>
      <nav aria-label="Standing queries">
        <h2>
          Queries
          <a class="aside" href={urlOf({ top: "bytes" })} onClick={follow({ top: "bytes" })}>
            what costs most
          </a>
        </h2>
        {saved.value.length > SEARCHED_FROM && (
          <input type="search" aria-label="Find a query" placeholder="Find" value={filter.value} onInput={(event) => (filter.value = event.currentTarget.value)} />
        )}
        {queries.value?.length === 0 && <p class="quiet">none</p>}
        <ul>
          {listed.slice(0, LISTED_MAX).map((one) => (
            <Item
              key={one.id}
              to={placeOf(one)}
              isOn={page.value === "query" && query.value?.id === one.id}
              name={titleOf(one)}
              isText={!hasTitle(one)}
              title={one.canonical}
            />
          ))}
        </ul>
        {(hasMore.value || listed.length > LISTED_MAX) && <p class="quiet">There are more; open one by its name or handle in the URL.</p>}
      </nav>
    </div>
  );
}

interface ItemProps {
  to: Place;
  isOn: boolean;
  name: string;
  isText?: boolean;
  title?: string;
  figure?: string;
  told?: string;
}

function Item({ to, isOn, name, isText, title, figure, told }: ItemProps) {
  return (
    <li>
      <a href={urlOf(to)} class={isOn ? "on" : ""} aria-current={isOn ? "page" : undefined} title={title} onClick={follow(to)}>
        <span class={isText ? "name sqltext" : "name"}>{name}</span>
        {figure !== undefined && (
          <span class="figure" aria-label={told}>
            {figure}
          </span>
        )}
      </a>
    </li>
  );
}
