import { useEffect, useRef, useState } from "preact/hooks";
import { body, type Schema } from "../api/client";
import { Button } from "../ui/Button";
import { ConfirmButton } from "../ui/Dialog";
import { Field } from "../ui/Field";
import { ago, sentenceCase } from "../ui/format";
import { useAction, useResource } from "../ui/resource";
import { EmptyState, Loaded, Notice } from "../ui/states";
import type { ChatStore } from "./chat_store";
import { OwnPermissions } from "./OwnPermissions";

type Fact = Schema["FactView"];
type Evidence = Schema["EvidenceView"];

const CHANNEL_WORDS: Record<string, string> = { web: "on the web", whatsapp: "on WhatsApp" };
const ORIGIN_WORDS: Record<Fact["origin"], string> = {
  stated: "Stated",
  extracted: "Extracted from the conversation",
  consolidated: "Consolidated from older conversations",
  edited: "Edited",
};
const EDITOR_WORDS: Record<Fact["edited_by"], string> = {
  "": "Edited",
  user: "Edited by you",
  member: "Edited by a member",
  key: "Edited with an API key",
  operator: "Edited by the operator",
};
const END_WORDS: Record<string, string> = {
  refined: "refined",
  contradicted: "contradicted",
  corrected: "read again more exactly",
  retracted: "retracted",
  expired: "ended on its date",
  edited: "edited",
  deleted: "deleted",
  merged: "replaced when channels were linked",
  evicted: "evicted (rarely used)",
};

/** What the agent remembers of the visitor, to read, edit and erase. */
export function OwnMemory({ store }: { store: ChatStore }) {
  const identity = store.identity.value;
  const memory = useResource((signal) => body(store.api.GET("/v1/memory", { signal })), [identity]);
  return (
    <>
      <header class="chat-panel-head">
        <Button
          icon="arrowLeft"
          aria-label="Your conversations"
          onClick={() => (store.panel.value = "conversations")}
        />
        <h2>What {store.agent.value?.name} remembers about you</h2>
      </header>
      <Loaded of={memory}>
        {({ facts, episodes }) => (
          <>
            {!facts.length && !episodes.length && (
              <EmptyState icon="book" title="No memory yet">
                Facts that you state about yourself are remembered and listed here.
              </EmptyState>
            )}
            <ul class="chat-memory">
              {facts.map((fact) => (
                <FactItem key={fact.id} fact={fact} store={store} onChange={memory.reload} />
              ))}
              {episodes.map((episode) => (
                <li key={episode.id}>
                  <p>{episode.text}</p>
                  <p class="soft">
                    {period(episode.from, episode.until)}
                    {episode.merged_count > 0 && `, repeated ${times(episode.merged_count)}`}{" "}
                    <ShowButton store={store} sessionId={episode.session_id} />
                  </p>
                </li>
              ))}
            </ul>
          </>
        )}
      </Loaded>
      <OwnPermissions store={store} />
    </>
  );
}

interface FactProps {
  fact: Fact;
  store: ChatStore;
  /** Called after the fact was changed or erased. */
  onChange: () => void;
}

function FactItem({ fact, store, onChange }: FactProps) {
  const [isEdited, setEdited] = useState(false);
  const label = sentenceCase(fact.key).replaceAll(".", ": ");
  if (isEdited) {
    const close = () => setEdited(false);
    return (
      <li>
        <FactForm fact={fact} label={label} store={store} onSaved={() => (close(), onChange())} onCancel={close} />
      </li>
    );
  }
  const erase = async () => {
    const params = { path: { fact_id: fact.id } };
    await body(store.api.DELETE("/v1/memory/facts/{fact_id}", { params }));
    onChange();
  };
  return (
    <li>
      <p>
        <span class="soft">{label}</span> <b>{fact.value}</b>
      </p>
      <p class="soft">{describeOrigin(fact)}</p>
      {(fact.evidence_messages.length > 0 || fact.previous_values.length > 0) && <Source fact={fact} store={store} />}
      <div class="buttons">
        <Button aria-label={`Edit: ${label}`} onClick={() => setEdited(true)}>
          Edit
        </Button>
        <ConfirmButton label="Erase" title={`Erase “${label}: ${fact.value}”?`} confirmLabel="Erase" work={erase}>
          <p>This erases the fact and everything derived from it. It cannot be undone.</p>
        </ConfirmButton>
      </div>
    </li>
  );
}

interface FactFormProps {
  fact: Fact;
  label: string;
  store: ChatStore;
  onSaved: () => void;
  onCancel: () => void;
}

function FactForm({ fact, label, store, onSaved, onCancel }: FactFormProps) {
  const [value, setValue] = useState(fact.value);
  const save = useAction(async () => {
    const params = { path: { fact_id: fact.id } };
    await body(store.api.PATCH("/v1/memory/facts/{fact_id}", { params, body: { value: value.trim() } }));
    onSaved();
  });
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.select(), []);
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        save.run();
      }}
    >
      <Field label={label} name="value" problem={save.problem}>
        {(attributes) => (
          <input
            {...attributes}
            ref={field}
            value={value}
            maxLength={300}
            required
            autocomplete="off"
            onInput={(event) => setValue(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Escape") return;
              event.preventDefault();
              onCancel();
            }}
          />
        )}
      </Field>
      <Notice problem={save.problem} />
      <div class="buttons">
        <Button kind="solid" type="submit" disabled={save.isRunning}>
          Save
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  );
}

/** The messages that a fact comes from, and its earlier values. */
function Source({ fact, store }: { fact: Fact; store: ChatStore }) {
  return (
    <details>
      <summary>Source</summary>
      {fact.evidence_messages.map((evidence) => (
        <blockquote key={evidence.id}>
          {evidence.text || (evidence.is_archived ? "(archived)" : "(no text)")}
          <p class="soft">
            {describeMessage(evidence)} <ShowButton store={store} sessionId={evidence.session_id} />
          </p>
        </blockquote>
      ))}
      {fact.previous_values.length > 0 && (
        <>
          <p class="soft">Previous values</p>
          <ul>
            {fact.previous_values.map((previous) => (
              <li key={previous.id}>
                <del>{previous.value}</del>{" "}
                <span class="soft">
                  {period(previous.from, previous.until)}, {END_WORDS[previous.end_reason] ?? previous.end_reason}
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
    </details>
  );
}

function ShowButton({ store, sessionId }: { store: ChatStore; sessionId: string }) {
  return (
    <Button kind="link" onClick={() => void store.visit({ id: sessionId })}>
      Show
    </Button>
  );
}

function describeOrigin({ origin, edited_by: editor, last_confirmed_at: at, confidence }: Fact): string {
  const how = origin === "edited" ? EDITOR_WORDS[editor] : ORIGIN_WORDS[origin];
  const sure = confidence < 1 ? ` · ${Math.round(confidence * 100)}% confidence` : "";
  return `${how} ${ago(at)}${sure}`;
}

function describeMessage({ sent_at: at, channel }: Evidence): string {
  return `${ago(at)} ${CHANNEL_WORDS[channel] ?? channel}`;
}

function period(from: string, until: string): string {
  const [first, last] = [ago(from), ago(until)];
  return first === last ? first : `${first} to ${last}`;
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
