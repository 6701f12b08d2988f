import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Schema } from "../../../api/client";
import { Markdown } from "../../../ui/Markdown";
import { findCitedElements, type CitedPlace } from "./cited_place";

/** The marks of pages that extraction leaves in texts. */
const PAGE_MARK = /<!--\s*page:\s*(\d+)\s*-->/;

interface DocumentTextProps extends CitedPlace {
  document: Schema["DocumentTextView"];
}

/** The text of a document, with its pages as headings; the cited place is in view and highlighted. */
export function DocumentText({ document, heading, page, passage }: DocumentTextProps) {
  const element = useRef<HTMLElement>(null);
  const [isMissing, setMissing] = useState(false);
  const isMarkdownFile = document.key.endsWith(".md");
  const pages = useMemo(() => pagesOf(document.content), [document.content]);
  useEffect(() => {
    const text = element.current;
    if (!text) return undefined;
    // What scrolls by itself takes the focus, so that the keyboard can scroll it.
    for (const block of text.querySelectorAll<HTMLElement>("table, pre")) {
      if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
    }
    const cited = findCitedElements(text, { heading, page, passage });
    setMissing(!cited.length && Boolean(heading || page));
    for (const place of cited) place.classList.add("records-cited");
    cited[0]?.scrollIntoView({ block: "center" });
    return () => {
      for (const place of cited) place.classList.remove("records-cited");
    };
  }, [pages, heading, page, passage]);
  if (!document.content.trim()) return <p class="card soft">No text yet.</p>;
  return (
    <>
      {isMissing && (
        <p class="notice info" role="status">
          The cited place “{heading || `page ${page}`}” is not in this text. The text may have changed since.
        </p>
      )}
      <article ref={element} class="card records-text" aria-label="Text">
        {pages.map(({ number, text }) => (
          <section key={number} aria-label={number ? `Page ${number}` : undefined}>
            {number && (
              <h2 class="records-page-mark" data-page={number}>
                Page {number}
              </h2>
            )}
            {isMarkdownFile ? <Markdown text={text} keepLineBreaks={false} /> : <Markdown text={unwrap(text)} />}
          </section>
        ))}
      </article>
    </>
  );
}

/** Join the lines of a text that was wrapped at a width: a long line that plain words follow. Other line ends are meant. */
function unwrap(text: string): string {
  return text.replaceAll(/(?<=[^\n|]{70,})\n(?=[\p{L}\p{N}(“"'])(?!\d+[.)])/gu, " ");
}

/** Return the pages of a text; what stands before the first mark has no number. */
function pagesOf(content: string): readonly { number: string; text: string }[] {
  const [before = "", ...parts] = content.split(PAGE_MARK);
  const pages = before.trim() ? [{ number: "", text: before }] : [];
  for (let at = 0; at < parts.length; at += 2) pages.push({ number: parts[at] ?? "", text: parts[at + 1] ?? "" });
  return pages;
}
