import { useState } from "preact/hooks";
import { Field } from "./Field";
import { FormDialog } from "./FormDialog";
import { useAction } from "./resource";

interface AmountDialogProps {
  title: string;
  label: string;
  hint: string;
  /** The field's name in the API's errors. */
  name: string;
  /** The amount in US dollars that is set; "" if the default holds. */
  amount: string;
  onClose: () => void;
  /** Save an amount; null restores the default. */
  save: (amount: string | null) => Promise<void>;
}

/** A dialog that sets an amount of US dollars a day. */
export function AmountDialog({ title, label, hint, name, amount, onClose, save }: AmountDialogProps) {
  const [typed, setTyped] = useState(amount);
  const action = useAction(async () => {
    await save(typed || null);
    onClose();
  });
  return (
    <FormDialog title={title} submit="Save" action={action} onClose={onClose}>
      <Field label={label} hint={hint} name={name} problem={action.problem}>
        {(attributes) => (
          <input
            {...attributes}
            type="number"
            min="0"
            step="any"
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}
