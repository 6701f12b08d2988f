import { useEffect, useRef } from "preact/hooks";
import { body } from "../../api/client";
import { api } from "../../api/sign_in";
import { guardUnsaved } from "../../shell/router";
import { Button } from "../../ui/Button";
import { Field } from "../../ui/Field";
import { sentenceCase } from "../../ui/format";
import { useAction, useResource } from "../../ui/resource";
import { Notice } from "../../ui/states";
import { useDraft } from "./draft";
import type { InboxThread } from "./threads";

/** What a person writes to the user. What is typed survives a reload and a lost claim. */
export function ReplyBox({ thread, onSaid }: { thread: InboxThread; onSaid: () => void }) {
  const [text, setText] = useDraft("reply", thread.session_id);
  // One id per text: a repeat after a lost answer is sent once.
  const clientId = useRef(crypto.randomUUID());
  const write = (value: string) => {
    setText(value);
    clientId.current = crypto.randomUUID();
  };
  const say = useAction(async () => {
    const params = { path: { session_id: thread.session_id } };
    const sent = { text, claim: thread.claim, client_id: clientId.current };
    await body(api.POST("/v1/inbox/{session_id}/messages", { params, body: sent }));
    write("");
    onSaid();
  });
  const replies = useResource(
    async (signal) => (await body(api.GET("/v1/inbox/saved-replies", { signal }))).saved_replies,
    [],
  );
  const window = useResource(
    async (signal) => {
      const params = { path: { session_id: thread.session_id } };
      return (await body(api.GET("/v1/inbox/{session_id}/context", { params, signal }))).window;
    },
    [thread.session_id, thread.last_inbound_at],
  );
  useEffect(() => {
    guardUnsaved(() => text.trim() !== "");
    return () => guardUnsaved(null);
  }, [text]);
  return (
    <form class="inbox-reply" onSubmit={(event) => (event.preventDefault(), say.run())}>
      <Field label="Reply">
        {(attributes) => (
          <textarea
            {...attributes}
            data-focus-key="r"
            rows={3}
            maxLength={8_000}
            value={text}
            onInput={(event) => write(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || !text.trim()) return;
              event.preventDefault();
              say.run();
            }}
          />
        )}
      </Field>
      {window.data && !window.data.is_open && (
        <p class="notice info">
          {window.data.templates.length
            ? `The user wrote more than 24 hours ago. Your text is sent in the template ${window.data.templates.map(({ name }) => name).join(", ")}.`
            : "The user wrote more than 24 hours ago, so WhatsApp takes no free text. Give the binding a template, or wait until they write."}
        </p>
      )}
      <Notice problem={say.problem} />
      <div class="buttons">
        <Button kind="solid" type="submit" disabled={say.isRunning || !text.trim()}>
          Send
        </Button>
        {replies.data && replies.data.length > 0 && (
          <select
            aria-label="Insert a saved reply"
            value=""
            onChange={(event) => write(text ? `${text}\n${event.currentTarget.value}` : event.currentTarget.value)}
          >
            <option value="">Saved replies</option>
            {replies.data.flatMap(({ name, texts }) =>
              Object.entries(texts).map(([language, saved]) => (
                <option key={name + language} value={saved}>
                  {sentenceCase(name)} ({language})
                </option>
              )),
            )}
          </select>
        )}
        <span class="soft">Ctrl Enter sends.</span>
      </div>
    </form>
  );
}
