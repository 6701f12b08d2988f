import { settings } from "./settings";

/** What answers where there is no model key, in words. */
const WORDS = {
  demo: { name: "demo", text: "Scripted demo without a model key: tool calls and sources are real" },
  offline: { name: "no model key", text: "No model key: replies quote what a search finds" },
};

/** Return the words for what answers the agents of a tenant; undefined where a real model does. */
function wordsFor(tenant: string) {
  const { model, demo_tenants: demoTenants = [] } = settings.value ?? {};
  if (model !== "offline") return undefined;
  return demoTenants.includes(tenant) ? WORDS.demo : WORDS.offline;
}

/** A badge that says that no real model answers the agents of a tenant; nothing where one does. */
export function ModelBadge({ tenant }: { tenant: string }) {
  const words = wordsFor(tenant);
  return words ? (
    <span class="badge warning" title={words.text}>
      {words.name}
    </span>
  ) : null;
}

/** The same in one line, for people who chat. */
export function ModelLine({ tenant }: { tenant: string }) {
  const words = wordsFor(tenant);
  return words ? <p class="model-line">{words.text}</p> : null;
}
