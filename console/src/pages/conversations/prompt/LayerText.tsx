import type { Schema } from "../../../api/client";
import { bytes, count, plural } from "../../../ui/format";
import { useResource } from "../../../ui/resource";
import { Loaded } from "../../../ui/states";
import { Candidates } from "./Candidates";
import { layerName, LAYERS, limitWords, STABILITY } from "./prompt_words";
import { readTexts } from "./prompt_texts";

type Step = Schema["PromptStepView"];
type Block = Schema["PromptBlockView"];
type Texts = ReadonlyMap<string, string | null>;

/** Longer texts are cut: they would make the page slow. */
const MOST_CHARACTERS = 20_000;

interface LayerTextProps {
  turnId: string;
  step: Step;
  /** The cap of tools and persona together. */
  config: number;
  layer: string;
}

/** What one layer of a prompt says, block by block, and the sources that are in it. */
export function LayerText({ turnId, step, config, layer }: LayerTextProps) {
  const segments = step.segments.filter((segment) => segment.layer === layer);
  const hashes = segments.flatMap(({ blocks }) => blocks.flatMap((block) => block.text_hashes));
  const texts = useResource((signal) => readTexts(turnId, hashes, signal), [turnId, step.step, layer]);
  const limits = step.layers.find((one) => one.layer === layer);
  const inside = step.candidates.filter((one) => one.layer === layer && one.is_included);
  const tokens = segments.reduce((sum, segment) => sum + segment.tokens, 0);
  return (
    <section class="prompt-reader" aria-label={`Text of the layer ${layerName(layer)}`}>
      <h2>{layerName(layer)}</h2>
      <p class="soft">
        {[
          LAYERS[layer],
          plural(tokens, "token"),
          limits && limitWords(limits, config, count),
          segments[0] && STABILITY[segments[0].stability],
        ]
          .filter(Boolean)
          .join(" · ")}
      </p>
      <Loaded of={texts} rows={5}>
        {(found) => (
          <>
            {segments.flatMap(({ blocks }) =>
              blocks.map((block) => <BlockText key={block.number} block={block} texts={found} />),
            )}
          </>
        )}
      </Loaded>
      {inside.length > 0 && (
        <details>
          <summary>{plural(inside.length, "source")}</summary>
          <Candidates candidates={inside} />
        </details>
      )}
    </section>
  );
}

function BlockText({ block, texts }: { block: Block; texts: Texts }) {
  const about = [
    block.role === "assistant" ? "by the model" : block.role === "user" ? "to the model" : "",
    plural(block.tokens, "token"),
    block.is_cached ? "cached" : "",
    block.is_breakpoint ? "cache breakpoint after this" : "",
  ];
  return (
    <div class="prompt-block">
      <p class="soft">{about.filter(Boolean).join(" · ")}</p>
      {block.is_json && !block.is_withheld ? (
        <JsonText text={texts.get(block.text_hashes[0] ?? "")} />
      ) : (
        <pre>
          {block.text_hashes.map((hash) => (
            <Piece key={hash} text={texts.get(hash)} />
          ))}
        </pre>
      )}
    </div>
  );
}

function Piece({ text }: { text: string | null | undefined }) {
  return typeof text === "string" ? <>{cut(text)}</> : <em class="soft">Erased.</em>;
}

/** A tool's definition, a call, a result or an image, as it was sent. */
function JsonText({ text }: { text: string | null | undefined }) {
  if (typeof text !== "string")
    return (
      <pre>
        <Piece text={text} />
      </pre>
    );
  const value = parse(text);
  if (typeof value !== "object" || value === null) return <pre>{cut(text)}</pre>;
  if ("type" in value && value.type === "image") return <ImageLine value={value} />;
  const content = "content" in value && typeof value.content === "string" ? { content: parse(value.content) } : {};
  return <pre>{cut(JSON.stringify({ ...value, ...content }, null, 2))}</pre>;
}

/** A prompt's record has an image's name only, never its bytes. */
function ImageLine({ value }: { value: object }) {
  const source = "source" in value ? (value.source as { name?: string; media_type?: string; bytes?: number }) : {};
  return (
    <p class="soft">
      {["Image", source.name, source.media_type, source.bytes ? bytes(source.bytes) : ""].filter(Boolean).join(" · ")}
    </p>
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function cut(text: string): string {
  if (text.length <= MOST_CHARACTERS) return text;
  return `${text.slice(0, MOST_CHARACTERS)}\n… ${count(text.length - MOST_CHARACTERS)} more characters`;
}
