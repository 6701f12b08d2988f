import DOMPurify from "dompurify";
import { Marked, type TokenizerAndRendererExtension } from "marked";
import { useMemo } from "preact/hooks";
import type { Schema } from "../api/client";

type Citation = Schema["CitationView"] & { link?: string | null };

/** `[3]` and `[3, 7]`: the numbers of cited sources. */
const CITATION = /^\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]/;

/** What the text of models and documents may become. There are no links and no images: a text must not lead the reader, or their data, elsewhere. */
const ALLOWED = {
  ALLOWED_TAGS:
    "p br strong em del code pre ul ol li blockquote h1 h2 h3 h4 h5 h6 table thead tbody tr th td hr a span".split(" "),
  ALLOWED_ATTR: ["href", "class", "title", "start", "align", "id"],
  ALLOWED_URI_REGEXP: /^#/,
};

/** Marks of files' pages that extraction leaves in texts (`<!-- page: 3 -->`). */
const PAGE_MARK = /<!--\s*page:\s*(\d+)\s*-->/g;

const BREAK = /^<br\s*\/?>$/i;
const COMMENT = /^<!--[^]*-->\s*$/;

interface MarkdownProps {
  text: string;
  /** The sources of the text. A number without one stays as it is written. */
  citations?: readonly Citation[];
  /** The prefix of citations' element ids, for links to the list of sources below the text. */
  sourceId?: string;
  /** Whether a line end is a new line, as in messages; else it is a space, as in markdown files. */
  keepLineBreaks?: boolean;
}

const NO_CITATIONS: readonly Citation[] = [];

/** A markdown text, with its citations as links: to the source's page, else to the list of sources. */
export function Markdown({ text, citations = NO_CITATIONS, sourceId = "", keepLineBreaks = true }: MarkdownProps) {
  const html = useMemo(
    () => renderMarkdown(text, citations, sourceId, keepLineBreaks),
    [text, citations, sourceId, keepLineBreaks],
  );
  return <div class="prose" dangerouslySetInnerHTML={{ __html: html }} />;
}

/** Return a markdown text as safe HTML. */
export function renderMarkdown(
  text: string,
  citations: readonly Citation[],
  sourceId: string,
  keepLineBreaks = true,
): string {
  const known = new Map(citations.map((citation) => [citation.number, citation]));
  const marked = new Marked({ gfm: true, breaks: keepLineBreaks, extensions: [citationExtension(known, sourceId)] });
  marked.use({
    renderer: {
      // The label of a link, and its address as text: the reader decides where to go.
      link({ tokens, href }) {
        const label = this.parser.parseInline(tokens);
        const address = escape(href);
        return label === address || `mailto:${label}` === address ? label : `${label} (${address})`;
      },
      image: ({ text: label }) => escape(label),
      html: ({ text: tag }) => (BREAK.test(tag) ? "<br>" : COMMENT.test(tag) ? "" : escape(tag)),
      checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
    },
  });
  const shown = text.replace(PAGE_MARK, "\n\n*Page $1*\n\n");
  return DOMPurify.sanitize(marked.parse(shown, { async: false }), ALLOWED);
}

function citationExtension(known: ReadonlyMap<number, Citation>, sourceId: string): TokenizerAndRendererExtension {
  return {
    name: "citation",
    level: "inline",
    start: (source) => source.indexOf("["),
    tokenizer(source) {
      const match = CITATION.exec(source);
      const numbers = match?.[1]?.split(",").map(Number) ?? [];
      if (!match || !numbers.length || numbers.some((number) => !known.has(number))) return undefined;
      return { type: "citation", raw: match[0], numbers };
    },
    renderer: (token) =>
      (token.numbers as number[]).map((number) => citationLink(known.get(number), number, sourceId)).join(""),
  };
}

function citationLink(citation: Citation | undefined, number: number, sourceId: string): string {
  const title = escape([citation?.title, citation?.locator].filter(Boolean).join(", "));
  const href = citation?.link ? escape(consoleHash(citation.link)) : sourceId ? `#${sourceId}-${number}` : "";
  return href
    ? `<a class="cite" href="${href}" title="${title}" aria-label="Source ${number}: ${title}">${number}</a>`
    : `<span class="cite" title="${title}">${number}</span>`;
}

/** Return the hash of an address inside the console (`/console/#/records/…`); other addresses stay as they are. */
export function consoleHash(link: string): string {
  const at = link.indexOf("#/");
  return at >= 0 ? link.slice(at) : link;
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
