import type { Schema } from "../../../api/client";
import { sentenceCase } from "../../../ui/format";

type StaleMark = Schema["StaleMarkView"];

const CAUSES: Record<StaleMark["cause"], string> = {
  changed: "the record changed",
  link_changed: "its links changed",
  file_ingested: "a file was added",
  file_deleted: "a file was deleted",
  document_changed: "a document changed",
  child_changed: "a record that belongs to it changed",
  finding_created: "there is a new finding",
  type_changed: "its type changed",
  age: "it was old",
  manual: "someone asked for a refresh",
};

/** Return why a Pulse is stale or was written: "the record changed, a file was added". */
export function causeWords(marks: readonly StaleMark[]): string {
  return [...new Set(marks.map(({ cause }) => CAUSES[cause]))].join(", ");
}

/** What holds a Pulse back. */
export const WAITS: Record<NonNullable<Schema["RecordPulseView"]["waiting_for"]>, string> = {
  budget: "Waits for the daily Pulse budget. It resets at midnight UTC.",
  backoff: "Waits for the next attempt.",
};

const PROBLEMS: Record<string, string> = {
  refused: "the model declined to write it",
  provider_unavailable: "the model could not be reached",
  provider_rejected: "the model’s provider refused the request",
  misconfigured: "the model is not configured correctly",
  budget: "the daily Pulse budget is used up",
};

/** Return why writing failed, in words. */
export function problemWords(code: string): string {
  return PROBLEMS[code] ?? sentenceCase(code).toLowerCase();
}
