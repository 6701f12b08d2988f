import { useEffect, useRef, useState } from "preact/hooks";
import { navigate, type Route } from "../../shell/router";
import { Button } from "../../ui/Button";
import { sentenceCase } from "../../ui/format";
import { useResource } from "../../ui/resource";
import { keyOf, readRecordName } from "./RecordLink";
import { pageScope, scopeOf, toSearch, type Scope } from "./search_scope";

const EVERYWHERE: Scope = { scope: "workspace", in: "", label: "Everywhere" };

/** The search of the section's pages. "/" leads to it from anywhere on the page. */
export function SearchBox({ route }: { route: Route }) {
  const input = useRef<HTMLInputElement>(null);
  const isSearch = route.path[0] === "search";
  const asked = isSearch ? (route.query.get("q") ?? "") : "";
  const [words, setWords] = useState(asked);
  const offered = useScopes(route, isSearch);
  const [chosen, setChosen] = useState("");
  const scope = offered.find((one) => one.label === chosen) ?? offered[isSearch ? offered.length - 1 : 0] ?? EVERYWHERE;
  useEffect(() => setWords(asked), [asked]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof Element && event.target.closest("input, textarea, select, dialog");
      if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return (
    <form
      class="records-search"
      role="search"
      aria-label="Records, documents and files"
      onSubmit={(event) => {
        event.preventDefault();
        if (words.trim()) navigate(toSearch(words.trim(), scope));
      }}
    >
      <input
        ref={input}
        type="search"
        aria-label="Search"
        aria-keyshortcuts="/"
        placeholder="Search records, documents and files   ( / )"
        maxLength={1_000}
        value={words}
        onInput={(event) => setWords(event.currentTarget.value)}
      />
      {offered.length > 1 && (
        <select
          aria-label="Where to search"
          value={scope.label}
          onChange={(event) => setChosen(event.currentTarget.value)}
        >
          {offered.map(({ label }) => (
            <option key={label}>{label}</option>
          ))}
        </select>
      )}
      <Button type="submit" icon="search" aria-label="Search" />
    </form>
  );
}

/** Everywhere, and in what the page is about or what the address of a search names. */
function useScopes(route: Route, isSearch: boolean): readonly Scope[] {
  const scope = scopeOf(route.query);
  const target = isSearch ? (route.query.get("in") ?? "") : "";
  const isRecord = scope === "record" || scope === "project";
  const name = useResource(
    (signal) => (isRecord ? readRecordName(target, signal) : Promise.resolve("")),
    [target, isRecord],
  );
  const [section, recordType] = route.path;
  const listedType = section === "records" && !recordType ? (route.query.get("type") ?? "") : "";
  if (pageScope.value) return [EVERYWHERE, pageScope.value];
  if (listedType) return [EVERYWHERE, { scope: "type", in: listedType, label: typeLabel(listedType) }];
  if (scope === "workspace" || !target) return [EVERYWHERE];
  const record = name.data || keyOf(target);
  const labels = {
    project: `In ${record}`,
    record: `Around ${record}`,
    type: typeLabel(target),
    conversation: "In one conversation",
  };
  return [EVERYWHERE, { scope, in: target, label: labels[scope] }];
}

function typeLabel(type: string): string {
  return `Type: ${sentenceCase(type)}`;
}
