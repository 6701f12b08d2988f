import { body, type Schema } from "../../../api/client";
import { api } from "../../../api/sign_in";
import { clearanceName } from "../../../ui/clearance";
import { count, dateTime, plural, sentenceCase } from "../../../ui/format";
import { useResource } from "../../../ui/resource";
import { Scrollable } from "../../../ui/Scrollable";
import { Loaded } from "../../../ui/states";
import { Facts } from "../../../ui/Table";
import { layerName, REASONS } from "../../conversations/prompt/prompt_words";

type Candidate = Schema["PulseCandidateView"];

interface PulsePromptProps {
  type: string;
  recordKey: string;
  version: number;
}

/** The prompt behind a Pulse: its size, what it contained, and what was left out and why. */
export function PulsePrompt({ type, recordKey, version }: PulsePromptProps) {
  const prompt = useResource(
    (signal) => {
      const params = { path: { type_key: type, key: recordKey }, query: { version } };
      return body(api.GET("/v1/entities/{type_key}/{key}/pulse/prompt", { params, signal }));
    },
    [type, recordKey, version],
  );
  return (
    <Loaded of={prompt}>
      {(found) => {
        const isIn = found.candidates.filter(({ reason }) => reason === null);
        const isOut = found.candidates.filter(({ reason }) => reason !== null);
        return (
          <>
            <Facts
              facts={[
                ["Written", dateTime(found.at)],
                ["Model", found.model],
                ["Prompt", `${count(found.tokens)} of ${plural(found.budget, "token")}`],
                ["Visible at", clearanceName(found.level)],
                ["Outcome", sentenceCase(found.outcome)],
                ...found.layers.map(({ layer, tokens }) => [layerName(layer), plural(tokens, "token")] as const),
              ]}
            />
            {found.is_erased && <p class="notice info">Its texts were erased. Only the figures are left.</p>}
            <Candidates title={`In the prompt: ${plural(isIn.length, "source")}`} candidates={isIn} />
            <Candidates title={`Left out: ${plural(isOut.length, "source")}`} candidates={isOut} />
            {found.prompt && (
              <details class="records-version">
                <summary>
                  The whole prompt{found.is_identical ? "" : " (built again; some of its sources changed since)"}
                </summary>
                <Scrollable label="The whole prompt" class="records-prompt">
                  {found.prompt}
                </Scrollable>
              </details>
            )}
          </>
        );
      }}
    </Loaded>
  );
}

function Candidates({ title, candidates }: { title: string; candidates: readonly Candidate[] }) {
  if (!candidates.length) return null;
  return (
    <section>
      <h3>{title}</h3>
      {candidates.map((candidate, index) => (
        <details key={index} class="records-version">
          <summary>
            {candidate.title || sentenceCase(candidate.kind)}{" "}
            <span class="soft">
              {[
                plural(candidate.tokens, "token"),
                candidate.score > 0 && candidate.score < 1 && `relevance ${candidate.score.toFixed(2)}`,
                candidate.is_shortened && "shortened",
                candidate.reason && REASONS[candidate.reason][0].toLowerCase(),
              ]
                .filter(Boolean)
                .join(" · ")}
            </span>
          </summary>
          {candidate.text ? (
            <Scrollable label={`Text of ${candidate.title}`} class="records-prompt">
              {candidate.text}
            </Scrollable>
          ) : (
            <p class="soft">Its text is not shown.</p>
          )}
        </details>
      ))}
    </section>
  );
}
