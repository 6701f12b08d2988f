// What stands in a conversation before anything was said.

import { h } from "./dom.js";

const SAMPLES = ["What can you help me with?", "What happened most recently?"];

/** A greeting, and questions to begin with; one that is chosen is given to `send`. */
export function welcome({ name, greeting, samples }, send) {
  const offered = samples?.length ? samples : SAMPLES;
  const chips = offered.slice(0, 4).map((text) => h("button", { class: "chip", type: "button", on: { click: () => send(text) } }, text));
  const said = greeting || "Ask in your own words. Answers cite their sources.";
  return h("div", { class: "welcome" }, mark(), h("h2", {}, `Talk to ${name}`), h("p", { class: "greeting" }, said), h("div", { class: "chips" }, ...chips));
}

/** What is said where no agent answers. */
export function nobody() {
  return h("div", { class: "welcome" }, mark(), h("h2", {}, "No agent is set up for this address"),
    h("p", { class: "greeting" }, "Open this page at a host that a binding of the tenant's pack names, or sign in with a key in the Turns panel: the tenant's web agents are then listed here."));
}

function mark() {
  return document.querySelector(".brand .mark").cloneNode(true);
}
