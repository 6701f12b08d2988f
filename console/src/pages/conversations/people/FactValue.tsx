import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { body } from "../../../api/client";
import { api } from "../../../api/sign_in";
import { guardUnsaved } from "../../../shell/router";
import { Button } from "../../../ui/Button";
import { ConfirmButton } from "../../../ui/Dialog";
import { Field } from "../../../ui/Field";
import { useAction } from "../../../ui/resource";
import { Notice } from "../../../ui/states";

interface FactProps {
  id: string;
  label: string;
  value: string;
  /** How it came about. */
  about: ComponentChildren;
  canEdit: boolean;
  canErase: boolean;
  onChanged: () => void;
  /** The messages that it came from. */
  children?: ComponentChildren;
}

/** A fact with its value, to be edited or erased. */
export function FactValue({ id, label, value, about, canEdit, canErase, onChanged, children }: FactProps) {
  const [isEdited, setEdited] = useState(false);
  const erase = async () => {
    await body(api.DELETE("/v1/memory/facts/{fact_id}", { params: { path: { fact_id: id } } }));
    onChanged();
  };
  if (isEdited) {
    const close = (isSaved: boolean) => {
      setEdited(false);
      if (isSaved) onChanged();
    };
    return <FactForm id={id} label={label} value={value} onClose={close} />;
  }
  return (
    <div class="fact">
      <p>
        <span class="soft">{label}</span>
        <b>{value}</b>
      </p>
      <p class="soft fact-about">{about}</p>
      {children}
      {(canEdit || canErase) && (
        <div class="buttons">
          {canEdit && (
            <Button icon="pen" aria-label={`Edit: ${label}`} onClick={() => setEdited(true)}>
              Edit
            </Button>
          )}
          {canErase && (
            <ConfirmButton label="Erase" title={`Erase “${label}: ${value}”?`} confirmLabel="Erase" work={erase}>
              <p>
                The fact, its earlier values and everything derived from it are deleted. The message that says it stays
                in the conversation. This cannot be undone.
              </p>
            </ConfirmButton>
          )}
        </div>
      )}
    </div>
  );
}

interface FormProps {
  id: string;
  label: string;
  value: string;
  onClose: (isSaved: boolean) => void;
}

function FactForm({ id, label, value, onClose }: FormProps) {
  const [typed, setTyped] = useState(value);
  const input = useRef<HTMLInputElement>(null);
  const save = useAction(async () => {
    const change = { value: typed.trim() };
    await body(api.PATCH("/v1/memory/facts/{fact_id}", { params: { path: { fact_id: id } }, body: change }));
    guardUnsaved(null);
    onClose(true);
  });
  useEffect(() => input.current?.select(), []);
  useEffect(() => {
    guardUnsaved(() => typed !== value);
    return () => guardUnsaved(null);
  }, [typed, value]);
  const submit = (event: Event) => {
    event.preventDefault();
    save.run();
  };
  return (
    <form class="fact form" onSubmit={submit}>
      <Field label={label} name="value" problem={save.problem}>
        {(attributes) => (
          <input
            {...attributes}
            ref={input}
            value={typed}
            maxLength={300}
            required
            autoComplete="off"
            onInput={(event) => setTyped(event.currentTarget.value)}
            onKeyDown={(event) => event.key === "Escape" && onClose(false)}
          />
        )}
      </Field>
      <Notice problem={save.problem} />
      <div class="buttons">
        <Button kind="solid" type="submit" disabled={save.isRunning || !typed.trim() || typed.trim() === value}>
          Save
        </Button>
        <Button onClick={() => onClose(false)}>Cancel</Button>
      </div>
    </form>
  );
}
