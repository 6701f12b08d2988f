import type { Schema } from "../../../api/client";
import { plural } from "../../../ui/format";
import { hue, layerName } from "./prompt_words";

type Candidate = Schema["CandidateView"];

/** Candidates of a prompt: what each is, its layer, its score and its tokens. */
export function Candidates({ candidates }: { candidates: readonly Candidate[] }) {
  return (
    <ul class="prompt-candidates">
      {candidates.map((candidate, index) => (
        <li key={index}>
          <i class="prompt-swatch" style={{ background: hue(candidate.layer) }} aria-hidden="true" />
          <span>
            {title(candidate)}
            <span class="soft">{about(candidate)}</span>
          </span>
          <span class="prompt-amount">{plural(candidate.tokens, "token")}</span>
        </li>
      ))}
    </ul>
  );
}

function title({ title: named, is_erased: isErased, is_withheld: isWithheld, kind }: Candidate) {
  if (isWithheld) return <em class="soft">Not shown to you: a source was deleted or restricted since.</em>;
  if (named) return <span>{named}</span>;
  return isErased ? <em class="soft">Erased.</em> : <span>{layerName(kind)}</span>;
}

/** A score is a relevance between 0 and 1; other sources are ordered by their time, which says nothing here. */
function about({ layer, kind, score, is_shortened: isShortened }: Candidate): string {
  const relevance = score > 0 && score <= 1 ? `relevance ${score.toFixed(2)}` : "";
  const named = layerName(kind) === layerName(layer) ? "" : layerName(kind);
  return [layerName(layer), named, relevance, isShortened ? "shortened" : ""].filter(Boolean).join(" · ");
}
