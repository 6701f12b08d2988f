// What agents remember of people, for whoever may look: who there is, and of each what, and where it came from.

import { asking } from "./confirm.js";
import { h } from "./dom.js";
import { sign } from "./icons.js";
import { remembrance } from "./memory_list.js";
import { ago, sentence, spaced } from "./formatting.js";

const CHANNELS = { web: "Web", whatsapp: "WhatsApp" };
const MOST = 100;

/** The page of everybody, or of one person: #/memory, #/memory/ID. */
export async function memory(room, [id], asked) {
  room.record = null;
  room.words.value = "";
  room.offerScopes();
  return id ? person(room, id) : people(room, asked.get("text") ?? "");
}

async function people(room, text) {
  const given = new URLSearchParams({ limit: MOST, ...(text ? { text } : {}) });
  const [{ users }, { facts }] = await Promise.all([room.ask("GET", `v1/users?${given}`), room.ask("GET", "v1/memory/shared-facts")]);
  const words = h("input", { type: "search", value: text, placeholder: "Name or last digits", maxlength: 200, autocomplete: "off", "aria-label": "Find a user" });
  const find = (event) => { event.preventDefault(); room.go(words.value.trim() ? `#/memory?text=${encodeURIComponent(words.value.trim())}` : "#/memory"); };
  return [
    h("h3", { class: "page-title" }, "Memory"),
    h("form", { class: "pulse-ask", role: "search", on: { submit: find } }, words, h("button", { class: "quiet", type: "submit" }, "Find")),
    users.length ? h("ul", { class: "records-list people" }, ...users.map((one) => h("li", {}, line(one)))) : h("div", { class: "blank" }, h("b", {}, "No users"), text ? "No user matches." : "Users appear here when they talk to an agent."),
    facts.length ? common(facts) : "",
  ];
}

function line(one) {
  const facts = one.fact_count || one.episode_count ? `${one.fact_count} ${one.fact_count === 1 ? "fact" : "facts"}, ${one.episode_count} ${one.episode_count === 1 ? "episode" : "episodes"}` : "nothing remembered";
  return h("a", { class: "record-line", href: `#/memory/${one.id}` }, sign({ type: "person", icon: "person", colour: one.fact_count ? "teal" : "grey" }),
    h("span", { class: "record-name" }, called(one), one.phone_last_digits && one.name ? h("span", { class: "of" }, ` …${one.phone_last_digits}`) : null),
    h("span", { class: "detail" }, [one.channels.map((name) => CHANNELS[name] ?? name).join(" and "), `${one.session_count} ${one.session_count === 1 ? "conversation" : "conversations"}`, facts].filter(Boolean).join(" · ")),
    h("time", { datetime: one.last_active_at }, ago(one.last_active_at)));
}

const called = ({ name, phone_last_digits: digits }) => name || (digits ? `Number ending in ${digits}` : "A visitor");

/** What is told to everybody whom a persona or a team talks to. */
function common(facts) {
  return h("section", { class: "panel" }, h("h4", {}, "Shared facts"),
    h("ul", { class: "plain" }, ...facts.map((one) => h("li", { class: "fact" }, h("p", { class: "fact-said" }, h("span", { class: "fact-key" }, sentence(spaced(one.key))), h("b", {}, one.value)), h("p", { class: "detail" }, `${one.owner_name}, since ${ago(one.since)}`)))));
}

async function person(room, id) {
  const path = `v1/users/${encodeURIComponent(id)}`;
  const [found, { sessions }] = await Promise.all([room.ask("GET", `${path}/memory`), room.ask("GET", `v1/sessions?user=${encodeURIComponent(id)}&limit=30`)]);
  const { user } = found;
  const context = { ask: room.ask, edits: room.may("editor"), again: () => room.again(), link: (session, message) => `#/conversations/${session}${message ? `?message=${message}` : ""}` };
  const where = user.channels.map((name) => CHANNELS[name] ?? name).join(" and ");
  return [
    h("header", { class: "record-head" }, sign({ type: "person", icon: "person", colour: "teal" }),
      h("div", { class: "record-title" }, h("p", { class: "soft" }, h("a", { href: "#/memory" }, "Memory"), where ? ` · ${where}` : "", user.phone_last_digits && user.name ? ` · …${user.phone_last_digits}` : ""), h("h3", { class: "page-title" }, called(user)))),
    h("div", { class: "record-body memory" },
      h("div", { class: "record-main" }, ...remembrance(found, context)),
      h("div", { class: "record-side" }, conversations(sessions), room.may("admin") ? everything(room, user) : "")),
  ];
}

function conversations(sessions) {
  if (!sessions.length) return "";
  return h("section", { class: "panel" }, h("h4", {}, "Conversations"), h("ul", { class: "plain" }, ...sessions.map((one) => h("li", {},
    h("a", { href: `#/conversations/${one.id}` }, one.title || "Untitled"),
    h("span", { class: "detail" }, [CHANNELS[one.channel] ?? one.channel, ago(one.last_active_at)].join(" · "))))));
}

/** Forget somebody with everything that they left. */
function everything(room, user) {
  return h("section", { class: "panel" }, h("h4", {}, "Erase this user"),
    h("p", { class: "detail" }, "Deletes their conversations, their memory and everything derived from them."),
    asking("Erase user data", `Erase all data of ${called(user)}? This cannot be undone.`, "Erase", async () => {
      await room.ask("POST", "v1/erasures", { kind: "user", id: user.id });
      room.go("#/memory");
    }));
}
