// A record's form, for a new one and to change one. Nothing typed is lost: not by a refusal, and not when somebody else
// saved the record meanwhile, whose changes are taken over where this form was left alone, and shown where it was not.

import { asking } from "./confirm.js";
import { h } from "./dom.js";
import { choice, field, propertyFields, typed } from "./fields.js";
import { recordField } from "./record_field.js";
import { level, path } from "./formatting.js";

const CONFLICT = 409;

/** The page on which a record is made: #/new?type=task&project=project/P-1. */
export async function creation(room, _parts, asked) {
  const types = await room.kinds();
  const type = types.find(({ key }) => key === asked.get("type")) ?? types.find(({ key }) => key === "task") ?? types[0];
  room.record = null;
  room.offerScopes();
  const kinds = choice(types.map(({ key, name }) => [key, name]), type.key);
  const chosen = field({ name: "type", label: "Type", ...kinds });
  kinds.input.remove(0); // a record is always of a kind
  kinds.input.addEventListener("change", () => room.go(`#/new?${new URLSearchParams({ type: types[kinds.input.selectedIndex].key, ...(asked.get("project") ? { project: asked.get("project") } : {}) })}`));
  const form = new Editor(room, type, { project: asked.get("project") ?? "", cancel: () => history.back() });
  return [h("h3", { class: "page-title" }, "New record"), h("section", { class: "panel form" }, chosen.element), form.element];
}

/** The form of a record that is there; it takes the place of what it changes. */
export function editing(room, definition, record, cancel) {
  return new Editor(room, definition, { record, cancel }).element;
}

class Editor {
  constructor(room, definition, { record = null, project = "", cancel }) {
    this.room = room;
    this.definition = definition;
    this.record = record;
    this.cancel = cancel;
    this.fields = this.all(record ?? { name: "", properties: {}, project });
    this.said = h("p", { class: "notice", role: "alert", hidden: true });
    this.submit = h("button", { class: "solid", type: "submit" }, record ? "Save" : "Create");
    const leave = h("button", { class: "quiet", type: "button", on: { click: () => this.leave() } }, "Cancel");
    this.element = h("form", { class: "panel form", on: {
      submit: (event) => { event.preventDefault(); this.save(); },
      keydown: (event) => { if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) this.element.requestSubmit(); },
    } }, h("h4", {}, record ? "Edit" : definition.name), h("div", { class: "fields" }, ...this.fields.map(({ element }) => element)), this.said,
    h("div", { class: "form-foot" }, h("div", { class: "buttons" }, this.submit, leave), record ? this.removal() : ""));
    room.unsaved = () => this.element.isConnected && this.fields.some((one) => one.touched());
  }

  all({ name, properties, classification = null, project }) {
    const isNew = !this.record;
    const levels = [0, 1, 2, 3].filter((number) => number <= this.room.me.clearance).map((number) => [number, level(number)]);
    const seen = choice(levels, classification, isNew ? "Default of its type or project" : "—");
    if (!isNew) seen.input.options[0].disabled = true;
    const kind = this.definition.key;
    return [
      field({ name: "name", label: "Name", required: true, wide: true, ...typed(h("input", { type: "text", maxlength: 300, autocomplete: "off" }), name) }),
      isNew ? field({ name: "key", label: "Key", hint: "Optional; generated from the name", ...typed(h("input", { type: "text", maxlength: 100, autocomplete: "off", spellcheck: "false" }), "") }) : null,
      isNew && kind === "project" ? field({ name: "context_text", label: "Purpose (in your words)", ...typed(h("textarea", { rows: 3, maxlength: 100000 }), "") }) : null,
      ...propertyFields(this.definition, properties),
      kind === "project" ? null : this.projectField(project ?? ""),
      field({ name: "classification", label: "Visible at", ...seen }),
    ].filter(Boolean);
  }

  projectField(project) {
    const box = recordField(this.room, { id: "field-project", value: project, type: "project", placeholder: "None" });
    this.named = box.named;
    return field({ name: "project", label: "Project", nodes: box.nodes, ...typed(box.input, project) });
  }

  /** What was typed, as the API takes it: of a record that is there only what differs. */
  async typed() {
    const wanted = this.fields.filter((one) => (this.record ? one.touched() : one.read() !== null));
    const properties = Object.fromEntries(wanted.filter(({ property }) => property).map((one) => [one.name, one.read()]));
    const body = Object.fromEntries(wanted.filter(({ property }) => !property).map((one) => [one.name, one.read()]));
    if (body.project) body.project = await this.named();
    return { ...body, ...(Object.keys(properties).length ? { properties } : {}) };
  }

  async save() {
    this.say("");
    for (const one of this.fields) one.say("");
    this.submit.disabled = true;
    try {
      const body = await this.typed();
      if (this.record && !Object.keys(body).length) return this.leave();
      const saved = this.record
        ? await this.room.ask("PATCH", `v1/entities/${path(this.record.handle)}`, { ...body, version: this.record.version })
        : await this.room.ask("POST", "v1/entities", { ...body, type: this.definition.key });
      this.left();
      this.room.go(`#/records/${path(saved.handle)}`);
    } catch (error) {
      await this.refused(error);
    } finally {
      this.submit.disabled = false;
    }
  }

  async refused(error) {
    if (this.record && error.status === CONFLICT) return this.merge().catch((problem) => this.say(problem.message));
    if (this.record && error.status === 404) return this.say("This record was deleted. Your text is still here; copy it if you need it.");
    this.say(error.message);
    const parts = error.message.split("; ").map((part) => part.match(/^(?:properties\.)?(\w+): (.*)$/)).filter(Boolean);
    const wrong = this.fields.filter((one) => parts.some(([, name]) => name === one.name));
    for (const one of wrong) one.say(parts.find(([, name]) => name === one.name)[2], "wrong");
    wrong[0]?.input.focus();
  }

  /** Somebody saved it meanwhile: what they changed is taken over, or shown beside what was typed here. */
  async merge() {
    const now = await this.room.ask("GET", `v1/entities/${path(this.record.handle)}`);
    let both = 0;
    for (const one of this.fields) {
      const there = (one.property ? now.properties[one.name] : now[one.name]) ?? null;
      if (there === one.began) continue;
      if (!one.touched()) one.write(there);
      else if (there !== one.read()) {
        one.say(`Saved by someone else: ${one.name === "classification" ? level(there) : one.told(there)}`, "meanwhile");
        both += 1;
      }
      one.began = there;
    }
    this.record = now;
    const told = both ? "Where you both changed a field, their value is shown below yours. Save again to keep yours." : "Their changes were merged with yours. Review them and save again.";
    this.say(`Someone else saved this record (version ${now.version}). ${told}`);
  }

  removal() {
    const { handle, name, type } = this.record;
    return asking("Delete", `Delete “${name}”? It is removed from all lists and searches immediately.`, "Delete it", async () => {
      await this.room.ask("DELETE", `v1/entities/${path(handle)}?version=${this.record.version}`);
      this.left();
      this.room.go(`#/records?type=${encodeURIComponent(type)}`);
    }, { "aria-label": `Delete ${name}` });
  }

  leave() {
    this.left();
    this.cancel();
  }

  left() {
    this.room.unsaved = null;
  }

  say(text) {
    this.said.textContent = text;
    this.said.hidden = !text;
    if (text) this.said.scrollIntoView({ block: "nearest" });
  }
}
