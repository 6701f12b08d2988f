import type { Schema } from "../../../api/client";

export type FileView = Schema["FileView"];

/** The states of a file in words. */
export const STATES: Record<FileView["state"], string> = {
  uploading: "Waits for its content",
  queued: "Queued",
  parsing: "Being read",
  embedding: "Being indexed",
  ready: "Ready",
  failed: "Failed",
};

/** How far a file is on its way through the states, for its progress bar. */
export const PROGRESS: Partial<Record<FileView["state"], number>> = { queued: 0.2, parsing: 0.5, embedding: 0.8 };

/** Return whether a file's state will change by itself. */
export function isUnderWay({ state }: FileView): boolean {
  return state !== "ready" && state !== "failed";
}
