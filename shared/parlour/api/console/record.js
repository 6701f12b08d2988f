// One record: what it says, what it is linked to, its documents and files, its Pulse, and a talk about it.

import { documents } from "./documents.js";
import { byId, h, notice } from "./dom.js";
import { editing } from "./record_form.js";
import { files } from "./files.js";
import { glyph, sign } from "./icons.js";
import { links } from "./links.js";
import { pulse } from "./pulse.js";
import { ago, level, path, said, sentence, spaced } from "./formatting.js";

const OWN = "/console/"; // a default link into this page says nothing new
const SOURCES = "sources"; // the property in which a record keeps what it was made from

/** The page of the record that the address names: its parts are [type, key]. */
export async function record(room, [type, ...key], asked) {
  const handle = `${type}/${key.join("/")}`;
  const [types, found] = await Promise.all([room.kinds(), subject(room, handle)]);
  const definition = types.find((one) => one.key === type) ?? { key: type, name: sentence(spaced(type)), properties: {} };
  room.record = found;
  room.words.value = "";
  room.offerScopes(`${type === "project" ? "project" : "record"}=${found.handle}`);
  const parts = [pulse(room, found, definition), documents(room, found, asked), links(room, found, types), files(room, found, asked)];
  const [above, ...below] = await Promise.all(parts);
  const told = h("div", { class: "record-told" });
  const shown = () => told.replaceChildren(properties(found, definition));
  const edit = () => {
    const form = editing(room, definition, found, () => { shown(); room.page.querySelector(".edit")?.focus(); });
    told.replaceChildren(form);
    form.querySelector("input").focus();
  };
  shown();
  return [
    head(room, found, definition, edit),
    h("div", { class: "record-body" },
      h("div", { class: "record-main" }, above, told, ...below),
      h("div", { class: "record-side" }, facts(found), sources(found))),
  ];
}

/** A record; a document of a pack is none, and is shown all the same. */
async function subject(room, handle) {
  try {
    if (handle.split("/").length > 2) return await paper(room, handle); // no record's key has a slash in it
    return await room.ask("GET", `v1/entities/${path(handle)}`);
  } catch (error) {
    if (error.status !== 404 || !handle.startsWith("document/")) throw error;
    return paper(room, handle);
  }
}

async function paper(room, handle) {
  const found = await room.ask("GET", `v1/documents/${path(handle)}`);
  return { type: "document", handle, name: found.title, properties: {}, classification: found.classification, project: found.project, updated_at: found.updated_at, document: found };
}

function head(room, found, definition, edit) {
  const link = found.link && !found.link.startsWith(OWN) ? h("a", { class: "quiet", href: found.link, target: "_blank", rel: "noreferrer" }, "Open") : null;
  const change = found.document || !room.may("editor") ? null : h("button", { class: "quiet edit", type: "button", on: { click: edit } }, "Edit");
  const talk = found.document ? null : h("button", { class: "solid talk", type: "button", on: { click: () => discuss(room, found, definition) } }, glyph("chat"), "Start a conversation");
  return h("header", { class: "record-head" },
    sign({ type: found.type, icon: definition.icon, colour: definition.colour }),
    h("div", { class: "record-title" },
      h("p", { class: "soft" }, definition.name, " · ", h("span", { class: "handle" }, found.handle)),
      h("h3", { class: "page-title" }, found.name)),
    h("div", { class: "buttons" }, link, change, talk));
}

/** Open a talk about the record, with the agent that its kind names, if it names one. */
function discuss(room, found, { name, chat_agent: agent, chat_binding: talk }) {
  if (agent && !talk) {
    const told = `Conversations about ${name} records use the agent “${agent}”, but none of its bindings has a web channel. Add one in the tenant's pack.`;
    return notice(byId("records-notice"), told);
  }
  room.chat.about(found, talk && { ...talk, tenant: room.me.tenant });
  room.show(wide() ? "records" : "chat");
  room.chat.say.focus();
}

/** Whether the conversation has room beside the record. */
const wide = () => window.matchMedia("(min-width: 761px)").matches;

function properties(found, definition) {
  const known = Object.keys(definition.properties ?? {});
  const others = Object.keys(found.properties).filter((name) => !known.includes(name) && name !== SOURCES);
  const rows = [...known, ...others].map((name) => [definition.properties?.[name] ?? {}, name, found.properties[name]]).filter(([, , value]) => said(value));
  if (!rows.length) return "";
  const told = rows.map(([meant, name, value]) => h("div", { class: said(value).length > 60 ? "long" : null }, h("dt", {}, sentence(meant.label ?? spaced(name))), h("dd", {}, said(value, meant))));
  return h("section", { class: "panel" }, h("h4", {}, "Properties"), h("dl", { class: "properties" }, ...told));
}

function facts(found) {
  const rows = [
    ["Project", found.project ? h("a", { href: `#/records/${path(found.project)}` }, found.project) : null],
    ["Visible at", level(found.classification)],
    ["Version", found.version ? String(found.version) : null],
    ["Changed", found.updated_at ? `${ago(found.updated_at)}${by(found.updated_by)}` : null],
    ["Created", found.created_at ? `${ago(found.created_at)}${by(found.created_by)}` : null],
  ].filter(([, value]) => value);
  return h("section", { class: "panel" }, h("h4", {}, "About this record"), h("dl", { class: "record-facts" }, ...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
}

const WHO = { user: "in a conversation", member: "by a member", key: "with a key", operator: "by the operator", system: "by Parlour" };

function by(principal) {
  const who = WHO[(principal ?? "").split(":")[0]];
  return who ? `, ${who}` : "";
}

/** What it was made from, when an agent made it: the places that its sources stand at. */
function sources(found) {
  const listed = Array.isArray(found.properties[SOURCES]) ? found.properties[SOURCES].filter((one) => one?.title) : [];
  if (!listed.length) return "";
  const each = listed.map(({ title, locator, page }) => h("li", {}, h("b", {}, title), h("span", { class: "detail" }, [locator, page && !String(locator ?? "").includes("page") ? `page ${page}` : ""].filter(Boolean).join(" · "))));
  return h("section", { class: "panel" }, h("h4", {}, "Sources"), h("ul", { class: "plain" }, ...each));
}
