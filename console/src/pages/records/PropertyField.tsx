import type { Problem } from "../../api/problem";
import { Field } from "../../ui/Field";
import { fieldOf } from "./record_draft";
import { valueText, type Property } from "./record_types";

interface PropertyFieldProps {
  property: Property;
  value: string;
  problem: Problem | undefined;
  /** The value that somebody else saved meanwhile. */
  conflict: string | undefined;
  onChange: (value: string) => void;
}

/** The field of a property, by the property's type. */
export function PropertyField({ property, value, problem, conflict, onChange }: PropertyFieldProps) {
  const { label, unit, hint, type, choices, isRequired } = property;
  const options = type === "boolean" ? ["true", "false"] : type === "choice" ? choices : null;
  const known = options?.includes(value) ? options : [...(options ?? []), ...(value ? [value] : [])];
  return (
    <Field
      label={`${label}${unit ? ` (${unit})` : ""}${isRequired ? " *" : ""}`}
      hint={conflictHint(conflict, (text) => valueText(text, property)) ?? hint}
      problem={problem}
      name={fieldOf(property)}
    >
      {(attributes) => {
        const common = { ...attributes, value, required: isRequired };
        if (options) {
          return (
            <select {...common} onChange={(event) => onChange(event.currentTarget.value)}>
              <option value="">—</option>
              {known.map((choice) => (
                <option key={choice} value={choice}>
                  {type === "boolean" ? valueText(choice === "true") : choice}
                </option>
              ))}
            </select>
          );
        }
        const onInput = (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value);
        if (type === "date") return <input type="date" {...common} onInput={onInput} />;
        if (type === "number" || type === "integer") {
          return <input type="number" step={type === "integer" ? "1" : "any"} {...common} onInput={onInput} />;
        }
        return <textarea rows={value.length > 90 ? 4 : 1} maxLength={20_000} {...common} onInput={onInput} />;
      }}
    </Field>
  );
}

/** Return what somebody else saved in a field, in words. */
export function conflictHint(conflict: string | undefined, words: (text: string) => string): string | undefined {
  return conflict === undefined
    ? undefined
    : `Saved by someone else: ${words(conflict) || "nothing"}. Saving keeps yours.`;
}
