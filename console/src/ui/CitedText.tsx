import { useId, useRef, useState } from "preact/hooks";
import type { Schema } from "../api/client";
import { consoleHash, Markdown } from "./Markdown";
import "./cited_text.css";

interface CitedTextProps {
  text: string;
  citations: readonly Schema["CitationView"][];
  /** Whether the sources are known: they are listed below the text, and numbers lead there. */
  hasSources: boolean;
}

/** A markdown text with its sources. A number opens its source's page, or highlights the source in the list. */
export function CitedText({ text, citations, hasSources }: CitedTextProps) {
  const id = useId();
  const list = useRef<HTMLOListElement>(null);
  const [chosen, setChosen] = useState<number | null>(null);
  const highlight = (event: MouseEvent) => {
    const cite = event.target instanceof Element ? event.target.closest("a.cite") : null;
    const href = cite?.getAttribute("href") ?? "";
    if (!href.startsWith(`#${id}-`)) return;
    event.preventDefault(); // The page's addresses are hashes, too.
    const number = Number(href.slice(id.length + 2));
    setChosen(number === chosen ? null : number);
    const item = list.current?.querySelector<HTMLElement>(`[data-number="${number}"]`);
    item?.scrollIntoView({ block: "nearest", behavior: "smooth" });
    item?.focus({ preventScroll: true });
  };
  return (
    // The links inside are what is clicked, also by keyboard.
    // eslint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-static-element-interactions
    <div class="cited-text" onClick={highlight}>
      <Markdown text={text} citations={citations} sourceId={hasSources ? id : ""} />
      {hasSources && citations.length > 0 && (
        <ol ref={list} class="cited-sources" aria-label="Sources">
          {citations.map(({ number, title, locator, link }) => (
            <li key={number} data-number={number} class={number === chosen ? "chosen" : ""} tabIndex={-1}>
              <span class="cited-number">{number}</span>
              <span>
                {link ? <a href={consoleHash(link)}>{title}</a> : <b>{title}</b>}
                {locator && <span class="soft"> · {locator}</span>}
              </span>
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}
