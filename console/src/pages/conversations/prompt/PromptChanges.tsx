import { body, type Schema } from "../../../api/client";
import { api } from "../../../api/sign_in";
import { count } from "../../../ui/format";
import { useResource } from "../../../ui/resource";
import { EmptyState, Loaded } from "../../../ui/states";
import { Candidates } from "./Candidates";
import { hue, layerName } from "./prompt_words";

type Explanation = Schema["PromptExplanationView"];
type Diff = Schema["PromptDiffView"];

const CHANGES: Record<Diff["segments"][number]["change"], string> = {
  same: "unchanged",
  grown: "text was added at its end",
  changed: "changed",
  added: "new",
  removed: "gone",
};

/** What changed since the model call before; for a turn's first call, since the turn before. */
export function PromptChanges({ prompt, step }: { prompt: Explanation; step: Schema["PromptStepView"] }) {
  const { turn } = prompt;
  const isFirst = step.step === turn.steps[0];
  const other = isFirst ? turn.previous_turn_id : turn.id;
  if (!other) {
    return (
      <EmptyState icon="list" title="The first prompt of the conversation">
        There is no earlier prompt to compare it with.
      </EmptyState>
    );
  }
  return <Compared key={`${turn.id}/${step.step}`} turnId={turn.id} otherId={other} step={step.step} />;
}

function Compared({ turnId, otherId, step }: { turnId: string; otherId: string; step: number }) {
  const params = { path: { turn_id: turnId }, query: { with: otherId, step } };
  const diff = useResource((signal) => body(api.GET("/v1/turns/{turn_id}/prompt/diff", { params, signal })), []);
  return <Loaded of={diff}>{(found) => <Changes diff={found} />}</Loaded>;
}

function Changes({ diff }: { diff: Diff }) {
  const { before, after, first_change: first } = diff;
  const lists = [
    ["New candidates", diff.added],
    ["Candidates that are gone", diff.removed],
    ["In the prompt now, left out before", diff.now_in],
    ["Left out now, in the prompt before", diff.now_out],
  ] as const;
  const shown = lists.filter(([, candidates]) => candidates.length);
  return (
    <>
      <p class="soft">
        Compared with turn {before.number}, model call {before.step}: {count(before.tokens)} → {count(after.tokens)}{" "}
        budget tokens ({signed(after.tokens - before.tokens)}).
      </p>
      {diff.is_same && <p>Both prompts are the same.</p>}
      {first && (
        <section class="card">
          <h2>First difference: {layerName(first.layer)}</h2>
          <p class="soft">Everything before it is the same, so the provider can use its cache up to here.</p>
          <h3>Before</h3>
          <pre class="prompt-was">{first.before || "(nothing)"}</pre>
          <h3>After</h3>
          <pre class="prompt-is">{first.after || "(nothing)"}</pre>
        </section>
      )}
      <section class="card">
        <h2>Layers</h2>
        <ul class="prompt-candidates">
          {diff.segments.map((segment, index) => (
            <li key={index}>
              <i class="prompt-swatch" style={{ background: hue(segment.layer) }} aria-hidden="true" />
              <span>
                {layerName(segment.layer)}
                {segment.placement === "last" && " (repeated at the end)"}
                <span class="soft">{CHANGES[segment.change]}</span>
              </span>
              <span class="prompt-amount">
                {count(segment.after)} <span class="soft">{segment.delta ? signed(segment.delta) : ""}</span>
              </span>
            </li>
          ))}
        </ul>
      </section>
      {shown.map(([title, candidates]) => (
        <section key={title} class="card">
          <h2>
            {title} <span class="soft">{count(candidates.length)}</span>
          </h2>
          <Candidates candidates={candidates} />
        </section>
      ))}
    </>
  );
}

function signed(value: number): string {
  return `${value < 0 ? "−" : "+"}${count(Math.abs(value))}`;
}
