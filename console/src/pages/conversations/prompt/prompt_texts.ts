import { body } from "../../../api/client";
import { api } from "../../../api/sign_in";

/** How many texts one call reads. */
const MOST = 50;

/** Return texts of a turn's prompts by their hash; null for an erased one. */
export async function readTexts(
  turnId: string,
  hashes: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, string | null>> {
  const wanted = [...new Set(hashes)];
  const found = new Map<string, string | null>();
  for (let at = 0; at < wanted.length; at += MOST) {
    const query = { hash: wanted.slice(at, at + MOST) };
    const params = { path: { turn_id: turnId }, query };
    const { texts } = await body(api.GET("/v1/turns/{turn_id}/prompt/texts", { params, signal }));
    for (const [hash, text] of Object.entries(texts)) found.set(hash, text);
  }
  return found;
}
