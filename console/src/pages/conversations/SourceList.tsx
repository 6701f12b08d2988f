import type { Schema } from "../../api/client";
import { consoleHash } from "../../ui/Markdown";

/** The sources of a reply; each opens its page where it has one. */
export function SourceList({
  citations,
  sourceId,
}: {
  citations: readonly Schema["CitationView"][];
  sourceId: string;
}) {
  return (
    <ol class="sources">
      {citations.map((citation) => (
        <li key={citation.number} id={`${sourceId}-${citation.number}`}>
          <span class="cite">{citation.number}</span>
          <span>
            {citation.link ? <a href={consoleHash(citation.link)}>{citation.title}</a> : citation.title}
            {citation.locator && <span class="soft"> · {citation.locator}</span>}
          </span>
        </li>
      ))}
    </ol>
  );
}
