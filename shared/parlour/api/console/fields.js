// The fields of a record's form, each by the type that the kind's definition gives the property.

import { h } from "./dom.js";
import { said, sentence, spaced } from "./formatting.js";

const EDITABLE = (value) => value === null || value === undefined || typeof value !== "object";

/** The fields for every property of a kind whose value a person can type; lists and the like stay as they are. */
export function propertyFields(definition, properties) {
  return Object.entries(definition.properties ?? {})
    .filter(([name]) => EDITABLE(properties[name]))
    .map(([name, meant]) => propertyField(name, meant, properties[name] ?? null));
}

function propertyField(name, meant, value) {
  const { input, read, write } = box(meant, value);
  const label = sentence(meant.label ?? spaced(name));
  return field({ name, label: meant.unit ? `${label} (${meant.unit})` : label, hint: meant.description, required: meant.required, input, read, write, meant, property: true });
}

/** A labelled box. `read()` is what stands in it, null for nothing; `touched()`: whether that is still what it began with. */
export function field({ name, label, hint, required = false, input, nodes = [input], read, write, meant = {}, property = false, wide = false }) {
  input.id ||= `field-${name}`;
  if (required) input.required = true;
  const beside = h("p", { class: "beside", id: `${input.id}-beside` }, hint ?? "");
  input.setAttribute("aria-describedby", beside.id);
  const element = h("div", { class: wide || input.localName === "textarea" ? "field wide" : "field" },
    h("label", { for: input.id }, label, required ? h("span", { class: "needed", "aria-hidden": "true" }, " *") : null), ...nodes, beside);
  const made = { name, label, property, input, element, read, write, began: read() };
  made.touched = () => read() !== made.began;
  made.say = (text, kind) => {
    beside.textContent = text || hint || "";
    element.classList.toggle("wrong", kind === "wrong");
    element.classList.toggle("meanwhile", kind === "meanwhile");
    input.setAttribute("aria-invalid", String(kind === "wrong"));
  };
  made.told = (value) => said(value, meant) || "nothing";
  return made;
}

function box(meant, value) {
  if (meant.type === "choice") return choice((meant.choices ?? []).map((one) => [one, one]), value);
  if (meant.type === "boolean") return choice([[true, "yes"], [false, "no"]], value);
  if (meant.type === "date") return typed(h("input", { type: "date" }), value);
  if (meant.type === "number" || meant.type === "integer") return numbered(meant.type === "integer" ? "1" : "any", value);
  return typed(h("textarea", { rows: 1, maxlength: 20000 }), value);
}

/** Text as it stands; an empty box is no value. */
export function typed(input, value) {
  const write = (given) => { input.value = given ?? ""; };
  write(value);
  return { input, write, read: () => (input.value.trim() ? input.value : null) };
}

function numbered(step, value) {
  const input = h("input", { type: "number", step, inputmode: step === "1" ? "numeric" : "decimal" });
  const write = (given) => { input.value = given ?? ""; };
  write(value);
  return { input, write, read: () => (input.value === "" ? null : Number(input.value)) };
}

/** One of `offered`, [value, words]; a value that is none of them is offered too, since it is what the record has. */
export function choice(offered, value, none = "—") {
  const known = value === null || value === undefined || offered.some(([one]) => one === value);
  const all = [[null, none], ...offered, ...(known ? [] : [[value, String(value)]])];
  const input = h("select", {}, ...all.map(([, words], index) => h("option", { value: index ? String(index) : "" }, words)));
  const write = (given) => { input.selectedIndex = Math.max(0, all.findIndex(([one]) => one === (given ?? null))); };
  write(value);
  return { input, write, read: () => all[input.selectedIndex]?.[0] ?? null };
}
