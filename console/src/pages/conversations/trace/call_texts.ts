import { body } from "../../../api/client";
import { api } from "../../../api/sign_in";
import { Problem } from "../../../api/problem";
import { readTexts } from "../prompt/prompt_texts";

/** What a tool was given and what it answered, as the model read it. */
export interface CallTexts {
  name: string;
  given: unknown;
  result: unknown;
}

interface Block {
  type?: string;
  id?: string;
  tool_use_id?: string;
  name?: string;
  input?: unknown;
  content?: unknown;
}

/** Return the tool calls of a turn in their order. They stand in its last prompt; texts above the reader's clearance do not. */
export async function readCalls(turnId: string, signal: AbortSignal): Promise<readonly CallTexts[]> {
  const path = { turn_id: turnId };
  const prompt = await body(api.GET("/v1/turns/{turn_id}/prompt", { params: { path }, signal })).catch(
    (error: unknown) => {
      if (error instanceof Problem && error.status === 404) return null;
      throw error;
    },
  );
  const segments = prompt?.steps.at(-1)?.segments.filter(({ layer }) => layer === "calls") ?? [];
  const hashes = segments.flatMap(({ blocks }) => blocks.flatMap((block) => block.text_hashes));
  const texts = await readTexts(turnId, hashes, signal);
  const blocks = hashes.map((hash) => parse(texts.get(hash)));
  const results = new Map(
    blocks.filter(({ type }) => type === "tool_result").map((block) => [block.tool_use_id, block.content]),
  );
  return blocks
    .filter(({ type }) => type === "tool_use")
    .map(({ id, name = "", input }) => ({ name, given: input, result: opened(results.get(id)) }));
}

function parse(text: string | null | undefined): Block {
  const value = opened(text);
  return typeof value === "object" && value !== null ? value : {};
}

/** Return the value of a JSON text; any other text as it is. */
function opened(text: unknown): unknown {
  if (Array.isArray(text) && text.length === 1) return opened((text[0] as { text?: unknown }).text ?? text[0]);
  if (typeof text !== "string") return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
