// What a record is linked to, as every relation reads from here; whoever may, links and unlinks.

import { asking } from "./confirm.js";
import { h } from "./dom.js";
import { field, typed } from "./fields.js";
import { sign } from "./icons.js";
import { recordField } from "./record_field.js";
import { path, said } from "./formatting.js";

const MOST = 50; // links on a page

/** The panel of a record's links; none where there is neither a link nor anybody who may make one. */
export async function links(room, record, types) {
  if (record.document) return "";
  const panel = new Links(room, record, types);
  await panel.look();
  return panel.total || room.may("editor") ? panel.element : "";
}

class Links {
  constructor(room, record, types) {
    this.room = room;
    this.record = record;
    this.types = types;
    this.edits = room.may("editor");
    this.list = h("div");
    this.foot = h("div", { class: "linking" });
    this.element = h("section", { class: "panel" }, h("h4", {}, "Links"), this.list, this.foot);
    if (this.edits) this.offer();
  }

  /** The links from the first page on; each further page is put under those that are there. */
  async look(cursor = "") {
    const found = await this.room.ask("GET", `v1/entities/${path(this.record.handle)}/links?limit=${MOST}&cursor=${cursor}`);
    const records = !cursor ? found.links : [...this.records, ...found.links];
    this.records = records;
    this.total = found.types.reduce((sum, { total }) => sum + total, 0);
    const groups = found.types.map(({ type, name, total }) => this.group(type, name, records.filter((one) => one.type === type), total));
    const more = found.next_cursor ? h("button", { class: "quiet", type: "button", on: { click: () => this.look(found.next_cursor).catch((error) => this.say(error.message)) } }, "Show more") : "";
    this.list.replaceChildren(...(this.total ? groups : [h("p", { class: "soft" }, "No links yet.")]), more);
  }

  group(key, name, records, total) {
    if (!records.length) return "";
    const look = this.types.find((one) => one.key === key) ?? {};
    return h("div", { class: "linked" }, h("h5", {}, name, h("span", {}, ` ${total}`)), h("ul", { class: "plain" }, ...records.map((one) => h("li", {}, this.line(one, look)))));
  }

  line(one, { icon, colour }) {
    const how = (one.relations ?? []).map(({ reads }) => reads).join(", ");
    const state = [one.state, one.due ? `due ${said(one.due)}` : ""].filter(Boolean).join(" · ");
    const there = h("a", { class: "record-line", href: `#/records/${path(one.handle)}` }, sign({ type: one.type, icon, colour }),
      h("span", { class: "record-name" }, one.name, one.is_context ? h("span", { class: "kind" }, "context document") : null),
      h("span", { class: "detail" }, [how, state].filter(Boolean).join(" · ")));
    if (!this.edits) return there;
    return h("div", { class: "linked-line" }, there, ...(one.relations ?? []).map((relation) => this.unlink(one, relation)));
  }

  unlink(other, { relation, direction, reads }) {
    const [source, target] = direction === "incoming" ? [other.handle, this.record.handle] : [this.record.handle, other.handle];
    const label = `Remove link: ${reads} ${other.name}`;
    return asking("×", `${this.record.name} ${reads} ${other.name}: remove this link?`, "Remove link", async () => {
      await this.room.ask("DELETE", `v1/links?${new URLSearchParams({ source, target, relation })}`);
      await this.look();
      this.foot.querySelector("button")?.focus();
    }, { class: "cross", "aria-label": label, title: label });
  }

  offer() {
    this.foot.replaceChildren(h("button", { class: "quiet", type: "button", on: { click: () => this.form().catch((error) => this.say(error.message)) } }, "Link a record"));
  }

  /** The form of a new link: the relation as it reads from here, and the other record. */
  async form() {
    const ways = waysOf(await this.room.relations());
    const how = h("select", { id: "link-how" }, ...ways.map(({ reads }, index) => h("option", { value: index }, reads)));
    how.selectedIndex = Math.max(0, ways.findIndex(({ name }) => name === "relates_to"));
    const other = recordField(this.room, { id: "link-other" });
    const trouble = h("p", { class: "bad", role: "alert", hidden: true });
    const save = h("button", { class: "solid", type: "submit" }, "Link");
    const close = () => { this.offer(); this.foot.querySelector("button").focus(); };
    const form = h("form", { class: "form", on: { submit: async (event) => {
      event.preventDefault();
      save.disabled = true;
      try {
        await this.link(ways[how.selectedIndex], await other.named());
        close();
      } catch (error) {
        trouble.textContent = error.message;
        trouble.hidden = false;
        save.disabled = false;
      }
    }, keydown: ({ key }) => { if (key === "Escape") close(); } } },
    h("p", { class: "question" }, `${this.record.name} …`),
    h("div", { class: "fields" }, field({ name: "how", label: "Relation", input: how, read: () => how.value }).element,
      field({ name: "other", label: "Record", required: true, nodes: other.nodes, ...typed(other.input, "") }).element),
    trouble, h("div", { class: "buttons" }, save, h("button", { class: "quiet", type: "button", on: { click: close } }, "Cancel")));
    this.foot.replaceChildren(form);
    how.focus();
  }

  async link({ name, outgoing }, other) {
    const [source, target] = outgoing ? [this.record.handle, other] : [other, this.record.handle];
    await this.room.ask("POST", "v1/links", { source, target, relation: name });
    await this.look();
  }

  say(text) {
    this.foot.append(h("p", { class: "bad", role: "alert" }, text));
  }
}

/** Every relation from both of its ends; what reads the same from two sides, or under two names, is offered once. */
function waysOf(relations) {
  const ways = relations.flatMap(({ name, outgoing, incoming }) => [{ name, reads: outgoing, outgoing: true }, { name, reads: incoming, outgoing: false }]);
  return ways.filter(({ reads }, index) => ways.findIndex((one) => one.reads === reads) === index);
}
