import type { Schema } from "../../../api/client";
import { count, sentenceCase } from "../../../ui/format";

type Document = Schema["DocumentView"];

/** Return what a document is in a few words: its kind, its description and its length. */
export function documentDetail({
  kind,
  description,
  length,
}: Pick<Document, "kind" | "description" | "length">): string {
  const named = kind && kind !== "document" ? sentenceCase(kind) : "";
  return [named, description, `${count(length)} characters`].filter(Boolean).join(" · ");
}
