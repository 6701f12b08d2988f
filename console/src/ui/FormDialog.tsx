import type { ComponentChildren } from "preact";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import type { Action } from "./resource";
import { Notice } from "./states";

interface FormDialogProps {
  title: string;
  /** The label of the button that runs the action. */
  submit: string;
  action: Action;
  /** Whether the fields have what the action needs. */
  isReady?: boolean;
  onClose: () => void;
  /** The fields. */
  children: ComponentChildren;
}

/** A dialog with a form. It stays open with the reason if the action fails; closing it after success is the action's part. */
export function FormDialog({ title, submit, action, isReady = true, onClose, children }: FormDialogProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="form" onSubmit={(event) => (event.preventDefault(), action.run())}>
        {children}
        <Notice problem={action.problem} />
        <div class="buttons">
          <Button kind="solid" type="submit" disabled={action.isRunning || !isReady}>
            {submit}
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
