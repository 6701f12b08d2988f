import { useEffect, useRef, useState } from "preact/hooks";
import { body } from "../../../api/client";
import { api, hasRole } from "../../../api/sign_in";
import { to, toRecord } from "../../../shell/router";
import { Badge } from "../../../ui/Badge";
import { Button } from "../../../ui/Button";
import { ConfirmButton } from "../../../ui/Dialog";
import { bytes, plural } from "../../../ui/format";
import { useAction } from "../../../ui/resource";
import { Notice } from "../../../ui/states";
import { Time } from "../../../ui/Time";
import { keyOf } from "../RecordLink";
import { TypeSign } from "../TypeSign";
import { isUnderWay, PROGRESS, STATES, type FileView } from "./file_states";
import { useUploads } from "./use_uploads";

interface FileListProps {
  files: readonly FileView[];
  /** The record that new files are about; "" for everybody's. */
  about: string;
  /** Whether each file says what it is about. */
  isMixed?: boolean;
  /** The file that a source is in, and its page. */
  chosen?: string | null | undefined;
  page?: string | null | undefined;
  onChange: () => void;
}

/** Files with their states; editors add files and new versions, and delete. */
export function FileList({ files, about, isMixed = false, chosen, page, onChange }: FileListProps) {
  const [isOwnText, setIsOwnText] = useState(false);
  const { uploads, start, dismiss } = useUploads(about, !isOwnText, onChange);
  const takeAll = (chosenFiles: FileList | null | undefined) => {
    for (const file of chosenFiles ?? []) {
      start(file, isMixed ? undefined : files.find(({ name }) => name === file.name));
    }
  };
  return (
    <>
      <ul class="records-files">
        {uploads.map(({ id, name, part, problem, retry }) => (
          <li key={id}>
            <TypeSign type="file" />
            <div>
              <p class="records-row-name">{name}</p>
              {problem ? (
                <p class="notice" role="alert">
                  {sentence(problem.message)}
                </p>
              ) : (
                <>
                  <p class="soft">Uploading, {Math.round(part * 100)} %</p>
                  <progress aria-label={`Upload of ${name}`} max={1} value={part} />
                </>
              )}
            </div>
            {problem && (
              <div class="buttons">
                {retry && <Button onClick={retry}>Try again</Button>}
                <Button icon="close" aria-label={`Dismiss ${name}`} onClick={() => dismiss(id)} />
              </div>
            )}
          </li>
        ))}
        {files.map((file) => (
          <FileRow
            key={file.id}
            file={file}
            isMixed={isMixed}
            isChosen={file.id === chosen}
            page={page}
            onVersion={(version) => start(version, file)}
            onChange={onChange}
          />
        ))}
      </ul>
      {!files.length && !uploads.length && <p class="soft">No files yet.</p>}
      {hasRole("editor") && (
        <label class="check">
          <input type="checkbox" checked={isOwnText} onChange={(event) => setIsOwnText(event.currentTarget.checked)} />
          Written by us: agents may act on what these files say without asking
        </label>
      )}
      {hasRole("editor") && (
        <label
          class="records-drop"
          onDragOver={(event) => event.preventDefault()}
          onDrop={(event) => (event.preventDefault(), takeAll(event.dataTransfer?.files))}
        >
          <span>
            <b>Add files</b> or drop them here
          </span>
          <span class="soft">
            PDF, Word, Excel, PowerPoint, HTML, Markdown, text, e-mail or CSV; 50 MB each.
            {isMixed && " Files added here are about no record; to add one to a record, open the record."}
          </span>
          <input
            type="file"
            multiple
            onChange={(event) => {
              takeAll(event.currentTarget.files);
              event.currentTarget.value = "";
            }}
          />
        </label>
      )}
    </>
  );
}

interface FileRowProps {
  file: FileView;
  isMixed: boolean;
  isChosen: boolean;
  page: string | null | undefined;
  onVersion: (file: File) => void;
  onChange: () => void;
}

function FileRow({ file, isMixed, isChosen, page, onVersion, onChange }: FileRowProps) {
  const element = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isChosen) element.current?.scrollIntoView({ block: "center" });
  }, [isChosen]);
  return (
    <li ref={element} class={isChosen ? "chosen" : undefined}>
      <TypeSign type="file" />
      <div>
        <p class="records-row-name">
          <a href={to(["files", file.id], { page: isChosen ? page : null })}>{file.name}</a>
          {isChosen && <Badge tone="warning">{page ? `Cited: page ${page}` : "Cited"}</Badge>}
        </p>
        <FileState file={file} />
        {isMixed && file.about && (
          <p class="soft">
            About <a href={toRecord(file.about)}>{keyOf(file.about)}</a>
          </p>
        )}
      </div>
      <FileActions file={file} onVersion={onVersion} onDeleted={onChange} />
    </li>
  );
}

/** How far a file is; for a ready one its size, for a failed one the reason. */
export function FileState({ file }: { file: FileView }) {
  const progress = PROGRESS[file.state];
  return (
    <>
      <p class="soft">
        {file.state === "ready" ? (
          <>
            {[
              file.pages ? plural(file.pages, "page") : "",
              bytes(file.size_bytes),
              file.version > 1 ? `version ${file.version}` : "",
            ]
              .filter(Boolean)
              .join(" · ")}{" "}
            · <Time at={file.updated_at} />
          </>
        ) : file.state === "uploading" ? (
          "The upload did not end. Upload the file again."
        ) : (
          `${STATES[file.state]}${isUnderWay(file) ? " …" : ""}`
        )}
      </p>
      {file.problem && <p class={file.state === "failed" ? "notice" : "soft"}>{sentence(file.problem)}</p>}
      {progress !== undefined && (
        <progress aria-label={`${STATES[file.state]}: ${file.name}`} max={1} value={progress} />
      )}
    </>
  );
}

interface FileActionsProps {
  file: FileView;
  onVersion: (file: File) => void;
  onDeleted: () => void;
}

/** Download, new version and delete. */
export function FileActions({ file, onVersion, onDeleted }: FileActionsProps) {
  const path = { file_id: file.id };
  // The address is good for a minute, so it is read when somebody wants it. The answer is an attachment: the page stays.
  const download = useAction(async () =>
    location.assign((await body(api.GET("/v1/files/{file_id}/content", { params: { path } }))).url),
  );
  const remove = async () => {
    await body(api.DELETE("/v1/files/{file_id}", { params: { path } }));
    onDeleted();
  };
  return (
    <div class="records-file-actions">
      <div class="buttons">
        {file.state !== "uploading" && (
          <Button
            icon="download"
            aria-label={`Download ${file.name}`}
            disabled={download.isRunning}
            onClick={() => download.run()}
          />
        )}
        {hasRole("editor") && (
          <>
            <label class="button quiet records-version-button">
              New version
              <input
                type="file"
                aria-label={`New version of ${file.name}`}
                onChange={(event) => {
                  const [version] = event.currentTarget.files ?? [];
                  if (version) onVersion(version);
                  event.currentTarget.value = "";
                }}
              />
            </label>
            <ConfirmButton label="Delete" title={`Delete “${file.name}”?`} confirmLabel="Delete it" work={remove}>
              <p>The file, its versions and everything that was indexed from it are deleted. This cannot be undone.</p>
            </ConfirmButton>
          </>
        )}
      </div>
      <Notice problem={download.problem} />
    </div>
  );
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`;
}
