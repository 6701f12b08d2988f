import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import type { Problem } from "../api/problem";

interface FieldProps {
  label: string;
  /** What to type and why, below the field. */
  hint?: string | undefined;
  /** The API's answer to the form: its message is shown if it names this field. */
  problem?: Problem | undefined;
  name?: string | undefined;
  children: (attributes: { id: string; "aria-describedby"?: string; "aria-invalid"?: true }) => ComponentChildren;
}

/** A labelled control of a form, with its hint and its error. */
export function Field({ label, hint, problem, name, children }: FieldProps) {
  const id = useId();
  const error = problem?.fields.find(({ field }) => field === name)?.message;
  const isDescribed = Boolean(hint || error);
  const attributes = {
    id,
    ...(isDescribed ? { "aria-describedby": `${id}-hint` } : {}),
    ...(error ? { "aria-invalid": true as const } : {}),
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(attributes)}
      {isDescribed && (
        <p id={`${id}-hint`} class={error ? "error" : "soft"}>
          {error ?? hint}
        </p>
      )}
    </div>
  );
}
