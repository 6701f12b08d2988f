import { useEffect, useRef, useState } from "preact/hooks";
import { body } from "../../api/client";
import { api } from "../../api/sign_in";
import { guardUnsaved } from "../../shell/router";
import { Button } from "../../ui/Button";
import { Field } from "../../ui/Field";
import { useAction } from "../../ui/resource";
import { Notice } from "../../ui/states";
import type { InboxThread } from "./threads";

/** What a person writes to the user. What is typed survives a reload and a lost claim. */
export function ReplyBox({ thread, onSaid }: { thread: InboxThread; onSaid: () => void }) {
  const key = `parlour.reply.${thread.session_id}`;
  const [text, setText] = useState(() => sessionStorage.getItem(key) ?? "");
  // One id per text: a repeat after a lost answer is sent once.
  const clientId = useRef(crypto.randomUUID());
  const write = (value: string) => {
    setText(value);
    clientId.current = crypto.randomUUID();
    sessionStorage.setItem(key, value);
  };
  const say = useAction(async () => {
    const params = { path: { session_id: thread.session_id } };
    const sent = { text, claim: thread.claim, client_id: clientId.current };
    await body(api.POST("/v1/inbox/{session_id}/messages", { params, body: sent }));
    write("");
    onSaid();
  });
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
      <Notice problem={say.problem} />
      <div class="buttons">
        <Button kind="solid" type="submit" disabled={say.isRunning || !text.trim()}>
          Send
        </Button>
        <span class="soft">Ctrl Enter sends.</span>
      </div>
    </form>
  );
}
