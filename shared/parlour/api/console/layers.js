// The layers of a prompt, in the order of their numbers, and what is in each.

export const LAYERS = {
  tools: "definitions of the tools",
  tiers: "human, team and agent",
  briefing: "what the conversation is about",
  summary: "the conversation so far, summarised",
  history: "the conversation so far, verbatim",
  recall: "older messages and other sessions",
  memory: "facts and episodes",
  deltas: "what changed since the briefing",
  state: "the agent's own notes",
  heartbeat: "time, locale, channel",
  reminder: "standing reminders",
  message: "the user's messages",
  calls: "tool calls and results of this turn",
};

export const REASONS = {
  over_budget: "no room in the budget",
  covered_by_pulse: "already covered by the Pulse",
  below_floor: "relevance score too low",
  unreadable: "unreadable; only its name is included",
  duplicate: "duplicate of another candidate",
  clearance: "above the user's clearance",
  too_large: "larger than its layer's cap",
  compacted: "compacted: the recap replaces it",
};

export const CAUSES = {
  first: "first turn of the conversation",
  record_changed: "the conversation is about another record now",
  config: "the agent or its tools changed",
  clearance: "the user's clearance changed",
  classification: "a source was reclassified or deleted",
  erasure: "a source was erased",
  compaction: "the history was compacted",
  deltas: "too many changes since",
  age: "it was older than 30 minutes",
  cold: "the prompt cache had expired",
  budget: "the rest of the prompt left less room",
  model: "another model was used",
  results_truncated: "tool results had to be shortened",
  unnamed: "unknown cause",
};

export const STAYS = {
  config: "stays until the configuration changes",
  briefing: "stays until the briefing is rebuilt",
  until_compaction: "stays until the history is compacted",
  append_only: "only grows",
  turn: "this turn only",
};

export const spaced = (name) => name.replaceAll("_", " ");
export const count = (value) => Math.round(value).toLocaleString("en");
/** What a layer is promised, and the most that it takes before others had their turn. */
export function room({ floor, cap }) {
  if (cap === null) return "";
  return floor === cap ? `${count(cap)} at most` : `floor ${count(floor)}, cap ${count(cap)}`;
}
export const percent = (part) => (part > 0 && part < 0.005 ? "<1 %" : `${Math.round(part * 100)} %`);
