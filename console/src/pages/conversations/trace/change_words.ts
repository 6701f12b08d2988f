import type { Schema } from "../../../api/client";
import { clearanceName } from "../../../ui/clearance";

/** What was done to a record. */
export const CHANGE_VERBS: Record<Schema["ChangeView"]["action"], string> = {
  create: "Created",
  update: "Changed",
  link: "Linked",
  unlink: "Unlinked",
  delete: "Deleted",
  accept: "Accepted",
};

/** Return a value of a record in words. */
export function changedValue(property: string, value: unknown): string {
  if (value === null || value === undefined || value === "") return "empty";
  if (property === "classification" && typeof value === "number") return clearanceName(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "string" ? value : JSON.stringify(value);
}
