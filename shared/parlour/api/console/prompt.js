// The prompt inspector: one prompt at a time, through the steps of a turn and the turns of its session.

import { byId, h, notice } from "./dom.js";
import { CAUSES, count } from "./layers.js";
import { legend, picture } from "./prompt_chart.js";
import { changes, dropped, reading } from "./prompt_text.js";

export class PromptInspector {
  /** `ask(method, path)` is one call as whoever signed in. */
  constructor(ask) {
    this.ask = ask;
    this.dialog = byId("prompt");
    this.page = byId("prompt-page");
    byId("prompt-close").addEventListener("click", () => this.dialog.close());
    this.dialog.addEventListener("click", (event) => { if (event.target === this.dialog) this.dialog.close(); });
    for (const way of ["previous", "next"]) byId(`prompt-${way}`).addEventListener("click", () => this.turn(this.found?.turn[`${way}_turn_id`]));
    for (const view of ["prompt", "changes"]) byId(`prompt-view-${view}`).addEventListener("click", () => { this.view = view; this.draw(); });
    this.view = "prompt";
  }

  /** Show the prompts of a turn, its last step first: that one holds all the others. */
  async open(id) {
    this.found = null;
    this.page.replaceChildren();
    if (!this.dialog.open) this.dialog.showModal();
    await this.turn(id);
  }

  async turn(id) {
    if (!id) return;
    try {
      const found = await this.ask("GET", `v1/turns/${id}/prompt`);
      notice(byId("prompt-notice"), "");
      this.found = found;
      this.words = new Map();
      this.show(found.steps.at(-1).step);
    } catch (error) {
      notice(byId("prompt-notice"), error.message);
      if (!this.found) byId("prompt-title").textContent = "No stored prompt";
    }
  }

  show(number) {
    this.step = this.found.steps.find(({ step }) => step === number);
    const chosen = this.step.segments.findIndex(({ layer }) => layer === this.layer);
    const largest = this.step.segments.reduce((most, one, place) => (one.tokens > this.step.segments[most].tokens ? place : most), 0);
    this.chosen = chosen >= 0 ? chosen : largest;
    this.draw();
  }

  choose(place) {
    this.chosen = place;
    this.layer = this.step.segments[place].layer;
    this.read();
    for (const one of this.page.querySelectorAll("[data-place]")) one.setAttribute("aria-pressed", String(Number(one.dataset.place) === place));
  }

  draw() {
    const { found, step } = this;
    if (!found) return;
    const { turn, profile } = found;
    byId("prompt-title").textContent = `Prompt of turn ${turn.number}`;
    byId("prompt-facts").textContent = [`${count(step.tokens)} of ${count(profile.total)} tokens`, step.model.split("/").at(-1), new Date(step.at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" })].join(" · ");
    for (const way of ["previous", "next"]) byId(`prompt-${way}`).disabled = !turn[`${way}_turn_id`];
    for (const view of ["prompt", "changes"]) byId(`prompt-view-${view}`).setAttribute("aria-pressed", String(view === this.view));
    byId("prompt-steps").replaceChildren(...(found.steps.length > 1 ? found.steps.map((one) => this.tab(one)) : []));
    this.page.replaceChildren(...(this.view === "prompt" ? this.drawn() : [h("p", { class: "soft" }, "Comparing …")]));
    if (this.view === "prompt") this.read();
    else this.compare();
  }

  tab({ step: number }) {
    return h("button", { type: "button", class: "chip", "aria-pressed": String(number === this.step.step), on: { click: () => this.show(number) } }, `Step ${number}`);
  }

  drawn() {
    const { step, found } = this;
    const choose = (place) => this.choose(place);
    this.reader = h("section", { class: "prompt-reader", tabindex: "0", "aria-label": "Text of the selected segment" });
    return [
      picture(step, found.profile.total, this.chosen, choose),
      ...remarks(step),
      h("div", { class: "prompt-body" }, h("div", {}, legend(step, this.chosen, choose), dropped(step)), this.reader),
    ];
  }

  /** The words of the segment that is chosen; another may be chosen while they are on their way. */
  async read() {
    const { step, chosen, reader, words } = this;
    const segment = step.segments[chosen];
    const missing = [...new Set(segment.blocks.flatMap((block) => block.text_hashes))].filter((hash) => !words.has(hash));
    try {
      for (let place = 0; place < missing.length; place += 50) {
        const query = missing.slice(place, place + 50).map((hash) => `hash=${hash}`).join("&");
        const told = await this.ask("GET", `v1/turns/${this.found.turn.id}/prompt/texts?${query}`);
        for (const [hash, text] of Object.entries(told.texts)) words.set(hash, text);
      }
      if (reader === this.reader && chosen === this.chosen) reader.replaceChildren(...reading(step, segment, words));
    } catch (error) {
      reader.replaceChildren(h("p", { class: "bad" }, error.message));
    }
  }

  /** What changed since the step before, and for a turn's first since the turn before. */
  async compare() {
    const { found: { turn }, step } = this;
    const first = step.step === turn.steps[0];
    if (first && !turn.previous_turn_id) {
      this.page.replaceChildren(h("p", { class: "blank" }, h("b", {}, "First prompt of the session"), "There is no earlier prompt to compare with."));
      return;
    }
    const before = first ? `with=${turn.previous_turn_id}` : `with=${turn.id}`;
    try {
      const told = await this.ask("GET", `v1/turns/${turn.id}/prompt/diff?${before}&step=${step.step}`);
      if (this.step === step && this.view === "changes") this.page.replaceChildren(...changes(told));
    } catch (error) {
      notice(byId("prompt-notice"), error.message);
    }
  }
}

/** What is to be said of the cache and of the briefing. */
function remarks({ restarted, cache_miss: miss, refresh_causes: causes, cached, usage, briefing, breakpoints, candidates }) {
  const said = [];
  if (restarted) said.push(h("p", { class: "prompt-remark" }, "The turn restarted with this step: it was redriven, or one of its sources was restricted meanwhile."));
  if (miss) said.push(h("p", { class: "miss" }, h("b", {}, "Cache miss"), ` from the layer ${miss.layer} on: ${CAUSES[miss.cause] ?? miss.cause}. ${count(miss.tokens)} tokens were processed again${miss.cost_usd ? `, ${dollars(miss.cost_usd)} more than from the cache` : ""}.`));
  const about = [];
  if (cached.tokens) about.push(`The first ${count(cached.tokens)} tokens were cached${usage?.cache_read_tokens ? `; the provider reports ${count(usage.cache_read_tokens)}` : ""}.`);
  else if (!miss) about.push("Nothing was cached yet.");
  if (!breakpoints.length) about.push("No cache breakpoint was set, because caching would not have saved money.");
  if (causes.length) about.push(`The briefing was rebuilt: ${causes.map((one) => CAUSES[one] ?? one).join("; ")}.`);
  else if (briefing) about.push(`The briefing from ${new Date(briefing.rendered_at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })} was reused; it has ${briefing.sources.length} ${briefing.sources.length === 1 ? "source" : "sources"}.`);
  const out = candidates.filter((one) => !one.is_included).length;
  about.push(out ? `${out} of ${candidates.length} candidates were left out.` : "Every candidate fits.");
  return [...said, h("p", { class: "prompt-remark" }, about.join(" "))];
}

function dollars(cost) {
  const value = Number(cost);
  return value < 0.01 ? `$${value.toPrecision(2)}` : `$${value.toFixed(3)}`;
}
