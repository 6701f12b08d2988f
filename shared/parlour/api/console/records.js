// The room of records: what the address after # says is what it shows. Search, lists, one record, one conversation.

import { byId, h, notice } from "./dom.js";
import { conversation } from "./conversation.js";
import { creation } from "./record_form.js";
import { file } from "./files.js";
import { listing } from "./record_list.js";
import { memory } from "./memory.js";
import { record } from "./record.js";
import { SCOPES, results } from "./search.js";

const HOME = "#/records";
const PAGES = { search: results, records: (room, parts, asked) => (parts.length ? record(room, parts, asked) : listing(room, asked)), conversations: conversation, files: file, memory, new: creation };

export class Records {
  /** `ask(method, path, body)` calls the API as whoever signed in; `show(view)` brings a room of the page forward. */
  constructor(ask, show, chat) {
    this.ask = ask;
    this.show = show;
    this.chat = chat;
    this.page = byId("records-page");
    this.words = byId("finder-words");
    this.scope = byId("finder-scope");
    this.signedIn = false;
    this.open = false;
    this.visit = 0;
    this.types = null;
    this.me = null; // whoever signed in, and what they may do
    this.unsaved = null; // says whether a form in view has something typed in it
    this.record = null; // the one in view: a search may be about it
    byId("finder").addEventListener("submit", (event) => { event.preventDefault(); this.search(); });
    window.addEventListener("hashchange", () => this.follow());
    window.addEventListener("beforeunload", (event) => { if (this.unsaved?.()) event.preventDefault(); });
    document.addEventListener("keydown", (event) => this.pressed(event));
    this.offerScopes();
  }

  /** An address that was given with the page leads here, also before anybody signed in. */
  begin() {
    if (isOurs(location.hash)) this.show("records");
  }

  /** Somebody signed in: offer the room, and show what the address asks for. */
  start(me) {
    this.me = me;
    this.signedIn = true;
    this.types = this.known = null;
    for (const button of document.querySelectorAll('[data-show="records"]')) button.hidden = false;
    if (this.open) this.follow();
  }

  /** Whether the room is in view. Leaving it clears the address, coming back restores it. */
  shown(open) {
    if (open === this.open) return;
    this.open = open;
    if (!open) {
      this.left = isOurs(location.hash) ? location.hash : this.left;
      if (isOurs(location.hash)) history.pushState(null, "", location.pathname + location.search);
      return;
    }
    if (isOurs(location.hash)) this.follow();
    else location.hash = this.left ?? HOME;
  }

  /** Draw the page that the address names. */
  async follow() {
    if (!isOurs(location.hash)) return this.open && this.show("chat");
    if (!this.open) return this.show("records"); // which comes back here
    if (this.stays()) return undefined;
    const { name, parts, asked } = read(location.hash);
    const mine = ++this.visit;
    this.unsaved = null;
    this.at = location.hash;
    notice(byId("records-notice"), "");
    if (!this.signedIn) return this.page.replaceChildren(unsigned(() => this.show("turns")));
    this.page.setAttribute("aria-busy", "true");
    if (!this.page.children.length) this.page.replaceChildren(h("p", { class: "doing loading", role: "status" }, h("span", { class: "dots", "aria-hidden": "true" }, h("i"), h("i"), h("i")), "Loading"));
    try {
      const nodes = await (PAGES[name] ?? PAGES.records)(this, parts, asked);
      if (mine !== this.visit) return;
      this.page.replaceChildren(...nodes);
      this.arrived();
    } catch (error) {
      if (mine !== this.visit) return;
      this.page.replaceChildren(error.status === 404 ? missing() : failed(error, () => this.follow()));
    } finally {
      if (mine === this.visit) this.page.setAttribute("aria-busy", "false");
    }
  }

  arrived() {
    const found = this.page.querySelector(".found");
    const { top } = this.page.getBoundingClientRect();
    this.page.scrollTop = found ? found.getBoundingClientRect().top - top + this.page.scrollTop - this.page.clientHeight / 3 : 0;
    if (document.activeElement !== this.words) this.page.focus({ preventScroll: true });
  }

  /** The page once more, when something on it changed. */
  again() {
    return this.follow();
  }

  /** Lead to an address, also when it is the one in view. */
  go(there) {
    if (location.hash === there) this.follow();
    else location.hash = there;
  }

  /** Whether whoever signed in holds the role. */
  may(role) {
    return this.me.roles.includes(role);
  }

  /** Whether the page stays since something typed in it would be lost; the address is put back then. */
  stays() {
    if (!this.unsaved?.()) return false;
    if (location.hash === this.at) return true;
    if (window.confirm("You have unsaved changes. Leave the page?")) return false;
    history.replaceState(null, "", this.at);
    return true;
  }

  /** "/" leads to the search, as in many pages. */
  pressed(event) {
    if (event.key !== "/" || !this.open || event.ctrlKey || event.metaKey || event.target.closest("input, textarea, select")) return;
    event.preventDefault();
    this.words.focus();
    this.words.select();
  }

  search() {
    const words = this.words.value.trim();
    if (!words) return;
    const [scope, about] = this.scope.value.split("=");
    const asked = new URLSearchParams({ q: words, ...(scope === "workspace" ? {} : { scope }), ...(about ? { in: about } : {}) });
    this.go(`#/search?${asked}`);
  }

  /** Where one can search from here: everywhere, and about the record in view. `chosen` is what the address says. */
  offerScopes(chosen = "workspace") {
    const offered = [["workspace", "Everywhere"]];
    if (this.record) {
      const { handle, type, name } = this.record;
      offered.push(type === "project" ? [`project=${handle}`, `In ${shorten(name)}`] : [`record=${handle}`, `Around ${shorten(name)}`]);
    }
    const session = this.chat.session?.session_id;
    if (session) offered.push([`conversation=${session}`, "In this conversation"]);
    for (const { key, name } of this.types ?? []) offered.push([`type=${key}`, `Type: ${name}`]);
    if (!offered.some(([value]) => value === chosen)) offered.push([chosen, SCOPES[chosen.split("=")[0]]?.(chosen.split("=")[1]) ?? "Everywhere"]);
    this.scope.replaceChildren(...offered.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
  }

  /** Every relation that a link can have, read once. */
  async relations() {
    this.known ??= (await this.ask("GET", "v1/relations")).relations;
    return this.known;
  }

  /** The tenant's kinds of records, read once. */
  async kinds() {
    this.types ??= (await this.ask("GET", "v1/entity-types")).types;
    return this.types;
  }
}

function isOurs(hash) {
  return hash.startsWith("#/");
}

/** "#/records/task/T-112?file=..." in its parts. */
function read(hash) {
  const [path, query = ""] = hash.slice(2).split("?");
  const [name, ...parts] = path.split("/").filter(Boolean).map(decoded);
  return { name, parts, asked: new URLSearchParams(query) };
}

/** A part of an address as it was meant; one that somebody typed with a lone "%" is taken as it is. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function shorten(name) {
  return name.length > 24 ? `${name.slice(0, 23)}…` : name;
}

function unsigned(toKey) {
  return h("div", { class: "blank" }, h("b", {}, "Sign in to see records"), "Paste an API key or a member token in the Turns panel to open this page.",
    h("p", { class: "buttons" }, h("button", { class: "solid", type: "button", on: { click: toKey } }, "Sign in")));
}

function missing() {
  return h("div", { class: "blank" }, h("b", {}, "Not found"), "It was deleted, or you do not have access. ", h("a", { href: HOME }, "All records"));
}

function failed(error, again) {
  return h("div", { class: "blank", role: "alert" }, h("b", {}, "Couldn't load this"), error.message,
    h("p", { class: "buttons" }, h("button", { class: "quiet", type: "button", on: { click: again } }, "Try again")));
}
