import type { ComponentChildren } from "preact";

export type Tone = "neutral" | "good" | "warning" | "bad" | "accent";

/** A short state in a coloured pill. The words carry the meaning, the colour only helps. */
export function Badge({ tone = "neutral", children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}
