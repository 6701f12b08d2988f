/** Where in a document a source is: under a heading, on a page, or a passage of the text. */
export interface CitedPlace {
  heading: string;
  page: string;
  passage: string;
}

/** Characters of a passage, letters and digits only, that make it unmistakable. */
const ENOUGH = 24;

/** Return the elements of a document's text that show a cited place, in order; none if the text has no such place. */
export function findCitedElements(text: HTMLElement, { heading, page, passage }: CitedPlace): readonly HTMLElement[] {
  const found = passage ? blocksOf(text).filter((block) => isPartOf(block, letters(passage))) : [];
  if (found.length) return found;
  const headings = [...text.querySelectorAll<HTMLElement>("h1, h2, h3, h4, h5, h6")];
  // A heading comes as "Part > Clause".
  const wanted = letters(heading.split(/ [>›·] /).at(-1) ?? "");
  const named = wanted ? headings.find((one) => letters(one.textContent).includes(wanted)) : undefined;
  const marked = page ? text.querySelector<HTMLElement>(`[data-page="${CSS.escape(page)}"]`) : null;
  const place = named ?? marked;
  return place ? [place] : [];
}

function blocksOf(text: HTMLElement): readonly HTMLElement[] {
  return [...text.querySelectorAll<HTMLElement>("p, li, tr, pre, h1, h2, h3, h4, h5, h6")].filter(
    (block) => !block.querySelector("p, li"),
  );
}

/** A passage runs over several blocks, or is within one. */
function isPartOf(block: HTMLElement, passage: string): boolean {
  const words = letters(block.textContent);
  if (words.length < ENOUGH) return words.length > 2 && passage.includes(words);
  return passage.includes(words) || words.includes(passage.slice(0, ENOUGH)) || words.includes(passage.slice(-ENOUGH));
}

function letters(text: string | null): string {
  return (text ?? "").toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, "");
}
