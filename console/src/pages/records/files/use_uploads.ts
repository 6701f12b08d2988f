import { useState } from "preact/hooks";
import { body } from "../../../api/client";
import { Problem, toProblem } from "../../../api/problem";
import { api } from "../../../api/sign_in";
import { bytes } from "../../../ui/format";
import { MAX_FILE_BYTES, sendFile } from "./uploads";
import type { FileView } from "./file_states";

/** A file on its way to the file storage, or the reason why it did not get there. */
export interface Upload {
  id: number;
  name: string;
  /** The part that is sent, 0 to 1. */
  part: number;
  problem?: Problem;
  /** Try once more; absent where that cannot help. */
  retry?: () => void;
}

interface Uploads {
  uploads: readonly Upload[];
  /** Upload a new file, or a new version of `existing`. */
  start: (file: File, existing?: FileView) => void;
  dismiss: (id: number) => void;
}

let lastId = 0;

/** Upload files about a record, or for everybody, written by others or not; `onArrived` is called for each that arrived. */
export function useUploads(about: string, writtenByOthers: boolean, onArrived: () => void): Uploads {
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const change = (id: number, values: Partial<Upload>) =>
    setUploads((before) => before.map((upload) => (upload.id === id ? { ...upload, ...values } : upload)));
  const dismiss = (id: number) => setUploads((before) => before.filter((upload) => upload.id !== id));
  const send = async (id: number, file: File, existing?: FileView) => {
    const started = await body(
      existing
        ? api.POST("/v1/files/{file_id}/versions", {
            params: { path: { file_id: existing.id } },
            body: { name: file.name, size_bytes: file.size },
          })
        : api.POST("/v1/files", {
            body: {
              name: file.name,
              size_bytes: file.size,
              written_by_others: writtenByOthers,
              ...(about ? { about } : {}),
            },
          }),
    );
    await sendFile(started.upload, file, (part) => change(id, { part }));
    const params = { path: { file_id: started.file.id } };
    await body(
      api.POST("/v1/files/{file_id}/complete", {
        params,
        body: { version: started.version, name: file.name, written_by_others: writtenByOthers },
      }),
    );
  };
  const start = (file: File, existing?: FileView) => {
    const id = ++lastId;
    setUploads((before) => [...before, { id, name: file.name, part: 0 }]);
    if (file.size > MAX_FILE_BYTES) {
      const message = `It has ${bytes(file.size)}; 50 MB is the most. Split it and upload the parts.`;
      change(id, { problem: new Problem(413, "too_large", message) });
      return;
    }
    send(id, file, existing)
      .then(() => (dismiss(id), onArrived()))
      .catch((error: unknown) => {
        const problem = toProblem(error);
        const isRefused = problem.status >= 400 && problem.status < 500 && problem.status !== 429;
        change(id, { problem, ...(isRefused ? {} : { retry: () => (dismiss(id), start(file, existing)) }) });
      });
  };
  return { uploads, start, dismiss };
}
