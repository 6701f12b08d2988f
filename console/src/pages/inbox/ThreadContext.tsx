import { useRef } from "preact/hooks";
import { body, type Schema } from "../../api/client";
import { api, hasRole } from "../../api/sign_in";
import { Button } from "../../ui/Button";
import { Field } from "../../ui/Field";
import { sentenceCase } from "../../ui/format";
import { useAction, useResource } from "../../ui/resource";
import { Loaded, Notice } from "../../ui/states";
import { Time } from "../../ui/Time";
import { useDraft } from "./draft";
import { REASONS, type InboxEvent, type InboxThread } from "./threads";

const EVENT_WORDS: Partial<Record<InboxEvent["kind"], string>> = {
  opened: "Came to the inbox",
  taken: "Took it",
  assigned: "Transferred it",
  released: "Released it",
  noted: "Note",
  snoozed: "Snoozed it",
  woken: "Came back",
  handed_back: "Handed it back",
  closed: "Marked it as done",
  breached: "A service time passed",
  escalated: "Waited too long",
};

/** Why the conversation is here, what happened in the inbox, and private notes. */
export function ThreadContext({ thread }: { thread: InboxThread }) {
  const params = { path: { session_id: thread.session_id } };
  const events = useResource(
    async (signal) => (await body(api.GET("/v1/inbox/{session_id}/events", { params, signal }))).events,
    [thread.session_id, thread.claim],
  );
  const context = useResource(
    (signal) => body(api.GET("/v1/inbox/{session_id}/context", { params, signal })),
    [thread.session_id, thread.claim],
  );
  return (
    <aside class="inbox-context" aria-label="About this conversation">
      <section class="card">
        <h2>Why it is here</h2>
        <p>{REASONS[thread.reason]}</p>
        {thread.reason_text && <p>{thread.reason_text}</p>}
        <dl class="inbox-facts">
          <div>
            <dt>In the inbox since</dt>
            <dd>
              <Time at={thread.opened_at} />
            </dd>
          </div>
          {thread.first_response_due_at && (
            <div>
              <dt>First reply due</dt>
              <dd>
                <Time at={thread.first_response_due_at} />
              </dd>
            </div>
          )}
          {thread.resolution_due_at && (
            <div>
              <dt>Resolution due</dt>
              <dd>
                <Time at={thread.resolution_due_at} />
              </dd>
            </div>
          )}
        </dl>
      </section>
      <section class="card">
        <h2>What happened</h2>
        <Loaded of={context} rows={4}>
          {({ summary, tried, open_effects: effects, facts }) => (
            <>
              <p>{summary || "Nothing was said yet."}</p>
              <Calls title="Outcome open" calls={effects} />
              <Calls title="Tried" calls={tried} />
              {facts.length > 0 && (
                <>
                  <h3>Remembered</h3>
                  <dl class="inbox-facts">
                    {facts.map((fact) => (
                      <div key={fact.key + fact.value}>
                        <dt>{sentenceCase(fact.key)}</dt>
                        <dd>{fact.value}</dd>
                      </div>
                    ))}
                  </dl>
                </>
              )}
            </>
          )}
        </Loaded>
      </section>
      <section class="card">
        <h2>Notes and history</h2>
        {hasRole("editor") && <NoteForm thread={thread} onNoted={events.reload} />}
        <Loaded of={events} rows={3}>
          {(list) => (
            <ol class="inbox-events">
              {list
                .filter(({ kind }) => EVENT_WORDS[kind])
                .map((event) => (
                  <li key={event.id} class={event.kind === "noted" ? "inbox-note" : ""}>
                    <span>
                      {event.actor_name && <b>{event.actor_name}</b>} {EVENT_WORDS[event.kind]}{" "}
                      <span class="soft">
                        <Time at={event.at} />
                      </span>
                    </span>
                    {event.body && <p>{event.body}</p>}
                  </li>
                ))}
            </ol>
          )}
        </Loaded>
      </section>
    </aside>
  );
}

function Calls({ title, calls }: { title: string; calls: readonly Schema["TriedCallView"][] }) {
  if (!calls.length) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul class="inbox-events">
        {calls.map((call) => (
          <li key={call.name + call.at}>
            {sentenceCase(call.name)}: {sentenceCase(call.code ?? call.state)}{" "}
            <span class="soft">
              <Time at={call.at} />
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

function NoteForm({ thread, onNoted }: { thread: InboxThread; onNoted: () => void }) {
  const [text, setText] = useDraft("note", thread.session_id);
  // One id per text: a repeat after a lost answer is stored once.
  const clientId = useRef(crypto.randomUUID());
  const write = (value: string) => {
    setText(value);
    clientId.current = crypto.randomUUID();
  };
  const save = useAction(async () => {
    const params = { path: { session_id: thread.session_id } };
    const sent = { text, client_id: clientId.current };
    await body(api.POST("/v1/inbox/{session_id}/notes", { params, body: sent }));
    write("");
    onNoted();
  });
  return (
    <form class="form" onSubmit={(event) => (event.preventDefault(), save.run())}>
      <Field label="Private note" hint="Neither the user nor the agent reads it.">
        {(attributes) => (
          <textarea
            {...attributes}
            data-focus-key="n"
            rows={2}
            maxLength={4_000}
            value={text}
            onInput={(event) => write(event.currentTarget.value)}
          />
        )}
      </Field>
      <Notice problem={save.problem} />
      <div class="buttons">
        <Button type="submit" disabled={save.isRunning || !text.trim()}>
          Add the note
        </Button>
      </div>
    </form>
  );
}
