import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Button } from "../ui/Button";
import type { AnswerFormProps } from "./approval";

interface Props extends Omit<AnswerFormProps, "approval"> {
  submitLabel: string;
  onSubmit: () => void;
  children: ComponentChildren;
}

/** A step of an answer: its fields, with the focus in the first one, and the way back to the question. */
export function AnswerForm({ answer, onCancel, submitLabel, onSubmit, children }: Props) {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector<HTMLElement>("input, textarea, select")?.focus(), []);
  return (
    <form ref={form} onSubmit={(event) => (event.preventDefault(), onSubmit())}>
      {children}
      <div class="buttons">
        <Button kind="solid" type="submit" disabled={answer.isRunning}>
          {submitLabel}
        </Button>
        <Button disabled={answer.isRunning} onClick={onCancel}>
          Back
        </Button>
      </div>
    </form>
  );
}
