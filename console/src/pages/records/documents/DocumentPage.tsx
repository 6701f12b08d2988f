import { useState } from "preact/hooks";
import { body, type Schema } from "../../../api/client";
import { api, hasRole } from "../../../api/sign_in";
import { navigate, to, type Route } from "../../../shell/router";
import { Button } from "../../../ui/Button";
import { clearanceName } from "../../../ui/clearance";
import { ConfirmButton } from "../../../ui/Dialog";
import { count, dateTime, sentenceCase } from "../../../ui/format";
import { Page } from "../../../ui/Page";
import { useResource } from "../../../ui/resource";
import { Loaded } from "../../../ui/states";
import { Facts } from "../../../ui/Table";
import { Time } from "../../../ui/Time";
import { deleteShown } from "../delete_shown";
import { RecordFiles } from "../files/RecordFiles";
import { Links } from "../links/Links";
import { Pulse } from "../pulse/Pulse";
import { RecordConversations } from "../RecordConversations";
import { ChangedBy, RecordProperties, RecordSources } from "../RecordFacts";
import { RecordForm } from "../RecordForm";
import { AcceptRecord } from "../RecordListPage";
import { RecordLink } from "../RecordLink";
import { useRecordType, type RecordView } from "../record_types";
import { useSearchScope } from "../search_scope";
import { TalkButton } from "../TalkButton";
import { TypeSign } from "../TypeSign";
import { DocumentForm } from "./DocumentForm";
import { DocumentText } from "./DocumentText";
import { MoveDocument } from "./MoveDocument";
import { OriginBadge } from "./OriginBadge";

type Document = Schema["DocumentTextView"];

/** A document, and its own record if people wrote it here. */
interface Shown {
  document: Document;
  record: RecordView | null;
}

interface DocumentPageProps {
  documentKey: string;
  route: Route;
}

/** One document: its text at the cited place. What came with a pack is changed in the pack. */
export function DocumentPage({ documentKey, route }: DocumentPageProps) {
  const shown = useResource((signal) => readDocument(documentKey, signal), [documentKey]);
  const [editing, setEditing] = useState<"text" | "record" | null>(null);
  const type = useRecordType("document");
  const { document, record } = shown.data ?? {};
  const isEditable = hasRole("editor") && document?.origin === "people";
  useSearchScope(record ?? undefined);
  const done = () => {
    setEditing(null);
    shown.reload();
  };
  return (
    <Page
      title={document?.title ?? "Document"}
      back={{ href: to(["documents"]), label: "All documents" }}
      lead={
        <span class="records-lead">
          <TypeSign type="document" icon={type?.icon} colour={type?.colour} />
          {document ? sentenceCase(document.kind || "document") : "Document"}
          {document && <OriginBadge document={document} />}
        </span>
      }
      actions={
        document && (
          <>
            {isEditable && !editing && (
              <>
                <Button icon="pen" onClick={() => setEditing("text")}>
                  Edit text
                </Button>
                <Button onClick={() => setEditing("record")}>Edit details</Button>
                {document.project && (
                  <MoveDocument document={document} project={document.project} onDone={shown.reload} />
                )}
              </>
            )}
            {hasRole("editor") && <DeleteDocument document={document} onChanged={shown.reload} />}
            {record && <TalkButton record={record} type={type} />}
          </>
        )
      }
    >
      <Loaded of={shown} rows={10}>
        {({ document: found, record: own }) => (
          <div class="records-body">
            <div class="records-main">
              {found.left_pack_at && (
                <p class="notice info">
                  The applied pack has had no such document since {dateTime(found.left_pack_at)}. It is kept, and agents
                  still search and cite it. Delete it if it is not needed any more.
                </p>
              )}
              {own?.unverified_by && (
                <div class="card">
                  <AcceptRecord record={own} onChange={shown.reload} />
                </div>
              )}
              {editing === "record" && own && (
                <RecordForm record={own} type={type} onSaved={done} onCancel={() => setEditing(null)} />
              )}
              {editing === "text" ? (
                <DocumentForm document={found} onSaved={done} onCancel={() => setEditing(null)} />
              ) : (
                <DocumentText
                  document={found}
                  heading={route.query.get("heading") ?? ""}
                  page={route.query.get("page") ?? ""}
                  passage={route.query.get("passage") ?? ""}
                />
              )}
              {own && type?.has_pulses && <Pulse type="document" recordKey={own.key} />}
              {own && <Links record={own} />}
              {own && <RecordFiles about={own.handle} chosen={route.query.get("file")} page={null} />}
            </div>
            <aside class="records-side" aria-label="About this document">
              <DocumentFacts document={found} record={own} />
              {own && editing !== "record" && <RecordProperties record={own} type={type} />}
              {own && <RecordSources record={own} />}
              {own && <RecordConversations handle={own.handle} />}
            </aside>
          </div>
        )}
      </Loaded>
    </Page>
  );
}

async function readDocument(key: string, signal: AbortSignal): Promise<Shown> {
  const document = await body(api.GET("/v1/documents/{ref}", { params: { path: { ref: `document/${key}` } }, signal }));
  if (document.origin === "pack") return { document, record: null };
  const path = { type_key: "document", key };
  const record = await body(api.GET("/v1/entities/{type_key}/{key}", { params: { path }, signal }));
  return { document, record };
}

function DocumentFacts({ document, record }: Shown) {
  const { handle, about, project, classification, length, version, updated_at, origin } = document;
  return (
    <section class="card">
      <h2>About this document</h2>
      <Facts
        facts={[
          ["About", about && about !== handle ? <RecordLink key="about" handle={about} /> : null],
          ["Project", project && <RecordLink key="project" handle={project} />],
          ["Visible at", clearanceName(classification)],
          ["Length", `${count(length)} characters`],
          ["Text version", version],
          [
            "Changed",
            record ? (
              <ChangedBy key="changed" at={record.updated_at} by={record.updated_by} />
            ) : (
              <Time key="changed" at={updated_at} />
            ),
          ],
          ["Created", record && <ChangedBy key="created" at={record.created_at} by={record.created_by} />],
        ]}
      />
      {origin === "pack" && !document.left_pack_at && (
        <p class="soft records-note">
          It comes from the tenant’s pack. To change or delete it, change the pack’s file{" "}
          <code>documents/{document.key}</code> and apply the pack.
        </p>
      )}
    </section>
  );
}

function DeleteDocument({ document, onChanged }: { document: Document; onChanged: () => void }) {
  const hasLeftPack = document.left_pack_at !== null;
  if (document.origin === "pack" && !hasLeftPack) return null;
  const work = async () => {
    // A pack's document has no version that people change.
    const query = document.origin === "pack" ? {} : { version: document.version };
    const params = { path: { ref: document.handle }, query };
    await deleteShown(body(api.DELETE("/v1/documents/{ref}", { params })), onChanged);
    navigate(to(["documents"]));
  };
  return (
    <ConfirmButton label="Delete" title={`Delete “${document.title}”?`} confirmLabel="Delete it" work={work}>
      <p>
        {hasLeftPack
          ? "The pack has no such document any more. It leaves all lists and searches at once, and agents cannot cite it any more. If the pack brings it again, it comes back."
          : "It leaves all lists and searches at once. Documents below it in the tree take its place. This cannot be undone here."}
      </p>
    </ConfirmButton>
  );
}
