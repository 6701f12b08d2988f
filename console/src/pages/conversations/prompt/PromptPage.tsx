import { body, type Schema } from "../../../api/client";
import { api } from "../../../api/sign_in";
import { to, type Route } from "../../../shell/router";
import { LinkButton } from "../../../ui/Button";
import { count, dateTime, dollars } from "../../../ui/format";
import { Page, Tabs } from "../../../ui/Page";
import { useResource } from "../../../ui/resource";
import { EmptyState, ErrorState, Skeleton } from "../../../ui/states";
import { LeftOut } from "./LeftOut";
import "./prompt.css";
import { PromptChanges } from "./PromptChanges";
import { PromptView } from "./PromptView";

type Explanation = Schema["PromptExplanationView"];
type Step = Schema["PromptStepView"];

const VIEWS = { prompt: "Prompt", "left-out": "Left out", changes: "Changes" } as const;
type View = keyof typeof VIEWS;

interface PromptPageProps {
  sessionId: string;
  turnId: string;
  route: Route;
}

/** The prompts of one turn: one model call at a time, and the turns before and after it. */
export function PromptPage({ sessionId, turnId, route }: PromptPageProps) {
  const path = { turn_id: turnId };
  const prompt = useResource(
    (signal) => body(api.GET("/v1/turns/{turn_id}/prompt", { params: { path }, signal })),
    [turnId],
  );
  const back = { href: to(["conversations", sessionId], { turn: turnId }), label: "Back to the conversation" };
  if (prompt.data) return <FoundPrompt prompt={prompt.data} sessionId={sessionId} route={route} back={back} />;
  return (
    <Page title="Prompt" back={back}>
      {!prompt.problem && <Skeleton rows={8} />}
      {prompt.problem?.status === 404 && (
        <EmptyState icon="eye" title="No stored prompt">
          The turn called no model, or its prompt was deleted after the retention period.
        </EmptyState>
      )}
      {prompt.problem && prompt.problem.status !== 404 && (
        <ErrorState problem={prompt.problem} reload={prompt.reload} />
      )}
    </Page>
  );
}

interface FoundPromptProps {
  prompt: Explanation;
  sessionId: string;
  route: Route;
  back: { href: string; label: string };
}

function FoundPrompt({ prompt, sessionId, route, back }: FoundPromptProps) {
  const { turn, profile, steps } = prompt;
  const asked = route.query.get("view") ?? "";
  const view = (asked in VIEWS ? asked : "prompt") as View;
  const step = steps.find((one) => String(one.step) === route.query.get("step")) ?? steps.at(-1);
  if (!step) return null;
  const address = (changed: { turn?: string; step?: number; view?: View; layer?: string }) =>
    to(["conversations", sessionId, "prompt", changed.turn ?? turn.id], {
      step: changed.turn ? null : (changed.step ?? step.step),
      view: changed.view ?? view,
      layer: changed.layer ?? route.query.get("layer"),
    });
  const omitted = step.candidates.filter((one) => !one.is_included).length;
  return (
    <Page
      title={`Prompt of turn ${turn.number}`}
      back={back}
      lead={<Lead step={step} total={profile.total} />}
      actions={
        <>
          {turn.previous_turn_id && (
            <LinkButton href={address({ turn: turn.previous_turn_id })}>Previous turn</LinkButton>
          )}
          {turn.next_turn_id && <LinkButton href={address({ turn: turn.next_turn_id })}>Next turn</LinkButton>}
        </>
      }
    >
      <Tabs
        label="Views of the prompt"
        tabs={Object.entries(VIEWS).map(([name, label]) => ({
          href: address({ view: name as View }),
          label: name === "left-out" ? `${label} (${omitted})` : label,
          isCurrent: name === view,
        }))}
      />
      {steps.length > 1 && <Steps steps={steps} current={step} address={(number) => address({ step: number })} />}
      <DeletedSources amount={prompt.deleted_sources.length} />
      {view === "prompt" && (
        <PromptView
          key={`${turn.id}/${step.step}`}
          turnId={turn.id}
          step={step}
          profile={profile}
          layer={route.query.get("layer")}
        />
      )}
      {view === "left-out" && <LeftOut step={step} />}
      {view === "changes" && <PromptChanges prompt={prompt} step={step} />}
    </Page>
  );
}

/** One count per line: the budget's, and the provider's for the same prompt. */
function Lead({ step, total }: { step: Step; total: number }) {
  const { usage } = step;
  const parts = [`${count(step.tokens)} of ${count(total)} budget tokens`];
  if (usage) {
    const billed = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
    parts.push(
      `the provider billed ${count(billed)} in and ${count(usage.output_tokens)} out (${dollars(usage.cost_usd)})`,
    );
  }
  parts.push(step.model.split("/").at(-1) ?? "", dateTime(step.at));
  return <>{parts.join(" · ")}</>;
}

function Steps({
  steps,
  current,
  address,
}: {
  steps: readonly Step[];
  current: Step;
  address: (step: number) => string;
}) {
  return (
    <nav class="prompt-steps" aria-label="Model calls of the turn">
      {steps.map((one) => (
        <a
          key={one.step}
          class="button"
          href={address(one.step)}
          aria-current={one.step === current.step ? "true" : undefined}
        >
          Model call {one.step}
        </a>
      ))}
    </nav>
  );
}

function DeletedSources({ amount }: { amount: number }) {
  if (!amount) return null;
  return (
    <p class="notice info">
      {amount === 1
        ? "One source of this prompt was deleted since."
        : `${count(amount)} sources of this prompt were deleted since.`}{" "}
      Its text is not shown.
    </p>
  );
}
