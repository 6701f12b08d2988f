import type { Schema } from "../api/client";
import type { Tone } from "../ui/Badge";
import { clock, date, sentenceCase } from "../ui/format";
import type { Action } from "../ui/resource";

export type Approval = Schema["ApprovalView"];
export type ApprovalAnswer = Schema["ApprovalAnswer"];

/** What the forms of a card need: the question, the action that answers, and the way back to the question. */
export interface AnswerFormProps {
  approval: Approval;
  answer: Action<[ApprovalAnswer]>;
  onCancel: () => void;
}

/** What a state is called, and its colour. */
export const STATES: Record<Approval["state"], { label: string; tone: Tone }> = {
  asked: { label: "Needs an answer", tone: "warning" },
  approved: { label: "Approved", tone: "good" },
  claimed: { label: "Approved", tone: "good" },
  done: { label: "Done", tone: "good" },
  refused: { label: "Refused", tone: "neutral" },
  expired: { label: "Expired", tone: "neutral" },
  superseded: { label: "Replaced", tone: "neutral" },
};

/** Return how a question ended, in a sentence or two. `by` is who was asked, such as "you". */
export function outcomeText(approval: Approval, by: string): string {
  const answered = `${by && ` by ${by}`}${approval.answered_at ? ` ${moment(approval.answered_at)}` : ""}`;
  switch (approval.state) {
    case "approved":
    case "claimed":
      return `Approved${answered}. It is being done.`;
    case "done":
      return `Approved${answered}. It ended${approval.done_at ? ` ${moment(approval.done_at)}` : ""}.`;
    case "refused":
      return `Refused${answered}. Nothing was done.${approval.reason ? ` Reason: ${approval.reason}` : ""}`;
    case "superseded":
      return `${approval.reason || "A newer question replaced this one."} Nothing was done.`;
    default:
      return `The question expired ${moment(approval.expires_at)}. Nothing was done. Ask again if you still want it.`;
  }
}

/** Return a tool's name, or an argument's, in words. */
export const label = sentenceCase;

/** "at 14:02" today, else "on 24 Nov 2026 at 14:02". */
function moment(at: string): string {
  return date(at) === date(Date.now()) ? `at ${clock(at)}` : `on ${date(at)} at ${clock(at)}`;
}
