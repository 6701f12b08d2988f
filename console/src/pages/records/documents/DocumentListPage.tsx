import { body, type Schema } from "../../../api/client";
import { api, hasRole } from "../../../api/sign_in";
import { to, toRecord, type Route } from "../../../shell/router";
import { Badge } from "../../../ui/Badge";
import { LinkButton } from "../../../ui/Button";
import { Page } from "../../../ui/Page";
import { usePages } from "../../../ui/resource";
import { EmptyState, Loaded, LoadMore } from "../../../ui/states";
import { Time } from "../../../ui/Time";
import { FilterText } from "../FilterText";
import { keyOf } from "../RecordLink";
import { SectionTabs } from "../SectionTabs";
import { TypeSign } from "../TypeSign";
import { documentDetail } from "./document_words";
import { OriginBadge } from "./OriginBadge";

const PAGE_SIZE = 30;

/** All documents of the tenant, those of its pack and those that people wrote here. */
export function DocumentListPage({ route }: { route: Route }) {
  const text = route.query.get("text") ?? "";
  const pages = usePages(
    async (cursor, signal) => {
      const query = { cursor, limit: PAGE_SIZE, ...(text ? { text } : {}) };
      const found = await body(api.GET("/v1/documents", { params: { query }, signal }));
      return { items: found.documents, next_cursor: found.next_cursor };
    },
    [text],
  );
  return (
    <Page
      title="Documents"
      lead="Texts that agents search and cite: those of the tenant’s pack and those that people write here."
      actions={
        hasRole("editor") && (
          <LinkButton kind="solid" icon="plus" href={to(["new"], { type: "document" })}>
            New document
          </LinkButton>
        )
      }
    >
      <SectionTabs current="documents" />
      <div class="filters">
        <FilterText label="Filter by title, key or description" value={text} />
      </div>
      <Loaded of={pages} rows={8}>
        {(documents) =>
          documents.length ? (
            <section aria-label="Documents" aria-busy={pages.isLoading}>
              <ul class="records-list">
                {documents.map((document) => (
                  <li key={document.handle} class="records-row">
                    <TypeSign type="document" />
                    <div>
                      <p class="records-row-name">
                        <a href={toRecord(document.handle)}>{document.title}</a>
                        <OriginBadge document={document} />
                        {document.is_context && <Badge>Context document</Badge>}
                        {document.state && <Badge>{document.state}</Badge>}
                      </p>
                      <p class="soft">
                        {documentDetail(document)}
                        <Home document={document} />
                      </p>
                    </div>
                    <Time at={document.updated_at} />
                  </li>
                ))}
              </ul>
              <LoadMore pages={pages} />
            </section>
          ) : (
            <EmptyState icon="document" title={text ? "No document matches" : "No documents yet"}>
              <p>{text ? "Change or clear the filter." : "Write one here, or add documents to the tenant’s pack."}</p>
            </EmptyState>
          )
        }
      </Loaded>
    </Page>
  );
}

/** The record that a document is about, or the project whose tree it is in. */
function Home({ document }: { document: Schema["DocumentView"] }) {
  // A document that people wrote is about its own record.
  const about = document.about === document.handle ? null : document.about;
  const handle = about ?? document.project;
  if (!handle) return null;
  return (
    <>
      {" · "}
      {about ? "about" : "in"} <a href={toRecord(handle)}>{keyOf(handle)}</a>
    </>
  );
}
