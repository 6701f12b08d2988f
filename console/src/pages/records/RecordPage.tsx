import { useState } from "preact/hooks";
import { body } from "../../api/client";
import { api, hasRole } from "../../api/sign_in";
import { navigate, to, type Route } from "../../shell/router";
import { Button } from "../../ui/Button";
import { ConfirmButton } from "../../ui/Dialog";
import { sentenceCase } from "../../ui/format";
import { Page } from "../../ui/Page";
import { useResource } from "../../ui/resource";
import { Loaded } from "../../ui/states";
import { deleteShown } from "./delete_shown";
import { DocumentTree } from "./documents/DocumentTree";
import { RecordFiles } from "./files/RecordFiles";
import { Links } from "./links/Links";
import { Pulse } from "./pulse/Pulse";
import { RecordConversations } from "./RecordConversations";
import { RecordFacts, RecordProperties, RecordSources } from "./RecordFacts";
import { RecordForm } from "./RecordForm";
import { AcceptRecord } from "./RecordListPage";
import { useRecordType, type RecordView } from "./record_types";
import { useSearchScope } from "./search_scope";
import { TalkButton } from "./TalkButton";
import { TypeSign } from "./TypeSign";

interface RecordPageProps {
  type: string;
  recordKey: string;
  route: Route;
}

/** One record: what it says, its Pulse, what it is linked to, its documents, files and conversations. */
export function RecordPage({ type, recordKey, route }: RecordPageProps) {
  const path = { type_key: type, key: recordKey };
  const record = useResource(
    (signal) => body(api.GET("/v1/entities/{type_key}/{key}", { params: { path }, signal })),
    [type, recordKey],
  );
  const definition = useRecordType(type);
  const [isEditing, setEditing] = useState(false);
  useSearchScope(record.data);
  const found = record.data;
  return (
    <Page
      title={found?.name ?? definition?.name ?? sentenceCase(type)}
      back={{ href: to(["records"], { type }), label: `All ${(definition?.name ?? "record").toLowerCase()} records` }}
      lead={
        <span class="records-lead">
          <TypeSign type={type} icon={definition?.icon} colour={definition?.colour} />
          {definition?.name ?? sentenceCase(type)} · {recordKey}
        </span>
      }
      actions={
        found && (
          <>
            <OwnPageLink link={found.link} />
            {hasRole("editor") && !isEditing && (
              <Button icon="pen" onClick={() => setEditing(true)}>
                Edit
              </Button>
            )}
            {hasRole("editor") && <DeleteRecord record={found} onChanged={record.reload} />}
            <TalkButton record={found} type={definition} />
          </>
        )
      }
    >
      <Loaded of={record}>
        {(shown) => (
          <div class="records-body">
            <div class="records-main">
              {shown.unverified_by && (
                <div class="card">
                  <AcceptRecord record={shown} onChange={record.reload} />
                </div>
              )}
              {isEditing ? (
                <RecordForm
                  record={shown}
                  type={definition}
                  onCancel={() => setEditing(false)}
                  onSaved={() => (setEditing(false), record.reload())}
                />
              ) : (
                <RecordProperties record={shown} type={definition} />
              )}
              {definition?.has_pulses && <Pulse type={type} recordKey={recordKey} />}
              {type === "project" && <DocumentTree project={shown.handle} />}
              <Links record={shown} />
              <RecordFiles about={shown.handle} chosen={route.query.get("file")} page={route.query.get("page")} />
            </div>
            <aside class="records-side" aria-label="About this record">
              <RecordFacts record={shown} />
              <RecordSources record={shown} />
              <RecordConversations handle={shown.handle} />
            </aside>
          </div>
        )}
      </Loaded>
    </Page>
  );
}

/** The page outside the console that the record's type names. */
function OwnPageLink({ link }: { link: string }) {
  if (!/^https?:/.test(link)) return null;
  return (
    <a class="button quiet" href={link} target="_blank" rel="noreferrer">
      Open its own page
    </a>
  );
}

function DeleteRecord({ record, onChanged }: { record: RecordView; onChanged: () => void }) {
  const work = async () => {
    const params = { path: { type_key: record.type, key: record.key }, query: { version: record.version } };
    await deleteShown(body(api.DELETE("/v1/entities/{type_key}/{key}", { params })), onChanged);
    navigate(to(["records"], { type: record.type }));
  };
  return (
    <ConfirmButton label="Delete" title={`Delete “${record.name}”?`} confirmLabel="Delete it" work={work}>
      <p>It leaves all lists and searches at once, with its links, files and Pulse. This cannot be undone here.</p>
    </ConfirmButton>
  );
}
