import { useState } from "preact/hooks";
import { Field } from "../ui/Field";
import { AnswerForm } from "./AnswerForm";
import type { AnswerFormProps } from "./approval";

/** Say no, with a reason that the agent reads. */
export function RefusalForm({ answer, onCancel }: AnswerFormProps) {
  const [reason, setReason] = useState("");
  return (
    <AnswerForm
      answer={answer}
      onCancel={onCancel}
      submitLabel="Say no"
      onSubmit={() => answer.run({ decision: "refuse", reason: reason.trim() })}
    >
      <Field label="Why not? (optional)" hint="The agent reads it and can suggest something else.">
        {(attributes) => (
          <textarea
            {...attributes}
            rows={2}
            maxLength={500}
            value={reason}
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        )}
      </Field>
    </AnswerForm>
  );
}
