// The conversation with one binding on the web.

import { Problem, call, events, kindly, newId } from "./api.js";
import { Attaching, alongside, uploaded } from "./attachments.js";
import { autogrow, byId, h, notice, sendOnEnter, stickToEnd } from "./dom.js";
import { Reply } from "./reply.js";
import { forget, remember, remembered, rememberVisitor, visitor } from "./browser_storage.js";
import { known, offer } from "./picker.js";
import { Threads, begin } from "./session_list.js";
import { Watch } from "./session_poll.js";
import { nobody, welcome } from "./welcome.js";

const LONGEST = 8000; // characters, as the API counts them
const SLOW = 20_000;
const GIVE_UP = 300_000;

export class Chat {
  /** `settings` is console/settings.json; `onTurn` is called whenever a turn has ended. */
  constructor(settings, onTurn) {
    this.settings = settings;
    this.onTurn = onTurn;
    this.log = byId("log");
    this.form = byId("chat-form");
    this.say = byId("say");
    this.fit = autogrow(this.say);
    this.say.addEventListener("input", () => this.tooLong());
    this.along = new Attaching(this.form, (text) => notice(byId("chat-notice"), text));
    this.toEnd = stickToEnd(this.log);
    sendOnEnter(this.say, this.form);
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.submit(); });
    byId("restart").addEventListener("click", () => this.restart());
    byId("binding").addEventListener("change", (event) => this.choose(this.settings.bindings[event.target.selectedIndex]));
    this.line = Promise.resolve(); // messages leave one after another, in the order in which they were written
    this.threads = new Threads(this);
    this.watch = new Watch(this);
    this.talk = 0; // counts the conversations shown: what belongs to an earlier one comes too late
    this.reset();
  }

  async start() {
    const { bindings } = this.settings;
    offer(bindings);
    if (!bindings.length) return this.nobody();
    const kept = remembered();
    const index = Math.max(0, bindings.findIndex((one) => one.tenant === kept?.tenant && one.slug === kept?.slug));
    byId("binding").selectedIndex = index;
    this.show(bindings[index]);
    if (kept?.slug === bindings[index].slug) await this.resume(kept.session, kept.about);
  }

  reset() {
    this.following?.abort();
    this.following = null;
    this.session = null;
    this.opening = null;
    this.turn = null;
    this.number = 0;
    this.reply = null;
    this.pending = new Map();
  }

  choose(binding) {
    this.talk += 1;
    this.reset();
    forget();
    this.show(binding);
    this.threads.close();
    this.say.focus();
  }

  restart() {
    this.choose(this.binding);
  }

  /**
   * Talk about a record, {handle, name}, with the binding that it asks for: the latest conversation about it goes on, if
   * there is one. Without a record a new one, about nothing.
   */
  async about(record = null, binding = null) {
    this.point(record);
    if (binding) this.choose(known(this.settings.bindings, binding));
    else if (this.binding) this.restart();
    this.form.hidden = !this.binding;
    const latest = record && (await this.threads.latest(record.handle).catch(() => null));
    if (latest && this.subject?.handle === record.handle && !this.session) await this.visit(latest);
  }

  /** Go on with one of the visitor's conversations: {id, entity}. */
  async visit({ id, entity }) {
    this.talk += 1;
    this.reset();
    this.log.replaceChildren();
    this.show(this.binding);
    await this.resume({ session_id: id, token: visitor(this.binding) }, entity ?? null);
  }

  /** The phone and this page are one from now on: go on where both meet. */
  async joined(joined) {
    rememberVisitor(this.binding, joined);
    const stays = this.subject ? this.session.session_id : joined.session_id; // a talk about a record keeps to its matter
    await this.visit({ id: stays, entity: this.subject });
    this.toEnd(true);
  }

  point(record) {
    this.subject = record && { handle: record.handle, name: record.name };
    const place = byId("chat-about");
    place.hidden = !record;
    if (!record) return;
    const end = h("button", { class: "link", type: "button", on: { click: () => this.about() } }, "Remove");
    place.replaceChildren(h("span", { title: record.handle }, "About ", h("b", {}, record.name)), end);
  }

  show(binding) {
    this.binding = binding;
    notice(byId("chat-notice"), "");
    byId("restart").hidden = true;
    byId("chat-title").textContent = binding.name;
    this.say.placeholder = `Write to ${binding.name}`;
    this.log.replaceChildren(welcome(binding, (text) => this.send(text)));
    this.threads.offered();
  }

  /** Offer agents that were not known when the page began. */
  meet(bindings) {
    this.settings = { ...this.settings, bindings };
    this.form.hidden = false;
    return this.start();
  }

  nobody() {
    this.form.hidden = true;
    this.log.replaceChildren(nobody());
  }

  submit() {
    const text = this.say.value.trim();
    if (!(text || this.along.pieces.length) || this.form.hidden || this.tooLong()) return;
    this.say.value = "";
    this.fit();
    this.send(text, this.along.give());
  }

  /** Say so when what is written is too long to be sent; it stays as it is. */
  tooLong() {
    const length = [...this.say.value.trim()].length;
    const over = length > LONGEST;
    if (over || this.warned) notice(byId("chat-notice"), over ? `This message has ${length.toLocaleString("en")} characters; the limit is ${LONGEST.toLocaleString("en")}. Shorten it or send it in parts. Nothing was sent.` : "");
    this.warned = over;
    return over;
  }

  async send(text, pieces = []) {
    if (this.log.querySelector(".welcome")) this.log.replaceChildren();
    notice(byId("chat-notice"), "");
    const bubble = h("p", { class: "said" }, text, alongside(pieces));
    this.log.append(bubble);
    this.toEnd(true);
    const mine = this.talk;
    this.line = this.line.then(() => this.post(bubble, { text, pieces }, newId(), mine));
    await this.line;
  }

  async post(bubble, said, clientId, mine = this.talk) {
    if (mine !== this.talk) return;
    bubble.classList.remove("failed");
    bubble.querySelector(".again")?.remove();
    try {
      await this.open();
      if (mine !== this.talk) return;
      const attachments = await uploaded(said.pieces, this.session);
      if (mine !== this.talk) return;
      const body = { text: said.text, attachments, client_message_id: clientId };
      const taken = await call("POST", `v1/sessions/${this.session.session_id}/messages`, { body, token: this.session.token });
      bubble.dataset.id = taken.message_id;
      if (mine !== this.talk) return;
      this.pending.set(taken.message_id, taken.received_at);
      this.follow();
    } catch (error) {
      if (mine === this.talk) this.unsent(bubble, said, clientId, error);
    }
  }

  unsent(bubble, said, clientId, error) {
    const unseen = error.status === 404 && this.subject && !this.session;
    if (error.status === 401 || error.status === 404) this.expired();
    const again = h("button", { class: "again", type: "button", on: { click: () => this.post(bubble, said, clientId) } }, "Not sent. Try again");
    bubble.classList.add("failed");
    bubble.append(again);
    notice(byId("chat-notice"), unseen ? `${this.binding.name} has no access to ${this.subject.name}. Remove the record, or choose another agent.` : kindly(error));
    this.toEnd(true);
  }

  expired() {
    this.reset();
    forget();
  }

  /** A session is opened with the first message, not with the page; two messages at once share one opening. */
  async open() {
    if (this.session) return;
    const { tenant, slug } = this.binding;
    const about = this.subject ? { entity: this.subject.handle } : {};
    const mine = this.talk;
    const opening = (this.opening ??= begin(this.binding, { tenant, binding: slug, ...about }));
    const opened = await opening.finally(() => { if (this.opening === opening) this.opening = null; });
    if (mine !== this.talk || this.session) return;
    this.session = opened;
    rememberVisitor(this.binding, opened);
    this.threads.offered();
    byId("restart").hidden = false;
    this.keep();
  }

  keep() {
    remember({ tenant: this.binding.tenant, slug: this.binding.slug, session: this.session, about: this.subject ?? null });
  }

  /** Show a conversation as it was, and go on with it. */
  async resume(session, about) {
    const mine = this.talk;
    try {
      const shown = await call("GET", `v1/sessions/${session.session_id}`, { token: session.token });
      const { messages } = await call("GET", `v1/sessions/${session.session_id}/messages`, { token: session.token });
      if (mine !== this.talk || this.session) return;
      if (!messages.length && !shown.is_main) return forget();
      this.session = session;
      this.number = shown.last_event;
      this.point(about ?? shown.entity);
      byId("restart").hidden = false;
      this.keep();
      this.retell(messages);
      this.watch.over(shown);
    } catch (error) {
      forget();
      if (error.status === 0) notice(byId("chat-notice"), kindly(error));
    }
  }

  /** The messages as they are stored; the last one may still wait for its answer. */
  retell(messages) {
    this.log.replaceChildren(...messages.map((message) => this.told(message)));
    this.toEnd(true);
    if (messages.at(-1)?.direction === "inbound") this.await(messages.at(-1));
  }

  told(message) {
    if (message.direction === "inbound") return h("p", { class: "said", data: { id: message.id } }, message.text, alongside(message.attachments));
    const reply = new Reply(this.binding.name);
    reply.settle(message);
    return reply.element;
  }

  await(message) {
    this.pending.set(message.id, message.at);
    this.follow();
  }

  async follow() {
    if (this.following) return;
    const mine = new AbortController();
    this.following = mine;
    this.waiting();
    try {
      await this.listen(mine);
    } catch (error) {
      if (!mine.signal.aborted) this.lost(error);
    } finally {
      clearTimeout(this.slow);
      clearTimeout(this.late);
      if (this.following === mine) this.following = null;
    }
    if (!mine.signal.aborted && this.pending.size && !this.broken) this.follow();
  }

  async listen(mine) {
    this.broken = false;
    const options = { stream: this.settings.stream, signal: mine.signal };
    for await (const event of events(this.session, this.number, options)) {
      this.number = event.number;
      await this.happened(event);
      if (event.kind === "done" && !this.pending.size) return;
    }
  }

  waiting() {
    this.reply ??= this.begun();
    clearTimeout(this.slow);
    clearTimeout(this.late);
    this.slow = setTimeout(() => this.reply?.doing("Still working; this takes longer than usual"), SLOW);
    this.late = setTimeout(() => this.lost(new Problem(0, "late", "No answer yet. It will appear here when it is ready; reload later or ask again.")), GIVE_UP);
  }

  begun() {
    const reply = new Reply(this.binding.name);
    reply.doing("Reading your message");
    this.log.append(reply.element);
    this.toEnd();
    return reply;
  }

  async happened(event) {
    if (event.turn_id !== this.turn) this.answering(event);
    if (event.kind === "done") return this.finished(event.payload);
    this.reply ??= this.begun();
    this.reply.happened(event);
    this.toEnd();
  }

  /** A turn answers what had arrived when it began; what came later waits for the next one. */
  answering(event) {
    this.turn = event.turn_id;
    for (const [id, at] of this.pending) if (Date.parse(at) <= Date.parse(event.at)) this.pending.delete(id);
    this.log.append(...(this.reply ? [this.reply.element] : []));
  }

  async finished({ message_id: id }) {
    const reply = this.reply;
    this.reply = null;
    try {
      const { messages } = await call("GET", `v1/sessions/${this.session.session_id}/messages`, { token: this.session.token });
      const stored = messages.find((message) => message.id === id);
      if (stored && this.log.querySelector(`[data-id="${id}"]`)) reply?.element.remove(); // it was told before
      else if (stored) reply?.settle(stored);
      else reply?.end();
    } catch {
      reply?.end();
    }
    this.toEnd();
    this.onTurn();
    if (this.pending.size) this.waiting();
  }

  lost(error) {
    this.broken = true;
    this.following?.abort();
    this.following = null;
    this.pending.clear();
    this.reply?.stop("The connection was lost before the answer was complete.");
    this.reply = null;
    if (error.status === 401 || error.status === 404) this.expired();
    notice(byId("chat-notice"), kindly(error));
  }
}
