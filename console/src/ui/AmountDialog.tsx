import { useState } from "preact/hooks";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { Field } from "./Field";
import { useAction } from "./resource";
import { Notice } from "./states";

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
    <Dialog title={title} onClose={onClose}>
      <form class="form" onSubmit={(event) => (event.preventDefault(), action.run())}>
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
        <Notice problem={action.problem} />
        <div class="buttons">
          <Button kind="solid" type="submit" disabled={action.isRunning}>
            Save
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
