// What needs a person: outcomes that nobody knows, replies that did not surely leave, turns that failed, spend.
// Every item is a card with what happened in a sentence and what can be done about it; nothing is done unconfirmed.

import { byId, h, notice } from "./dom.js";

const NEAR = 20_000; // between two looks while the list is open
const FAR = 90_000; // and while only its number is shown
const IDLE = 10 * 60_000; // nobody touched the page: a database that pauses is left to pause

/** Per list: its path, and what can be done: label, `resolution`, what confirming says, and the confirming button. */
const KINDS = {
  spend: {
    draw: spending,
    actions: [
      { path: "v1/costs/resume", label: "Turn model calls on", confirm: "The next message calls a model again, which costs money.", yes: "Turn on", told: "Model calls are on.", only: "stopped" },
    ],
  },
  tool_calls: {
    path: "tool-calls",
    draw: toolCall,
    actions: [
      { resolution: "done", label: "Done", confirm: "Marks the call as done. The agent continues the conversation.", yes: "Mark as done" },
      { resolution: "run_again", label: "Run again", confirm: "Runs the call once more with the same arguments. If the first call succeeded, it is done twice.", yes: "Run again" },
    ],
  },
  replies: {
    path: "replies",
    draw: send,
    actions: [
      { resolution: "arrived", label: "It arrived", confirm: "Marks the reply as sent. Nothing is sent again.", yes: "Mark as arrived", only: "unknown" },
      { resolution: "send_again", label: "Send again", confirm: "Sends the reply once more. If the first one arrived, the user gets it twice.", yes: "Send again", only: "unknown" },
      { resolution: "send_again", label: "Send now", confirm: "Sends the reply now, unchanged. If the channel refuses it again, it returns to this list.", yes: "Send now", only: "held" },
      { resolution: "dismiss", label: "Dismiss", confirm: "The reply will not be sent. This item is removed from the list.", yes: "Dismiss" },
    ],
  },
  failed: {
    draw: failed,
    actions: [
      { path: "v1/attention/failed-replies/{id}/redrive", label: "Send now", confirm: "Retry sending. Fix the cause first.", yes: "Send now" },
    ],
  },
  turns: {
    path: "turns",
    draw: turn,
    actions: [
      { resolution: "redrive", label: "Answer now", confirm: "Resumes where it stopped; completed steps are not repeated.", yes: "Answer now" },
      { resolution: "dismiss", label: "Dismiss", confirm: "The message stays unanswered. This item is removed from the list.", yes: "Dismiss" },
    ],
  },
};

export class Attention {
  /** `ask(method, path, body)` calls the API as whoever signed in; `reveal(item)` shows the item's turn. */
  constructor(ask, reveal) {
    this.ask = ask;
    this.reveal = reveal;
    this.cards = new Map(); // by id: an open question must outlive a refresh
    this.open = false;
    this.signedIn = false;
    this.touched = Date.now();
    for (const event of ["pointerdown", "keydown"]) document.addEventListener(event, () => { this.touched = Date.now(); }, { passive: true });
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.refresh(); });
    byId("attention-refresh").addEventListener("click", () => this.refresh(true));
  }

  /** Somebody signed in: show the button, and look from now on. Only administrators decide. */
  start({ roles }) {
    this.decides = roles.includes("admin");
    this.signedIn = true;
    byId("attention-open").hidden = false;
    return this.refresh(true);
  }

  /** Whether the list is in view; what was settled is cleared away when it is opened again. */
  shown(open) {
    if (open && !this.open) this.forget();
    this.open = open;
    if (open) this.refresh();
  }

  forget() {
    for (const [id, card] of this.cards) if (card.settled) this.cards.delete(id);
  }

  again() {
    clearTimeout(this.timer);
    const idle = Date.now() - this.touched > IDLE;
    if (this.signedIn && !idle) this.timer = setTimeout(() => (document.hidden ? this.again() : this.refresh()), this.open ? NEAR : FAR);
    else document.addEventListener("pointerdown", () => this.refresh(), { once: true });
  }

  async refresh(asked = false) {
    if (!this.signedIn || this.looking) return;
    this.looking = true;
    if (asked) this.forget();
    try {
      const [found, { replies, next_cursor: more }] = await Promise.all([this.ask("GET", "v1/attention"), this.ask("GET", "v1/attention/failed-replies")]);
      this.draw({ ...found, failed: replies, has_more: found.has_more || Boolean(more) });
      notice(byId("attention-notice"), "");
    } catch (error) {
      if (this.open || error.status !== 0) notice(byId("attention-notice"), error.message);
    } finally {
      this.looking = false;
      this.again();
    }
  }

  draw(found) {
    const lists = { ...found, spend: spendItems(found.spend) };
    const listed = new Set(Object.keys(KINDS).flatMap((kind) => lists[kind].map(({ id }) => id)));
    for (const [id, card] of this.cards) if (!listed.has(id) && !card.settled && !card.busy) this.cards.delete(id);
    for (const kind of Object.keys(KINDS)) for (const item of lists[kind]) if (!this.cards.has(item.id)) this.cards.set(item.id, new Card(this, kind, item));
    // Nothing waits for a failed reply: those come last, the latest first, as they are given; everything else by age.
    const rank = ({ failed: late, item: { at } }) => (late ? 1e15 - Date.parse(at) / 1e3 : Date.parse(at));
    const cards = [...this.cards.values()].sort((one, other) => rank(one) - rank(other));
    const list = byId("attention-list");
    const wanted = [...cards.map(({ element }) => element), cards.length ? null : blank(), found.has_more ? more() : null].filter(Boolean);
    keep(list, wanted);
    byId("attention-spend").textContent = spent(found.spend);
    this.count(found.counts.total);
  }

  count(total) {
    const badge = byId("attention-count");
    badge.textContent = total > 99 ? "99+" : String(total);
    badge.hidden = !total;
    byId("attention-open").classList.toggle("pressing", total > 0);
    byId("attention-open").title = total ? `${total} ${total === 1 ? "item needs" : "items need"} attention` : "Nothing needs attention";
  }
}

class Card {
  constructor(list, kind, item) {
    this.list = list;
    this.kind = KINDS[kind];
    this.failed = kind === "failed";
    this.item = item;
    this.settled = false;
    this.busy = false;
    this.foot = h("div", { class: "card-foot" });
    const actions = list.decides ? this.kind.actions.filter(({ only }) => !only || only === item.state) : [];
    this.actions = actions;
    const see = item.session_id && h("button", { class: "link", type: "button", on: { click: () => list.reveal(item) } }, "Show turn");
    this.element = h("article", { class: "card", data: { id: item.id } }, ...this.kind.draw(item), see, this.foot);
    this.offer();
  }

  offer(problem) {
    this.foot.replaceChildren(
      problem ? h("p", { class: "bad", role: "alert" }, problem) : "",
      this.list.decides ? "" : h("p", { class: "detail" }, "Only an administrator of the tenant can resolve this."),
      h("div", { class: "buttons" }, ...this.actions.map((action) => h("button", { class: "quiet", type: "button", on: { click: () => this.confirm(action) } }, action.label))));
  }

  confirm(action) {
    const yes = h("button", { class: "solid", type: "button", on: { click: () => this.act(action) } }, action.yes);
    const no = h("button", { class: "quiet", type: "button", on: { click: () => this.offer() } }, "Cancel");
    this.foot.replaceChildren(h("p", { class: "question" }, action.confirm), h("div", { class: "buttons" }, yes, no));
    yes.focus();
  }

  async act(action) {
    this.busy = true;
    const working = this.foot.querySelectorAll("button");
    for (const button of working) button.disabled = true;
    working[0].textContent = "Working…";
    try {
      const path = action.path?.replace("{id}", this.item.id) ?? `v1/attention/${this.kind.path}/${this.item.id}`;
      const { message } = await this.list.ask("POST", path, action.resolution && { resolution: action.resolution });
      this.settle(action.told ?? message);
    } catch (error) {
      // 409: somebody was quicker; 404: it is gone. Neither is to be tried again.
      if (error.status === 409 || error.status === 404) this.settle(sentence(error.message));
      else this.offer(sentence(error.message));
    } finally {
      this.busy = false;
    }
    if (this.settled) this.list.refresh();
  }

  settle(message) {
    this.settled = true;
    this.element.classList.add("settled");
    this.foot.replaceChildren(h("p", { class: "result", role: "status" }, message));
  }
}

/** Spend as an item of the list, first of all; one that changed is another. */
function spendItems(spend) {
  if (!spend.problem) return [];
  const state = spend.stopped ? "stopped" : "reached";
  return [{ id: `spend-${state}`, at: new Date(0).toISOString(), state, ...spend }];
}

function toolCall({ tool, arguments: given, at, runs }) {
  const times = runs > 1 ? ` It was run ${runs} times.` : "";
  return [
    head("Outcome unknown", at),
    h("p", { class: "happened" }, "The agent called ", h("b", {}, tool), ", but the result is unknown. Check the other system, then choose what happened.", times),
    h("pre", { class: "arguments", tabindex: "0", "aria-label": `Arguments of ${tool}` }, JSON.stringify(given, null, 2)),
  ];
}

function send({ state, text, recipient, problem, at }) {
  const held = state === "held";
  const sentence = held ? "This reply is on hold until you decide." : "It is unknown whether this reply arrived. Check with the provider or ask the user.";
  return [head(held ? "Reply on hold" : "Delivery unknown", at), h("p", { class: "happened" }, sentence), h("blockquote", {}, text), h("p", { class: "detail" }, `To ${recipient}`, problem ? ` · ${problem}` : "")];
}

function failed({ text, recipient, problem, at }) {
  return [
    head("Reply not sent", at),
    h("p", { class: "happened" }, "This reply could not be sent and is not retried automatically."),
    h("blockquote", {}, text),
    h("p", { class: "detail" }, `To ${recipient}`, problem ? ` · ${problem}` : ""),
  ];
}

function turn({ texts, problem, attempts, binding, at }) {
  const tries = attempts === 1 ? "one attempt" : `${attempts} attempts`;
  return [
    head("Not answered", at),
    h("p", { class: "happened" }, h("b", {}, binding), ` could not answer this after ${tries}. The user was told that something went wrong.`),
    ...texts.map((text) => h("blockquote", {}, text || "(no text)")),
    problem ? h("p", { class: "detail" }, problem) : null,
  ];
}

function head(what, at) {
  return h("p", { class: "card-head" }, h("span", { class: "tag" }, what), h("time", { datetime: at }, when(at)));
}

function spending({ stopped, problem }) {
  return [h("p", { class: "card-head" }, h("span", { class: "tag" }, stopped ? "Model calls are off" : "Daily cap reached")), h("p", { class: "happened" }, problem)];
}

function blank() {
  return h("p", { class: "blank", data: { id: "blank" } }, h("b", {}, "No open items"), "Every tool call has a result, every reply was sent and every message was answered.");
}

function more() {
  return h("p", { class: "detail", data: { id: "more" } }, "More items exist. They appear when some of these are resolved.");
}

/** The nodes of `wanted` in their order; those that stay are not touched, so that focus and open questions stay too. */
function keep(list, wanted) {
  const stays = new Map([...list.children].map((child) => [child.dataset.id, child]));
  const nodes = wanted.map((node) => (["blank", "more"].includes(node.dataset.id) && stays.get(node.dataset.id)?.textContent === node.textContent ? stays.get(node.dataset.id) : node));
  for (const child of [...list.children]) if (!nodes.includes(child)) child.remove();
  nodes.forEach((node, index) => { if (list.children[index] !== node) list.insertBefore(node, list.children[index] ?? null); });
}

function spent({ spent_usd: so_far, reserved_usd: reserved, cap_usd: cap }) {
  const under = Number(reserved) > 0 ? `, ${dollars(reserved)} reserved` : "";
  return `Today ${dollars(so_far)} of ${dollars(cap)}${under}`;
}

function dollars(text) {
  const value = Number(text);
  if (value > 0 && value < 0.01) return "less than $0.01";
  return `$${value.toFixed(2)}`;
}

/** What the API says of a refusal, as a sentence of its own. */
function sentence(text) {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

function when(at) {
  const moment = new Date(at);
  const time = moment.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  if (moment.toDateString() === new Date().toDateString()) return `today, ${time}`;
  return `${moment.toLocaleDateString([], { day: "numeric", month: "short" })}, ${time}`;
}
