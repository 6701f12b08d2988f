import type { Schema } from "../../api/client";
import type { Tone } from "../../ui/Badge";

type Conversation = Schema["ConversationView"];

export const CHANNELS: Record<string, string> = { web: "Web", whatsapp: "WhatsApp" };

/** Return the name of a channel on screens. */
export function channelName(channel: string): string {
  return CHANNELS[channel] ?? channel;
}

/** Return what somebody is called: their name, else the end of their number. */
export function personName({
  name,
  phone_last_digits: digits,
}: {
  name: string | null;
  phone_last_digits: string | null;
}): string {
  return name || (digits ? `Number ending in ${digits}` : "A visitor");
}

/** Return the title of a conversation; a greeting gives it none. */
export function conversationTitle({ title, message_count: messages }: Conversation): string {
  return title || (messages ? "Untitled conversation" : "Empty conversation");
}

/**
 * Return the state of a conversation in words: what the inbox says comes first.
 * `hasFailedTurn`: one of its turns failed, perhaps not the last.
 */
export function conversationState(conversation: Conversation, hasFailedTurn = false): { tone: Tone; words: string } {
  if (conversation.inbox_state === "person")
    return { tone: "accent", words: `With ${conversation.assignee_name ?? "a person"}` };
  if (conversation.inbox_state === "snoozed") return { tone: "neutral", words: "Snoozed" };
  if (conversation.inbox_state === "waiting" || conversation.attention_count > 0)
    return { tone: "warning", words: "Waits for a person" };
  if (conversation.last_turn_state === "running") return { tone: "accent", words: "Being answered" };
  if (conversation.has_question_for_user) return { tone: "warning", words: "Waits for the user" };
  switch (conversation.last_turn_state) {
    case "failed":
      return { tone: "bad", words: "Failed" };
    case "stopped":
      return { tone: "neutral", words: "Stopped" };
    case "answered":
      return hasFailedTurn && !conversation.failed_tools.length
        ? { tone: "bad", words: "Failed, answered later" }
        : { tone: "neutral", words: "Answered" };
    default:
      return { tone: "neutral", words: conversation.message_count ? "Not answered yet" : "No messages" };
  }
}

/** Return whether people answer a conversation, or are to. */
export function isInInbox({ inbox_state: state }: Conversation): boolean {
  return state === "waiting" || state === "person" || state === "snoozed";
}

/** The line before each reply of the offline model: it is the same in all of them. */
const OFFLINE_NOTICE = /^Offline model \([^)]*\):[^\n]*\n+/;

/** Return a text without its markdown, for one line of a list. */
export function plainPreview(text: string): string {
  return text
    .replace(OFFLINE_NOTICE, "")
    .replace(/\[\d+(?:\s*,\s*\d+)*\]/g, "")
    .replace(/[*_`#>|]+/g, "")
    .replace(/^\s*-\s+/gm, "")
    .replace(/\s+/g, " ")
    .trim();
}
