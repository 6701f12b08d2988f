import { useState } from "preact/hooks";
import { Field } from "../ui/Field";
import { AnswerForm } from "./AnswerForm";
import { label, type AnswerFormProps } from "./approval";

/** Change the arguments. The changed call is checked and asked about again, so this answers nothing yet. */
export function ArgumentsForm({ approval, answer, onCancel }: AnswerFormProps) {
  const [texts, setTexts] = useState(() =>
    Object.fromEntries(Object.entries(approval.raw_arguments).map(([name, value]) => [name, toText(value)])),
  );
  const [invalid, setInvalid] = useState("");
  const submit = () => {
    const changed: Record<string, unknown> = {};
    for (const [name, before] of Object.entries(approval.raw_arguments)) {
      const value = fromText(texts[name] ?? "", before);
      if (value === undefined) return setInvalid(name);
      changed[name] = value;
    }
    setInvalid("");
    answer.run({ decision: "approve", reason: "", arguments: changed });
  };
  return (
    <AnswerForm answer={answer} onCancel={onCancel} submitLabel="Check the changes" onSubmit={submit}>
      {Object.entries(approval.raw_arguments).map(([name, before]) => (
        <Field key={name} label={label(name)} hint={name === invalid ? expected(before) : undefined}>
          {(attributes) => {
            const value = texts[name] ?? "";
            const write = (text: string) => setTexts({ ...texts, [name]: text });
            if (typeof before === "boolean") {
              return (
                <select {...attributes} value={value} onChange={(event) => write(event.currentTarget.value)}>
                  <option value="true">Yes</option>
                  <option value="false">No</option>
                </select>
              );
            }
            return value.length > 60 || typeof before === "object" ? (
              <textarea {...attributes} rows={3} value={value} onInput={(event) => write(event.currentTarget.value)} />
            ) : (
              <input {...attributes} value={value} onInput={(event) => write(event.currentTarget.value)} />
            );
          }}
        </Field>
      ))}
      <p class="soft">You see the changed request again before anything happens.</p>
    </AnswerForm>
  );
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Return a value of the type that it had before; undefined if the text is none. */
function fromText(text: string, before: unknown): unknown {
  if (typeof before === "string") return text;
  try {
    const value: unknown = JSON.parse(text);
    return before === null || typeof value === typeof before ? value : undefined;
  } catch {
    return undefined;
  }
}

function expected(before: unknown): string {
  return typeof before === "number" ? "Enter a number." : "Enter a value as JSON, as it was before.";
}
