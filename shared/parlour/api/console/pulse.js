// What is going on with a record: its Pulse, which comes anew by itself, what changed since, and a question about it.

import { sleep } from "./api.js";
import { h } from "./dom.js";
import { source } from "./reply.js";
import { rich } from "./rich_text.js";
import { ago, level, path, spaced } from "./formatting.js";

const SOON = 4000; // between two looks while something is to come
const SELDOM = 10_000; // the same when nothing is
const LOOKS = 60; // for an answer
const WAITS = { budget: "for the daily Pulse budget, which resets at midnight UTC", backoff: "for the next retry" };

/** The panel of a record's Pulse; none where its kind has none. */
export async function pulse(room, record, definition) {
  if (record.document || !definition.has_pulses) return "";
  const panel = new Pulse(room, record);
  try {
    await panel.look();
  } catch (error) {
    panel.say(error.message);
  }
  return panel.element;
}

class Pulse {
  constructor(room, record) {
    this.room = room;
    this.at = `v1/entities/${path(record.handle)}/pulse`;
    this.pause = SELDOM;
    this.body = h("div", { class: "pulse-body" });
    this.state = h("div", { class: "pulse-state", role: "status" });
    this.answer = h("div", { class: "pulse-answer", "aria-live": "polite" });
    this.trouble = h("p", { class: "bad", role: "alert", hidden: true });
    this.again = h("button", { class: "quiet", type: "button", on: { click: () => this.tried(() => this.refresh()) } }, "Refresh");
    this.element = h("section", { class: "panel pulse", "aria-label": "Pulse" }, h("header", { class: "pulse-head" }, h("h4", {}, "Pulse"), this.again), this.body, this.state, this.trouble, this.before(), this.asking(), this.answer);
  }

  /** Read it, and again as long as the page is in view; only the first look counts as somebody's. */
  async look() {
    clearTimeout(this.timer);
    const found = await this.room.ask("GET", `${this.at}?poll=${this.found ? "true" : "false"}`);
    const changed = JSON.stringify(found) !== JSON.stringify(this.found);
    this.found = found;
    if (changed) this.draw(found);
    this.pause = found.stale_since && !found.waiting_for && !found.problem ? SOON : SELDOM;
    this.later();
  }

  later() {
    this.timer = setTimeout(() => {
      if (!this.element.isConnected) return;
      if (document.hidden) this.later();
      else this.look().catch(() => this.later());
    }, this.pause);
  }

  draw(found) {
    this.body.replaceChildren(...(found.pulse ? cited(found.pulse) : [h("p", { class: "soft" }, found.is_withheld ? "One of its sources was restricted. The Pulse is hidden until it is rewritten." : "No Pulse yet.")]));
    this.state.replaceChildren(...states(found));
    this.history.hidden = !found.pulse || found.pulse.version < 2;
    if (this.history.open) this.tried(() => this.compare());
  }

  async refresh() {
    await this.room.ask("POST", `${this.at}/refresh`, {});
    await this.look();
  }

  /** What it said before: what changed with the newest text, read when somebody opens it. */
  before() {
    this.changes = h("div");
    this.history = h("details", { hidden: true, on: { toggle: () => this.history.open && this.tried(() => this.compare()) } }, h("summary", {}, "Changes in this version"), this.changes);
    return this.history;
  }

  async compare() {
    const { added, removed, changed, unchanged } = await this.room.ask("GET", `${this.at}/diff`);
    const lines = [
      ...removed.map((text) => h("li", {}, h("del", {}, text))),
      ...changed.flatMap((one) => [h("li", {}, h("del", {}, one.before)), h("li", {}, h("ins", {}, one.after))]),
      ...added.map((text) => h("li", {}, h("ins", {}, text))),
    ];
    this.changes.replaceChildren(h("ul", { class: "plain" }, ...lines), h("p", { class: "detail" }, `${unchanged.length} ${unchanged.length === 1 ? "statement" : "statements"} unchanged`));
  }

  asking() {
    const words = h("input", { id: "pulse-question", placeholder: "Ask about this record", maxlength: 1000, autocomplete: "off" });
    return h("form", { class: "pulse-ask", on: { submit: (event) => {
      event.preventDefault();
      if (words.value.trim()) this.tried(() => this.ask(words));
    } } }, h("label", { class: "hidden-label", for: "pulse-question" }, "Ask about this record (only you see the answer)"), words, h("button", { class: "quiet", type: "submit" }, "Ask"));
  }

  /** Ask, and look for the answer until there is one; it is the asker's alone. */
  async ask(words) {
    const question = words.value.trim();
    const { question_id: id } = await this.room.ask("POST", `${this.at}/refresh`, { question });
    words.value = "";
    this.answer.replaceChildren(h("p", { class: "question" }, question), h("p", { class: "doing" }, h("span", { class: "dots", "aria-hidden": "true" }, h("i"), h("i"), h("i")), "Searching"));
    const found = await this.answered(id);
    if (!this.element.isConnected || !found) return;
    const told = found.answered_at && found.markdown ? cited(found) : [h("p", { class: "soft" }, found.problem ? `No answer: ${spaced(found.problem)}.` : "No answer yet. Try again later.")];
    this.answer.replaceChildren(h("p", { class: "question" }, question), ...told);
  }

  async answered(id) {
    let found = null;
    for (let looks = 0; looks < LOOKS && (looks === 0 || this.element.isConnected); looks += 1) {
      found = await this.room.ask("GET", `${this.at}/questions/${id}`);
      if (found.answered_at || found.problem) return found;
      await sleep(SOON / 2);
    }
    return found;
  }

  async tried(work) {
    this.say("");
    this.again.disabled = true;
    try {
      await work();
    } catch (error) {
      this.say(error.message);
    } finally {
      this.again.disabled = false;
    }
  }

  say(text) {
    this.trouble.textContent = text;
    this.trouble.hidden = !text;
  }
}

/** A text with its sources; a number in it leads to its source. */
function cited({ markdown, citations }) {
  const known = new Map(citations.map((one) => [one.number, one]));
  const listed = h("ol", { class: "sources", "aria-label": "Sources" }, ...citations.map((one) => source(one)));
  const light = (number) => {
    for (const item of listed.children) item.classList.toggle("lit", item.dataset.number === String(number) && !item.classList.contains("lit"));
  };
  const cite = (number) => {
    const one = known.get(number);
    if (!one) return null;
    const told = [one.title, one.locator].filter(Boolean).join(", ");
    return h("button", { class: "cite", type: "button", title: told, "aria-label": `Source ${number}: ${told}`, on: { click: () => light(number) } }, String(number));
  };
  return [h("div", { class: "prose" }, rich(markdown, cite)), ...(citations.length ? [listed] : [])];
}

/** When it was written and for whom; since when it is stale, what changed since, what it waits for. */
function states({ pulse: text, stale_since: stale, causes, changes_text: since, waiting_for: waits, problem, failures, is_given_up: dead }) {
  const why = causes.map(({ cause }) => spaced(cause)).join(", ");
  const lines = [
    text ? h("p", { class: "detail" }, `Updated ${ago(text.generated_at)} · visible at: ${level(text.level)}`) : null,
    stale ? h("p", { class: "since" }, since || `Stale since ${ago(stale)}${why ? `: ${why}` : ""}`) : null,
    waits ? h("p", { class: "detail" }, `Waiting ${WAITS[waits] ?? spaced(waits)}.`) : null,
    problem ? h("p", { class: "detail bad" }, `${failures === 1 ? "One attempt" : `${failures} attempts`} failed: ${spaced(problem)}${dead ? "; no further retries until a refresh or a change" : ""}.`) : null,
  ];
  return lines.filter(Boolean);
}
