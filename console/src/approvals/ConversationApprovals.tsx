import { useEffect, useRef } from "preact/hooks";
import { body } from "../api/client";
import { api } from "../api/sign_in";
import { useResource } from "../ui/resource";
import { Notice } from "../ui/states";
import type { ApprovalAnswer } from "./approval";
import { ApprovalCard } from "./ApprovalCard";
import { answerAsMember } from "./open_approvals";

interface ConversationApprovalsProps {
  sessionId: string;
  /** Changes whenever the questions have to be read again. */
  round: unknown;
  onAnswered: () => void;
}

/** The open questions of a conversation, and those that were answered here, as cards. Nothing where there are none. */
export function ConversationApprovals({ sessionId, round, onAnswered }: ConversationApprovalsProps) {
  const answered = useRef(new Set<string>());
  const found = useResource(
    async (signal) => {
      const query = { session_id: sessionId, state: "all", limit: 20 } as const;
      const { approvals } = await body(api.GET("/v1/approvals", { params: { query }, signal }));
      return approvals.filter(({ id, state }) => state === "asked" || answered.current.has(id)).reverse();
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
  if (!found.data?.length) return <Notice problem={found.problem} />;
  return (
    <section class="conversation-approvals" aria-label="What the agent asks before it does it">
      <Notice problem={found.problem} />
      <ul class="approval-list">
        {found.data.map((approval) => (
          <li key={approval.id}>
            <ApprovalCard approval={approval} onAnswer={(given) => answer(approval.id, given)} />
          </li>
        ))}
      </ul>
    </section>
  );
}
