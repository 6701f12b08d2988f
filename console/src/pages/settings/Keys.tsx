import { useState } from "preact/hooks";
import { body, type Schema } from "../../api/client";
import { api } from "../../api/sign_in";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { clearanceName } from "../../ui/clearance";
import { ConfirmButton, Dialog } from "../../ui/Dialog";
import { Field } from "../../ui/Field";
import { FormDialog } from "../../ui/FormDialog";
import { date, sentenceCase } from "../../ui/format";
import { useAction, usePages } from "../../ui/resource";
import { EmptyState, Loaded, LoadMore } from "../../ui/states";
import { Table } from "../../ui/Table";
import { Time } from "../../ui/Time";
import { AccessFields, type Access } from "./AccessFields";

type Key = Schema["KeyView"];

/** The tenant's API keys. */
export function Keys() {
  const keys = usePages(async (cursor, signal) => {
    const page = await body(api.GET("/v1/keys", { params: { query: { cursor } }, signal }));
    return { items: page.keys, next_cursor: page.next_cursor };
  }, []);
  const [isCreating, setCreating] = useState(false);
  const close = () => {
    setCreating(false);
    keys.reload();
  };
  return (
    <>
      <div class="settings-head">
        <p class="soft">Programs sign in with API keys. A key is shown once, when it is created.</p>
        <Button kind="solid" icon="plus" onClick={() => setCreating(true)}>
          Create a key
        </Button>
      </div>
      <Loaded of={keys}>
        {(list) =>
          list.length === 0 ? (
            <EmptyState icon="key" title="No API keys yet">
              <p>Create one for each program that uses the API.</p>
            </EmptyState>
          ) : (
            <Table
              caption="API keys"
              rows={list}
              rowKey={(key) => key.id}
              columns={[
                { label: "Name", cell: (key) => key.name },
                { label: "State", cell: (key) => <KeyState of={key} /> },
                { label: "Roles", cell: (key) => key.roles.map(sentenceCase).join(", ") || "none", isSecondary: true },
                { label: "Clearance", cell: (key) => clearanceName(key.clearance), isSecondary: true },
                { label: "Only for", cell: (key) => key.scopes.join(", ") || "everything", isSecondary: true },
                {
                  label: "Last used",
                  cell: (key) => (key.last_used_at ? <Time at={key.last_used_at} /> : "never"),
                  isSecondary: true,
                },
                { label: "Action", cell: (key) => !key.revoked_at && <Revoke of={key} onDone={keys.reload} /> },
              ]}
            />
          )
        }
      </Loaded>
      <LoadMore pages={keys} />
      {isCreating && <NewKey onClose={close} />}
    </>
  );
}

function KeyState({ of }: { of: Key }) {
  if (of.revoked_at) return <Badge>Revoked</Badge>;
  if (of.expires_at && Date.parse(of.expires_at) < Date.now()) return <Badge>Expired</Badge>;
  return <Badge tone="good">{of.expires_at ? `Until ${date(of.expires_at)}` : "Active"}</Badge>;
}

function Revoke({ of, onDone }: { of: Key; onDone: () => void }) {
  const work = async () => {
    await body(api.DELETE("/v1/keys/{key_id}", { params: { path: { key_id: of.id } } }));
    onDone();
  };
  return (
    <ConfirmButton
      label="Revoke"
      aria-label={`Revoke ${of.name}`}
      title={`Revoke the key “${of.name}”?`}
      confirmLabel="Revoke"
      work={work}
    >
      <p>Programs that use it are refused immediately. This cannot be undone.</p>
    </ConfirmButton>
  );
}

function NewKey({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [days, setDays] = useState("");
  const [access, setAccess] = useState<Access>({ roles: ["viewer"], clearance: 1 });
  const [created, setCreated] = useState<Schema["CreatedKeyView"]>();
  const create = useAction(async () => {
    const expires_at = days ? new Date(Date.now() + Number(days) * 86_400_000).toISOString() : null;
    setCreated(await body(api.POST("/v1/keys", { body: { name, ...access, expires_at, scopes: [] } })));
  });
  const [isCopied, setCopied] = useState(false);
  const copy = (text: string) =>
    navigator.clipboard.writeText(text).then(
      () => setCopied(true),
      () => setCopied(false), // The key stays selected by hand.
    );
  if (created) {
    return (
      <Dialog title={`Key “${created.name}”`} onClose={onClose} isSticky>
        <p>Copy the key now. It is not shown again.</p>
        <code class="settings-key">{created.key}</code>
        <div class="buttons">
          <Button kind="solid" icon="copy" onClick={() => void copy(created.key)}>
            {isCopied ? "Copied" : "Copy"}
          </Button>
          <Button onClick={onClose}>Done</Button>
        </div>
      </Dialog>
    );
  }
  return (
    <FormDialog title="Create a key" submit="Create" action={create} onClose={onClose}>
      <Field label="Name" hint="Which program uses it." name="name" problem={create.problem}>
        {(attributes) => (
          <input
            {...attributes}
            value={name}
            required
            maxLength={200}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        )}
      </Field>
      <AccessFields value={access} onChange={setAccess} />
      <Field label="Expires after (days)" hint="Optional. Empty: never." name="expires_at" problem={create.problem}>
        {(attributes) => (
          <input
            {...attributes}
            type="number"
            min={1}
            max={3650}
            value={days}
            onInput={(event) => setDays(event.currentTarget.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}
