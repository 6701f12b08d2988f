import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { to } from "../../shell/router";

export const SCOPES = ["workspace", "project", "record", "type", "conversation"] as const;
export type ScopeName = (typeof SCOPES)[number];

/** A place to search in: a record with what is linked to it, a project, or the records of a type. */
export interface Scope {
  scope: ScopeName;
  /** The record's handle, the type's key or the conversation's id. */
  in: string;
  label: string;
}

/** What the page in view is about, if one can search in it. */
export const pageScope = signal<Scope | null>(null);

/** Offer to search in a record while its page is in view. */
export function useSearchScope(record: { handle: string; type: string; name: string } | undefined): void {
  const { handle, type, name } = record ?? {};
  useEffect(() => {
    if (!handle || !name) return undefined;
    const scope = type === "project" ? "project" : "record";
    pageScope.value = { scope, in: handle, label: `${scope === "project" ? "In" : "Around"} ${name}` };
    return () => (pageScope.value = null);
  }, [handle, type, name]);
}

/** Return the scope that an address names. */
export function scopeOf(query: URLSearchParams): ScopeName {
  return SCOPES.find((name) => name === query.get("scope")) ?? "workspace";
}

/** Return the address of a search. */
export function toSearch(words: string, scope?: Pick<Scope, "scope" | "in"> | null): string {
  return to(["search"], { q: words, scope: scope && scope.scope !== "workspace" ? scope.scope : "", in: scope?.in });
}
