import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { body } from "../../api/client";
import { api } from "../../api/sign_in";
import { Field } from "../../ui/Field";
import { FormDialog } from "../../ui/FormDialog";
import { useAction, useResource } from "../../ui/resource";
import { Loaded } from "../../ui/states";
import { useDraft } from "./draft";
import type { InboxThread } from "./threads";

interface MoveDialogProps {
  thread: InboxThread;
  onClose: () => void;
  onMoved: () => void;
}

/** Let the agent answer again, with an instruction for its next reply. */
export function HandBack({ thread, ...close }: MoveDialogProps) {
  const [instruction, setInstruction] = useDraft("instruction", thread.session_id);
  const params = { path: { session_id: thread.session_id } };
  return (
    <MoveDialog
      {...close}
      title="Hand back to the agent?"
      confirmLabel="Hand back"
      work={async () => {
        await body(api.POST("/v1/inbox/{session_id}/hand-back", { params, body: { instruction } }));
        setInstruction("");
      }}
    >
      <p>The agent answers the messages that nobody has answered, and continues the conversation.</p>
      <Field label="Instruction" hint="Optional. Only the agent reads it, before its next reply.">
        {(attributes) => (
          <textarea
            {...attributes}
            rows={3}
            maxLength={500}
            value={instruction}
            onInput={(event) => setInstruction(event.currentTarget.value)}
          />
        )}
      </Field>
    </MoveDialog>
  );
}

const SNOOZES: readonly (readonly [string, number])[] = [
  ["1 hour", 1],
  ["4 hours", 4],
  ["1 day", 24],
  ["3 days", 72],
  ["1 week", 168],
];

/** Put a conversation off until a time, or until the user writes. */
export function Snooze({ thread, ...close }: MoveDialogProps) {
  const [hours, setHours] = useState(4);
  const params = { path: { session_id: thread.session_id } };
  const snooze = () => {
    const until = new Date(Date.now() + hours * 3_600_000).toISOString();
    return body(api.POST("/v1/inbox/{session_id}/snooze", { params, body: { until } }));
  };
  return (
    <MoveDialog {...close} title="Snooze this conversation?" confirmLabel="Snooze" work={snooze}>
      <p>It comes back at that time, or when the user writes.</p>
      <Field label="For">
        {(attributes) => (
          <select {...attributes} value={hours} onChange={(event) => setHours(Number(event.currentTarget.value))}>
            {SNOOZES.map(([label, value]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
    </MoveDialog>
  );
}

/** Give a conversation to another member. */
export function Transfer({ thread, ...close }: MoveDialogProps) {
  const [memberId, setMemberId] = useState("");
  const params = { path: { session_id: thread.session_id } };
  const people = useResource(
    async (signal) => {
      const query = { session_id: thread.session_id };
      return (await body(api.GET("/v1/inbox/members", { signal, params: { query } }))).members;
    },
    [thread.session_id],
  );
  return (
    <MoveDialog
      {...close}
      title="Transfer this conversation?"
      confirmLabel="Transfer"
      isReady={memberId !== ""}
      work={() => body(api.POST("/v1/inbox/{session_id}/assign", { params, body: { member_id: memberId } }))}
    >
      <Loaded of={people} rows={1}>
        {(members) => (
          <Field label="To">
            {(attributes) => (
              <select {...attributes} value={memberId} onChange={(event) => setMemberId(event.currentTarget.value)}>
                <option value="">Choose a person</option>
                {members.map((member) => (
                  <option key={member.id} value={member.id}>
                    {member.display_name}
                  </option>
                ))}
              </select>
            )}
          </Field>
        )}
      </Loaded>
    </MoveDialog>
  );
}

interface FrameProps {
  title: string;
  confirmLabel: string;
  isReady?: boolean;
  work: () => Promise<unknown>;
  onClose: () => void;
  onMoved: () => void;
  children: ComponentChildren;
}

function MoveDialog({ title, confirmLabel, isReady = true, work, onClose, onMoved, children }: FrameProps) {
  const move = useAction(async () => {
    await work();
    onClose();
    onMoved();
  });
  return (
    <FormDialog title={title} submit={confirmLabel} action={move} isReady={isReady} onClose={onClose}>
      {children}
    </FormDialog>
  );
}
