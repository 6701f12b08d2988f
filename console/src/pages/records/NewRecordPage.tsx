import { useContext, useState } from "preact/hooks";
import { body } from "../../api/client";
import { api } from "../../api/sign_in";
import { guardUnsaved, navigate, setQuery, to, toRecord, type Route } from "../../shell/router";
import { Field } from "../../ui/Field";
import { Page } from "../../ui/Page";
import { useAction } from "../../ui/resource";
import { EmptyState } from "../../ui/states";
import { NewDocumentForm } from "./documents/NewDocumentForm";
import { NewRecordFrame, type NewRecordDraft } from "./NewRecordFrame";
import { PropertyField } from "./PropertyField";
import { editableProperties, fieldOf, propertyValues, withFields, type Draft } from "./record_draft";
import { ProjectField, useUnsavedGuard } from "./RecordForm";
import { RecordTypes, type RecordType } from "./record_types";

const EMPTY: Draft = { name: "", key: "", context_text: "", content: "", classification: "" };

/** The page on which a record is created: `#/new?type=task&project=project/P-1`. */
export function NewRecordPage({ route }: { route: Route }) {
  const types = useContext(RecordTypes);
  const asked = route.query.get("type");
  const type = types.find(({ key }) => key === asked) ?? types.find(({ key }) => key === "task") ?? types[0];
  const [draft, setDraft] = useState<Draft>(() => ({ ...EMPTY, project: route.query.get("project") ?? "" }));
  useUnsavedGuard(Object.entries(draft).some(([name, value]) => name !== "project" && value !== ""));
  const form = {
    draft,
    set: (name: string) => (value: string) => setDraft((before) => ({ ...before, [name]: value })),
  };
  return (
    <Page
      title={type ? `New ${type.name.toLowerCase()}` : "New record"}
      back={{ href: to(["records"], { type: asked }), label: "All records" }}
    >
      {type ? (
        <>
          <div class="card form">
            <Field label="Type">
              {(attributes) => (
                <select
                  {...attributes}
                  value={type.key}
                  onChange={(event) => setQuery({ type: event.currentTarget.value })}
                >
                  {types.map(({ key, name }) => (
                    <option key={key} value={key}>
                      {name}
                    </option>
                  ))}
                </select>
              )}
            </Field>
          </div>
          {type.key === "document" ? <NewDocumentForm {...form} /> : <NewRecordForm type={type} {...form} />}
        </>
      ) : (
        <EmptyState icon="folder" title="No record types">
          <p>The tenant’s pack defines record types. Apply a pack first.</p>
        </EmptyState>
      )}
    </Page>
  );
}

function NewRecordForm({ type, draft, set }: NewRecordDraft & { type: RecordType }) {
  const properties = editableProperties(type);
  const isProject = type.key === "project";
  const create = useAction(async () => {
    const values = Object.entries(propertyValues(draft, properties)).filter(([, value]) => value !== null);
    const created = await body(
      api.POST("/v1/entities", {
        body: {
          type: type.key,
          name: draft.name ?? "",
          key: draft.key ?? "",
          context_text: isProject ? (draft.context_text ?? "") : "",
          properties: Object.fromEntries(values),
          ...(draft.classification ? { classification: Number(draft.classification) } : {}),
          ...(draft.project && !isProject ? { project: draft.project } : {}),
        },
      }),
    );
    guardUnsaved(null);
    navigate(toRecord(created.handle), { replace: true });
  });
  const problem = withFields(create.problem, draft);
  return (
    <NewRecordFrame
      label={`New ${type.name.toLowerCase()}`}
      {...{ draft, set, problem }}
      action={create}
      back={to(["records"], { type: type.key })}
      short={
        <>
          {properties.map((property) => (
            <PropertyField
              key={property.name}
              property={property}
              value={draft[fieldOf(property)] ?? ""}
              problem={problem}
              conflict={undefined}
              onChange={set(fieldOf(property))}
            />
          ))}
          {!isProject && <ProjectField value={draft.project ?? ""} problem={problem} onChange={set("project")} />}
        </>
      }
    >
      {isProject && (
        <Field
          label="Purpose"
          hint="What the project is for, in your words. It becomes the project’s context document."
          problem={problem}
          name="context_text"
        >
          {(attributes) => (
            <textarea
              {...attributes}
              rows={3}
              maxLength={100_000}
              value={draft.context_text}
              onInput={(event) => set("context_text")(event.currentTarget.value)}
            />
          )}
        </Field>
      )}
    </NewRecordFrame>
  );
}
