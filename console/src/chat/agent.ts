import type { ConsoleSettings } from "../shell/settings";
import { sentenceCase } from "../ui/format";

/** An agent that visitors can talk to. */
export type Agent = ConsoleSettings["bindings"][number];

/** Return an agent that the page's settings do not list; its own name comes with the first session. */
export function unlistedAgent(tenant: string, slug: string): Agent {
  return { tenant, slug, name: sentenceCase(slug), greeting: "", channels: ["web"], samples: [], face: "", colour: "" };
}

/** Return black or white, whichever is easier to read on a colour like #0a7f6c: by WCAG's relative luminance. */
export function inkOn(colour: string): "#000000" | "#ffffff" {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((start) => {
    const value = parseInt(colour.slice(start, start + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
}
