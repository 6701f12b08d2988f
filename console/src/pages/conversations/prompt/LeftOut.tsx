import type { Schema } from "../../../api/client";
import { count, plural } from "../../../ui/format";
import { EmptyState } from "../../../ui/states";
import { Candidates } from "./Candidates";
import { REASONS } from "./prompt_words";

type Step = Schema["PromptStepView"];

/** What could have been in the prompt and is not, by reason, and what is in it with fewer words. */
export function LeftOut({ step }: { step: Step }) {
  const out = step.candidates.filter((one) => !one.is_included);
  const shortened = step.candidates.filter((one) => one.is_included && one.is_shortened);
  const reasons = Object.keys(REASONS) as (keyof typeof REASONS)[];
  if (!out.length && !shortened.length) {
    return (
      <EmptyState icon="check" title="Nothing was left out">
        All {count(step.candidates.length)} candidates are in the prompt.
      </EmptyState>
    );
  }
  return (
    <>
      <p class="soft">
        {count(out.length)} of {plural(step.candidates.length, "candidate")} were left out.
      </p>
      {reasons.map((reason) => {
        const [title, explanation] = REASONS[reason];
        return (
          <Group
            key={reason}
            title={title}
            explanation={explanation}
            candidates={out.filter((one) => one.reason === reason)}
          />
        );
      })}
      <Group
        title="In the prompt, shortened"
        explanation="There was no room for their whole text."
        candidates={shortened}
      />
    </>
  );
}

function Group({
  title,
  explanation,
  candidates,
}: {
  title: string;
  explanation: string;
  candidates: Step["candidates"];
}) {
  if (!candidates.length) return null;
  return (
    <section class="card">
      <h2>
        {title} <span class="soft">{count(candidates.length)}</span>
      </h2>
      <p class="soft">{explanation}</p>
      <Candidates candidates={candidates} />
    </section>
  );
}
