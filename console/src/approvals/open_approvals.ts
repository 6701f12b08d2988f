import { computed, signal } from "@preact/signals";
import { body } from "../api/client";
import { api } from "../api/sign_in";
import type { Approval, ApprovalAnswer } from "./approval";

/** The open questions of the tenant, and those that were answered since the page was opened; newest first. */
export const approvals = signal<readonly Approval[]>([]);

/** The questions that the reader is asked, or has answered. */
export const ownApprovals = computed(() => approvals.value.filter(isOwn));
export const openApprovalCount = computed(() => ownApprovals.value.filter(({ state }) => state === "asked").length);

/** Read the open questions. One that was answered here stays, so that its outcome can be read. */
export async function readOpenApprovals(signal?: AbortSignal): Promise<void> {
  const query = { state: "open", limit: 100 } as const;
  const page = await body(api.GET("/v1/approvals", { params: { query }, ...(signal ? { signal } : {}) }));
  const listed = new Set(page.approvals.map(({ id }) => id));
  const answered = approvals.value.filter(({ id, state }) => state !== "asked" && !listed.has(id));
  approvals.value = [...page.approvals, ...answered];
}

/** Forget the questions of a tenant that was left. */
export function forgetApprovals(): void {
  approvals.value = [];
}

/** Answer a question as a member, and show how it stands. Return what the API says. */
export async function answerAsMember(id: string, answer: ApprovalAnswer): Promise<string> {
  const params = { path: { approval_id: id } };
  try {
    return (await body(api.POST("/v1/approvals/{approval_id}/answer", { params, body: answer }))).message;
  } finally {
    const answered = await body(api.GET("/v1/approvals/{approval_id}", { params }));
    approvals.value = approvals.value.map((approval) => (approval.id === id ? answered : approval));
    await readOpenApprovals();
  }
}

function isOwn({ can_answer: isAsked, state }: Approval): boolean {
  return isAsked || state !== "asked";
}
