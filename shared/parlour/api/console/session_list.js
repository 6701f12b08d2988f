// The visitor's conversations with one agent: which there are, which come first, what each is called; and the way to what
// the agent remembers, and to the phone.

import { call } from "./api.js";
import { byId, h } from "./dom.js";
import { glyph } from "./icons.js";
import { joining } from "./phone_link.js";
import { forgetVisitor, visitor } from "./browser_storage.js";
import { remembrance } from "./memory_list.js";
import { ago } from "./formatting.js";

const MOST = 100;
const READERS = { private: "Private", role_gated: "Visible to editors", shared: "Visible to all members" };

export class Threads {
  /** `chat` shows what is chosen here, and says whom it talks to. */
  constructor(chat) {
    this.chat = chat;
    this.page = byId("threads");
    this.button = byId("threads-open");
    this.archived = false;
    this.button.addEventListener("click", () => this.toggle());
    this.page.addEventListener("keydown", ({ key, target }) => { if (key === "Escape" && !target.closest("form, .asking")) this.close(true); });
  }

  get token() {
    return this.chat.binding && visitor(this.chat.binding);
  }

  /** The way there is offered as soon as there is something to find. */
  offered() {
    this.button.hidden = !this.token;
    if (!this.token) this.close();
  }

  toggle() {
    if (this.page.hidden) this.open();
    else this.close(true);
  }

  open() {
    this.archived = false;
    this.shown(true);
    return this.list();
  }

  close(back = false) {
    this.shown(false);
    if (back) this.button.focus();
  }

  shown(open) {
    this.page.hidden = !open;
    this.button.setAttribute("aria-pressed", String(open));
    byId("chat").classList.toggle("listing", open);
  }

  async ask(method, path, body) {
    try {
      return await call(method, path, { body, token: this.token });
    } catch (error) {
      if (error.status === 401) {
        forgetVisitor(this.chat.binding);
        this.offered();
      }
      throw error;
    }
  }

  /** The latest conversation about a record that is not put away, if the visitor had one. */
  async latest(handle) {
    if (!this.token) return null;
    const { sessions } = await this.ask("GET", `v1/sessions?entity=${encodeURIComponent(handle)}&limit=${MOST}`);
    return sessions.reduce((best, one) => (!best || one.last_active_at > best.last_active_at ? one : best), null);
  }

  async list() {
    const mine = this.chat.binding;
    try {
      const { sessions } = await this.ask("GET", `v1/sessions?limit=${MOST}${this.archived ? "&archived=true" : ""}`);
      if (mine !== this.chat.binding || this.page.hidden) return;
      this.draw(sessions);
    } catch (error) {
      this.page.replaceChildren(this.head(), h("p", { class: "notice", role: "alert" }, error.message));
    }
  }

  draw(sessions) {
    const isJoined = sessions.some((one) => one.is_main);
    const rows = sessions.map((one) => new Thread(this, one).element);
    this.page.replaceChildren(
      this.head(),
      rows.length ? h("ul", { class: "threads-list" }, ...rows) : h("p", { class: "blank" }, this.archived ? "No archived conversations." : "No conversations yet."),
      this.archived ? "" : h("div", { class: "threads-foot" },
        h("button", { class: "quiet", type: "button", on: { click: () => this.memory() } }, `What ${this.chat.binding.name} remembers about you`),
        joining(this.chat, this, isJoined),
        h("button", { class: "quiet", type: "button", on: { click: () => this.leave() } }, "Sign out on this browser")));
    this.page.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }

  /** Whoever comes to this browser next is somebody else. */
  leave() {
    forgetVisitor(this.chat.binding);
    this.close();
    this.chat.restart();
    this.offered();
  }

  head() {
    const turn = () => { this.archived = !this.archived; this.list(); };
    return h("header", { class: "threads-head" },
      h("h2", {}, this.archived ? "Archived" : "Conversations"),
      h("button", { class: "link", type: "button", on: { click: turn } }, this.archived ? "Active" : "Archived"));
  }

  /** What the agent remembers of the visitor, to be read, put right and forgotten. */
  async memory() {
    const back = h("button", { class: "link", type: "button", on: { click: () => this.list() } }, "Conversations");
    const head = h("header", { class: "threads-head" }, h("h2", {}, "Remembered about you"), back);
    this.page.replaceChildren(head, h("p", { class: "doing" }, "Loading"));
    const redraw = async () => {
      try {
        const found = await this.ask("GET", "v1/memory");
        const asked = { ask: (...given) => this.ask(...given), edits: true, again: redraw, mine: true, show: (id) => { this.close(); this.chat.visit({ id }); } };
        this.page.replaceChildren(head, h("div", { class: "memory" }, ...remembrance(found, asked)));
      } catch (error) {
        this.page.replaceChildren(head, h("p", { class: "notice", role: "alert" }, error.message));
      }
    };
    await redraw();
  }
}

/** One conversation of the list. */
class Thread {
  constructor(threads, one) {
    this.threads = threads;
    this.one = one;
    const isHere = threads.chat.session?.session_id === one.id;
    this.element = h("li", { class: one.pinned ? "thread pinned" : "thread", "aria-current": isHere ? "true" : null });
    this.draw();
  }

  get name() {
    return this.one.title || (this.one.is_main ? "WhatsApp" : this.one.last_message_preview ? "Conversation" : "Empty conversation"); // a greeting makes no title
  }

  draw() {
    const { one } = this;
    const about = [one.entity?.name, one.is_main ? "Web and WhatsApp" : null, one.visibility === "private" ? null : "visible to others"].filter(Boolean).join(" · ");
    const open = h("button", { class: "thread-open", type: "button", on: { click: () => this.show() } },
      h("span", { class: "thread-name" }, one.pinned ? h("span", { class: "pin", "aria-label": "Pinned" }, glyph("pin")) : null, this.name),
      h("time", { datetime: one.last_active_at }, ago(one.last_active_at)),
      about ? h("span", { class: "thread-about" }, about) : null,
      h("span", { class: "thread-last" }, one.last_message_preview));
    this.element.replaceChildren(open, h("div", { class: "thread-acts" },
      this.act(one.pinned ? "Unpin" : "Pin", "pin", () => this.change({ pinned: !one.pinned })),
      this.act("Rename or share", "pen", () => this.edit()),
      this.act(one.archived ? "Restore" : "Archive", "archive", () => this.change({ archived: !one.archived }))));
  }

  act(label, sign, work) {
    return h("button", { class: "cross", type: "button", title: label, "aria-label": `${label}: ${this.name}`, on: { click: work } }, glyph(sign));
  }

  show() {
    this.threads.close();
    this.threads.chat.visit(this.one);
  }

  async change(body) {
    try {
      await this.threads.ask("PATCH", `v1/sessions/${this.one.id}`, body);
      await this.threads.list();
    } catch (error) {
      this.element.append(h("p", { class: "bad", role: "alert" }, error.message));
    }
  }

  /** What it is called, and who else reads it; what that means for memory is said beside it. */
  edit() {
    const { title, visibility } = this.one;
    const words = h("input", { value: title, maxlength: 200, "aria-label": "Title of the conversation", autocomplete: "off" });
    const readers = h("select", { "aria-label": "Visibility of the conversation" },
      ...Object.entries(READERS).map(([name, told]) => h("option", { value: name, selected: name === visibility }, told)));
    const save = () => {
      const named = words.value.trim();
      this.change({ ...(named && named !== title ? { title: named } : {}), ...(readers.value === visibility ? {} : { visibility: readers.value }) });
    };
    this.element.replaceChildren(h("form", { class: "thread-form", on: {
      submit: (event) => { event.preventDefault(); save(); },
      keydown: ({ key }) => { if (key === "Escape") this.draw(); },
    } }, words, readers, h("p", { class: "detail" }, "While others can read the conversation, nothing you say in it is remembered."),
    h("button", { class: "solid", type: "submit" }, "Save"), h("button", { class: "quiet", type: "button", on: { click: () => this.draw() } }, "Cancel")));
    words.focus();
    words.select();
  }
}

/** A conversation more of the same visitor; whoever is not known any more is a new one. */
export async function begin(binding, body) {
  try {
    return await call("POST", "v1/sessions", { body, token: visitor(binding) });
  } catch (error) {
    if (error.status !== 401) throw error;
    forgetVisitor(binding);
    return call("POST", "v1/sessions", { body });
  }
}
