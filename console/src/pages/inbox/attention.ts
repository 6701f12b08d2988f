import { computed, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { body, isAbort, type Schema } from "../../api/client";
import { toProblem, type Problem } from "../../api/problem";
import { forgetApprovals, openApprovalCount, readOpenApprovals } from "../../approvals/open_approvals";
import { api, hasRole, signedIn } from "../../api/sign_in";
import { refreshThreadCounts, threadCounts } from "./threads";

export type AttentionItem = Schema["AttentionPageView"]["items"][number];
export type InboxItem = AttentionItem | Schema["FailedReplyView"];

/** What a person decides in its conversation. */
const DECIDED_THERE: ReadonlySet<InboxItem["kind"]> = new Set([
  "unknown_tool_call",
  "unknown_delivery",
  "held_reply",
  "failed_turn",
]);

/** Whether a person decides about the item in its conversation of the inbox. */
export function isDecidedThere(item: InboxItem): boolean {
  return DECIDED_THERE.has(item.kind);
}

interface Attention {
  /** What is decided outside of a conversation. */
  items: readonly InboxItem[];
  /** How many items wait for a person; failed replies may be sent again, but nothing waits for them. */
  openCount: number;
  /** Whether there are more items than are listed. */
  hasMore: boolean;
}

/** What needs a person; undefined until it was read. */
export const attention = signal<Attention | undefined>(undefined);
export const attentionProblem = signal<Problem | undefined>(undefined);
export const openCount = computed(() => (attention.value?.openCount ?? 0) + openApprovalCount.value);

/** Seconds between two reads while the inbox is open, and while only its number is shown. */
const SECONDS = { open: 20, closed: 90 };

/** Nobody touched the page for so long: a database that pauses may pause. */
const IDLE_MS = 10 * 60_000;

/** Read what needs a person. */
export async function refreshAttention(signal?: AbortSignal): Promise<void> {
  const abort = signal ? { signal } : {};
  const tenant = signedIn.value?.tenant;
  try {
    const [waiting, failed] = await Promise.all([
      body(api.GET("/v1/attention", abort)),
      body(api.GET("/v1/attention/failed-replies", abort)),
      readOpenApprovals(signal),
    ]);
    if (signedIn.value?.tenant !== tenant) return; // The answer of a tenant that was left.
    const items = waiting.items.filter((item) => !isDecidedThere(item));
    attention.value = {
      items: [...items, ...failed.replies],
      openCount: items.length,
      hasMore: waiting.has_more || failed.next_cursor !== "",
    };
    attentionProblem.value = undefined;
  } catch (error) {
    if (!isAbort(error)) attentionProblem.value = toProblem(error);
  }
}

let touchedAt = Date.now();
for (const event of ["pointerdown", "keydown"]) {
  document.addEventListener(event, () => (touchedAt = Date.now()), { passive: true });
}

/** Keep `attention` fresh while the component is shown, the tab is visible and somebody uses the page. */
export function useAttention(isOpen: boolean): void {
  const tenant = signedIn.value?.tenant;
  useEffect(() => {
    if (!tenant || !hasRole("viewer")) return undefined;
    const abort = new AbortController();
    attention.value = undefined;
    threadCounts.value = undefined;
    forgetApprovals();
    void refreshAttention(abort.signal);
    void refreshThreadCounts(abort.signal);
    return () => abort.abort();
  }, [tenant]);
  useEffect(() => {
    if (!tenant || !hasRole("viewer")) return undefined;
    const abort = new AbortController();
    const look = () => {
      if (document.hidden || Date.now() - touchedAt >= IDLE_MS) return;
      void refreshAttention(abort.signal);
      void refreshThreadCounts(abort.signal);
    };
    if (isOpen && attention.peek()) look(); // The number beside the closed inbox may be a minute old.
    const timer = setInterval(look, 1_000 * (isOpen ? SECONDS.open : SECONDS.closed));
    document.addEventListener("visibilitychange", look);
    return () => {
      abort.abort();
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [tenant, isOpen]);
}
