import type { Schema } from "../../../api/client";

type Layer = Schema["PromptLayerView"];

/** The layers of a prompt in the order of their numbers, and what is in each. */
export const LAYERS: Record<string, string> = {
  tools: "definitions of the tools",
  tiers: "human, team and agent: who answers, and how",
  briefing: "what the conversation is about",
  summary: "the conversation so far, summarised",
  history: "the conversation so far, word for word",
  recall: "older messages and other conversations",
  memory: "facts about the user, and earlier events",
  deltas: "what changed since the briefing",
  state: "the agent's own notes",
  heartbeat: "time, language and channel",
  reminder: "standing reminders",
  message: "the user's messages",
  calls: "tool calls of this turn and their results",
};

const NAMES: Record<string, string> = {
  tiers: "Persona",
  heartbeat: "Turn metadata",
  calls: "Tool calls",
  deltas: "Changes",
  state: "Agent's notes",
  message: "Message",
};

/** Return what a layer is called on screens. */
export function layerName(layer: string): string {
  const words = layer.replaceAll("_", " ");
  return NAMES[layer] ?? words.charAt(0).toUpperCase() + words.slice(1);
}

/** The colour of each layer in charts: a token of the styles. */
const HUES: Record<string, string> = {
  tools: "grey",
  tiers: "indigo",
  briefing: "teal",
  summary: "green",
  history: "blue",
  recall: "violet",
  memory: "amber",
  deltas: "orange",
  state: "brown",
  heartbeat: "navy",
  reminder: "red",
  message: "cyan",
  calls: "green",
};

/** Return the colour of a layer. */
export function hue(layer: string): string {
  return `var(--hue-${HUES[layer] ?? "grey"})`;
}

/** Why a candidate is left out, as the title of a group and as an explanation. */
export const REASONS: Record<NonNullable<Schema["CandidateView"]["reason"]>, readonly [string, string]> = {
  over_budget: ["No room in the budget", "More relevant texts came first, and then the layer or the prompt was full."],
  below_floor: ["Not relevant enough", "Their relevance score is too low to help."],
  covered_by_pulse: [
    "The Pulse says it already",
    "The summary of the record covers them, and there was no room to repeat them.",
  ],
  duplicate: ["Repeats another text", "Another candidate says the same."],
  clearance: ["Above the user's clearance", "The user may not see them."],
  too_large: ["Larger than its layer may be", "One alone takes more than the cap of its layer."],
  unreadable: ["Not readable", "The file has no text that could be read; the prompt has its name."],
  compacted: ["Compacted", "The history was shortened, and the recap speaks for them."],
};

/** Why a briefing was rendered again, or what the prompt cache was lost for. */
export const CAUSES: Record<NonNullable<Schema["PromptStepView"]["cache_miss"]>["cause"], string> = {
  first: "it was the first turn of the conversation",
  record_changed: "the conversation is about another record now",
  config: "the agent or its tools changed",
  clearance: "the user's clearance changed",
  classification: "a source was reclassified or deleted",
  erasure: "a source was erased",
  compaction: "the history was compacted",
  deltas: "too much had changed since",
  age: "it was older than 30 minutes",
  cold: "the prompt cache had expired",
  budget: "the rest of the prompt left less room",
  model: "another model was used",
  results_truncated: "tool results had to be shortened",
  unnamed: "the cause is unknown",
};

/** How long a segment's bytes stay the same. */
export const STABILITY: Record<Schema["PromptSegmentView"]["stability"], string> = {
  config: "stays the same until the configuration changes",
  briefing: "stays the same until the briefing is rendered again",
  until_compaction: "stays the same until the history is compacted",
  append_only: "only grows",
  turn: "for this turn only",
};

/** Return the limits of a layer in words. Tools and persona share one cap, `config`. */
export function limitWords({ layer, floor, cap }: Layer, config: number, format: (value: number) => string): string {
  if (layer === "tools" || layer === "tiers")
    return `at most ${format(config)} together with the ${layer === "tools" ? "persona" : "tools"}`;
  if (cap === null) return "no limit of its own";
  if (floor === cap) return `at most ${format(cap)}`;
  return floor ? `${format(floor)} guaranteed, cap ${format(cap)}` : `cap ${format(cap)}`;
}

/** Return why a layer has more tokens than its cap; "" where it has not. */
export function aboveCap({ layer, tokens, cap }: Layer, format: (value: number) => string): string {
  if (cap === null || tokens <= cap) return "";
  const excess = `${format(tokens - cap)} above its cap of ${format(cap)}. `;
  return layer === "calls"
    ? `${excess}The cap is what is set aside before the first tool call. Results may also use what the other layers left free.`
    : `${excess}The other layers did not need all of their room, so this one was given what they left free.`;
}
