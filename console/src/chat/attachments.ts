import type { Client } from "openapi-fetch";
import { body } from "../api/client";
import { Problem } from "../api/problem";
import type { Schema } from "../api/client";
import type { paths } from "../api/schema";
import { settings } from "../shell/settings";
import { bytes, count } from "../ui/format";

type Rules = Schema["AttachmentRulesView"];

/** Milliseconds: an upload form is valid for 15 minutes, and an upload that no message names is deleted after an hour. */
const LIFETIME = { form: 14 * 60_000, upload: 55 * 60_000 };

/** Return the types that a file chooser offers. */
export function acceptedTypes(): string {
  return rules()
    .types.flatMap(({ media_type, extensions }) => [media_type, ...extensions])
    .join(",");
}

/** The API's own rules, so that a file is refused before its upload. */
function rules(): Rules {
  const found = settings.value?.attachments;
  if (!found) throw new Error("The settings are loaded before the chat.");
  return found;
}

/** A file that will be sent with a message, and its upload once there is one. */
export interface PickedFile {
  readonly file: File;
  readonly name: string;
  readonly size_bytes: number;
  readonly kind: "image" | "text";
  upload?: Upload;
}

interface Upload {
  id: string;
  form: { url: string; fields: Record<string, string> };
  sessionId: string;
  startedAt: number;
  isComplete: boolean;
}

/** Return the files that may be sent beside `present` others, and why each of the rest is refused. */
export async function checkFiles(
  files: readonly File[],
  present: number,
): Promise<{ picked: PickedFile[]; refused: string[] }> {
  const picked: PickedFile[] = [];
  const refused: string[] = [];
  for (const file of files) {
    const found = await checkFile(file, rules());
    if (typeof found === "string") refused.push(found);
    else picked.push(found);
  }
  const { max_count } = rules();
  const room = max_count - present;
  if (picked.length > room) refused.push(`A message can have at most ${max_count} attachments.`);
  return { picked: picked.slice(0, room), refused };
}

/** Return a file as it may be sent, or why it is refused. Its bytes decide, as they do in the API. */
async function checkFile(file: File, allowed: Rules): Promise<PickedFile | string> {
  const name = plainName(file.name);
  if (!file.size) return `${name} is empty.`;
  if (file.size > allowed.max_bytes) {
    return `${name} has ${bytes(file.size)}. A file can have at most ${bytes(allowed.max_bytes)}.`;
  }
  const content = await file.arrayBuffer().catch(() => null);
  if (!content) return `${name} cannot be read. Choose it again.`;
  const kind = isImage(new Uint8Array(content, 0, Math.min(12, file.size))) ? "image" : "text";
  if (kind === "image" && file.size > allowed.max_image_bytes) {
    return `${name} has ${bytes(file.size)}. An image can have at most ${bytes(allowed.max_image_bytes)}; make it smaller.`;
  }
  if (kind === "text") {
    const text = plainText(content);
    if (text === null) return `${name} ${allowed.refusal}.`;
    if (text.length > allowed.max_text_chars) {
      return `${name} has ${count(text.length)} characters. A text can have at most ${count(allowed.max_text_chars)}.`;
    }
  }
  return { file, name, size_bytes: file.size, kind };
}

const SIGNATURES = ["\xff\xd8\xff", "\x89PNG\r\n\x1a\n", "GIF87a", "GIF89a"];

function isImage(start: Uint8Array): boolean {
  const text = String.fromCharCode(...start);
  return (
    SIGNATURES.some((signature) => text.startsWith(signature)) || (text.startsWith("RIFF") && text.slice(8) === "WEBP")
  );
}

/** Return the bytes as text; null if they are a PDF, a program or other than UTF-8. */
function plainText(content: ArrayBuffer): string | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(content);
    return text.startsWith("%PDF-") || /[^\P{Cc}\t\n\r\f]/u.test(text) ? null : text;
  } catch {
    return null;
  }
}

function plainName(name: string): string {
  return (
    name
      .replaceAll(/\p{Cc}/gu, " ")
      .slice(-200)
      .trim() || "file"
  );
}

/** Upload the files that the session does not have yet and return how a message names them. */
export async function uploadFiles(
  files: readonly PickedFile[],
  sessionId: string,
  api: Client<paths>,
): Promise<{ upload: string }[]> {
  const named: { upload: string }[] = [];
  for (const picked of files) {
    const upload = usableUpload(picked, sessionId) ?? (await startUpload(picked, sessionId, api));
    picked.upload = upload;
    if (!upload.isComplete) await send(picked, upload);
    upload.isComplete = true;
    named.push({ upload: upload.id });
  }
  return named;
}

function usableUpload({ upload }: PickedFile, sessionId: string): Upload | null {
  if (!upload || upload.sessionId !== sessionId) return null;
  const lifetime = upload.isComplete ? LIFETIME.upload : LIFETIME.form;
  return Date.now() - upload.startedAt < lifetime ? upload : null;
}

async function startUpload(picked: PickedFile, sessionId: string, api: Client<paths>): Promise<Upload> {
  const started = await body(
    api.POST("/v1/sessions/{session_id}/attachments", {
      params: { path: { session_id: sessionId } },
      body: { name: picked.name, size_bytes: picked.size_bytes },
    }),
  );
  return { id: started.id, form: started.upload, sessionId, startedAt: Date.now(), isComplete: false };
}

async function send({ file, name }: PickedFile, { form }: Upload): Promise<void> {
  const data = new FormData();
  for (const [field, value] of Object.entries(form.fields)) data.append(field, value);
  data.append("file", file);
  const answer = await fetch(form.url, { method: "POST", body: data, credentials: "omit" }).catch(() => null);
  if (!answer?.ok) throw new Problem(0, "upload", `${name} could not be uploaded. Try again.`);
}
