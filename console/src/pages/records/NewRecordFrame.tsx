import type { ComponentChildren } from "preact";
import type { Problem } from "../../api/problem";
import { Button, LinkButton } from "../../ui/Button";
import { Field } from "../../ui/Field";
import type { Action } from "../../ui/resource";
import { Notice } from "../../ui/states";
import type { Draft } from "./record_draft";
import { ClearanceField, NameField } from "./RecordForm";

/** The values of the form for a new record or document. They stay when the reader chooses another type. */
export interface NewRecordDraft {
  draft: Draft;
  /** Return what sets a field. */
  set: (name: string) => (value: string) => void;
}

interface NewRecordFrameProps extends NewRecordDraft {
  label: string;
  action: Action;
  problem: Problem | undefined;
  /** Where "Cancel" leads. */
  back: string;
  /** The fields of this type. */
  children: ComponentChildren;
  /** The fields that stand beside clearance and key. */
  short: ComponentChildren;
}

/** The frame of the forms for new records: the name, the type's own fields, clearance, key and buttons. */
export function NewRecordFrame({ label, draft, set, action, problem, back, children, short }: NewRecordFrameProps) {
  return (
    <form class="card form" aria-label={label} onSubmit={(event) => (event.preventDefault(), action.run())}>
      <NameField value={draft.name ?? ""} problem={problem} onChange={set("name")} />
      {children}
      <div class="records-fields">
        {short}
        <ClearanceField
          value={draft.classification ?? ""}
          problem={problem}
          none="Default of the type or project"
          onChange={set("classification")}
        />
        <Field label="Key" hint="Optional. It is made from the name." problem={problem} name="key">
          {(attributes) => (
            <input
              {...attributes}
              maxLength={100}
              autocomplete="off"
              spellcheck={false}
              value={draft.key}
              onInput={(event) => set("key")(event.currentTarget.value)}
            />
          )}
        </Field>
      </div>
      <Notice problem={action.problem} />
      <div class="buttons">
        <Button type="submit" kind="solid" disabled={action.isRunning}>
          Create
        </Button>
        <LinkButton href={back}>Cancel</LinkButton>
      </div>
    </form>
  );
}
