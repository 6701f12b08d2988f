import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Button } from "./Button";
import { useAction } from "./resource";
import { Notice } from "./states";

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  /** A dialog as wide as the window, for content to read. */
  isWide?: boolean;
  /** Whether only a button closes it, because what it shows is not shown again. */
  isSticky?: boolean;
}

/** A modal dialog. Escape and the close button call `onClose`; the browser keeps the focus inside. */
export function Dialog({ title, onClose, children, isWide = false, isSticky = false }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    // Closing gives the focus back to what opened it; an open dialog that is removed loses it.
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      class={isWide ? "dialog wide" : "dialog"}
      aria-labelledby={titleId}
      onCancel={(event) => isSticky && event.preventDefault()}
      onClose={({ currentTarget }) => currentTarget.isConnected && onClose()}
    >
      <header>
        <h2 id={titleId}>{title}</h2>
        <Button kind="quiet" icon="close" aria-label="Close" onClick={onClose} />
      </header>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}

interface ConfirmProps {
  /** The button that opens the question. */
  label: string;
  title: string;
  /** What will happen, and whether it can be undone. */
  children: ComponentChildren;
  confirmLabel: string;
  work: () => Promise<unknown>;
  kind?: "danger" | "solid" | "quiet";
  /** The button's name, where several buttons of a page have the same label. */
  "aria-label"?: string;
}

/** A button that asks before it acts. The dialog stays open with the reason if the action fails. */
export function ConfirmButton({ label, title, children, confirmLabel, work, kind = "danger", ...names }: ConfirmProps) {
  const [isOpen, setOpen] = useState(false);
  const action = useAction(async () => {
    await work();
    setOpen(false);
  });
  return (
    <>
      <Button kind={kind === "danger" ? "quiet" : kind} {...names} onClick={() => setOpen(true)}>
        {label}
      </Button>
      {isOpen && (
        <Dialog title={title} onClose={() => setOpen(false)}>
          {children}
          <Notice problem={action.problem} />
          <div class="buttons">
            <Button
              kind={kind === "danger" ? "danger" : "solid"}
              disabled={action.isRunning}
              onClick={() => action.run()}
            >
              {confirmLabel}
            </Button>
            <Button onClick={() => setOpen(false)}>Cancel</Button>
          </div>
        </Dialog>
      )}
    </>
  );
}
