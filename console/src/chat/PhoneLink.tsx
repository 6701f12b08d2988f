import { useEffect, useRef, useState } from "preact/hooks";
import { body, type Schema } from "../api/client";
import { Problem } from "../api/problem";
import { Button } from "../ui/Button";
import { Field } from "../ui/Field";
import { useAction } from "../ui/resource";
import { Notice } from "../ui/states";
import type { ChatStore } from "./chat_store";

/**
 * Link the conversation with the visitor's WhatsApp number, or a member's number with the member, whose conversation on the
 * phone stays apart; nothing where the agent is not on WhatsApp.
 */
export function PhoneLink({ store, isLinked }: { store: ChatStore; isLinked: boolean }) {
  const [started, setStarted] = useState<Schema["PhoneLinkStarted"]>();
  const sessionId = store.conversation.value?.session.value?.session_id;
  const agent = store.agent.value;
  if (!agent?.channels.includes("whatsapp") || !sessionId) return null;
  const isMember = store.member(agent) !== null;
  if (isLinked && !isMember) return <p class="soft">Web and WhatsApp share this conversation.</p>;
  return (
    <details class="chat-phone-link">
      <summary>
        {!isMember ? "Continue on WhatsApp" : isLinked ? "Use another phone" : "Talk by phone as yourself"}
      </summary>
      {started ? (
        <CodeForm store={store} sessionId={sessionId} started={started} onRestart={() => setStarted(undefined)} />
      ) : (
        <NumberForm store={store} sessionId={sessionId} isMember={isMember} onStarted={setStarted} />
      )}
    </details>
  );
}

interface NumberFormProps {
  store: ChatStore;
  sessionId: string;
  isMember: boolean;
  onStarted: (started: Schema["PhoneLinkStarted"]) => void;
}

function NumberForm({ store, sessionId, isMember, onStarted }: NumberFormProps) {
  const [phone, setPhone] = useState("");
  const [consent, setConsent] = useState(false);
  const request = useAction(async () => {
    const params = { path: { session_id: sessionId } };
    const answer = store.api.POST("/v1/sessions/{session_id}/phone", { params, body: { phone, consent } });
    onStarted(await body(answer));
  });
  return (
    <form class="form" onSubmit={(event) => (event.preventDefault(), request.run())}>
      <Field label="Your number with country code" name="phone" problem={request.problem}>
        {(attributes) => (
          <input
            {...attributes}
            type="tel"
            autocomplete="tel"
            placeholder="+91 98000 00001"
            required
            maxLength={40}
            value={phone}
            onInput={(event) => setPhone(event.currentTarget.value)}
          />
        )}
      </Field>
      <label class="check">
        <input
          type="checkbox"
          required
          checked={consent}
          onChange={(event) => setConsent(event.currentTarget.checked)}
        />
        <span>
          {isMember
            ? "I agree that this number talks as me, with the roles that members have on a phone."
            : "I agree to link my web and WhatsApp messages into one conversation."}{" "}
          {store.agent.value?.name} sees and remembers both.
        </span>
      </label>
      <Notice problem={withoutField(request.problem)} />
      <Button kind="solid" type="submit" disabled={request.isRunning}>
        Send me a code
      </Button>
    </form>
  );
}

interface CodeFormProps {
  store: ChatStore;
  sessionId: string;
  started: Schema["PhoneLinkStarted"];
  onRestart: () => void;
}

function CodeForm({ store, sessionId, started, onRestart }: CodeFormProps) {
  const [code, setCode] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const confirm = useAction(async () => {
    const params = { path: { session_id: sessionId, link_id: started.link_id } };
    await store.link(
      await body(store.api.POST("/v1/sessions/{session_id}/phone/{link_id}", { params, body: { code } })),
    );
  });
  return (
    <form class="form" onSubmit={(event) => (event.preventDefault(), confirm.run())}>
      <p class="soft" role="status">
        {started.message}
      </p>
      <Field label="Code from WhatsApp (valid for ten minutes)" name="code" problem={confirm.problem}>
        {(attributes) => (
          <input
            {...attributes}
            ref={field}
            inputMode="numeric"
            autocomplete="one-time-code"
            required
            maxLength={12}
            value={code}
            onInput={(event) => setCode(event.currentTarget.value)}
          />
        )}
      </Field>
      <Notice problem={confirm.problem} />
      <div class="buttons">
        <Button kind="solid" type="submit" disabled={confirm.isRunning}>
          Link
        </Button>
        <Button onClick={onRestart}>Use another number</Button>
      </div>
    </form>
  );
}

/** Return the problem without the name of the field that the API puts first: the form has only one. */
function withoutField(problem: Problem | undefined): Problem | undefined {
  if (!problem) return undefined;
  const message = problem.message.replace(/^phone: (.)/, (_, first: string) => first.toUpperCase());
  return new Problem(problem.status, problem.code, message);
}
