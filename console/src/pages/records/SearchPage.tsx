import { body, type Schema } from "../../api/client";
import { api } from "../../api/sign_in";
import { setQuery, to, toRecord, type Route } from "../../shell/router";
import { Badge } from "../../ui/Badge";
import { LinkButton } from "../../ui/Button";
import { plural } from "../../ui/format";
import { consoleHash } from "../../ui/Markdown";
import { Page } from "../../ui/Page";
import { useResource } from "../../ui/resource";
import { EmptyState, Loaded } from "../../ui/states";
import { scopeOf, toSearch } from "./search_scope";
import { highlightPieces, plainSnippet, queryTerms } from "./search_words";
import { SectionTabs } from "./SectionTabs";
import { TypeSign } from "./TypeSign";

type Card = Schema["SearchCardView"];
type Results = Schema["SearchResultsView"];

const MOST_RESULTS = 20;
/** The sign of a result that is a text about a record, not the record itself. */
const SIGNS: Partial<Record<Card["kind"], string>> = {
  document_chunk: "document",
  chat_message: "conversation",
  file_chunk: "file",
  file_summary: "file",
};

/** What a search found, best first: `#/search?q=crane&scope=project&in=project/NRS`. */
export function SearchPage({ route }: { route: Route }) {
  const words = route.query.get("q")?.trim() ?? "";
  const scope = scopeOf(route.query);
  const target = route.query.get("in") ?? "";
  return (
    <Page title={words ? `Results for “${words}”` : "Search"}>
      <SectionTabs current="search" />
      {words ? (
        <Found words={words} scope={scope} target={target} query={route.query} />
      ) : (
        <EmptyState icon="search" title="Search records, documents, files and conversations">
          <p>Type words or a question above. Results that you may not see are never shown or counted.</p>
        </EmptyState>
      )}
    </Page>
  );
}

interface FoundProps {
  words: string;
  scope: ReturnType<typeof scopeOf>;
  target: string;
  query: URLSearchParams;
}

function Found({ words, scope, target, query }: FoundProps) {
  const results = useResource(
    (signal) => {
      const asked = { q: words, scope, in: target, limit: MOST_RESULTS };
      return body(api.GET("/v1/search", { params: { query: asked }, signal }));
    },
    [words, scope, target],
  );
  return (
    <Loaded of={results} rows={8}>
      {(found) =>
        found.cards.length ? (
          <div aria-busy={results.isLoading}>
            <ResultList found={found} words={words} kind={query.get("kind") ?? ""} type={query.get("type") ?? ""} />
          </div>
        ) : (
          <EmptyState icon="search" title="Nothing found">
            <p>
              {scope === "workspace"
                ? "Try other words."
                : "Nothing found here. Try other words, or search everywhere."}{" "}
              Results that you may not see are never shown or counted.
            </p>
            {scope !== "workspace" && <LinkButton href={toSearch(words)}>Search everywhere</LinkButton>}
          </EmptyState>
        )
      }
    </Loaded>
  );
}

interface ResultListProps {
  found: Results;
  words: string;
  kind: string;
  type: string;
}

/** The results, and how many there are of each kind and record type to choose from. */
function ResultList({ found, words, kind, type }: ResultListProps) {
  const terms = queryTerms(`${words} ${found.expanded ?? ""}`);
  const cards = found.cards.filter((card) => (!kind || card.badge === kind) && (!type || card.type_name === type));
  return (
    <>
      <div class="records-facets">
        <Facet name="kind" label="Kind of source" chosen={kind} values={found.cards.map(({ badge }) => badge)} />
        <Facet
          name="type"
          label="Record type"
          chosen={type}
          values={found.cards.flatMap(({ type_name }) => type_name ?? [])}
        />
      </div>
      <p class="soft records-count" role="status">
        {plural(cards.length, "result")}, best first.
        {found.expanded && ` Searched for: ${found.expanded}`}
      </p>
      <ol class="records-results">
        {cards.map((card, index) => (
          <li key={index}>
            <Result card={card} terms={terms} />
          </li>
        ))}
      </ol>
      {found.related.length > 0 && (
        <section class="records-related" aria-labelledby="records-related-title">
          <h2 id="records-related-title">Related records</h2>
          <ul>
            {found.related.map((record) => (
              <li key={record.handle}>
                <TypeSign type={record.type} icon={record.icon} colour={record.colour} />
                <a href={toRecord(record.handle)}>{record.name}</a>
                <span class="soft">{record.type_name}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

/** A choice among the values that the results have, each with its number of results. */
function Facet({
  name,
  label,
  chosen,
  values,
}: {
  name: string;
  label: string;
  chosen: string;
  values: readonly string[];
}) {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  if (counts.size < 2) return null;
  return (
    <div role="group" aria-label={label}>
      {[...counts].map(([value, number]) => (
        <button
          key={value}
          type="button"
          class="records-chip"
          aria-pressed={value === chosen}
          onClick={() => setQuery({ [name]: value === chosen ? "" : value })}
        >
          {value} <span>{number}</span>
        </button>
      ))}
    </div>
  );
}

function Result({ card, terms }: { card: Card; terms: readonly string[] }) {
  const address = addressOf(card);
  const sign = SIGNS[card.kind];
  const of =
    card.name && card.name !== card.title
      ? `${card.type_name}: ${card.name}`
      : card.kind === "snapshot"
        ? card.type_name
        : "";
  return (
    <article class="records-result">
      {sign ? <TypeSign type={sign} /> : <TypeSign type={card.type ?? ""} icon={card.icon} colour={card.colour} />}
      <div>
        <h2>{address ? <a href={address}>{card.title}</a> : card.title}</h2>
        <p class="soft">
          <Badge>{card.badge}</Badge> {[of, plainSnippet(card.locator)].filter(Boolean).join(" · ")}
        </p>
        <p>
          {highlightPieces(plainSnippet(card.preview), terms).map(({ text, isTerm }, index) =>
            isTerm ? <mark key={index}>{text}</mark> : text,
          )}
        </p>
      </div>
    </article>
  );
}

/** Return where a result leads; in a document to the passage that was found. */
function addressOf({ link, kind, preview }: Card): string {
  if (!link) return "";
  const address = consoleHash(link);
  if (kind !== "document_chunk") return address;
  const passage = plainSnippet(preview.replaceAll("…", "")).slice(0, 160);
  return `${address}${address.includes("?") ? "&" : "?"}${to([], { passage }).replace(/^.*\?/, "")}`;
}
