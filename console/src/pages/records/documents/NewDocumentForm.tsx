import { body } from "../../../api/client";
import { api } from "../../../api/sign_in";
import { guardUnsaved, navigate, to, toRecord } from "../../../shell/router";
import { Button, LinkButton } from "../../../ui/Button";
import { Field } from "../../../ui/Field";
import { useAction } from "../../../ui/resource";
import { Notice } from "../../../ui/states";
import type { NewRecordDraft } from "../NewRecordPage";
import { withFields } from "../record_draft";
import { ClearanceField, NameField, ProjectField } from "../RecordForm";
import { MAX_CONTENT_CHARS } from "./DocumentForm";

/** The name of the field that a document's description is in; other types may have the property, too. */
const DESCRIPTION = "properties.description";

/** The form of a new document; with a project it becomes the last one of the project's tree. */
export function NewDocumentForm({ draft, set }: NewRecordDraft) {
  const create = useAction(async () => {
    const created = await body(
      api.POST("/v1/documents", {
        body: {
          title: draft.name ?? "",
          description: draft[DESCRIPTION] ?? "",
          content: draft.content ?? "",
          key: draft.key ?? "",
          state: "draft",
          ...(draft.classification ? { classification: Number(draft.classification) } : {}),
          ...(draft.project ? { project: draft.project } : {}),
        },
      }),
    );
    guardUnsaved(null);
    navigate(toRecord(created.handle), { replace: true });
  });
  const problem = withFields(create.problem, draft);
  return (
    <form class="card form" aria-label="New document" onSubmit={(event) => (event.preventDefault(), create.run())}>
      <NameField value={draft.name ?? ""} problem={problem} onChange={set("name")} />
      <Field label="Description" hint="One line for lists and agents." problem={problem} name={DESCRIPTION}>
        {(attributes) => (
          <input
            {...attributes}
            maxLength={1_000}
            value={draft[DESCRIPTION]}
            onInput={(event) => set(DESCRIPTION)(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field label="Text" hint="Markdown: # headings, **bold**, - lists, | tables |." problem={problem} name="content">
        {(attributes) => (
          <textarea
            {...attributes}
            class="records-editor"
            rows={14}
            maxLength={MAX_CONTENT_CHARS}
            value={draft.content}
            onInput={(event) => set("content")(event.currentTarget.value)}
          />
        )}
      </Field>
      <div class="records-fields">
        <ProjectField value={draft.project ?? ""} problem={problem} onChange={set("project")} />
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
      <Notice problem={create.problem} />
      <div class="buttons">
        <Button type="submit" kind="solid" disabled={create.isRunning}>
          Create
        </Button>
        <LinkButton href={to(["documents"])}>Cancel</LinkButton>
      </div>
    </form>
  );
}
