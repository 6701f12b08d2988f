import type { Schema } from "../../../api/client";
import type { Tone } from "../../../ui/Badge";
import { sentenceCase } from "../../../ui/format";

type Turn = Schema["TurnView"];

/** The stages of a turn in their order, in words. */
export const STAGES: Record<string, string> = {
  wait: "Waited to be taken up",
  load: "Loaded the conversation",
  recall: "Searched earlier messages",
  assemble: "Assembled the prompt",
  pictures: "Loaded images",
  model: "Model wrote",
  tools: "Tools ran",
  save: "Saved the reply",
};

const PROBLEMS: Record<string, string> = {
  unexpected_error: "An unexpected error stopped every attempt. The log of the orchestrator names it.",
  too_many_attempts:
    "The turn was started again and again and never ended, for example because its process was stopped each time.",
  no_answer: "The model ended without an answer.",
  no_messages: "Its messages were deleted before it could answer.",
  provider_unavailable: "The model provider could not be reached, and neither could a fallback model.",
  provider_rejected: "The model provider refused the request. Check the model's name and the account.",
  misconfigured: "The agent is not set up completely: its model, its key or a secret is missing.",
  spend_cap: "Model calls are stopped, or today's spending cap is reached.",
  prompt_overflow: "The prompt did not fit into the agent's token budget.",
  erased: "It was erased.",
};

const OVERFLOWS: Record<string, string> = {
  message: "The message was too long for the agent's token budget.",
  calls: "The results of the tools were too long for the agent's token budget.",
  history: "The conversation was too long for the agent's token budget.",
};

/** Return why a turn went wrong, in words. A problem is a code, with details after a colon. */
export function problemWords(problem: string): string {
  const [code = "", detail = ""] = problem.split(/:\s*(.*)/s);
  const layer = code.replace(/^prompt_overflow_/, "");
  const words =
    PROBLEMS[code] ?? (layer === code ? sentenceCase(code) + "." : (OVERFLOWS[layer] ?? PROBLEMS.prompt_overflow));
  return detail ? `${words} (${detail})` : (words ?? "");
}

/** Return how a turn ended. */
export function turnState({ state, degraded, finished_at: finished }: Turn): { tone: Tone; words: string } {
  if (state === "failed") return { tone: "bad", words: "Failed" };
  if (state === "open" || !finished) return { tone: "accent", words: "Being answered" };
  if (state === "stopped") return { tone: "neutral", words: "Stopped" };
  return degraded ? { tone: "warning", words: "Answered with a fixed text" } : { tone: "good", words: "Answered" };
}

const DELIVERIES: Record<string, readonly [Tone, string]> = {
  pending: ["neutral", "Waits to be sent"],
  sending: ["accent", "Being sent"],
  sent: ["good", "Sent"],
  delivered: ["good", "Delivered"],
  read: ["good", "Read"],
  failed: ["bad", "Not sent"],
  unknown: ["warning", "Unknown whether it arrived"],
  held: ["warning", "On hold until a person decides"],
};

/** Return how far the sending of a reply is. */
export function deliveryWords(state: string): readonly [Tone, string] {
  return DELIVERIES[state] ?? ["neutral", sentenceCase(state)];
}

const OUTCOMES: Record<string, readonly [Tone, string]> = {
  done: ["good", "Succeeded"],
  failed: ["bad", "Failed"],
  unknown: ["warning", "Outcome unknown"],
  reserved: ["neutral", "Waits to run"],
  running: ["accent", "Running"],
  unanswered: ["warning", "No answer yet"],
};

/** Return how a tool call ended. */
export function outcomeWords(state: string): readonly [Tone, string] {
  return OUTCOMES[state] ?? ["neutral", sentenceCase(state)];
}
