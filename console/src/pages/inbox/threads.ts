import { computed, signal } from "@preact/signals";
import { body, isAbort, type Schema } from "../../api/client";
import { api, signedIn } from "../../api/sign_in";

export type InboxThread = Schema["InboxConversationView"];
export type InboxEvent = Schema["InboxEventView"];

/** The lists of the inbox, by the word in the address. */
export const LISTS: Record<ListName, List> = {
  waiting: { label: "Waiting", query: { state: ["waiting", "undecided"] } },
  mine: { label: "Mine", query: { assignee: "me" } },
  person: { label: "With a person", query: { state: ["person"] } },
  snoozed: { label: "Snoozed", query: { state: ["snoozed"] } },
  done: { label: "Done", query: { state: ["done", "agent"] } },
};

export type ListName = "waiting" | "mine" | "person" | "snoozed" | "done";

interface List {
  label: string;
  query: { state?: (InboxThread["state"] | "undecided")[]; assignee?: "me" };
}

/** Why a conversation came to the inbox. */
export const REASONS: Record<InboxThread["reason"], string> = {
  asked: "Asked for a person",
  words: "Asked for a person",
  tool_failed: "A tool failed twice",
  unknown_effect: "Unknown outcome",
  approval: "Needs an approval",
  held_reply: "A reply was not sent",
  failed_turn: "Unanswered message",
  member: "Opened by a person",
};

/** How many conversations wait and are held; undefined until it was read. */
export const threadCounts = signal<Schema["InboxCountsView"] | undefined>(undefined);

/** How many conversations nobody has yet: they wait for a person, or for a decision. */
export const waitingCount = computed(() => (threadCounts.value?.waiting ?? 0) + (threadCounts.value?.undecided ?? 0));

/** Read how many conversations wait. An older number stays while the API is away. */
export async function refreshThreadCounts(abort?: AbortSignal): Promise<void> {
  const tenant = signedIn.value?.tenant;
  try {
    const counts = await body(api.GET("/v1/inbox/counts", abort ? { signal: abort } : {}));
    if (signedIn.value?.tenant === tenant) threadCounts.value = counts;
  } catch (error) {
    if (!isAbort(error)) return;
  }
}
