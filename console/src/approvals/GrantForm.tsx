import { useState } from "preact/hooks";
import { Field } from "../ui/Field";
import { plural } from "../ui/format";
import { AnswerForm } from "./AnswerForm";
import { label, type AnswerFormProps } from "./approval";

const DAYS = [1, 7, 30, 90];

/** Say yes, and let later calls of the tool run without a question for a time. */
export function GrantForm({ approval, answer, onCancel }: AnswerFormProps) {
  const [days, setDays] = useState(1);
  const submit = () => {
    const until = new Date(Date.now() + days * 86_400_000 - 60_000).toISOString();
    answer.run({ decision: "approve", reason: "", always: { until } });
  };
  return (
    <AnswerForm answer={answer} onCancel={onCancel} submitLabel="Yes, and always allow" onSubmit={submit}>
      <p>
        Allow “{label(approval.tool)}” without a question, whatever its details are. This holds for the person of this
        conversation with this agent only, and can be revoked at any time.
      </p>
      <Field label="For how long">
        {(attributes) => (
          <select {...attributes} value={days} onChange={(event) => setDays(Number(event.currentTarget.value))}>
            {DAYS.map((amount) => (
              <option key={amount} value={amount}>
                {plural(amount, "day")}
              </option>
            ))}
          </select>
        )}
      </Field>
    </AnswerForm>
  );
}
