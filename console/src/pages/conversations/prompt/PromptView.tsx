import { useState } from "preact/hooks";
import type { Schema } from "../../../api/client";
import { setQuery } from "../../../shell/router";
import { clock, count, dollars, plural } from "../../../ui/format";
import { PromptBar } from "./PromptBar";
import { LayerText } from "./LayerText";
import { aboveCap, CAUSES, hue, layerName, LAYERS, limitWords } from "./prompt_words";

type Step = Schema["PromptStepView"];

interface PromptViewProps {
  turnId: string;
  step: Step;
  profile: Schema["BudgetProfileView"];
  /** The layer of the address. */
  layer: string | null;
}

/** One prompt: its layers drawn, what each takes, and the text of the chosen one. */
export function PromptView({ turnId, step, profile, layer }: PromptViewProps) {
  const filled = step.segments.map((segment) => segment.layer);
  const largest = step.segments.toSorted((one, other) => other.tokens - one.tokens)[0]?.layer;
  const chosen = filled.find((name) => name === layer) ?? largest ?? null;
  const choose = (name: string) => setQuery({ layer: name });
  return (
    <>
      <PromptBar step={step} total={profile.total} chosen={chosen} onChoose={choose} />
      <Remarks step={step} />
      <div class="prompt-columns">
        <Layers step={step} config={profile.config} chosen={chosen} onChoose={choose} />
        {chosen && <LayerText key={chosen} turnId={turnId} step={step} config={profile.config} layer={chosen} />}
      </div>
    </>
  );
}

interface LayersProps {
  step: Step;
  config: number;
  chosen: string | null;
  onChoose: (layer: string) => void;
}

/** All layers with their tokens and limits; those in the prompt can be read. */
function Layers({ step, config, chosen, onChoose }: LayersProps) {
  const filled = new Set<string>(step.segments.map((segment) => segment.layer));
  const [areAllShown, showAll] = useState(false);
  const shown = step.layers.filter(({ layer }) => areAllShown || filled.has(layer));
  const empty = step.layers.length - shown.length;
  return (
    <section class="prompt-layers" aria-label="Layers">
      <ul>
        {shown.map((one) => (
          <li key={one.layer}>
            <button
              type="button"
              aria-pressed={one.layer === chosen}
              disabled={!filled.has(one.layer)}
              onClick={() => onChoose(one.layer)}
            >
              <i class="prompt-swatch" style={{ background: hue(one.layer) }} aria-hidden="true" />
              <span class="prompt-layer-name">
                <b>{layerName(one.layer)}</b>
                <span class="soft">{LAYERS[one.layer]}</span>
              </span>
              <span class="prompt-amount">
                {count(one.tokens)}
                <span class="soft">{one.tokens > 0 ? percent(one.share) : ""}</span>
              </span>
              <span class="prompt-limits soft">{limitWords(one, config, count)}</span>
            </button>
            {aboveCap(one, count) && <p class="prompt-above">{aboveCap(one, count)}</p>}
          </li>
        ))}
      </ul>
      {(empty > 0 || areAllShown) && (
        <p>
          <button type="button" class="button link" onClick={() => showAll(!areAllShown)}>
            {areAllShown ? "Hide empty layers" : `Show ${plural(empty, "empty layer")}`}
          </button>
        </p>
      )}
    </section>
  );
}

/** What the cache and the briefing did for this prompt. */
function Remarks({ step }: { step: Step }) {
  const { restarted, cache_miss: miss, refresh_causes: causes, cached, usage, briefing, breakpoints } = step;
  const remarks = [
    restarted
      ? "The turn began again with this model call: it was retried, or one of its sources was restricted meanwhile."
      : "",
    miss
      ? `Cache miss from the layer ${layerName(miss.layer)} on: ${CAUSES[miss.cause]}. ${count(miss.tokens)} tokens were processed again${miss.cost_usd ? `, which cost ${dollars(miss.cost_usd)} more` : ""}.`
      : "",
    cached.tokens
      ? `The first ${count(cached.tokens)} budget tokens were in the provider's cache${usage?.cache_read_tokens ? `; it billed ${count(usage.cache_read_tokens)} as cached` : ""}.`
      : miss
        ? ""
        : "Nothing was cached yet.",
    breakpoints.length ? "" : "No cache breakpoint was set, because caching would not have saved money.",
    causes.length
      ? `The briefing was rendered again because ${causes.map((cause) => CAUSES[cause]).join(", and ")}.`
      : "",
    !causes.length && briefing
      ? `The briefing of ${clock(briefing.rendered_at)} was used; it has ${plural(briefing.sources.length, "source")}.`
      : "",
  ].filter(Boolean);
  return <p class={miss ? "prompt-remarks notice" : "prompt-remarks soft"}>{remarks.join(" ")}</p>;
}

function percent(share: number): string {
  return share > 0 && share < 0.005 ? "<1 %" : `${Math.round(share * 100)} %`;
}
