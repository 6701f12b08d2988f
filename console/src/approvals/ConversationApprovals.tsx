import { useEffect, useRef } from "preact/hooks";
import { body } from "../api/client";
import { api } from "../api/sign_in";
import { useResource } from "../ui/resource";
import { Notice } from "../ui/states";
import type { Approval, ApprovalAnswer } from "./approval";
import { ApprovalCard } from "./ApprovalCard";
import { answerAsMember } from "./open_approvals";

interface ConversationApprovalsProps {
  sessionId: string;
  /** Changes whenever the questions have to be read again. */
  round: unknown;
  onAnswered: () => void;
  /** Also list those that were answered before, or ended without an answer. */
  showsClosed?: boolean;
}

/** The open questions of a conversation, and those that were answered here, as cards. Nothing where there are none. */
export function ConversationApprovals({ sessionId, round, onAnswered, showsClosed }: ConversationApprovalsProps) {
  const answered = useRef(new Set<string>());
  const found = useResource(
    async (signal) => {
      const query = { session_id: sessionId, state: "all", limit: 20 } as const;
      const { approvals } = await body(api.GET("/v1/approvals", { params: { query }, signal }));
      return approvals.reverse();
    },
    [sessionId],
  );
  const { reload } = found;
  useEffect(reload, [round, reload]);
  const answer = async (id: string, given: ApprovalAnswer) => {
    answered.current.add(id);
    await answerAsMember(id, given);
    reload();
    onAnswered();
  };
  const isShown = ({ id, state }: Approval) => state === "asked" || answered.current.has(id);
  const approvals = found.data ?? [];
  const shown = approvals.filter(isShown);
  const closed = showsClosed ? approvals.filter((approval) => !isShown(approval)) : [];
  if (!shown.length && !closed.length) return <Notice problem={found.problem} />;
  const list = (listed: readonly Approval[]) => (
    <ul class="approval-list">
      {listed.map((approval) => (
        <li key={approval.id}>
          <ApprovalCard
            approval={approval}
            by={approval.approver === "user" ? "the user" : ""}
            onAnswer={(given) => answer(approval.id, given)}
          />
        </li>
      ))}
    </ul>
  );
  return (
    <section class="conversation-approvals" aria-label="What the agent asks before it does it">
      <Notice problem={found.problem} />
      {shown.length > 0 && list(shown)}
      {closed.length > 0 && (
        <details>
          <summary>Approvals ({closed.length})</summary>
          {list(closed)}
        </details>
      )}
    </section>
  );
}
