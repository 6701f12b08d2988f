import { to } from "../shell/router";
import { LinkButton } from "../ui/Button";
import { Time } from "../ui/Time";
import { ApprovalCard } from "./ApprovalCard";
import { answerAsMember, openApprovalCount, ownApprovals } from "./open_approvals";

/** The questions that the reader is asked by their role, as cards. Nothing where there are none. */
export function ApprovalQueue({ onDone }: { onDone: (message: string) => void }) {
  if (!ownApprovals.value.length) return null;
  return (
    <section aria-labelledby="approvals-title">
      <h2 id="approvals-title" class="approval-title">
        {openApprovalCount.value ? "Waiting for your answer" : "Answered"}
      </h2>
      <ul class="approval-list">
        {ownApprovals.value.map((approval) => (
          <li key={approval.id}>
            <ApprovalCard
              approval={approval}
              titleLevel="h3"
              onAnswer={async (answer) => onDone(await answerAsMember(approval.id, answer))}
            >
              <span class="soft">
                Asked <Time at={approval.created_at} />
              </span>
              <LinkButton icon="chat" href={to(["conversations", approval.session_id])}>
                Conversation
              </LinkButton>
            </ApprovalCard>
          </li>
        ))}
      </ul>
    </section>
  );
}
