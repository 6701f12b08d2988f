import type { ConsoleSettings } from "../shell/settings";
import { sentenceCase } from "../ui/format";

/** An agent that visitors can talk to. */
export type Agent = ConsoleSettings["bindings"][number];

/** Return an agent that the page's settings do not list; its own name comes with the first session. */
export function unlistedAgent(tenant: string, slug: string): Agent {
  return { tenant, slug, name: sentenceCase(slug), greeting: "", channels: ["web"], samples: [] };
}
