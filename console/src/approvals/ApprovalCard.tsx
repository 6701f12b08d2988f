import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Badge } from "../ui/Badge";
import { Button } from "../ui/Button";
import { dateTime } from "../ui/format";
import { useAction, type Action } from "../ui/resource";
import { Notice } from "../ui/states";
import { Time } from "../ui/Time";
import { label, outcomeText, STATES, type Approval, type ApprovalAnswer } from "./approval";
import "./approvals.css";
import { ArgumentsForm } from "./ArgumentsForm";
import { GrantForm } from "./GrantForm";
import { RefusalForm } from "./RefusalForm";

/** The longest time that a browser's timer takes. */
const LONGEST_TIMER = 2 ** 31 - 1;

interface ApprovalCardProps {
  approval: Approval;
  /** Send an answer. The caller shows the approval as it is then. */
  onAnswer: (answer: ApprovalAnswer) => Promise<unknown>;
  /** Who was asked, in the outcome: "you"; "" where it could be anybody with a role. */
  by?: string;
  titleLevel?: "h2" | "h3";
  /** What is beside the state, such as whose conversation it is. */
  children?: ComponentChildren;
}

type Step = "question" | "refusal" | "edit" | "grant";

/** A question to a person: what will happen, until when it can be answered, and the answer. */
export function ApprovalCard({ approval, onAnswer, by = "", titleLevel: Title = "h2", children }: ApprovalCardProps) {
  const titleId = useId();
  const outcome = useRef<HTMLParagraphElement>(null);
  const [step, setStep] = useState<Step>("question");
  const state = useCurrentState(approval);
  const answer = useAction(async (given: ApprovalAnswer) => {
    await onAnswer(given);
    setStep("question");
    outcome.current?.focus();
  });
  const isAsked = state === "asked";
  const form = {
    approval,
    answer,
    onCancel: () => {
      answer.clear();
      setStep("question");
      outcome.current?.focus();
    },
  };
  return (
    <article class={isAsked ? "approval" : "approval closed"} aria-labelledby={titleId}>
      <header>
        <Badge tone={STATES[state].tone}>{STATES[state].label}</Badge>
        {children}
      </header>
      <Title id={titleId}>
        {label(approval.tool)}
        {isAsked && "?"}
      </Title>
      {isAsked && step !== "edit" && <Arguments approval={approval} />}
      <p ref={outcome} class="approval-state" role="status" tabIndex={-1}>
        {isAsked ? (
          <>
            {approval.can_answer
              ? "Nothing happens before you answer."
              : "Somebody else is asked. Nothing happens before they answer."}{" "}
            Open until {dateTime(approval.expires_at)} (<Time at={approval.expires_at} />
            ).
          </>
        ) : (
          outcomeText({ ...approval, state }, by)
        )}
      </p>
      {!isAsked && approval.arguments.length > 0 && (
        <details>
          <summary>What was asked</summary>
          <Arguments approval={approval} />
        </details>
      )}
      <Notice problem={answer.problem} />
      {isAsked && approval.can_answer && (
        <>
          {step === "question" && <Choices approval={approval} answer={answer} onStep={setStep} />}
          {step === "refusal" && <RefusalForm {...form} />}
          {step === "edit" && <ArgumentsForm {...form} />}
          {step === "grant" && <GrantForm {...form} />}
        </>
      )}
    </article>
  );
}

function Arguments({ approval }: { approval: Approval }) {
  if (!approval.arguments.length) return null;
  return (
    <dl>
      {approval.arguments.map(({ label: name, value }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface ChoicesProps {
  approval: Approval;
  answer: Action<[ApprovalAnswer]>;
  onStep: (step: Step) => void;
}

function Choices({ approval, answer, onStep }: ChoicesProps) {
  return (
    <footer class="buttons">
      <Button kind="solid" disabled={answer.isRunning} onClick={() => answer.run({ decision: "approve", reason: "" })}>
        Yes
      </Button>
      <Button disabled={answer.isRunning} onClick={() => onStep("refusal")}>
        No
      </Button>
      {approval.options.includes("edit") && approval.arguments.length > 0 && (
        <Button disabled={answer.isRunning} onClick={() => onStep("edit")}>
          Edit
        </Button>
      )}
      <Button kind="link" disabled={answer.isRunning} onClick={() => onStep("grant")}>
        Always allow …
      </Button>
    </footer>
  );
}

/** The state now: a question expires in front of its reader, too. */
function useCurrentState(approval: Approval): Approval["state"] {
  const [now, setNow] = useState(Date.now());
  const left = Date.parse(approval.expires_at) - now;
  useEffect(() => {
    if (left <= 0 || left > LONGEST_TIMER) return undefined;
    const timer = setTimeout(() => setNow(Date.now()), left + 50);
    return () => clearTimeout(timer);
  }, [left]);
  return approval.state === "asked" && left <= 0 ? "expired" : approval.state;
}
