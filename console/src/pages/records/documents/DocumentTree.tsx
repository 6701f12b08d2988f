import { body } from "../../../api/client";
import { api, hasRole } from "../../../api/sign_in";
import { to, toRecord } from "../../../shell/router";
import { Badge } from "../../../ui/Badge";
import { LinkButton } from "../../../ui/Button";
import { useResource } from "../../../ui/resource";
import { Loaded } from "../../../ui/states";
import { TypeSign } from "../TypeSign";
import { documentDetail } from "./document_words";

/** Levels that are indented; deeper ones look alike. */
const MAX_INDENT = 6;

/** The documents of a project in the order of its tree, then those about it that have no place in the tree. */
export function DocumentTree({ project }: { project: string }) {
  const tree = useResource(
    (signal) => body(api.GET("/v1/projects/{ref}/documents", { params: { path: { ref: project } }, signal })),
    [project],
  );
  return (
    <section class="card">
      <header class="records-card-head">
        <h2>Documents</h2>
        {hasRole("editor") && (
          <LinkButton icon="plus" href={to(["new"], { type: "document", project })}>
            New document
          </LinkButton>
        )}
      </header>
      <Loaded of={tree} rows={4}>
        {({ documents }) =>
          documents.length ? (
            <ul class="records-linked">
              {documents.map((document) => (
                <li
                  key={document.handle}
                  style={{ paddingLeft: `${Math.min(document.depth ?? 0, MAX_INDENT) * 22}px` }}
                >
                  <TypeSign type="document" />
                  <div>
                    <a href={toRecord(document.handle)}>{document.title}</a>{" "}
                    {document.is_context && <Badge>Context document</Badge>}
                    <p class="soft">{documentDetail(document)}</p>
                  </div>
                </li>
              ))}
            </ul>
          ) : (
            <p class="soft">No documents yet.</p>
          )
        }
      </Loaded>
    </section>
  );
}
