/** Words that are in every sentence: they are not highlighted. */
const COMMON = new Set(
  "about does from have into that their them then there they this were what when where which will with would your".split(
    " ",
  ),
);
const MIN_LETTERS = 4;

/** Return the words of a query that are worth highlighting. */
export function queryTerms(query: string): readonly string[] {
  const words = (query.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => word.toLowerCase());
  return [...new Set(words.filter((word) => (word.length >= MIN_LETTERS || /\p{N}/u.test(word)) && !COMMON.has(word)))];
}

/** A part of a text, and whether it is one of the words of the query. */
export interface Piece {
  text: string;
  isTerm: boolean;
}

/** Cut a text into words of the query and what is between them. A beginning counts: "risk" is found in "risks". */
export function highlightPieces(text: string, terms: readonly string[]): readonly Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(/[\p{L}\p{N}]+/gu)) {
    if (!terms.some((term) => isSameWord(match[0].toLowerCase(), term))) continue;
    pieces.push({ text: text.slice(from, match.index), isTerm: false }, { text: match[0], isTerm: true });
    from = match.index + match[0].length;
  }
  return [...pieces, { text: text.slice(from), isTerm: false }].filter((piece) => piece.text);
}

function isSameWord(word: string, term: string): boolean {
  if (word === term) return true;
  return (term.length >= MIN_LETTERS && word.startsWith(term)) || (word.length >= MIN_LETTERS && term.startsWith(word));
}

/** Return a markdown snippet as plain text: no `**bold**`, `# headings`, table bars or page marks. */
export function plainSnippet(markdown: string): string {
  return markdown
    .replaceAll(/<!--.*?-->/g, " ")
    .replaceAll(/\*\*|__|`+|~~/g, "")
    .replaceAll(/(^|\s)#{1,6}\s+/g, "$1")
    .replaceAll(/\|?(\s*:?-{3,}:?\s*\|)+(\s*:?-{3,}:?)?/g, " ")
    .replaceAll(/[\s|·]*[|·][\s|·]*/g, " · ")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/^[\s·]+|[\s·]+$/g, "")
    .replace(/^… · /, "… ");
}
