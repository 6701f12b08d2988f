import { settings } from "./settings";

/** What answers where there is no model key, in words. */
const WORDS: Record<string, { name: string; text: string }> = {
  demo: { name: "demo", text: "Scripted demo without a model key: tool calls and sources are real" },
  offline: { name: "no model key", text: "No model key: replies quote what a search finds" },
};

/** A badge that says that no real model answers; nothing where one does. */
export function ModelBadge() {
  const words = WORDS[settings.value?.model ?? ""];
  return words ? (
    <span class="badge warning" title={words.text}>
      {words.name}
    </span>
  ) : null;
}

/** The same in one line, for people who chat. */
export function ModelLine() {
  const words = WORDS[settings.value?.model ?? ""];
  return words ? <p class="model-line">{words.text}</p> : null;
}
