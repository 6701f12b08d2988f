import type { Problem } from "../api/problem";

/** Return what went wrong with a conversation in words for visitors, who know no API. */
export function visitorText({ status, message }: Problem): string {
  if (status === 401 || status === 404) {
    return "This conversation has ended. Send your message again to start a new one.";
  }
  if (status === 503) return "The agent is busy. Your message is kept; try again in a moment.";
  return message;
}
