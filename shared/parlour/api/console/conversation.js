// A conversation as it was, for whoever may read it: where a search's card of a message leads.

import { h } from "./dom.js";
import { rich } from "./rich_text.js";
import { path as address } from "./formatting.js";

const SEEN = { shared: "Visible to all members of the tenant with sufficient clearance.", role_gated: "Visible to viewers and editors with sufficient clearance." };

/** The page of one conversation, with the message that the address names in view. */
export async function conversation(room, [id], asked) {
  const chosen = asked.get("message");
  room.record = null;
  const path = `v1/sessions/${encodeURIComponent(id)}`;
  const [{ entity: about, visibility, title, user_id: user }, { messages }] = await Promise.all([room.ask("GET", path), room.ask("GET", `${path}/messages?limit=200`)]);
  room.offerScopes(`conversation=${id}`);
  return [
    h("h3", { class: "page-title" }, title || "Conversation"),
    about ? h("p", { class: "detail" }, "About ", h("a", { href: `#/records/${address(about.handle)}` }, about.name)) : "",
    user && room.may("viewer") ? h("p", { class: "detail" }, h("a", { href: `#/memory/${user}` }, "Memory of this user")) : "",
    SEEN[visibility] ? h("p", { class: "detail" }, SEEN[visibility]) : "",
    messages.length ? "" : h("div", { class: "blank" }, h("b", {}, "No messages yet"), "Messages appear here."),
    h("div", { class: "transcript" }, ...messages.map((one) => said(one, one.id === chosen))),
    chosen && !messages.some((one) => one.id === chosen) ? h("p", { class: "detail" }, "The message is older than the ones shown here.") : "",
  ];
}

function said({ direction, text, at, citations }, found) {
  const mine = direction === "inbound";
  return h("article", { class: `${mine ? "said" : "reply"}${found ? " found" : ""}` },
    h("p", { class: "byline" }, mine ? null : h("b", {}, "Agent"), h("time", { datetime: at }, new Date(at).toLocaleString())),
    h("div", { class: "prose" }, mine ? text : rich(text, (number) => cited(number, citations))));
}

function cited(number, citations) {
  const source = citations.find((one) => one.number === number);
  return source ? h("span", { class: "cite", title: [source.title, source.locator].filter(Boolean).join(", ") }, String(number)) : null;
}
