import { body } from "../../../api/client";
import { Problem } from "../../../api/problem";
import { api } from "../../../api/sign_in";
import { navigate, to, type Route } from "../../../shell/router";
import { clearanceName } from "../../../ui/clearance";
import { bytes } from "../../../ui/format";
import { Page } from "../../../ui/Page";
import { useResource } from "../../../ui/resource";
import { Loaded } from "../../../ui/states";
import { Facts } from "../../../ui/Table";
import { Time } from "../../../ui/Time";
import { RecordLink } from "../RecordLink";
import { FileActions, FileState } from "./FileList";
import { useFilePoll } from "./use_file_poll";
import { useUploads } from "./use_uploads";

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** One file: what is known of it, and the page that a source is on. */
export function FilePage({ id, route }: { id: string; route: Route }) {
  const file = useResource(
    async (signal) => {
      if (!ID.test(id)) throw new Problem(404, "not_found", "There is no file at this address.");
      return body(api.GET("/v1/files/{file_id}", { params: { path: { file_id: id } }, signal }));
    },
    [id],
  );
  // A new version is by others here: who wrote it is said in the list of files.
  const { uploads, start } = useUploads("", true, file.reload);
  useFilePoll(file.data && [file.data], file.reload);
  const page = route.query.get("page");
  return (
    <Page title={file.data?.name ?? "File"} back={{ href: to(["files"]), label: "All files" }}>
      <Loaded of={file} rows={3}>
        {(found) => (
          <section class="card records-file">
            {page && (
              <p class="notice info">
                The source is on <b>page {page}</b>. Download the file to read it.
              </p>
            )}
            <FileState file={found} />
            {uploads.map(({ id: upload, name, part, problem }) => (
              <p key={upload} class={problem ? "notice" : "soft"} role="status">
                {problem ? problem.message : `Uploading ${name}, ${Math.round(part * 100)} %`}
              </p>
            ))}
            <Facts
              facts={[
                ["About", found.about && <RecordLink key="about" handle={found.about} />],
                ["Team", found.team],
                ["Size", bytes(found.size_bytes)],
                ["Pages", found.pages],
                ["Visible at", clearanceName(found.classification)],
                ["Version", found.version],
                ["Changed", <Time key="changed" at={found.updated_at} />],
              ]}
            />
            <FileActions
              file={found}
              onVersion={(version) => start(version, found)}
              onDeleted={() => navigate(to(["files"]))}
            />
          </section>
        )}
      </Loaded>
    </Page>
  );
}
