// The layers of a prompt, in the order of their numbers, and what is in each.

export const LAYERS = {
  tools: "definitions of the tools",
  tiers: "human, team and agent",
  briefing: "what is going on",
  summary: "the conversation so far, summarised",
  history: "the conversation so far, verbatim",
  recall: "older messages and other sessions",
  memory: "facts and episodes",
  deltas: "what changed since the briefing",
  state: "the agent's own notes",
  heartbeat: "time, locale, channel",
  reminder: "what must not be forgotten",
  message: "the user's messages",
  calls: "tool calls and results of this turn",
};

export const REASONS = {
  over_budget: "no room for it",
  covered_by_pulse: "the Pulse says it already",
  below_floor: "scored too low to help",
  unreadable: "only its name could be told",
  duplicate: "another one says the same",
  clearance: "its reader may not see it",
  too_large: "larger than its layer may be",
  cut: "cut from the history, the recap speaks for it",
};

export const CAUSES = {
  first: "the conversation began",
  focus: "it is about another record now",
  config: "the agent or its tools were changed",
  clearance: "its reader may see more or less than before",
  classification: "something in it was reclassified or deleted",
  forget: "something in it was forgotten",
  cut: "the history was cut",
  deltas: "too much had changed since",
  age: "it was older than 30 minutes",
  cold: "the cache had gone cold",
  budget: "the rest of the prompt left it less room",
  model: "another model was asked",
  refit: "tool results had to be shortened",
  unnamed: "nobody knows why",
};

export const STAYS = {
  config: "stays until the configuration changes",
  briefing: "stays until the briefing is rendered anew",
  until_cut: "stays until the history is cut",
  append_only: "only grows",
  turn: "for this turn alone",
};

export const spaced = (name) => name.replaceAll("_", " ");
export const count = (value) => Math.round(value).toLocaleString("en");
/** What a layer is promised, and the most that it takes before others had their turn. */
export function room({ floor, cap }) {
  if (cap === null) return "";
  return floor === cap ? `${count(cap)} at most` : `floor ${count(floor)}, cap ${count(cap)}`;
}
export const percent = (part) => (part > 0 && part < 0.005 ? "<1 %" : `${Math.round(part * 100)} %`);
