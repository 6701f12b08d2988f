import { computed, signal } from "@preact/signals";

/** An address of this page: `#/records/risk/R-03?page=2` has the path ["records", "risk", "R-03"]. */
export interface Route {
  path: readonly string[];
  query: URLSearchParams;
}

const hash = signal(location.hash);

export const route = computed<Route>(() => parseRoute(hash.value));

window.addEventListener("hashchange", () => {
  if (location.hash === hash.value) return;
  if (!confirmLeave()) {
    history.replaceState(null, "", hash.value || "#/");
    return;
  }
  hash.value = location.hash;
});

window.addEventListener("beforeunload", (event) => {
  if (hasUnsavedText()) event.preventDefault();
});

let unsaved: (() => boolean) | null = null;

/** Ask before the reader leaves while `isUnsaved` returns true; null ends that. */
export function guardUnsaved(isUnsaved: (() => boolean) | null): void {
  unsaved = isUnsaved;
}

/** Return whether the reader may leave the page: nothing is unsaved, or they agree to lose it. */
export function confirmLeave(): boolean {
  return !hasUnsavedText() || confirm("Leave this page? What you typed is not saved.");
}

function hasUnsavedText(): boolean {
  return unsaved?.() ?? false;
}

/** Return the route of a hash; a part that cannot be decoded stays as it is. */
export function parseRoute(text: string): Route {
  const [path = "", query = ""] = text.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { path: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query) };
}

type Query = Record<string, string | number | boolean | null | undefined>;

/** Return the address of a path, its parts encoded: `to(["records", type, key], {page: 2})`. Empty values are left out. */
export function to(path: readonly string[], query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** Return the address of a record's page by its handle (`risk/R-03`). */
export function toRecord(handle: string, query: Query = {}): string {
  const [type = "", ...key] = handle.split("/");
  return to(["records", type, key.join("/")], query);
}

/** Go to an address. `replace` leaves no entry in the browser's history. */
export function navigate(address: string, { replace = false } = {}): void {
  if (!replace) {
    location.hash = address;
    return;
  }
  history.replaceState(null, "", address);
  hash.value = address;
}

/** Go to this page with some of its query changed; the page stays, so nothing is added to the history. */
export function setQuery(change: Query): void {
  const query = Object.fromEntries(route.value.query);
  navigate(to(route.value.path, { ...query, ...change }), { replace: true });
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
