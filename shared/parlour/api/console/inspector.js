// Where each turn's time and tokens went, as an operator of the tenant sees it.

import { call } from "./api.js";
import { byId, h, notice } from "./dom.js";
import { LAYERS } from "./layers.js";
import { PromptInspector } from "./prompt.js";

const CHANNELS = { web: "Web", whatsapp: "WhatsApp" };
const MOST = 12;
const STAGES = ["wait", "load", "recall", "assemble", "pictures", "model", "tools", "save"];

export class Inspector {
  /** Takes console/settings.json; `onSignedIn` is given the credentials once they were good. */
  constructor({ local, bindings }, onSignedIn) {
    this.local = local;
    this.onSignedIn = onSignedIn;
    byId("key-tenant").value = bindings[0]?.tenant ?? "";
    this.credentials = null;
    this.open = new Set();
    this.prompts = new PromptInspector((...asked) => this.ask(...asked));
    byId("refresh").addEventListener("click", () => this.refresh());
    byId("key-form").addEventListener("submit", (event) => { event.preventDefault(); this.sign(); });
  }

  async start() {
    // On a laptop a member's token is handed out; elsewhere somebody has to bring a key.
    if (this.local) this.credentials = await call("GET", "local/token").catch(() => null);
    byId("key-form").hidden = this.credentials !== null;
    byId("refresh").hidden = this.credentials === null;
    if (!this.credentials) return;
    this.onSignedIn(this.credentials);
    await this.refresh();
  }

  async sign() {
    this.credentials = { tenant: byId("key-tenant").value.trim(), token: byId("key-value").value.trim() };
    if (!(await this.refresh())) return;
    byId("key-value").value = "";
    byId("key-form").hidden = true;
    byId("refresh").hidden = false;
    this.onSignedIn(this.credentials);
  }

  /** One call as whoever signed in. A local member's token that ran out is replaced once. */
  async ask(method, path, body) {
    try {
      return await call(method, path, { ...this.credentials, body });
    } catch (error) {
      if (error.status !== 401 || !this.local) throw error;
      this.credentials = await call("GET", "local/token").catch(() => this.credentials);
      return call(method, path, { ...this.credentials, body });
    }
  }

  /** Read the latest turns; true when it worked. */
  async refresh() {
    if (!this.credentials) return false;
    try {
      const { turns } = await this.ask("GET", `v1/turns?limit=${MOST}`);
      notice(byId("turns-notice"), "");
      this.draw(turns);
      return true;
    } catch (error) {
      notice(byId("turns-notice"), error.message);
      return false;
    }
  }

  /** Show one turn, opened, also when it is not among the latest: by its id, or as the last of its session. */
  async reveal({ turn_id: id, session_id: session }) {
    try {
      const turn = id ? await this.ask("GET", `v1/turns/${id}`) : (await this.ask("GET", `v1/turns?limit=1&session_id=${session}`)).turns[0];
      if (!turn) return;
      this.found = turn;
      this.revealing = true;
      await this.refresh();
      byId("turn-list").querySelector(".found")?.scrollIntoView({ block: "start", behavior: "smooth" });
    } catch (error) {
      notice(byId("turns-notice"), error.message);
    }
  }

  draw(turns) {
    const newest = turns[0]?.id;
    if (newest && newest !== this.newest) this.open = new Set([newest]);
    this.newest = newest;
    const { found } = this;
    if (this.revealing) this.open.add(found.id);
    this.revealing = false;
    const shown = !found || turns.some(({ id }) => id === found.id) ? turns : [found, ...turns];
    byId("turn-list").replaceChildren(...(shown.length ? shown.map((turn) => this.turn(turn)) : [blank()]));
  }

  turn(turn) {
    const details = h("details", { class: turn.id === this.found?.id ? "turn found" : "turn", open: this.open.has(turn.id) }, summary(turn), body(turn, () => this.prompts.open(turn.id)));
    details.addEventListener("toggle", () => (details.open ? this.open.add(turn.id) : this.open.delete(turn.id)));
    return details;
  }
}

function blank() {
  return h("p", { class: "blank" }, h("b", {}, "No turns yet"), "Write a message on the left. After the reply, this panel shows the time per stage, the tokens per layer and the cited sources.");
}

function summary(turn) {
  const asked = turn.input_messages.map((input) => input.text.trim() || `(${input.kind ?? "no text"})`).join(" / ") || "(no text)";
  const took = turn.finished_at ? milliseconds(Date.parse(turn.finished_at) - Date.parse(turn.frozen_at)) : "";
  const state = turn.degraded ? "degraded" : turn.state;
  const words = { answered: "", open: "running", failed: "failed", degraded: "degraded" };
  return h("summary", {}, h("span", { class: "asked" }, asked), h("span", { class: "took" }, took),
    h("span", { class: "about" }, words[state] ? h("span", { class: `state ${state}` }, `${words[state]} · `) : null,
      [channel(turn), turn.binding, at(turn.frozen_at)].filter(Boolean).join(" · ")));
}

function body(turn, seePrompt) {
  const stages = inOrder(turn.stage_ms, STAGES);
  const layers = inOrder(turn.tokens_by_layer, Object.keys(LAYERS));
  const output = sum(turn.model_calls.map((one) => one.output_tokens));
  const input = sum(turn.model_calls.map((one) => one.input_tokens + one.cache_read_tokens + one.cache_write_tokens));
  return h("div", { class: "turn-body" },
    turn.problem ? h("p", { class: "bad" }, turn.problem) : null,
    h("dl", { class: "facts" }, fact("Cost", cost(turn.cost_usd)), fact("Tokens in", count(input)), fact("Tokens out", count(output))),
    chart("Time by stage", stages, milliseconds, "time"),
    chart("Budgeted tokens by layer", layers, count, "tokens"),
    turn.model_calls.length ? h("button", { type: "button", class: "quiet see-prompt", on: { click: seePrompt } }, "Show prompt") : null,
    list("Model", turn.model_calls.map(inference), `${turn.model_calls.length} ${turn.model_calls.length === 1 ? "call" : "calls"}`),
    list("Tools", turn.tool_calls.map(tool)),
    list("Sent", turn.delivery ? [h("li", {}, h("span", {}, turn.delivery.state), h("span", {}, turn.delivery.sent_at ? at(turn.delivery.sent_at) : ""))] : []),
    list("Cited", (turn.reply?.citations ?? []).map(cited)));
}

function channel({ reply, delivery }) {
  const name = reply?.channel ?? (delivery ? "whatsapp" : "");
  return CHANNELS[name] ?? name;
}

function fact(name, value) {
  return h("div", {}, h("dt", {}, name), h("dd", { title: value }, value));
}

function chart(title, rows, format, kind) {
  if (!rows.length) return null;
  const most = Math.max(...rows.map(([, value]) => value), 1);
  const bars = rows.flatMap(([name, value]) => [h("dt", { title: LAYERS[name] ?? name }, name.replaceAll("_", " ")), bar(value / most), h("dd", {}, format(value))]);
  return h("section", { class: "chart" }, h("h3", {}, title, h("span", {}, format(sum(rows.map(([, value]) => value))))), h("dl", { class: `bars ${kind}` }, ...bars));
}

/** The rows of `amounts`, the known names in their order first. */
function inOrder(amounts, names) {
  const known = names.filter((name) => name in amounts);
  const others = Object.keys(amounts).filter((name) => !names.includes(name));
  return [...known, ...others].map((name) => [name, amounts[name]]);
}

function bar(part) {
  const filled = h("i", { class: part > 0 ? "some" : null });
  filled.style.setProperty("--part", String(Math.max(0, Math.min(1, part))));
  return h("span", { class: "bar", "aria-hidden": "true" }, filled);
}

function list(title, items, remark) {
  if (!items.length) return null;
  return h("section", { class: "list" }, h("h3", {}, title, remark ? h("span", {}, remark) : null), h("ul", {}, ...items));
}

function inference(one) {
  const cached = one.cache_read_tokens ? `, ${count(one.cache_read_tokens)} from cache` : "";
  const written = one.cache_write_tokens ? `, ${count(one.cache_write_tokens)} to cache` : "";
  const detail = one.outcome === "ok"
    ? `${count(one.input_tokens)} in${cached}${written}, ${count(one.output_tokens)} out`
    : `${one.outcome}: retried or passed to the fallback model`;
  const first = one.first_token_ms === null || one.first_token_ms === undefined ? "" : `, first token ${milliseconds(one.first_token_ms)}`;
  return h("li", {}, h("span", { class: one.outcome === "ok" ? null : "bad" }, `${one.provider} · ${one.model}`, h("span", { class: "detail" }, detail + first)), h("span", {}, milliseconds(one.latency_ms)));
}

const OUTCOMES = { done: "", failed: " (failed)", unknown: " (outcome unknown)", reserved: " (waiting)", running: " (running)" };

function tool({ name, state, latency_ms: took }) {
  const bad = state === "failed" || state === "unknown";
  return h("li", {}, h("span", { class: bad ? "bad" : null }, name.replaceAll("_", " "), OUTCOMES[state]), h("span", {}, took === null ? "" : milliseconds(took)));
}

function cited({ number, title, locator }) {
  return h("li", { class: "cited" }, h("span", { class: "number" }, String(number)), h("span", {}, title, locator ? h("span", { class: "detail" }, locator) : null));
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
const count = (value) => Math.round(value).toLocaleString("en");
const at = (moment) => new Date(moment).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });

function milliseconds(value) {
  return value < 1000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(value < 10_000 ? 2 : 1)} s`;
}

function cost(dollars) {
  if (dollars === null || dollars === undefined) return "unknown";
  const value = Number(dollars);
  if (value === 0) return "$0";
  return value < 0.01 ? `$${value.toPrecision(2)}` : `$${value.toFixed(3)}`;
}
