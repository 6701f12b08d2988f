import type { Schema } from "../../api/client";
import { Problem } from "../../api/problem";
import { propertiesOf, type Property, type RecordType, type RecordView } from "./record_types";

/** What a record's form holds: the text of each field by its name; a property's is `properties.NAME`. "" is no value. */
export type Draft = Readonly<Record<string, string>>;

/** Where somebody else saved another value than the one that was typed, by the field's name. */
export type Conflicts = Readonly<Record<string, string>>;

/** Return the name of a property's field. */
export function fieldOf(property: Property): string {
  return `properties.${property.name}`;
}

/** Return the properties that a form can hold: lists and objects are left as they are. */
export function editableProperties(type: RecordType | undefined, record?: RecordView): readonly Property[] {
  return propertiesOf(type).filter(({ name }) => !isStructured(record?.properties[name]));
}

/** Return the draft that a record's form begins with. */
export function draftOf(record: RecordView, type: RecordType | undefined): Draft {
  const draft: Record<string, string> = {
    name: record.name,
    classification: String(record.classification),
    project: record.project ?? "",
  };
  for (const property of editableProperties(type, record)) {
    draft[fieldOf(property)] = toText(record.properties[property.name]);
  }
  return draft;
}

/** Return the names of the fields whose values differ. */
export function changedFields(base: Draft, draft: Draft): readonly string[] {
  return Object.keys(draft).filter((name) => draft[name] !== (base[name] ?? ""));
}

/** Return the change of a record as the API takes it: only what differs from what the form began with. */
export function changeOf(base: Draft, draft: Draft, properties: readonly Property[]): Schema["RecordPatchBody"] {
  const changed = new Set(changedFields(base, draft));
  const values = propertyValues(
    draft,
    properties.filter((property) => changed.has(fieldOf(property))),
  );
  return {
    ...(changed.has("name") ? { name: draft.name } : {}),
    ...(changed.has("classification") ? { classification: Number(draft.classification) } : {}),
    ...(changed.has("project") ? { project: draft.project || null } : {}),
    ...(Object.keys(values).length ? { properties: values } : {}),
  };
}

/** Return the values of properties as the API takes them; null for an empty field. */
export function propertyValues(
  draft: Draft,
  properties: readonly Property[],
): Record<string, string | number | boolean | null> {
  return Object.fromEntries(
    properties.map((property) => [property.name, toValue(draft[fieldOf(property)] ?? "", property)]),
  );
}

interface Merged {
  draft: Draft;
  conflicts: Conflicts;
}

/** Take over what somebody else saved meanwhile, except where another value was typed here: that is a conflict. */
export function mergeDrafts(base: Draft, mine: Draft, theirs: Draft): Merged {
  const changed = new Set(changedFields(base, mine));
  const conflicts = Object.entries(theirs).filter(
    ([name, value]) => changed.has(name) && value !== base[name] && value !== mine[name],
  );
  const kept = Object.fromEntries([...changed].map((name) => [name, mine[name] ?? ""]));
  return { draft: { ...theirs, ...kept }, conflicts: Object.fromEntries(conflicts) };
}

/** Return a refusal whose message names fields ("due: must be a date; …") as one that has them by name. */
export function withFields(problem: Problem | undefined, draft: Draft): Problem | undefined {
  if (!problem) return undefined;
  const named = problem.message.split("; ").flatMap((part) => {
    const [, field = "", message = ""] = /^([\w.]+): (.*)$/s.exec(part) ?? [];
    return field ? [{ field, message }] : [];
  });
  const fields = [...problem.fields, ...named].map(({ field, message }) => ({
    field: field in draft ? field : `properties.${field}`,
    message,
  }));
  return new Problem(problem.status, problem.code, problem.message, fields);
}

function toText(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}

function toValue(text: string, { type }: Property): string | number | boolean | null {
  if (!text.trim()) return null;
  if (type === "number" || type === "integer") return Number(text);
  return type === "boolean" ? text === "true" : text;
}

function isStructured(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}
