import type { Schema } from "../../../api/client";
import { plural, sentenceCase } from "../../../ui/format";

type Fact = Schema["FactView"];

const ORIGINS: Record<Fact["origin"], string> = {
  stated: "Stated",
  extracted: "Found in the conversation",
  consolidated: "Found when an older conversation was read again",
  edited: "Edited",
};

const EDITORS: Record<Fact["edited_by"], string> = {
  "": "Edited",
  user: "Edited by the person",
  member: "Edited by a member",
  key: "Edited with an API key",
  operator: "Edited by the operator",
};

/** Why an earlier value ended. */
export const ENDS: Record<Fact["previous_values"][number]["end_reason"], string> = {
  refined: "refined",
  contradicted: "contradicted",
  corrected: "read again more exactly",
  retracted: "taken back",
  expired: "ended on its date",
  edited: "edited",
  deleted: "deleted",
  merged: "replaced when channels were linked",
  evicted: "dropped, because it was rarely used",
};

/** Return a fact's key in words: "preference.language" -> "Preference: language". */
export function factLabel(key: string): string {
  return sentenceCase(key.replaceAll(".", ": "));
}

/** Return how a fact came about. */
export function originWords({ origin, edited_by: editor }: Fact): string {
  return origin === "edited" ? EDITORS[editor] : ORIGINS[origin];
}

/** Return how sure it is and how often it was used. */
export function useWords({ confidence, recall_count: recalled, use_count: used }: Fact): string {
  const sure = confidence < 1 ? `${Math.round(confidence * 100)} % confidence` : "";
  const inReplies = used ? `used in ${plural(used, "reply", "replies")}` : "not used in a reply yet";
  const use = recalled ? `in ${plural(recalled, "prompt")}, ${inReplies}` : "in no prompt yet";
  return [sure, use].filter(Boolean).join(" · ");
}
