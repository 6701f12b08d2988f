// The records of a kind, latest change first, and the kinds to choose from.

import { h } from "./dom.js";
import { sign } from "./icons.js";
import { ago, path, said } from "./formatting.js";

const MOST = 30;
const FEW = 4; // properties that a line shows

/** The page of all records, or of the kind that the address names. */
export async function listing(room, asked) {
  const types = await room.kinds();
  const type = asked.get("type") ?? "";
  const text = asked.get("text") ?? "";
  room.record = null;
  room.words.value = "";
  room.offerScopes(type ? `type=${type}` : "workspace");
  const rows = h("ul", { class: "records-list" });
  const foot = h("p", { class: "buttons" });
  await more(room, { type, text, project: asked.get("project") ?? "" }, rows, foot, types);
  const add = room.may("editor") ? h("a", { class: "quiet", href: `#/new${type ? `?type=${encodeURIComponent(type)}` : ""}` }, `New ${named(types, type)}`) : "";
  return [kinds(types, type, room.may("viewer")), h("p", { class: "buttons listing-head" }, add), rows.children.length ? rows : empty(types, type, room.may("editor")), foot];
}

/** One page of records more, under those that are there. */
async function more(room, wanted, rows, foot, types, cursor = "") {
  const given = Object.entries({ ...wanted, cursor, limit: MOST }).filter(([, value]) => value);
  const found = await room.ask("GET", `v1/entities?${new URLSearchParams(given)}`);
  const known = new Map(types.map((one) => [one.key, one]));
  rows.append(...found.entities.map((one) => h("li", {}, line(one, known.get(one.type)))));
  const next = found.next_cursor;
  const further = async (button) => {
    button.disabled = true;
    await more(room, wanted, rows, foot, types, next).catch((error) => foot.replaceChildren(button, h("span", { class: "bad", role: "alert" }, error.message)));
    button.disabled = false;
  };
  foot.replaceChildren(next ? h("button", { class: "quiet", type: "button", on: { click: ({ target }) => further(target) } }, "Show more") : "");
}

function kinds(types, chosen, isViewer) {
  const all = h("a", { class: "chip", href: "#/records", "aria-current": chosen ? null : "page" }, "All");
  const each = types.map((one) => h("a", { class: "chip", href: `#/records?type=${encodeURIComponent(one.key)}`, "aria-current": one.key === chosen ? "page" : null }, sign({ ...one, type: one.key }), one.name));
  return h("nav", { class: "chips kinds", "aria-label": "Record types" }, all, ...each, isViewer ? h("a", { class: "chip", href: "#/memory" }, sign({ type: "person", icon: "person", colour: "teal" }), "Memory") : null);
}

function line(one, definition) {
  const facts = Object.keys(definition?.properties ?? one.properties)
    .filter((name) => said(one.properties[name]))
    .slice(0, FEW)
    .map((name) => said(one.properties[name], definition?.properties?.[name]));
  return h("a", { class: "record-line", href: `#/records/${path(one.handle)}` }, sign({ type: one.type, icon: definition?.icon, colour: definition?.colour }),
    h("span", { class: "record-name" }, one.name, h("span", { class: "of" }, ` ${one.key}`)),
    h("span", { class: "detail" }, facts.join(" · ")),
    h("time", { datetime: one.updated_at }, ago(one.updated_at)));
}

function empty(types, type, edits) {
  const own = edits ? "Create the first one here. " : "";
  return h("div", { class: "blank" }, h("b", {}, `No ${named(types, type)} yet`), own,
    "Packs, the API and agents can also create records.");
}

/** A kind as one says it in a sentence. */
const named = (types, type) => types.find((one) => one.key === type)?.name.toLowerCase() ?? "record";
