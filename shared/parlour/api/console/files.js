// A record's files: what is there, how far each is, and new ones, sent to where the API says and watched until ready.

import { asking } from "./confirm.js";
import { h } from "./dom.js";
import { download } from "./download.js";
import { glyph, sign } from "./icons.js";
import { ago, level, path, size } from "./formatting.js";
import { post } from "./upload.js";

const LARGEST = 50 * 1024 * 1024; // bytes, as the API takes them
const EVERY = 1500; // between two looks at files that are on their way
const SELDOM = 20_000; // the same when nothing moves
const UNDER_WAY = new Set(["uploading", "queued", "parsing", "embedding"]);
const STATES = { uploading: "Uploading", queued: "Queued", parsing: "Reading", embedding: "Indexing", ready: "Ready", failed: "Failed" };

/** The panel of a record's files; one that the address names is marked. */
export async function files(room, record, asked) {
  if (record.document) return "";
  const panel = new Files(room, record, asked.get("file"), asked.get("page"));
  await panel.look();
  return panel.element;
}

/** The page of one file, for those that belong to no record: a team's own, or everybody's. */
export async function file(room, [id], asked) {
  const found = await room.ask("GET", `v1/files/${encodeURIComponent(id)}`);
  const { name, state, problem, pages, size_bytes: bytes, about, team, classification, version, updated_at: at } = found;
  room.record = null;
  room.offerScopes();
  const page = asked.get("page");
  const trouble = h("p", { class: "bad", role: "alert" });
  const rows = [["State", [STATES[state], problem].filter(Boolean).join(": ")], ["Found on", page ? `page ${page}` : ""], ["About", about ? h("a", { href: `#/records/${path(about)}` }, about) : ""],
    ["Team", team], ["Pages", pages ? String(pages) : ""], ["Size", size(bytes)], ["Visible at", level(classification)], ["Version", String(version)], ["Changed", ago(at)]].filter(([, value]) => value);
  return [
    h("header", { class: "record-head" }, sign({ type: "document", icon: "file" }), h("div", { class: "record-title" }, h("p", { class: "soft" }, "File"), h("h3", { class: "page-title" }, name))),
    h("section", { class: "panel" }, h("dl", { class: "record-facts" }, ...rows.flatMap(([label, value]) => [h("dt", {}, label), h("dd", {}, value)])), download(room, found, (text) => trouble.replaceChildren(text)), trouble),
  ];
}

class Files {
  constructor(room, record, chosen, page) {
    this.room = room;
    this.record = record;
    this.chosen = chosen;
    this.page = page;
    this.sending = new Map(); // by name: what is on its way to the bucket has no state to ask for
    this.list = h("ul", { class: "plain files" });
    this.trouble = h("p", { class: "bad", role: "alert", hidden: true });
    this.edits = room.may("editor");
    const pick = h("input", { type: "file", multiple: true, class: "hidden-label", id: "file-pick", on: { change: (event) => { this.take([...event.target.files]); event.target.value = ""; } } });
    const drop = h("label", { class: "drop", for: "file-pick" }, glyph("file"), h("span", {}, h("b", {}, "Add files"), " or drop them here. PDF, Word, Excel, PowerPoint, HTML, text, e-mail, CSV; 50 MB each."));
    const taking = {
      dragover: (event) => { event.preventDefault(); drop.classList.add("over"); },
      dragleave: () => drop.classList.remove("over"),
      drop: (event) => { event.preventDefault(); drop.classList.remove("over"); this.take([...event.dataTransfer.files]); },
    };
    this.element = h("section", { class: "panel", on: this.edits ? taking : {} }, h("h4", {}, "Files"), this.list, this.trouble, ...(this.edits ? [pick, drop] : []));
  }

  /** Read the list, and again while something is on its way and the page is still the one in view. */
  async look() {
    clearTimeout(this.timer);
    const { files: found } = await this.room.ask("GET", `v1/files?about=${encodeURIComponent(this.record.handle)}`);
    const states = found.map(({ id, state, version }) => `${id} ${state} ${version}`).join();
    this.pause = states === this.states ? Math.min(this.pause * 1.5, SELDOM) : EVERY; // one may never arrive
    this.states = states;
    this.draw(found);
    if (found.some(({ state }) => UNDER_WAY.has(state))) this.later();
  }

  later() {
    this.timer = setTimeout(() => this.element.isConnected && this.look().catch(() => this.later()), this.pause);
  }

  draw(found) {
    this.found = found;
    if (this.list.querySelector(".question")) return; // somebody is being asked
    const coming = [...this.sending].map(([name, part]) => this.line({ name, state: "uploading", part }));
    const there = found.filter(({ name }) => !this.sending.has(name)).map((file) => this.line(file));
    const none = coming.length + there.length ? [] : [h("li", { class: "soft" }, "No files yet.")];
    this.list.replaceChildren(...coming, ...there, ...none);
  }

  line({ id, name, state, problem, pages, size_bytes: bytes, updated_at: at, part }) {
    const chosen = id && id === this.chosen;
    const facts = state === "ready" ? [pages ? `${pages} ${pages === 1 ? "page" : "pages"}` : "", bytes ? size(bytes) : "", at ? ago(at) : ""] : [STATES[state], problem];
    return h("li", { class: `file${chosen ? " found" : ""}`, data: { state } }, glyph("file"),
      h("span", { class: "record-name" }, name, chosen && this.page ? h("span", { class: "kind" }, `page ${this.page}`) : null),
      h("span", { class: state === "failed" ? "detail bad" : "detail" }, facts.filter(Boolean).join(" · "),
        ...(id && state !== "uploading" ? [" ", download(this.room, { id, name }, (text) => this.say(text))] : [])),
      UNDER_WAY.has(state) ? progress(state, part) : null,
      id && this.edits ? this.removal(id, name) : null);
  }

  removal(id, name) {
    return asking("Delete", `Delete ${name} and everything derived from it?`, "Delete it", async () => {
      await this.room.ask("DELETE", `v1/files/${id}`);
      this.list.replaceChildren();
      await this.look();
    }, { class: "link", "aria-label": `Delete ${name}` });
  }

  async take(chosen) {
    this.say("");
    const large = chosen.filter((file) => file.size > LARGEST).map((file) => file.name);
    if (large.length) this.say(`${large.join(", ")}: larger than 50 MB. Split it.`);
    await Promise.all(chosen.filter((file) => file.size <= LARGEST).map((file) => this.tried(() => this.send(file), file.name)));
    await this.look();
  }

  /** Ask where to, send it there, and say that it is there. */
  async send(file) {
    this.moved(file.name, 0);
    const there = this.found?.find(({ name }) => name === file.name); // the same name again is its next version
    const body = { name: file.name, size_bytes: file.size, ...(there ? {} : { about: this.record.handle }) };
    const { file: started, version, upload } = await this.room.ask("POST", there ? `v1/files/${there.id}/versions` : "v1/files", body);
    await post(upload, file, (part) => this.moved(file.name, part));
    await this.room.ask("POST", `v1/files/${started.id}/complete`, { version, name: file.name });
  }

  moved(name, part) {
    this.sending.set(name, part);
    this.draw(this.found ?? []);
  }

  async tried(work, name) {
    try {
      await work();
    } catch (error) {
      this.say([name, error.message].filter(Boolean).join(": "));
    } finally {
      if (name) this.sending.delete(name);
    }
  }

  say(text) {
    this.trouble.textContent = text;
    this.trouble.hidden = !text;
  }
}

/** How far a file is: known while it is sent, then by the step that it is at. */
function progress(state, part) {
  const steps = { uploading: 0.4 * (part ?? 1), queued: 0.45, parsing: 0.6, embedding: 0.85 };
  const filled = h("i");
  filled.style.setProperty("--part", String(Math.max(0.03, steps[state])));
  return h("span", { class: "bar", role: "progressbar", "aria-label": STATES[state], "aria-valuenow": Math.round(steps[state] * 100), "aria-valuemin": 0, "aria-valuemax": 100 }, filled);
}
