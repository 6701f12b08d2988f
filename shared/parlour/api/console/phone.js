// A phone on this machine: what is typed goes to the webhook as WhatsApp's provider would send it,
// and what the simulated provider received comes back as bubbles.

import { call } from "./api.js";
import { autogrow, byId, h, notice, sendOnEnter, stickToEnd } from "./dom.js";
import { clock } from "./reply.js";
import { whatsapp } from "./rich_text.js";

const EVERY = 1200;
const STATUS = { read: "Read", delivered: "Delivered", sent: "Sent" };

export class Phone {
  /** `samples` are offered while nothing was written; `onReceived` is called when a reply arrived. */
  constructor(samples, onReceived) {
    this.samples = samples;
    this.onReceived = onReceived;
    this.log = byId("phone-log");
    this.from = byId("phone-from");
    this.form = byId("phone-form");
    this.say = byId("phone-say");
    this.fit = autogrow(this.say);
    this.toEnd = stickToEnd(this.log);
    this.shown = null;
    sendOnEnter(this.say, this.form);
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.submit(); });
    this.from.addEventListener("change", () => { this.shown = null; this.look(); });
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.look(); });
  }

  async start() {
    const answer = await call("GET", "local/phone/messages").catch(() => null);
    if (!answer) return false;
    this.from.value = answer.from;
    this.draw(answer);
    this.tick();
    setInterval(() => { if (!document.hidden) this.look(); }, EVERY);
    setInterval(() => this.tick(), 10_000);
    return true;
  }

  tick() {
    byId("phone-clock").textContent = clock(Date.now());
  }

  submit() {
    const text = this.say.value.trim();
    if (!text) return;
    this.say.value = "";
    this.fit();
    this.send(text);
  }

  async send(text) {
    notice(byId("phone-notice"), "");
    try {
      await call("POST", "local/phone", { body: { text, from: this.from.value.trim() } });
      await this.look();
      this.toEnd(true);
    } catch (error) {
      this.say.value ||= text;
      notice(byId("phone-notice"), error.message);
    }
  }

  async look() {
    try {
      this.draw(await call("GET", `local/phone/messages?from=${encodeURIComponent(this.from.value.trim())}`));
    } catch {
      // The next look, a second from now, says whether it lasts; a phone without reception shows what it has.
    }
  }

  draw({ contact, messages }) {
    byId("phone-contact").textContent = contact || "Parlour";
    byId("phone-avatar").textContent = (contact || "Parlour").slice(0, 1);
    const seen = JSON.stringify(messages.map(({ id, status }) => [id, status]));
    if (seen === this.shown) return;
    const received = messages.filter((message) => message.direction === "received").length;
    if (this.shown !== null && received > this.received) this.onReceived();
    this.shown = seen;
    this.received = received;
    this.log.replaceChildren(...(messages.length ? messages.map(bubble) : [this.hint()]));
    this.toEnd();
  }

  hint() {
    const chips = this.samples.slice(0, 2).map((text) => h("button", { class: "chip", type: "button", on: { click: () => this.send(text) } }, text));
    return h("div", { class: "phone-hint" }, "Write as a customer on WhatsApp. The reply takes the real path: webhook, queues and the provider's send API.", h("div", { class: "chips" }, ...chips));
  }
}

function bubble({ direction, text, at, status }) {
  const stamp = h("time", { datetime: at }, clock(at));
  if (STATUS[status]) stamp.append(` · ${STATUS[status]}`);
  return h("div", { class: `bubble ${direction}` }, whatsapp(text), stamp);
}
