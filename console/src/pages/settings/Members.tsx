import { useState } from "preact/hooks";
import { body, type Schema } from "../../api/client";
import { api } from "../../api/sign_in";
import { settings } from "../../shell/settings";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { clearanceName } from "../../ui/clearance";
import { Field } from "../../ui/Field";
import { FormDialog } from "../../ui/FormDialog";
import { sentenceCase } from "../../ui/format";
import { useAction, usePages } from "../../ui/resource";
import { EmptyState, Loaded, LoadMore } from "../../ui/states";
import { Table } from "../../ui/Table";
import { AccessFields, type Access, type Role } from "./AccessFields";

type Member = Schema["MemberView"];

/** Who of the tenant may sign in, and what they may do. */
export function Members() {
  const members = usePages(async (cursor, signal) => {
    const page = await body(api.GET("/v1/members", { params: { query: { cursor } }, signal }));
    return { items: page.members, next_cursor: page.next_cursor };
  }, []);
  const [edited, setEdited] = useState<Member | "new" | null>(null);
  const close = () => setEdited(null);
  const done = () => {
    close();
    members.reload();
  };
  return (
    <>
      <div class="settings-head">
        <p class="soft">Members sign in with OpenID Connect. A member without a role can only see who they are.</p>
        <Button kind="solid" icon="plus" onClick={() => setEdited("new")}>
          Add a member
        </Button>
      </div>
      <Loaded of={members}>
        {(list) =>
          list.length === 0 ? (
            <EmptyState icon="people" title="No members yet">
              <p>Add the first one with the issuer and the subject of their token.</p>
            </EmptyState>
          ) : (
            <Table
              caption="Members"
              rows={list}
              rowKey={(member) => member.id}
              columns={[
                {
                  label: "Name",
                  cell: (member) => (
                    <Button kind="link" onClick={() => setEdited(member)}>
                      {member.display_name}
                    </Button>
                  ),
                },
                { label: "Roles", cell: (member) => member.roles.map(sentenceCase).join(", ") || "none" },
                { label: "Clearance", cell: (member) => clearanceName(member.clearance), isSecondary: true },
                { label: "Subject", cell: (member) => member.subject, isSecondary: true },
                {
                  label: "State",
                  cell: (member) => (
                    <Badge tone={member.active ? "good" : "neutral"}>{member.active ? "Active" : "Inactive"}</Badge>
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
      <LoadMore pages={members} />
      {edited === "new" && <NewMember onClose={close} onDone={done} />}
      {edited && edited !== "new" && <EditMember member={edited} onClose={close} onDone={done} />}
    </>
  );
}

interface FormProps {
  onClose: () => void;
  onDone: () => void;
}

function NewMember({ onClose, onDone }: FormProps) {
  const [identity, setIdentity] = useState({
    display_name: "",
    issuer: settings.value?.sign_in[0]?.issuer ?? "",
    subject: "",
    email: "",
  });
  const [access, setAccess] = useState<Access>({ roles: ["viewer"], clearance: 1 });
  const save = useAction(async () => {
    await body(api.POST("/v1/members", { body: { ...identity, ...access } }));
    onDone();
  });
  const field = (name: keyof typeof identity, label: string, hint?: string) => (
    <Field label={label} hint={hint} name={name} problem={save.problem}>
      {(attributes) => (
        <input
          {...attributes}
          value={identity[name]}
          required={name !== "email"}
          maxLength={200}
          onInput={(event) => setIdentity({ ...identity, [name]: event.currentTarget.value })}
        />
      )}
    </Field>
  );
  return (
    <FormDialog title="Add a member" submit="Add" action={save} onClose={onClose}>
      {field("display_name", "Name")}
      {field("issuer", "Issuer", "The address of the sign-in provider, as its tokens name it.")}
      {field("subject", "Subject", "Who the person is to the provider: the claim “sub” of their token.")}
      {field("email", "E-mail", "Optional. The address for notifications of the inbox.")}
      <AccessFields value={access} onChange={setAccess} />
    </FormDialog>
  );
}

function EditMember({ member, onClose, onDone }: FormProps & { member: Member }) {
  const [access, setAccess] = useState<Access>({ roles: member.roles as Role[], clearance: member.clearance });
  const [active, setActive] = useState(member.active);
  const [email, setEmail] = useState(member.email ?? "");
  const save = useAction(async () => {
    const path = { member_id: member.id };
    await body(api.PUT("/v1/members/{member_id}", { params: { path }, body: { ...access, active, email } }));
    onDone();
  });
  return (
    <FormDialog title={member.display_name} submit="Save" action={save} onClose={onClose}>
      <Field label="E-mail" hint="The address for notifications of the inbox." name="email" problem={save.problem}>
        {(attributes) => (
          <input
            {...attributes}
            type="email"
            value={email}
            maxLength={254}
            onInput={(event) => setEmail(event.currentTarget.value)}
          />
        )}
      </Field>
      <AccessFields value={access} onChange={setAccess} />
      <label class="check">
        <input type="checkbox" checked={active} onChange={(event) => setActive(event.currentTarget.checked)} />
        <span>May sign in</span>
      </label>
      <p class="soft">The change holds from the member’s next request.</p>
    </FormDialog>
  );
}
