import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Schema } from "../../api/client";
import { date, sentenceCase } from "../../ui/format";

export type RecordType = Schema["RecordTypeView"];
export type RecordView = Schema["RecordView"];

/** The tenant's record types. */
export const RecordTypes = createContext<readonly RecordType[]>([]);

/** Return the definition of a type; undefined for a type that is unknown. */
export function useRecordType(key: string): RecordType | undefined {
  return useContext(RecordTypes).find((type) => type.key === key);
}

/** A property that a type defines. */
export interface Property {
  name: string;
  label: string;
  type: string;
  choices: readonly string[];
  unit: string;
  hint: string;
  isRequired: boolean;
}

/** The property in which a record lists what it was made from; it is shown by itself. */
export const SOURCES = "sources";

/** Return the properties of a type in its order. */
export function propertiesOf(type: RecordType | undefined): readonly Property[] {
  return Object.entries(type?.properties ?? {}).map(([name, definition]) => toProperty(name, definition));
}

/** Return a record's properties with their values in words: those of its type first, then the others. */
export function labelledValues(
  record: RecordView,
  type: RecordType | undefined,
): readonly (readonly [string, string])[] {
  const defined = propertiesOf(type);
  const others = Object.keys(record.properties)
    .filter((name) => name !== SOURCES && !defined.some((property) => property.name === name))
    .map((name) => toProperty(name, {}));
  return [...defined, ...others]
    .map((property) => [property.label, valueText(record.properties[property.name], property)] as const)
    .filter(([, text]) => text);
}

/** Return a property's value in words; "" for no value. */
export function valueText(value: unknown, property?: Property): string {
  if (value === null || value === undefined || value === "") return "";
  if (typeof value === "boolean") return value ? "Yes" : "No";
  if (typeof value === "number")
    return [value.toLocaleString(document.documentElement.lang || "en"), property?.unit].filter(Boolean).join(" ");
  if (Array.isArray(value))
    return value
      .map((item) => valueText(item, property))
      .filter(Boolean)
      .join(", ");
  if (isObject(value)) {
    return Object.entries(value)
      .map(([name, part]) => `${sentenceCase(name)}: ${valueText(part)}`)
      .join("; ");
  }
  const text = typeof value === "string" ? value : "";
  return /^\d{4}-\d{2}-\d{2}$/.test(text) ? calendarDate(text) : text;
}

/** "2026-03-14" -> "14 Mar 2026". A date has no time zone to be moved by. */
export function calendarDate(text: string): string {
  const [year = 0, month = 1, day = 1] = text.split("-").map(Number);
  return date(new Date(year, month - 1, day));
}

/** Return whether a value is a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function toProperty(name: string, definition: unknown): Property {
  const given = isObject(definition) ? definition : {};
  const text = (field: string) => (typeof given[field] === "string" ? given[field] : "");
  return {
    name,
    label: sentenceCase(text("label") || name),
    type: text("type") || "text",
    choices: Array.isArray(given.choices) ? given.choices.filter((choice) => typeof choice === "string") : [],
    unit: text("unit"),
    hint: text("description"),
    isRequired: given.required === true,
  };
}
