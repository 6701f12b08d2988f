import { body, type Schema } from "../../api/client";
import { api } from "../../api/sign_in";
import type { InboxItem } from "./attention";

/** Something that a person can decide about an item. */
export interface Decision {
  label: string;
  title: string;
  /** What will happen, and what the risk is. */
  explanation: string;
  confirmLabel: string;
  run: () => Promise<Schema["ResolutionView"]>;
}

type Item<Kind extends InboxItem["kind"]> = Extract<InboxItem, { kind: Kind }>;

/** Return what a person can decide about an item, the usual choice first. */
export function decisionsOn(item: InboxItem): readonly Decision[] {
  switch (item.kind) {
    case "unknown_tool_call":
      return item.resolutions.map((resolution) => toolCallDecision(item, resolution));
    case "unknown_delivery":
    case "held_reply":
      return item.resolutions.map((resolution) => replyDecision(item, resolution));
    case "failed_turn":
      return item.resolutions.map((resolution) => turnDecision(item, resolution));
    case "failed_notification":
      return item.resolutions.map((resolution) => notificationDecision(item, resolution));
    case "failed_reply":
      return [failedReplyDecision(item)];
    case "waiting_reply":
    case "unanswered_tool_call":
    case "failing_agent_loop":
    case "waiting_route":
    case "unheard_conversation":
    case "no_model_calls":
      return [];
  }
}

function toolCallDecision(
  item: Item<"unknown_tool_call">,
  resolution: Schema["ToolCallResolution"]["resolution"],
): Decision {
  const params = { path: { call_id: item.id } };
  const run = () => body(api.POST("/v1/attention/tool-calls/{call_id}", { params, body: { resolution } }));
  return resolution === "done"
    ? {
        label: "It was done",
        title: "Was it done?",
        explanation: "Marks the call as done. The agent continues the conversation.",
        confirmLabel: "Mark as done",
        run,
      }
    : {
        label: "Run again",
        title: "Run it again?",
        explanation: "Runs the call once more with the same arguments. If the first call succeeded, it is done twice.",
        confirmLabel: "Run again",
        run,
      };
}

function replyDecision(
  item: Item<"unknown_delivery" | "held_reply">,
  resolution: Schema["ReplyResolution"]["resolution"],
): Decision {
  const params = { path: { outbox_id: item.id } };
  const run = () => body(api.POST("/v1/attention/replies/{outbox_id}", { params, body: { resolution } }));
  if (resolution === "arrived") {
    return {
      label: "It arrived",
      title: "Did the reply arrive?",
      explanation: "Marks the reply as sent. Nothing is sent again.",
      confirmLabel: "Mark as arrived",
      run,
    };
  }
  if (resolution === "dismiss") {
    return {
      label: "Dismiss",
      title: "Dismiss the reply?",
      explanation: "The reply will not be sent. This item is removed from the inbox.",
      confirmLabel: "Dismiss",
      run,
    };
  }
  const isHeld = item.kind === "held_reply";
  return {
    label: isHeld ? "Send now" : "Send again",
    title: isHeld ? "Send the reply now?" : "Send the reply again?",
    explanation: isHeld
      ? "Sends the reply unchanged. If the channel refuses it again, it returns to the inbox."
      : "Sends the reply once more. If the first one arrived, the person gets it twice.",
    confirmLabel: isHeld ? "Send now" : "Send again",
    run,
  };
}

function turnDecision(item: Item<"failed_turn">, resolution: Schema["TurnResolution"]["resolution"]): Decision {
  const params = { path: { turn_id: item.id } };
  const run = () => body(api.POST("/v1/attention/turns/{turn_id}", { params, body: { resolution } }));
  return resolution === "redrive"
    ? {
        label: "Answer now",
        title: "Answer the message now?",
        explanation: "Resumes where it stopped; completed steps are not repeated.",
        confirmLabel: "Answer now",
        run,
      }
    : {
        label: "Dismiss",
        title: "Dismiss the message?",
        explanation: "The message stays unanswered. This item is removed from the inbox.",
        confirmLabel: "Dismiss",
        run,
      };
}

function notificationDecision(
  item: Item<"failed_notification">,
  resolution: Schema["NotificationResolution"]["resolution"],
): Decision {
  const params = { path: { notification_id: item.id } };
  const run = () => body(api.POST("/v1/attention/notifications/{notification_id}", { params, body: { resolution } }));
  return resolution === "send_again"
    ? {
        label: "Send again",
        title: "Send the notification again?",
        explanation: "Sends it once more. If the first one arrived, the recipient gets it twice.",
        confirmLabel: "Send again",
        run,
      }
    : {
        label: "Dismiss",
        title: "Dismiss the notification?",
        explanation: "Nobody is notified. This item is removed from the inbox.",
        confirmLabel: "Dismiss",
        run,
      };
}

function failedReplyDecision(item: Item<"failed_reply">): Decision {
  const params = { path: { outbox_id: item.id } };
  return {
    label: "Send now",
    title: "Send the reply now?",
    explanation: "Retries sending. Fix the cause first.",
    confirmLabel: "Send now",
    run: () => body(api.POST("/v1/attention/failed-replies/{outbox_id}/redrive", { params })),
  };
}
