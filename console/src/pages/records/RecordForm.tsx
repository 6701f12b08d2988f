import { useEffect, useRef, useState } from "preact/hooks";
import { body } from "../../api/client";
import { Problem, toProblem } from "../../api/problem";
import { api, me } from "../../api/sign_in";
import { guardUnsaved } from "../../shell/router";
import { Button } from "../../ui/Button";
import { CLEARANCES, clearanceName } from "../../ui/clearance";
import { Field } from "../../ui/Field";
import { useAction } from "../../ui/resource";
import { Notice } from "../../ui/states";
import { conflictHint, PropertyField } from "./PropertyField";
import { RecordPicker } from "./RecordPicker";
import {
  changedFields,
  changeOf,
  draftOf,
  editableProperties,
  fieldOf,
  mergeDrafts,
  withFields,
  type Conflicts,
  type Draft,
} from "./record_draft";
import type { RecordType, RecordView } from "./record_types";

interface RecordFormProps {
  record: RecordView;
  type: RecordType | undefined;
  onSaved: (record: RecordView) => void;
  onCancel: () => void;
}

/** The form of a record. If somebody else saved it meanwhile, their changes are taken over; where both changed a field, theirs is shown. */
export function RecordForm({ record, type, onSaved, onCancel }: RecordFormProps) {
  const [base, setBase] = useState(() => ({ version: record.version, draft: draftOf(record, type) }));
  const [draft, setDraft] = useState<Draft>(base.draft);
  const [conflicts, setConflicts] = useState<Conflicts>({});
  const [merged, setMerged] = useState("");
  const properties = editableProperties(type, record);
  const path = { type_key: record.type, key: record.key };
  const isChanged = changedFields(base.draft, draft).length > 0;
  useUnsavedGuard(isChanged);
  const merge = async () => {
    const now = await body(api.GET("/v1/entities/{type_key}/{key}", { params: { path } }));
    const theirs = draftOf(now, type);
    const result = mergeDrafts(base.draft, draft, theirs);
    setBase({ version: now.version, draft: theirs });
    setDraft(result.draft);
    setConflicts(result.conflicts);
    setMerged(
      Object.keys(result.conflicts).length
        ? "Someone else saved this record meanwhile. Where you both changed a field, their value is shown below yours. Save again to keep yours."
        : "Someone else saved this record meanwhile. Their changes are taken over into this form. Check them and save again.",
    );
  };
  const save = useAction(async () => {
    setMerged("");
    if (!isChanged) return onCancel();
    const change = { ...changeOf(base.draft, draft, properties), version: base.version };
    try {
      const saved = await body(api.PATCH("/v1/entities/{type_key}/{key}", { params: { path }, body: change }));
      guardUnsaved(null);
      onSaved(saved);
    } catch (error) {
      const problem = toProblem(error);
      if (problem.status === 409) return merge();
      if (problem.status !== 404) throw problem;
      throw new Problem(
        404,
        problem.code,
        "This record was deleted meanwhile. Your text is still here; copy what you need.",
      );
    }
    return undefined;
  });
  const problem = withFields(save.problem, draft);
  const set = (name: string) => (value: string) => setDraft((before) => ({ ...before, [name]: value }));
  return (
    // Ctrl Enter saves from a text of several lines, too.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <form
      class="card form"
      aria-label={`Edit ${record.name}`}
      onSubmit={(event) => (event.preventDefault(), save.run())}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) event.currentTarget.requestSubmit();
      }}
    >
      <h2>Edit</h2>
      <NameField value={draft.name ?? ""} problem={problem} conflict={conflicts.name} onChange={set("name")} />
      <div class="records-fields">
        {properties.map((property) => (
          <PropertyField
            key={property.name}
            property={property}
            value={draft[fieldOf(property)] ?? ""}
            problem={problem}
            conflict={conflicts[fieldOf(property)]}
            onChange={set(fieldOf(property))}
          />
        ))}
        {record.type !== "project" && (
          <ProjectField
            value={draft.project ?? ""}
            problem={problem}
            conflict={conflicts.project}
            onChange={set("project")}
          />
        )}
        <ClearanceField
          value={draft.classification ?? ""}
          problem={problem}
          conflict={conflicts.classification}
          onChange={set("classification")}
        />
      </div>
      {merged && (
        <p class="notice info" role="alert">
          {merged}
        </p>
      )}
      <Notice problem={save.problem} />
      <div class="buttons">
        <Button type="submit" kind="solid" disabled={save.isRunning}>
          Save
        </Button>
        <Button onClick={() => (guardUnsaved(null), onCancel())}>Cancel</Button>
      </div>
    </form>
  );
}

/** Ask before the reader leaves while a form has text that is not saved. */
export function useUnsavedGuard(isChanged: boolean): void {
  const latest = useRef(isChanged);
  latest.current = isChanged;
  useEffect(() => {
    guardUnsaved(() => latest.current);
    return () => guardUnsaved(null);
  }, []);
}

interface DraftFieldProps {
  value: string;
  problem: Problem | undefined;
  conflict?: string | undefined;
  onChange: (value: string) => void;
}

/** The name of a record. */
export function NameField({ value, problem, conflict, onChange }: DraftFieldProps) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // Who is choosing another type stays there.
    if (document.activeElement?.localName !== "select") input.current?.focus();
  }, []);
  return (
    <Field label="Name *" hint={conflictHint(conflict, String)} problem={problem} name="name">
      {(attributes) => (
        <input
          {...attributes}
          ref={input}
          required
          maxLength={300}
          autocomplete="off"
          value={value}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** The project of a record. */
export function ProjectField({ value, problem, conflict, onChange }: DraftFieldProps) {
  return (
    <Field label="Project" hint={conflictHint(conflict, String)} problem={problem} name="project">
      {(attributes) => (
        <RecordPicker {...attributes} type="project" placeholder="None" handle={value} onChoose={onChange} />
      )}
    </Field>
  );
}

interface ClearanceFieldProps extends DraftFieldProps {
  /** What an empty choice means; without it there is none. */
  none?: string;
}

/** Who may see it: a level that is not above the reader's own. */
export function ClearanceField({ value, problem, conflict, onChange, none }: ClearanceFieldProps) {
  const levels = CLEARANCES.map((_, level) => level).filter((level) => level <= (me.value?.clearance ?? 0));
  return (
    <Field
      label="Visible at"
      hint={conflictHint(conflict, (text) => clearanceName(Number(text)))}
      problem={problem}
      name="classification"
    >
      {(attributes) => (
        <select {...attributes} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          {none && <option value="">{none}</option>}
          {levels.map((level) => (
            <option key={level} value={level}>
              {clearanceName(level)}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
