// One reply of an agent, drawn while it comes and once more when it is complete.

import { h } from "./dom.js";
import { rich } from "./rich_text.js";

const DOING = { search_knowledge: "Searching the documents" };

const DID = { create: "Created", update: "Changed", link: "Linked", unlink: "Unlinked" };

export class Reply {
  constructor(name) {
    this.text = "";
    this.status = h("p", { class: "doing", role: "status" });
    this.prose = h("div", { class: "prose" });
    this.sources = h("ol", { class: "sources", "aria-label": "Sources" });
    this.when = h("span");
    this.element = h("article", { class: "reply", "aria-busy": "true" }, h("p", { class: "byline" }, h("b", {}, name), this.when), this.prose, this.status);
  }

  doing(text) {
    this.status.replaceChildren(h("span", { class: "dots", "aria-hidden": "true" }, h("i"), h("i"), h("i")), text);
    this.element.append(this.status);
  }

  happened({ kind, payload }) {
    if (kind === "text_delta") this.write(this.text + payload.text);
    else if (kind === "text_reset") this.again();
    else if (kind === "tool_call") this.doing(DOING[payload.name] ?? `Using ${payload.name.replaceAll("_", " ")}`);
    else if (kind === "tool_result") this.doing(payload.ok ? "Reading the results" : "That failed; trying another way");
    else if (kind === "operation") this.did(payload);
    else if (kind === "error") this.stop(payload.message);
  }

  /** Say what was done to a record. */
  did({ action, entity_type: type, entity_name: name, other_record: other }) {
    const line = `${DID[action] ?? action} ${type.replaceAll("_", " ")}: ${name}${other ? ` and ${other.entity_name}` : ""}`;
    this.element.append(h("p", { class: "byline" }, line));
  }

  write(text) {
    this.text = text;
    this.status.remove();
    this.prose.replaceChildren(rich(text, (number) => marker(number)));
  }

  again() {
    this.write("");
    this.doing("The model stopped early; asking again");
  }

  /** Draw it as it was stored: the text is final, and its citations have titles. */
  settle({ id, text, citations, at }) {
    const known = new Map(citations.map((citation) => [citation.number, citation]));
    this.text = text;
    this.element.dataset.id = id;
    this.element.querySelector(".stopped")?.remove(); // what was said of the trouble is the stored text now
    this.when.textContent = clock(at);
    this.prose.replaceChildren(rich(text, (number) => (known.has(number) ? this.link(known.get(number)) : null)));
    this.sources.replaceChildren(...citations.map((citation) => source(citation)));
    this.end();
    if (citations.length) this.element.append(this.sources);
  }

  link(citation) {
    const label = `Source ${citation.number}: ${[citation.title, citation.locator].filter(Boolean).join(", ")}`;
    const light = () => {
      const chosen = this.sources.querySelector(`[data-number="${citation.number}"]`);
      for (const item of this.sources.children) item.classList.toggle("lit", item === chosen && !item.classList.contains("lit"));
      chosen.scrollIntoView({ block: "nearest", behavior: "smooth" });
    };
    return h("button", { class: "cite", type: "button", title: label.replace(/^Source \d+: /, ""), "aria-label": label, on: { click: light } }, String(citation.number));
  }

  end() {
    this.status.remove();
    this.element.setAttribute("aria-busy", "false");
  }

  stop(message) {
    this.end();
    this.element.querySelector(".stopped")?.remove();
    this.element.append(h("p", { class: "stopped" }, message));
  }
}

function marker(number) {
  return h("span", { class: "cite" }, String(number));
}

/** A citation in a list of sources; `link`, if any, leads to where it stands in this page. */
export function source({ number, title, locator, link }) {
  return h("li", { class: "source", data: { number } }, h("span", { class: "number" }, String(number)),
    h("span", {}, link ? h("a", { class: "title", href: link }, title) : h("span", { class: "title" }, title), locator ? h("span", { class: "locator" }, ` · ${locator}`) : null));
}

export function clock(at) {
  return new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}
