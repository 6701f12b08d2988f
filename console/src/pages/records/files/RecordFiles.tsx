import { body } from "../../../api/client";
import { api } from "../../../api/sign_in";
import { usePages } from "../../../ui/resource";
import { Loaded, LoadMore } from "../../../ui/states";
import { FileList } from "./FileList";
import { useFilePoll } from "./use_file_poll";

interface RecordFilesProps {
  about: string;
  chosen: string | null;
  page: string | null;
}

/** The files of a record; the one that the address names is marked. */
export function RecordFiles({ about, chosen, page }: RecordFilesProps) {
  const files = usePages(
    async (cursor, signal) => {
      const found = await body(api.GET("/v1/files", { params: { query: { about, cursor } }, signal }));
      return { items: found.files, next_cursor: found.next_cursor };
    },
    [about],
  );
  useFilePoll(files.data, files.reload);
  return (
    <section class="card">
      <h2>Files</h2>
      <Loaded of={files} rows={2}>
        {(found) => <FileList files={found} about={about} chosen={chosen} page={page} onChange={files.reload} />}
      </Loaded>
      <LoadMore pages={files} />
    </section>
  );
}
