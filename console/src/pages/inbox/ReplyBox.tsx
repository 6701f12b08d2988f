import { useEffect, useRef, useState } from "preact/hooks";
import { body, type Schema } from "../../api/client";
import { api } from "../../api/sign_in";
import { guardUnsaved } from "../../shell/router";
import { Button } from "../../ui/Button";
import { Field } from "../../ui/Field";
import { sentenceCase } from "../../ui/format";
import { useAction, useResource } from "../../ui/resource";
import { Notice } from "../../ui/states";
import { useDraft } from "./draft";
import { TemplateForm, type TemplateChoice } from "./TemplateForm";
import type { InboxThread } from "./threads";

/** What a person writes to the user. What is typed survives a reload, a lost claim and a window that closed. */
export function ReplyBox({ thread, onSaid }: { thread: InboxThread; onSaid: () => void }) {
  const [text, setText] = useDraft("reply", thread.session_id);
  // One id per text: a repeat after a lost answer is sent once.
  const clientId = useRef(crypto.randomUUID());
  const [sentCount, setSentCount] = useState(0);
  const renewId = () => {
    clientId.current = crypto.randomUUID();
  };
  const write = (value: string) => {
    setText(value);
    renewId();
  };
  const window = useResource(
    async (signal) => {
      const params = { path: { session_id: thread.session_id } };
      return (await body(api.GET("/v1/inbox/{session_id}/context", { params, signal }))).window;
    },
    [thread.session_id, thread.last_inbound_at],
  );
  const say = useAction(async (content: { text: string } | { template: TemplateChoice }) => {
    const params = { path: { session_id: thread.session_id } };
    const sent = { ...content, claim: thread.claim, client_id: clientId.current };
    try {
      await body(api.POST("/v1/inbox/{session_id}/messages", { params, body: sent }));
    } catch (error) {
      window.reload(); // it may have closed
      throw error;
    }
    if ("text" in content) setText("");
    renewId();
    setSentCount((count) => count + 1);
    onSaid();
  });
  const replies = useResource(
    async (signal) => (await body(api.GET("/v1/inbox/saved-replies", { signal }))).saved_replies,
    [],
  );
  const isClosed = window.data && isWindowClosed(window.data);
  useEffect(() => {
    if (isClosed) return;
    guardUnsaved(() => text.trim() !== "");
    return () => guardUnsaved(null);
  }, [text, isClosed]);
  if (window.data && isClosed) {
    const { templates } = window.data;
    return (
      <>
        <p class="notice info">
          The user wrote more than 24 hours ago, so WhatsApp takes no free text.{" "}
          {templates.length ? "Choose a template." : "Give the binding a template, or wait until they write."}
          {text.trim() && ` Your text is kept until they write: “${text.trim()}”`}
        </p>
        <Notice problem={say.problem} />
        <TemplateForm
          key={sentCount}
          templates={templates}
          isSending={say.isRunning}
          onChange={renewId}
          onSend={(template) => say.run({ template })}
        />
      </>
    );
  }
  return (
    <form class="inbox-reply" onSubmit={(event) => (event.preventDefault(), say.run({ text }))}>
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
              say.run({ text });
            }}
          />
        )}
      </Field>
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

function isWindowClosed({ is_open, closes_at }: Schema["ReplyWindowView"]): boolean {
  return !is_open || (closes_at !== null && Date.parse(closes_at) <= Date.now());
}
