// What is remembered of somebody, drawn: each fact with the words that it came from and what it said before, to be put
// right or forgotten; and what came of earlier conversations.

import { asking } from "./confirm.js";
import { h } from "./dom.js";
import { ago, sentence, spaced } from "./formatting.js";

const CHANNELS = { web: "on the web", whatsapp: "on WhatsApp" };
const ORIGINS = { stated: "stated", extracted: "extracted from the conversation", consolidated: "consolidated from older conversations" };
const EDITORS = { user: "edited by the user", member: "edited by a member", key: "edited with an API key", operator: "edited by the operator" };
const ENDS = { refined: "refined", contradicted: "contradicted", retracted: "retracted", edited: "edited", deleted: "deleted", merged: "replaced when channels were linked", evicted: "evicted (rarely used)" };

/**
 * The nodes for what the API told. `edits`: whether facts may be changed; `again()`: draw it anew; `mine`: the reader is
 * the one it is about; `show(session, message)`: lead to a conversation.
 */
export function remembrance({ facts, episodes }, { ask, edits, again, mine, show, link }) {
  const agents = [...new Set([...facts, ...episodes].map(({ agent }) => agent))].sort();
  if (!agents.length) return [h("div", { class: "blank" }, h("b", {}, "No memory yet"), mine ? "Facts that you state about yourself are remembered and listed here." : "Facts that this user states about themselves are remembered and listed here.")];
  return agents.map((agent) => h("section", { class: "panel" },
    mine ? "" : h("h4", {}, agent),
    list("facts", facts.filter((one) => one.agent === agent).map((one) => new Fact(one, { ask, edits, again, mine, show, link }).element)),
    list("episodes", episodes.filter((one) => one.agent === agent).map((one) => episode(one, { show, link })))));
}

function list(name, items) {
  return items.length ? h("ul", { class: `plain remembered-${name}` }, ...items) : "";
}

class Fact {
  constructor(one, context) {
    this.one = one;
    this.context = context;
    this.element = h("li", { class: "fact" });
    this.draw();
  }

  get label() {
    return sentence(spaced(this.one.key).replaceAll(".", ": "));
  }

  draw() {
    const { one, context } = this;
    this.element.replaceChildren(
      h("p", { class: "fact-said" }, h("span", { class: "fact-key" }, this.label), h("b", {}, one.value)),
      h("p", { class: "detail" }, about(one, context.mine)),
      ...(one.evidence_messages.length || one.previous_values.length ? [this.from()] : []),
      context.edits ? h("div", { class: "fact-acts" },
        h("button", { class: "link", type: "button", "aria-label": `Edit: ${this.label}`, on: { click: () => this.edit() } }, "Edit"),
        asking("Erase", `Erase “${this.label}: ${one.value}” and everything derived from it? This cannot be undone.`, "Erase", () => this.forget(), { class: "link", "aria-label": `Erase: ${this.label}` })) : "");
  }

  from() {
    const { one, context } = this;
    return h("details", {}, h("summary", {}, "Source"),
      ...one.evidence_messages.map((said) => h("blockquote", {}, said.text || (said.is_archived ? "(archived)" : "(no text)"),
        h("span", { class: "detail" }, [`${ago(said.at)} ${CHANNELS[said.channel] ?? said.channel}`].join(""), " ", way(context, said.session_id, said.id)))),
      one.previous_values.length ? h("p", { class: "detail" }, "Previous values") : "",
      one.previous_values.length ? h("ul", { class: "plain" }, ...one.previous_values.map((was) => h("li", {}, h("del", {}, was.value), h("span", { class: "detail" }, ` ${ago(was.from)} to ${ago(was.until)}, ${ENDS[was.end_reason] ?? was.end_reason}`)))) : "");
  }

  edit() {
    const words = h("input", { value: this.one.value, maxlength: 300, required: true, autocomplete: "off", "aria-label": this.label });
    const wrong = h("p", { class: "bad", role: "alert", hidden: true });
    const save = async (event) => {
      event.preventDefault();
      try {
        await this.context.ask("PATCH", `v1/memory/facts/${this.one.id}`, { value: words.value.trim() });
        await this.context.again();
      } catch (error) {
        wrong.textContent = error.message;
        wrong.hidden = false;
      }
    };
    this.element.replaceChildren(h("form", { class: "thread-form", on: { submit: save, keydown: ({ key }) => { if (key === "Escape") this.draw(); } } },
      h("span", { class: "fact-key" }, this.label), words, h("button", { class: "solid", type: "submit" }, "Save"),
      h("button", { class: "quiet", type: "button", on: { click: () => this.draw() } }, "Cancel")), wrong);
    words.focus();
    words.select();
  }

  async forget() {
    await this.context.ask("DELETE", `v1/memory/facts/${this.one.id}`);
    await this.context.again();
  }
}

function about({ origin, edited_by: editor, last_confirmed_at: at, confidence, recall_count: recalled, use_count: used }, mine) {
  const how = origin === "edited" ? (mine && editor === "user" ? "edited by you" : EDITORS[editor] ?? "edited") : ORIGINS[origin] ?? origin;
  const sure = confidence < 1 ? `${Math.round(confidence * 100)}% confidence` : "";
  const use = recalled ? `recalled ${times(recalled)}, used in ${used === 1 ? "one reply" : `${used} replies`}` : "never recalled";
  return [`${sentence(how)} ${ago(at)}`, sure, mine ? "" : use].filter(Boolean).join(" · ");
}

const times = (number) => (number === 1 ? "once" : `${number} times`);

function episode(one, context) {
  const when = ago(one.from) === ago(one.until) ? ago(one.from) : `${ago(one.from)} to ${ago(one.until)}`;
  return h("li", { class: "fact" }, h("p", {}, one.text), h("p", { class: "detail" }, when, one.merged_count ? `, repeated ${times(one.merged_count)} ` : " ", way(context, one.session_id)));
}

/** The way to the conversation. */
function way({ show, link }, session, message) {
  if (link) return h("a", { href: link(session, message) }, "Show");
  return show ? h("button", { class: "link", type: "button", on: { click: () => show(session, message) } }, "Show") : "";
}
