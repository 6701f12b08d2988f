// Values of records as one would say them.

const LEVELS = ["Public", "Internal", "Confidential", "Restricted"];
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** A property's value in words; "" for nothing. `definition` is the property's own: {type, unit}. */
export function said(value, definition = {}) {
  if (value === null || value === undefined || value === "") return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.map((one) => said(one, definition)).filter(Boolean).join(", ");
  if (typeof value === "object") return Object.entries(value).map(([name, part]) => `${spaced(name)}: ${said(part)}`).join("; ");
  if (typeof value === "number") return [definition.unit, value.toLocaleString("en")].filter(Boolean).join(" ");
  return DATE.test(value) ? day(value) : String(value);
}

/** "2026-03-14" as people of the reader's country write it; a date has no time zone to be moved by. */
export function day(text) {
  const [year, month, date] = text.slice(0, 10).split("-").map(Number);
  return new Date(year, month - 1, date).toLocaleDateString([], { day: "numeric", month: "short", year: "numeric" });
}

/** A moment, short: today's time, or the day. */
export function ago(at) {
  const moment = new Date(at);
  if (moment.toDateString() === new Date().toDateString()) return moment.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return moment.toLocaleDateString([], { day: "numeric", month: "short", year: "numeric" });
}

/** The path of a record by its handle; a document's key may have anything in it. */
export const path = (handle) => handle.split("/").map(encodeURIComponent).join("/");

export const spaced = (name) => name.replaceAll("_", " ");

export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** A classification in words. */
export const level = (number) => LEVELS[number] ?? `Level ${number}`;

/** An amount of bytes, to be read. */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  const [unit, amount] = bytes < 1_000_000 ? ["KB", bytes / 1000] : ["MB", bytes / 1_000_000];
  return `${amount.toFixed(amount < 10 ? 1 : 0)} ${unit}`;
}
