import { body } from "../../../api/client";
import { api } from "../../../api/sign_in";
import { guardUnsaved, navigate, to, toRecord } from "../../../shell/router";
import { Field } from "../../../ui/Field";
import { useAction } from "../../../ui/resource";
import { NewRecordFrame, type NewRecordDraft } from "../NewRecordFrame";
import { withFields } from "../record_draft";
import { ProjectField } from "../RecordForm";
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
    <NewRecordFrame
      label="New document"
      {...{ draft, set, problem }}
      action={create}
      back={to(["documents"])}
      short={<ProjectField value={draft.project ?? ""} problem={problem} onChange={set("project")} />}
    >
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
    </NewRecordFrame>
  );
}
