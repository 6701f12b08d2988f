import { body } from "../../../api/client";
import { api } from "../../../api/sign_in";
import type { Route } from "../../../shell/router";
import { Page } from "../../../ui/Page";
import { usePages } from "../../../ui/resource";
import { EmptyState, Loaded, LoadMore } from "../../../ui/states";
import { FilterText } from "../FilterText";
import { SectionTabs } from "../SectionTabs";
import { FileList } from "./FileList";
import { useFilePoll } from "./use_file_poll";

/** All files of the tenant, the last changed first. */
export function FileListPage({ route }: { route: Route }) {
  const text = route.query.get("text") ?? "";
  const files = usePages(
    async (cursor, signal) => {
      const query = { cursor, ...(text ? { text } : {}) };
      const found = await body(api.GET("/v1/files", { params: { query }, signal }));
      return { items: found.files, next_cursor: found.next_cursor };
    },
    [text],
  );
  useFilePoll(files.data, files.reload);
  return (
    <Page title="Files" lead="Files that people uploaded, about a record or for everybody.">
      <SectionTabs current="files" />
      <div class="filters">
        <FilterText label="Filter by name" value={text} />
      </div>
      <Loaded of={files}>
        {(found) =>
          text && !found.length ? (
            <EmptyState icon="file" title="No file matches">
              <p>Change or clear the filter.</p>
            </EmptyState>
          ) : (
            <section class="card" aria-label="Files" aria-busy={files.isLoading}>
              <FileList files={found} about="" isMixed onChange={files.reload} />
            </section>
          )
        }
      </Loaded>
      <LoadMore pages={files} />
    </Page>
  );
}
