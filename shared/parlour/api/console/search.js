// Searching: words in, cards out. A card says of which record it is, what kind of text was found, and leads there.

import { h } from "./dom.js";
import { sign } from "./icons.js";
import { path } from "./formatting.js";

const WITHOUT_A_RECORD = { chat_message: "conversation", file_chunk: "document", file_summary: "document" };
const LEAST = 4; // letters of a word that is marked in a preview
const COMMON = new Set("about does from have into that their them then there they this were what when where which will with would your".split(" "));

/** What a scope is called when the address names it and nothing else in the page does. */
export const SCOPES = {
  project: (handle) => `In ${handle}`,
  record: (handle) => `Around ${handle}`,
  type: (type) => `Type: ${type.replaceAll("_", " ")}`,
  conversation: () => "In a conversation",
};

/** The page of results for the words in the address. */
export async function results(room, _parts, asked) {
  const words = asked.get("q") ?? "";
  const scope = asked.get("scope") ?? "workspace";
  room.words.value = words;
  await room.kinds();
  room.offerScopes(asked.get("in") ? `${scope}=${asked.get("in")}` : scope);
  const found = await room.ask("GET", `v1/search?${asked}`);
  if (!found.cards.length) return [nothing(words)];
  const terms = termsOf(`${words} ${found.expanded ?? ""}`);
  return [
    told(found),
    h("ol", { class: "results" }, ...found.cards.map((card) => h("li", {}, drawn(card, terms)))),
    related(found.related ?? []),
  ];
}

function told({ cards, expanded }) {
  const amount = `${cards.length} ${cards.length === 1 ? "result" : "results"}, best first`;
  return h("p", { class: "results-head", role: "status" }, amount, expanded ? h("span", { class: "detail" }, `Searched for: ${expanded}`) : null);
}

function drawn(card, terms) {
  const { badge, title, name, type_name: kind, locator, preview, score, link } = card;
  const of = name && name !== title ? ` → ${kind}: ${name}` : "";
  const inside = [
    sign({ ...card, type: card.type ?? WITHOUT_A_RECORD[card.kind] ?? "document" }),
    h("span", { class: "result-title" }, title, h("span", { class: "of" }, of || (kind && !of ? ` ${kind}` : ""))),
    h("span", { class: "result-facts" }, h("span", { class: "kind" }, badge), locator ? h("span", { class: "locator" }, locator) : null, strength(score)),
    h("span", { class: "preview" }, marked(preview, terms)),
  ];
  return link ? h("a", { class: "result", href: link }, ...inside) : h("article", { class: "result" }, ...inside);
}

/** How well a result fits, beside the best of the same search. */
function strength(score) {
  const filled = h("i");
  filled.style.setProperty("--part", String(Math.max(0.04, Math.min(1, score))));
  const label = `${Math.round(score * 100)} % of the best match`;
  return h("span", { class: "strength", title: label }, h("span", { class: "hidden-label" }, label), h("span", { class: "bar", "aria-hidden": "true" }, filled));
}

function related(records) {
  if (!records.length) return "";
  return h("section", { class: "related", "aria-label": "Related records" }, h("h3", {}, "Related"), h("ul", { class: "chips" }, ...records.map((one) => h("li", { title: why(one) }, chip(one)))));
}

/** By which links a related record is there: "risk/R-1 ← contains". */
function why({ relations = [] }) {
  return relations.map(({ relation, direction, record }) => `${record} ${direction === "outgoing" ? "→" : "←"} ${relation.replaceAll("_", " ")}`).join("\n");
}

/** A record as a small link with its sign. */
export function chip(one) {
  return h("a", { class: "chip record-chip", href: `#/records/${path(one.handle)}` }, sign(one), h("span", {}, one.name));
}

function nothing(words) {
  return h("div", { class: "blank" }, h("b", {}, `No results for “${words}”`), "Try other words or search everywhere. Results above your clearance are never shown or counted.");
}

/** The words worth marking: not those that are in every sentence. */
function termsOf(words) {
  const found = (words.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => word.toLowerCase());
  return [...new Set(found.filter((word) => (word.length >= LEAST || /\p{N}/u.test(word)) && !COMMON.has(word)))];
}

/** The text with the words that were asked for marked, at their beginnings: "risk" marks "risks". */
function marked(text, terms) {
  const fragment = document.createDocumentFragment();
  let from = 0;
  for (const match of text.matchAll(/[\p{L}\p{N}]+/gu)) {
    const word = match[0].toLowerCase();
    if (!terms.some((term) => word === term || (term.length >= LEAST && word.startsWith(term)) || (word.length >= LEAST && term.startsWith(word)))) continue;
    fragment.append(text.slice(from, match.index), h("mark", {}, match[0]));
    from = match.index + match[0].length;
  }
  fragment.append(text.slice(from));
  return fragment;
}
