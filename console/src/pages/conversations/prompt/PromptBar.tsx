import type { Schema } from "../../../api/client";
import { count } from "../../../ui/format";
import { hue, layerName } from "./prompt_words";

type Step = Schema["PromptStepView"];

interface PromptBarProps {
  step: Step;
  total: number;
  chosen: string | null;
  onChoose: (layer: string) => void;
}

/** From this share of the bar on, a part has room for its name. */
const LABELLED = 0.1;

/** The prompt as one bar as long as its budget: a part for each segment in the order of the bytes. */
export function PromptBar({ step, total, chosen, onChoose }: PromptBarProps) {
  const length = Math.max(total, step.tokens);
  const unused = Math.max(0, total - step.tokens);
  return (
    <figure class="prompt-figure">
      <div class="prompt-bar" role="group" aria-label="The prompt by layer, in the order of its bytes">
        {step.segments.map((segment, index) => {
          const share = segment.tokens / length;
          const name = `${layerName(segment.layer)}: ${count(segment.tokens)} tokens`;
          return (
            <button
              key={index}
              type="button"
              title={name}
              aria-label={name}
              aria-pressed={segment.layer === chosen}
              style={{ flexGrow: Math.max(share, 0.012), background: hue(segment.layer) }}
              onClick={() => onChoose(segment.layer)}
            >
              {share > LABELLED && <span>{layerName(segment.layer)}</span>}
            </button>
          );
        })}
        <span class="prompt-unused" style={{ flexGrow: unused / length }} />
      </div>
      <figcaption class="soft">
        <span>{count(step.tokens)} tokens</span>
        <span>{count(unused)} of the budget unused</span>
      </figcaption>
    </figure>
  );
}
