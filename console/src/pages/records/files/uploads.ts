import type { Schema } from "../../../api/client";
import { Problem } from "../../../api/problem";

/** The largest file that the API takes. */
export const MAX_FILE_BYTES = 50 * 1024 * 1024;

/** Send a file to the file storage, past the API; `onProgress` gets the part that is sent, 0 to 1. */
export function sendFile(
  { url, fields }: Schema["UploadFormView"],
  file: File,
  onProgress: (part: number) => void,
): Promise<void> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append("file", file);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest(); // fetch does not report progress.
    request.upload.addEventListener("progress", ({ loaded, total }) => onProgress(total ? loaded / total : 0));
    request.addEventListener("load", () => {
      if (request.status < 300) resolve();
      else reject(new Problem(request.status, "upload", "The file storage refused the file. Upload it again."));
    });
    request.addEventListener("error", () =>
      reject(new Problem(0, "upload", "The upload was interrupted. Check your connection and upload it again.")),
    );
    request.open("POST", url);
    request.send(form);
  });
}
