import { useEffect, useState } from "preact/hooks";
import type { Schema } from "../../api/client";
import { guardUnsaved } from "../../shell/router";
import { Button } from "../../ui/Button";
import { Field } from "../../ui/Field";
import { sentenceCase } from "../../ui/format";

type Template = Schema["TemplateView"];
export type TemplateChoice = Schema["InboxTemplate"];

interface TemplateFormProps {
  templates: readonly Template[];
  isSending: boolean;
  /** The reader changed what would be sent. */
  onChange: () => void;
  onSend: (choice: TemplateChoice) => void;
}

/** The approved messages of a channel that takes no free text any more: choose one and write its values. */
export function TemplateForm({ templates, isSending, onChange, onSend }: TemplateFormProps) {
  const [index, setIndex] = useState(0);
  const [values, setValues] = useState<Record<string, string>>({});
  const template = templates[index] ?? templates[0];
  const change = (next: Record<string, string>) => {
    setValues(next);
    onChange();
  };
  useEffect(() => {
    guardUnsaved(() => Object.values(values).some((value) => value.trim()));
    return () => guardUnsaved(null);
  }, [values]);
  if (!template) return null;
  const { name, language = "", placeholders } = template;
  const isComplete = placeholders.every((placeholder) => values[placeholder]?.trim());
  const send = (event: Event) => {
    event.preventDefault();
    onSend({ name, language, values: placeholders.map((placeholder) => values[placeholder] ?? "") });
  };
  return (
    <form class="inbox-reply" onSubmit={send}>
      <Field label="Template">
        {(attributes) => (
          <select
            {...attributes}
            data-focus-key="r"
            value={index}
            onChange={(event) => {
              setIndex(Number(event.currentTarget.value));
              change({});
            }}
          >
            {templates.map((one, at) => (
              <option key={one.name + one.language} value={at}>
                {sentenceCase(one.name)}
                {one.language && ` (${one.language})`}
              </option>
            ))}
          </select>
        )}
      </Field>
      {placeholders.map((placeholder) => (
        <Field key={name + language + placeholder} label={placeholderLabel(placeholder)}>
          {(attributes) => (
            <input
              {...attributes}
              maxLength={1_024}
              value={values[placeholder] ?? ""}
              onInput={(event) => change({ ...values, [placeholder]: event.currentTarget.value })}
            />
          )}
        </Field>
      ))}
      <section class="inbox-preview" aria-label="Preview">
        {fill(template.text, values)}
      </section>
      <div class="buttons">
        <Button kind="solid" type="submit" disabled={isSending || !isComplete}>
          Send
        </Button>
      </div>
    </form>
  );
}

function placeholderLabel(placeholder: string): string {
  return /^\d+$/.test(placeholder) ? `Value ${placeholder}` : sentenceCase(placeholder);
}

/** The text that is sent. A placeholder without a value stays as it is. */
function fill(text: string, values: Record<string, string>): string {
  return text.replace(/\{\{ ?([a-z0-9_]+) ?\}\}/g, (whole, name: string) => values[name]?.trim() || whole);
}
